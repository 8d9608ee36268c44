"""Security, tested from the outside: against a running `btr serve`, with evil models, and by searching for texts.

Starts a server on this machine's loopback address, with the shipped models and a token, and tries what an attacker
would: no token or a wrong one, other web sites and host names, bodies that are too large or too slow, documents that
unpack to much or name files of this machine. Then commands get models that hold code, which must not run, not even if
the user says yes to a question of a library. Last, all files that were written meanwhile (where the server ran, in its
folder for temporary files, in the caches) and its log are searched for a marker that was in all texts. pip-audit checks
the pinned versions if it is installed and reaches its service; if not, the script says so. The exit code is 1 if
anything does not hold.

    python benchmarks/security.py [--json]
"""

import io
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import zipfile
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import docx
import httpx
from common import Report
from evil_models import evil_commands

from btr.corpus.files import user_cache

ROOT = Path(__file__).parents[1]
TOKEN, MARKER = "sesame-street", "Zyxomark"
MAX_CHARACTERS, TIMEOUT = 2_000, 20
AUTHORISED = {"Authorization": f"Bearer {TOKEN}"}
TEXT = f"She have two {MARKER} dog."
HOSTS = "evil.org", "localhost.evil.org", "127.0.0.1.evil.org", "evil.org:80", "", "["
ORIGINS = "https://evil.org", "null", "http://localhost.evil.org", "http://["
PATHS = "/../../../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/page.css/../../app.py", "//etc/passwd", f"/{MARKER}"


