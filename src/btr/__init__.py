"""Grammatical error correction: rerank candidates with a bidirectional Transformer, and score them exactly."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from btr.candidates.generate import generate
    from btr.corpus.cleaning import clean
    from btr.correction.correct import correct
    from btr.metrics.evaluate import compare, evaluate
    from btr.models.compact import compact
    from btr.rerankers.rerank import rerank
    from btr.rerankers.score import score
    from btr.serving.serve import serve
    from btr.studies.export import export
    from btr.studies.study import study
    from btr.studies.tune import tune
    from btr.training.train import train

__version__ = "0.1.0"
__all__ = [
    "clean",
    "compact",
    "compare",
    "correct",
    "evaluate",
    "export",
    "generate",
    "rerank",
    "score",
    "serve",
    "study",
    "train",
    "tune",
]

# Each verb is found where it is written, when it is first used: importing btr stays light.
_VERBS = {
    "clean": "btr.corpus.cleaning",
    "compact": "btr.models.compact",
    "compare": "btr.metrics.evaluate",
    "correct": "btr.correction.correct",
    "evaluate": "btr.metrics.evaluate",
    "export": "btr.studies.export",
    "generate": "btr.candidates.generate",
    "rerank": "btr.rerankers.rerank",
    "score": "btr.rerankers.score",
    "serve": "btr.serving.serve",
    "study": "btr.studies.study",
    "train": "btr.training.train",
    "tune": "btr.studies.tune",
}


def __getattr__(name: str) -> Any:
    if name in _VERBS:
        return getattr(import_module(_VERBS[name]), name)
    raise AttributeError(f"module 'btr' has no attribute {name!r}")
