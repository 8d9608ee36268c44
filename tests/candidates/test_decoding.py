"""Decoding methods by name, also that of another distribution."""

import os
import subprocess
import sys

import pytest
import tiny

from btr.candidates.decoding import DecodingSettings
from btr.corpus import read_candidates

PLUGIN = '''
"""Locally typical sampling, as somebody else's package would add it."""

from btr.candidates.decoding import DecodingMethod
from btr.errors import InputError


class Typical(DecodingMethod):
    def check(self, settings):
        if settings.top_p == 1:
            raise InputError("typical sampling needs a top_p below 1.")

    def signature(self, settings):
        return f"|mass:{settings.top_p:g}|seed:{settings.seed}"

    def generate(self, engine, sources, settings):
        return engine.run_generate(sources, settings, do_sample=True, typical_p=settings.top_p)
'''


@pytest.mark.parametrize(
    ("settings", "signature"),
    [
        (DecodingSettings(), "beam|size:5|max-length:200"),
        (
            DecodingSettings(size=3, max_length=9, early_stopping=True, length_penalty=0.5),
            "beam|size:3|max-length:9|length-penalty:0.5|early-stopping",
        ),
        (
            DecodingSettings("diverse", early_stopping=True, length_penalty=0),
            "diverse|size:5|max-length:200|groups:5|penalty:0.4|length-penalty:0|early-stopping",
        ),
        (DecodingSettings("top-k", seed=3, early_stopping=True), "top-k|size:5|max-length:200|k:50|seed:3"),
        (DecodingSettings("nucleus", top_p=0.5, length_penalty=0), "nucleus|size:5|max-length:200|p:0.5|seed:0"),
    ],
)
def test_signatures(settings, signature):
    assert settings.signature() == signature


def test_a_method_of_another_distribution(tmp_path):
    """Its entry point gives the check, the signature and the decoding."""
    (tmp_path / "site" / "typical-1.0.dist-info").mkdir(parents=True)
    (tmp_path / "site" / "typical.py").write_text(PLUGIN)
    (tmp_path / "site" / "typical-1.0.dist-info" / "METADATA").write_text("Name: typical\nVersion: 1.0\n")
    (tmp_path / "site" / "typical-1.0.dist-info" / "entry_points.txt").write_text(
        "[btr.decoding]\ntypical = typical:Typical\n"
    )
    (tmp_path / "in.txt").write_text("the cat sat .\nhe go .\n")
    model = tiny.save_t5(tmp_path / "tiny", seed=3)
    path = os.pathsep.join([str(tmp_path / "site"), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}

    def run(*options):
        command = [sys.executable, "-m", "btr.cli", "generate", tmp_path / "in.txt", "--model", model, *options]
        return subprocess.run(
            [*command, "-o", tmp_path / "out.jsonl"], env=environment, capture_output=True, text=True, timeout=120
        )

    done = run("--method", "typical", "--top-p", "0.5", "--size", "3", "--max-length", "6")
    assert done.returncode == 0, done.stderr
    assert "typical|size:3|max-length:6|mass:0.5|seed:0" in "".join(done.stderr.split("\n"))
    assert [len(row.texts) for row in read_candidates(tmp_path / "out.jsonl")] == [3, 3]
    assert run("--method", "typical", "--top-p", "1").stderr == "btr: typical sampling needs a top_p below 1.\n"
    refused = run("--method", "greedy").stderr
    assert refused == "btr: method must be one of beam, diverse, top-k, nucleus, typical, not 'greedy'.\n"
    refused = run("--method", "typical", "--engine", "ctranslate2").stderr
    assert refused == "btr: ctranslate2 does beam, top-k, nucleus only; for typical, use the engine transformers.\n"
