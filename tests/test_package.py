"""What `python -m build` makes can be installed and used: sdist, wheel, evaluation without torch."""

import json
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import btr

ROOT = Path(__file__).parents[1]
NAME = f"btr_gec-{btr.__version__}"
NOT_PACKAGED = shutil.ignore_patterns("__pycache__", "*.egg-info", "ctranslate2-*", ".ctranslate2*")
# The command, where torch and transformers can't be imported.
WITHOUT_TORCH = "import sys; sys.modules.update(torch=None, transformers=None); from btr.cli import main; main()"


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Build both from a copy of what the repository has, offline, with the setuptools at hand."""
    folder = tmp_path_factory.mktemp("build")
    for name in ("src", "examples"):
        shutil.copytree(ROOT / name, folder / name, ignore=NOT_PACKAGED)
    for name in (
        "pyproject.toml",
        "MANIFEST.in",
        "README.md",
        "LICENSE",
        "CHANGELOG.md",
        "CITATION.cff",
        "constraints.txt",
    ):
        shutil.copy(ROOT / name, folder)
    pytest.importorskip("build")
    done = subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", "--outdir", folder / "dist", folder],
        capture_output=True, text=True, timeout=600, env={**os.environ, "PIP_NO_INDEX": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert "SetuptoolsDeprecationWarning" not in done.stdout + done.stderr
    return folder / "dist"


@pytest.fixture(scope="module")
def installed(built, tmp_path_factory):
    folder = tmp_path_factory.mktemp("installed")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--no-compile"]
    subprocess.run([*pip, "--target", folder, built / f"{NAME}-py3-none-any.whl"], check=True, timeout=300)
    return folder


def packaged_files():
    """Return the files of the package, as paths from src/."""
    source = ROOT / "src"
    paths = [path.relative_to(source) for path in (source / "btr").rglob("*") if path.is_file()]
    hidden = ("__pycache__", ".ctranslate2", "ctranslate2-")
    return {path.as_posix() for path in paths if not any(part.startswith(hidden) for part in path.parts)}


def test_the_wheel_has_every_file_of_the_package(built):
    with zipfile.ZipFile(built / f"{NAME}-py3-none-any.whl") as wheel:
        names = set(wheel.namelist())
        metadata = wheel.read(f"{NAME}.dist-info/METADATA").decode()
    expected = packaged_files()
    for name in (
        "btr/py.typed",
        "btr/serving/page/index.html",
        "btr/models/shipped/t5gec-small/model.safetensors",
        "btr/models/shipped/t5gec-small/judge.json",
        "btr/models/shipped/btr-small/profiles.json",
    ):
        assert name in expected
    assert any(name.endswith(".jinja") for name in expected)
    assert {name for name in names if name.startswith("btr/")} == expected
    assert {name.partition("/")[0] for name in names} == {"btr", f"{NAME}.dist-info"}  # no tests, no docs
    assert f"Version: {btr.__version__}\n" in metadata
    assert "License-Expression: Apache-2.0\n" in metadata
    assert not [
        line for line in metadata.splitlines() if line.startswith("Requires-Dist: torch") and "extra" not in line
    ]


def test_the_sdist_has_what_the_readme_names(built):
    with tarfile.open(built / f"{NAME}.tar.gz") as sdist:
        names = {name.partition("/")[2] for name in sdist.getnames()}
    assert {f"src/{name}" for name in packaged_files()} <= names
    assert {"README.md", "LICENSE", "CHANGELOG.md", "CITATION.cff", "constraints.txt", "examples/gold.m2"} <= names


def run(installed, *arguments):
    """Run the installed package in a folder that has nothing else of the repository."""
    done = subprocess.run(
        [sys.executable, *map(str, arguments)],
        cwd=installed, capture_output=True, text=True, timeout=300, env={**os.environ, "PYTHONPATH": str(installed)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_installed_command_helps(installed):
    assert run(installed, "-c", "import btr; print(btr.__file__)").strip() == str(installed / "btr" / "__init__.py")
    assert "evaluate" in run(installed, installed / "bin" / "btr", "--help")


def test_the_installed_wheel_evaluates_without_torch(installed):
    examples = ROOT / "examples"
    hypothesis, gold = examples / "base.txt", examples / "gold.m2"
    printed = run(installed, "-c", WITHOUT_TORCH, "evaluate", hypothesis, "--metric", "m2", "--gold", gold, "--json")
    here = btr.evaluate(hypothesis, metric="m2", gold=gold)
    assert json.loads(printed)["signature"] == here.signature
    assert json.loads(printed)["scores"] == here.to_dict()["scores"]


def test_the_installed_models_are_found_by_name(installed):
    code = "from btr.models.locate import locate_model; print(locate_model('t5gec-small'))"
    assert run(installed, "-c", code).strip() == str(installed / "btr" / "models" / "shipped" / "t5gec-small")


def test_the_installed_wheel_corrects(installed, tmp_path):
    """With models: as `btr correct` does here, from the wheel alone."""
    (tmp_path / "text.txt").write_text("She have two dog.\n")
    assert run(installed, "-m", "btr.cli", "correct", tmp_path / "text.txt") == "She has two dogs.\n"