class Checks:
    """What was checked, by section; what does not hold is shown at once."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self.counts: dict[str, int] = defaultdict(int)
        self.broken: list[str] = []

    def expect(self, section: str, what: str, holds: bool) -> None:
        self.counts[section] += 1
        if not holds:
            self.broken.append(f"{section}: {what}")
            self.report.say(f"BROKEN: {section}: {what}")


@contextmanager
def running_server(folder: Path) -> Iterator[str]:
    """Run a server in a folder of its own, with its log beside it, and give its address."""
    options = ["--port", "0", "--max-characters", str(MAX_CHARACTERS), "--timeout", str(TIMEOUT)]
    command = [sys.executable, "-m", "btr.cli", "serve", *options]
    environment = {**os.environ, "TMPDIR": str(folder), "BTR_TOKEN": TOKEN}
    with open(folder / "log", "w") as log:
        server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, cwd=folder, env=environment)
        try:
            assert server.stdout
            yield server.stdout.readline().split()[-1]
        finally:
            server.terminate()
            server.wait(2 * TIMEOUT)


def check_token(checks: Checks, http: httpx.Client) -> None:
    """Try every path of the API without the token, and with wrong ones."""
    described = http.get("/openapi.json").json()["paths"]
    protected = {
        path: next(iter(methods)) for path, methods in described.items() if path.startswith(("/v1", "/v2/words"))
    }
    for path, method in {**protected, "/v2/check": "post", "/metrics": "get"}.items():
        for sent in ("", "Bearer", "Bearer wrong", f"Bearer {TOKEN}x", f"Basic {TOKEN}", f"Bearer {TOKEN[:-1]}"):
            status = http.request(method, path, headers={"Authorization": sent} if sent else {}).status_code
            checks.expect("token", f"{method} {path} with {sent!r} is answered with {status}", status == 401)
        status = http.request(method, path, headers=AUTHORISED).status_code
        checks.expect("token", f"{method} {path} with the token is answered with 401", status != 401)
    answers = [http.get(path).text for path in ("/", "/docs", "/openapi.json", "/health", "/nothing")]
    checks.expect("token", "an answer has the token", not any(TOKEN in each for each in answers))


def check_origin_and_host(checks: Checks, http: httpx.Client) -> None:
    """Send requests as browsers do for other web sites, also for those whose name leads to this machine."""
    for origin in ORIGINS:
        answer = http.post("/v1/correct", headers={**AUTHORISED, "Origin": origin}, json={"text": TEXT})
        checks.expect("origin", f"{origin} is answered with {answer.status_code}", answer.status_code == 403)
        headers = {"Origin": origin, "Access-Control-Request-Method": "POST"}
        preflight = http.request("OPTIONS", "/v1/correct", headers=headers)
        for each in (answer, preflight):
            checks.expect("origin", f"{origin} is allowed", "access-control-allow-origin" not in each.headers)
    for host in HOSTS:
        for path in ("/v1/models", "/", "/health"):
            status = http.get(path, headers={**AUTHORISED, "Host": host}).status_code
            checks.expect("host", f"{host!r} is answered with {status}", status in (400, 403))
    for host in ("localhost", "127.0.0.1:1", "[::1]"):
        status = http.get("/v1/models", headers={**AUTHORISED, "Host": host}).status_code
        checks.expect("host", f"{host!r} is answered with {status}", status == 200)


def check_limits(checks: Checks, http: httpx.Client) -> None:
    """Send bodies that are too large, in several ways, headers without end, a slow body, and documents."""
    long, huge = "a" * (MAX_CHARACTERS + 1), b"x" * 5_000_000
    bodies: dict[str, bytes | Iterator[bytes]] = {
        "a long text": json.dumps({"text": long}).encode(),
        "a huge body": huge,
        "parts": iter([huge[:100_000]] * 50),
    }
    json_type = {**AUTHORISED, "Content-Type": "application/json"}
    for what, body in bodies.items():
        status = http.post("/v1/correct", content=body, headers=json_type).status_code
        checks.expect("limits", f"{what} is answered with {status}", status == 413)
    head = f"POST /v1/correct HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\n"
    raw = {
        "a length of 10^12": (f"{head}Content-Length: 1000000000000\r\n\r\n", b" 413 "),
        "a header without end": (f"{head}X: {'x' * 200_000}", b" 400 "),
        "a slow body": (f"{head}Content-Length: 100\r\n\r\n{{", b" 408 "),
    }
    for what, (sent, expected) in raw.items():
        first_line = send_raw(str(http.base_url), sent.encode()).partition(b"\r\n")[0]
        checks.expect("limits", f"{what} is answered with {first_line!r}", expected in first_line)
    for what, content in (("a zip bomb", make_document(bomb=True)), ("a broken zip", b"PK\3\4" + huge)):
        answer = http.post("/v1/document/text", headers=AUTHORISED, files={"file": ("a.docx", content)})
        checks.expect("limits", f"{what} is answered with {answer.status_code}", answer.status_code in (413, 422))
    answer = http.post("/v1/document/text", headers=AUTHORISED, files={"file": ("a.docx", make_document(entity=True))})
    secret = Path("/etc/passwd").read_text().splitlines()[0]
    checks.expect(
        "limits", "a document reads a file of this machine", secret not in answer.text and answer.status_code < 500
    )
    checks.expect("limits", "the server works no longer", http.get("/health").status_code == 200)


def send_raw(address: str, content: bytes) -> bytes:
    """Send bytes, and return the answer."""
    url = urlsplit(address)
    with socket.create_connection((url.hostname, url.port), 3 * TIMEOUT) as connection:
        try:
            connection.sendall(content)
            return connection.recv(10_000)
        except ConnectionError:
            return b""


def make_document(bomb: bool = False, entity: bool = False) -> bytes:
    """Return a .docx with the text; one that unpacks to 200 MB, or one whose text names a file of this machine."""
    plain, packed = io.BytesIO(), io.BytesIO()
    document = docx.Document()
    document.add_paragraph(TEXT)
    document.save(plain)
    with zipfile.ZipFile(plain) as old, zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            content = old.read(name)
            if entity and name == "word/document.xml":
                start, xml = content.split(b"?>", 1)
                doctype = b'?><!DOCTYPE d [<!ENTITY e SYSTEM "file:///etc/passwd">]>'
                content = start + doctype + xml.replace(MARKER.encode(), b"&e;")
            new.writestr(name, content)
        if bomb:
            new.writestr("word/media/bomb.png", b"\0" * 200_000_000)
    return packed.getvalue()


def check_pages(checks: Checks, http: httpx.Client) -> None:
    """Look at the headers of pages, answers and errors, and ask for files beside the pages."""
    for path in ("/", "/docs", "/page.js", "/page.css", "/health", "/v1/models", "/nothing", "/openapi.json"):
        headers = http.get(path).headers
        policy = headers.get("content-security-policy", "")
        holds = "default-src 'none'" in policy and "frame-ancestors 'none'" in policy and "unsafe" not in policy
        checks.expect("CSP", f"{path} has the policy {policy!r}", holds)
        is_strict = (
            headers.get("x-content-type-options") == "nosniff" and headers.get("referrer-policy") == "no-referrer"
        )
        checks.expect("CSP", f"{path} lacks a header", is_strict and "server" not in headers)
    for path in PATHS:
        answer = send_raw(
            str(http.base_url), f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode()
        )
        checks.expect("CSP", f"{path} is answered", b" 404 " in answer.partition(b"\r\n")[0] and b"root:" not in answer)


def send_texts(http: httpx.Client) -> None:
    """Send the marker in all ways in which a client can send a text, also in requests that are refused."""
    http.headers.update(AUTHORISED)
    http.post("/v1/correct", json={"text": TEXT, "words": [MARKER]})
    http.post("/v1/correct/stream", json={"text": TEXT})
    http.post("/v1/score", json={"source": TEXT, "candidates": [TEXT, f"{TEXT} ."]})
    for options in ({"profile": MARKER}, {MARKER: 1}, {"cutoff": MARKER}):
        http.post("/v1/correct", json={"text": TEXT, **options})
    http.post("/v1/correct", content=f'{{"text": "{MARKER}'.encode(), headers={"Content-Type": "application/json"})
    http.post("/v2/check", data={"language": "en", "text": TEXT})
    http.post("/v2/check", data={"language": MARKER, "text": TEXT})
    http.get("/v2/check", params={"language": "en", "text": TEXT})
    http.get("/v1/models", headers={"User-Agent": MARKER, "Referer": f"http://localhost/{MARKER}"})
    for path in ("/v1/document", "/v1/document/text", "/v1/document/save"):
        for name in ("a.docx", f"{MARKER}.txt"):
            content = make_document() if name.endswith("docx") else TEXT.encode()
            http.post(path, files={"file": (name, content)}, data={"text": TEXT} if path.endswith("save") else {})


def check_disk(checks: Checks, folders: list[Path], since: float) -> None:
    """Search what was written since for the marker."""
    for folder in folders:
        for path in folder.rglob("*"):
            if path.is_file() and not path.is_symlink() and path.stat().st_mtime >= since:
                name = str(path.relative_to(folder))
                checks.expect("texts on disk", f"{path} has the text", MARKER.lower() not in name.lower())
                checks.expect("texts on disk", f"{path} has the text", MARKER.encode() not in path.read_bytes())


def check_models(checks: Checks, folder: Path) -> None:
    """Give models and files with code to commands, and say yes to whatever a library asks."""
    trace = folder / "code-has-run"
    for what, command in evil_commands(folder, trace):
        done = subprocess.run(
            [sys.executable, "-m", "btr.cli", *command], input="y\n" * 9, text=True, capture_output=True
        )
        checks.expect("code in models", f"{what} has run", not trace.exists())
        is_refused = done.returncode == 2 and done.stderr.startswith("btr: ") and done.stderr.count("\n") == 1
        checks.expect(
            "code in models", f"{what}: {done.returncode} {done.stderr[-300:]}", is_refused or not done.returncode
        )
        if trace.exists():
            trace.rmdir()


def audit(checks: Checks) -> str:
    """Return what pip-audit says of the pinned versions; known vulnerabilities are broken promises."""
    command = [
        sys.executable,
        "-m",
        "pip_audit",
        "-r",
        "constraints.txt",
        "--no-deps",
        "--disable-pip",
        "--format",
        "json",
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600)
    if not done.stdout.startswith("{"):
        reason = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        return f"pip-audit has not run: {reason[:200]}"
    packages = json.loads(done.stdout)["dependencies"]
    audited = [each for each in packages if "skip_reason" not in each]  # its service knows nothing of the others
    for package in audited:
        known = [each["id"] for each in package["vulns"]]
        checks.expect("pip-audit", f"{package['name']} has {', '.join(known)}", not known)
    return f"pip-audit could look up {len(audited)} of {len(packages)} packages"


def main() -> None:
    report = Report(__doc__ or "")
    checks, since = Checks(report), time.time() - 1
    with tempfile.TemporaryDirectory(prefix="btr-security-") as name:
        served, models = Path(name) / "served", Path(name) / "models"
        served.mkdir()
        models.mkdir()
        with running_server(served) as address, httpx.Client(base_url=address, timeout=3 * TIMEOUT) as http:
            check_token(checks, http)
            check_origin_and_host(checks, http)
            check_pages(checks, http)
            check_limits(checks, http)
            send_texts(http)
        checks.expect("texts on disk", "the log is empty", (served / "log").stat().st_size > 0)
        checks.expect("token", "the log has the token", TOKEN not in (served / "log").read_text())
        check_disk(checks, [served, user_cache(), Path("/dev/shm")], since)
        check_models(checks, models)
    audited = audit(checks)
    report.say("| what | checks | broken |\n| --- | --- | --- |")
    for section, count in checks.counts.items():
        broken = sum(each.startswith(f"{section}:") for each in checks.broken)
        report.say(f"| {section} | {count} | {broken} |")
        report.ratios[section] = count
    report.say(audited)
    report.end()
    if checks.broken:
        sys.exit("\n".join(checks.broken))


if __name__ == "__main__":
    main()
