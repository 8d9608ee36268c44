"""The steps of the Dockerfile, run as scripts in clean folders: an image without a container engine.

This takes minutes, a network, root's rights and Linux, so it runs only if BTR_TEST_IMAGE is set.
"""

import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCKERFILE = re.sub(r"^#.*\n", "", (ROOT / "Dockerfile").read_text(encoding="utf-8"), flags=re.MULTILINE)
# The image starts with these empty; /etc is a copy, to which a user is added.
CLEAN = ("/opt", "/home", "/build", "/var/cache")
ASK = """
import json, sys, urllib.request
body = json.dumps({"text": "She have two dog."}).encode()
request = urllib.request.Request("http://127.0.0.1:8081/v1/correct", body, {"Content-Type": "application/json"})
print(json.load(urllib.request.urlopen(request, timeout=60))["text"])
"""


def instructions():
    """Yield the Dockerfile's instructions: a word, and the rest."""
    for line in DOCKERFILE.replace("\\\n", " ").splitlines():
        if line.strip():
            word, _, rest = line.partition(" ")
            yield word, rest.strip()


def can_be_reached(address):
    try:
        urllib.request.urlopen(address, timeout=10).close()
    except OSError:
        return False
    return True


def as_user(user, command):
    if user == "root":
        return command
    return f"setpriv --reuid {user} --regid {user} --clear-groups env HOME=/home/btr {command}"


def clean_folders(folder):
    """Return commands that put empty folders in place of the image's, seen by the script only.

    What /opt has on this machine stays readable: Python packages may come from there.
    """
    python = folder / "python"
    lines = ["set -euo pipefail", "umask 022", "mount --make-rprivate /"]
    lines += [f"mkdir {python}", f"mount --bind {sys.base_prefix} {python}", f"cp -a /etc {folder}/etc"]
    for path in Path("/opt").iterdir():
        if path.is_dir() and path.name != "btr":
            lines += [f"mkdir -p {folder}/opt/{path.name}", f"mount --bind {path} {folder}/opt/{path.name}"]
    for name in CLEAN:
        lines += [f"mkdir -p {folder}{name} {name}", f"mount --rbind {folder}{name} {name}"]
    return [*lines, f"mount --bind {folder}/etc /etc", f"export PATH={python}/bin:$PATH"]


def steps():
    """Return the steps as commands. All stages share their folders, so what a later one copies is there."""
    user = "root"
    for word, rest in instructions():
        if word == "FROM":
            user = "root"
        elif word == "USER":
            user = rest
        elif word == "ENV":
            yield f"export {rest}"
        elif word == "WORKDIR":
            yield f"mkdir -p {rest}; cd {rest}"
        elif word == "COPY" and rest.startswith("--from"):
            *options, source, target = rest.split()
            assert source == target
            yield from (f"chown -R {each.partition('=')[2]} {target}" for each in options if each.startswith("--chown"))
        elif word == "COPY":
            *names, target = rest.split()
            yield f"cp -r {' '.join(str(ROOT / name) for name in names)} {target}"
        elif word == "RUN":
            index = re.search(r"--index-url (\S+)", rest)
            if index and not can_be_reached(index[1]):  # then torch for CPUs comes from where pip looks otherwise
                rest = rest.replace(index[0], "")
            yield as_user(user, f"bash -o pipefail -c {shlex.quote(rest)}")


def serving():
    """Return commands that do what a container does: serve without a network, until it is healthy and has answered."""
    found = dict(instructions())
    command = " ".join(json.loads(found["CMD"]))
    health = shlex.join(json.loads(found["HEALTHCHECK"].partition("CMD ")[2]))
    lines = [
        "ip link set lo up",
        f"{as_user(found['USER'], command)} & server=$!",
        f"for second in $(seq 300); do {as_user(found['USER'], health)} 2>/dev/null && break; sleep 1; done",
        f"echo answer: $(python -c {shlex.quote(ASK)})",
        "kill -s TERM $server; wait $server || echo ended with $?",
    ]
    return f"unshare --net bash -c {shlex.quote('; '.join(lines))}"


def test_each_step_in_clean_folders():
    if not os.environ.get("BTR_TEST_IMAGE"):
        pytest.skip("takes minutes, root's rights and a network: set BTR_TEST_IMAGE=1")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("BTR_", "PYTHON", "XDG_"))}
    with tempfile.TemporaryDirectory(prefix="btr-image-") as name:
        folder = Path(name)
        folder.chmod(0o755)  # the image's user must come through
        script = "\n".join([*clean_folders(folder), *steps(), serving()])
        done = subprocess.run(
            ["unshare", "--mount", "bash", "-c", script], capture_output=True, text=True, env=environment
        )
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
        assert (folder / "var" / "cache" / "btr").stat().st_uid == 10001
    assert "She has two dogs.\n" in done.stdout  # the build's own check
    assert "answer: She has two dogs." in done.stdout
    assert "ended with" not in done.stdout  # SIGTERM is a clean end
