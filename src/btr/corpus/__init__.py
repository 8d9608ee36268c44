"""Files and sentences: M2, parallel text, cLang-8, candidates, scores, cleaning."""

from btr.corpus.candidates import Candidates, read_candidates, write_candidates
from btr.corpus.files import read_lines, write_lines
from btr.corpus.m2 import Edit, Sentence, read_m2, write_m2
from btr.corpus.pairs import read_pairs, read_sources
from btr.corpus.parallel import read_references, read_tsv
from btr.corpus.scores import Header, RerankerName, Scored, read_scores

__all__ = [
    "Candidates",
    "Edit",
    "Header",
    "RerankerName",
    "Scored",
    "Sentence",
    "read_candidates",
    "read_lines",
    "read_m2",
    "read_pairs",
    "read_references",
    "read_scores",
    "read_sources",
    "read_tsv",
    "write_candidates",
    "write_lines",
    "write_m2",
]
