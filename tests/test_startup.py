"""Nothing is imported or loaded that a command does not need. Times are never asserted."""

import subprocess
import sys

import pytest
import tiny

from btr.corpus.candidates import Candidates
from btr.rerankers import load_reranker

CORRECT = """
import sys
sys.modules["transformers"] = None  # can't be imported
from btr.correction.corrector import Corrector
print(Corrector.from_pretrained().correct("She have two dog.").text)
"""
HELP = """
import sys
from btr.cli import main
sys.argv = ["btr", *sys.argv[1:]]
try:
    main()
finally:
    print(*sorted({name.partition(".")[0] for name in sys.modules}), file=sys.stderr)
"""
HEAVY = {"torch", "transformers", "spacy", "numpy", "scipy", "rich", "errant", "fastapi"}


def run(code, *arguments):
    return subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=300)


def test_a_correction_needs_no_transformers():
    """Once models are converted, CTranslate2 and tokenizers do the work."""
    from btr.models.convert import convert

    convert("t5gec-small", "int8")
    done = run(CORRECT)
    assert (done.returncode, done.stdout) == (0, "She has two dogs.\n"), done.stderr


@pytest.mark.parametrize("arguments", [("--help",), ("--version",), ("evaluate", "--help"), ("correct", "--help")])
def test_help_needs_no_library(arguments):
    done = run(HELP, *arguments)
    assert done.returncode == 0, done.stderr
    assert not HEAVY & set(done.stderr.split())


def test_a_language_model_is_read_when_it_is_first_asked(tmp_path):
    reranker = load_reranker(f"lm:{tiny.save_language_model(tmp_path)}", int8=True)
    assert reranker.scorer.generator._made is None
    assert reranker.scores([Candidates("he goes", ("",))]) == [(None,)]  # nothing to read
    assert reranker.scorer.generator._made is None
    ((score,),) = reranker.scores([Candidates("he goes", ("he goes",))])
    assert score < 0
    generator = reranker.scorer.generator._made
    assert generator is not None
    reranker.scores([Candidates("he goes", ("he go",))])
    assert reranker.scorer.generator._made is generator
