"""Grammatical error correction: rerank candidates with a bidirectional Transformer, and score them exactly."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from btr.candidates.generate import generate
    from btr.corpus.candidates import Candidates, read_candidates, write_candidates
    from btr.corpus.cleaning import clean
    from btr.corpus.named_sets import list_sets
    from btr.correction.correct import correct
    from btr.correction.corrector import Corrector
    from btr.decisions.combine import combine
    from btr.decisions.rerank import rerank
    from btr.decisions.rerank_edits import rerank_edits
    from btr.decisions.settings import Settings
    from btr.decisions.tune import tune
    from btr.decisions.tune_edits import tune_edits
    from btr.metrics.compare import compare
    from btr.metrics.evaluate import evaluate
    from btr.metrics.report import report
    from btr.models.compact import compact
    from btr.models.fetch import fetch
    from btr.models.hub import push_to_hub
    from btr.models.import_checkpoint import import_checkpoint
    from btr.rerankers import load_reranker
    from btr.rerankers.btr import BTR
    from btr.rerankers.score import score
    from btr.serving.serve import serve
    from btr.studies.export import export
    from btr.studies.study import study, study_cost
    from btr.training.cost import training_cost
    from btr.training.cross_fit import cross_fit
    from btr.training.train import train
    from btr.training.write_errors import write_errors

__version__ = "0.2.0"

# Each name is imported from its module when it is first used, so that importing btr stays fast and needs no torch.
_MODULES = {
    # The objects
    "BTR": "btr.rerankers.btr",
    "Candidates": "btr.corpus.candidates",
    "Corrector": "btr.correction.corrector",
    "Settings": "btr.decisions.settings",
    "load_reranker": "btr.rerankers",
    "read_candidates": "btr.corpus.candidates",
    "write_candidates": "btr.corpus.candidates",
    # The verbs: each is also a command of the same name
    "clean": "btr.corpus.cleaning",
    "combine": "btr.decisions.combine",
    "compact": "btr.models.compact",
    "compare": "btr.metrics.compare",
    "correct": "btr.correction.correct",
    "cross_fit": "btr.training.cross_fit",  # btr cross-fit
    "evaluate": "btr.metrics.evaluate",
    "export": "btr.studies.export",
    "fetch": "btr.models.fetch",
    "generate": "btr.candidates.generate",
    "import_checkpoint": "btr.models.import_checkpoint",  # btr import; "import" is a keyword of Python
    "list_sets": "btr.corpus.named_sets",  # btr evaluate --list-sets
    "push_to_hub": "btr.models.hub",
    "report": "btr.metrics.report",  # btr evaluate --metric all, btr compare --metric all
    "rerank": "btr.decisions.rerank",
    "rerank_edits": "btr.decisions.rerank_edits",  # btr rerank --judge
    "score": "btr.rerankers.score",
    "serve": "btr.serving.serve",
    "study": "btr.studies.study",
    "study_cost": "btr.studies.study",  # btr study --dry-run
    "train": "btr.training.train",
    "training_cost": "btr.training.cost",  # btr train --dry-run
    "tune": "btr.decisions.tune",
    "tune_edits": "btr.decisions.tune_edits",  # btr tune --edits
    "write_errors": "btr.training.write_errors",  # btr write-errors
}

__all__ = [
    "BTR",
    "Candidates",
    "Corrector",
    "Settings",
    "clean",
    "combine",
    "compact",
    "compare",
    "correct",
    "cross_fit",
    "evaluate",
    "export",
    "fetch",
    "generate",
    "import_checkpoint",
    "list_sets",
    "load_reranker",
    "push_to_hub",
    "read_candidates",
    "report",
    "rerank",
    "rerank_edits",
    "score",
    "serve",
    "study",
    "study_cost",
    "train",
    "training_cost",
    "tune",
    "tune_edits",
    "write_candidates",
    "write_errors",
]


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> object:
    if name in _MODULES:
        return getattr(import_module(_MODULES[name]), name)
    raise AttributeError(f"module 'btr' has no attribute {name!r}")
