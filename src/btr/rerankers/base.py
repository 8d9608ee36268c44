"""The protocol of all rerankers: they score candidates; probabilities and decisions follow from the scores."""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from btr.by_reference import ByReference
from btr.corpus.candidates import Candidates
from btr.corpus.edits import EditTable
from btr.corpus.scores import RerankerName, Scored, Scores
from btr.decisions import Choice, Decision, Settings, decide
from btr.decisions.decide import combine, competing
from btr.errors import InputError


@dataclass(frozen=True, slots=True)
class Ranked:
    """A candidate with its score and its probability f(y|x) among the candidates."""

    text: str
    index: int
    score: float | None  # None if it could not be scored
    probability: float


class Reranker(ByReference, ABC):
    """Scores the candidates of a source. A new kind defines `kind`, `title`, `signature` and `scores`.

    Scores are comparable within one source; larger is better. A kind without a model sets `needs_model = False`; one
    with a model is built by `from_pretrained`. One that `load_reranker` loaded is sent to other processes by its name.
    """

    kind: ClassVar[str]
    title: ClassVar[str]  # the name in tables
    needs_model: ClassVar[bool] = True
    needs_log_probs: bool = False  # whether candidates must come with the base model's log-probabilities
    needs_candidates: ClassVar[bool] = False  # whether scores compare the base model's candidates with each other
    is_relative: ClassVar[bool] = False  # whether a score depends on the other candidates
    is_mean: ClassVar[bool] = False  # whether a score is a mean over tokens rather than a sum
    signature: str  # what the scores depend on
    model_name: str | None = None

    @classmethod
    def from_pretrained(
        cls,
        name: str,
        *,
        dtype: str = "float32",
        device: str | None = None,
        int8: bool = False,
        budget: int | None = None,
    ) -> Self:
        """Load a model by its folder, shipped name or hub id; `budget` is the number of tokens per batch."""
        raise InputError(f"{cls.kind} has no model to load.")

    @abstractmethod
    def scores(self, rows: Sequence[Candidates]) -> list[Scores]:
        """Return the scores of each source's candidates. Many sources at once are faster than one by one."""

    def propose(self, candidates: Candidates) -> Candidates:
        """Return the candidates to score; a reranker may add one of its own."""
        return candidates

    @property
    def names(self) -> tuple[RerankerName, ...]:
        """Return the names that a scores file's header has, one per list of scores."""
        return (RerankerName(self.kind, self.model_name, self.signature),)

    @property
    def kinds(self) -> tuple[str, ...]:
        """Return the kinds of the rerankers that give the scores, one per list of scores."""
        return tuple(name.kind for name in self.names)

    def score(self, rows: Sequence[Candidates]) -> list[Scored]:
        """Score the candidates of many sources."""
        proposed = [self.propose(row) for row in rows]
        return [Scored(row, (scores,)) for row, scores in zip(proposed, self.checked_scores(proposed))]

    def checked_scores(self, rows: Sequence[Candidates]) -> list[Scores]:
        """Return the scores of each source's candidates; refuse those of a kind that does not keep to the protocol."""
        every = [tuple(scores) for scores in self.scores(rows)]
        if [len(scores) for scores in every] != [len(row.texts) for row in rows]:
            raise InputError(f"the reranker {self.kind} does not give each candidate of each source one score.")
        if not all(score is None or math.isfinite(score) for scores in every for score in scores):
            raise InputError(f"the reranker {self.kind} gives a score that is not a finite number.")
        return every

    def predict(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float64]:
        """Return the score of each (source, candidate) pair; NaN for one that could not be scored.

        Pairs of the same source are scored together.
        """
        sources: dict[str, dict[str, None]] = {}
        for source, text in pairs:
            sources.setdefault(source, {})[text] = None
        rows = [Candidates(source, tuple(texts)) for source, texts in sources.items()]
        scores: dict[tuple[str, str], float | None] = {}
        for scored in self.score(rows):
            row = scored.candidates
            combined = combine(scored.scores, self.kinds, range(len(row.texts)), Settings())
            scores.update({(row.source, text): score for text, score in zip(row.texts, combined)})
        return np.array([np.nan if scores[pair] is None else scores[pair] for pair in pairs], dtype=np.float64)

    def rank(
        self, source: str, candidates: Sequence[str], log_probs: Sequence[float | None] | None = None
    ) -> list[Ranked]:
        """Return the candidates of a source, the best first; the first one given is the base candidate."""
        (scored,) = self.score([as_candidates(source, candidates, log_probs)])
        settings, row = Settings(), scored.candidates
        combined = combine(scored.scores, self.kinds, competing(row, settings), settings)
        probabilities = decide(scored, self.kinds, settings).probabilities
        ranked = [Ranked(*each) for each in zip(row.texts, range(len(row.texts)), combined, probabilities)]
        return sorted(ranked, key=lambda each: (each.score is None, -(each.score or 0.0), each.index))

    def decide(
        self,
        source: str,
        candidates: Sequence[str],
        settings: Settings | None = None,
        log_probs: Sequence[float | None] | None = None,
    ) -> Decision:
        """Choose among the candidates of a source, the first of which is the base candidate."""
        (scored,) = self.score([as_candidates(source, candidates, log_probs)])
        return decide(scored, self.kinds, settings or Settings())

    def choose(self, rows: Sequence[Candidates], settings: Settings) -> list[Choice]:
        """Choose among the candidates of many sources. A kind may compute less than all scores for that."""
        return [decide(scored, self.kinds, settings) for scored in self.score(rows)]


class EditReader(Reranker):
    """A reranker that says itself how likely edits are right; others are asked about sentences with and without one."""

    @abstractmethod
    def edit_log_odds(self, tables: Sequence[EditTable]) -> list[list[float | None]]:
        """Return the log-odds of each edit of each table; None where it can't tell."""

    def checked_log_odds(self, tables: Sequence[EditTable]) -> list[list[float | None]]:
        """Return the log-odds of each edit; refuse those of a kind that does not keep to the protocol."""
        every = [list(log_odds) for log_odds in self.edit_log_odds(tables)]
        if [len(log_odds) for log_odds in every] != [len(table.edits) for table in tables]:
            raise InputError(f"the reranker {self.kind} does not give each edit of each source one number.")
        if not all(value is None or math.isfinite(value) for log_odds in every for value in log_odds):
            raise InputError(f"the reranker {self.kind} gives log-odds that are not finite.")
        return every


class Ensemble(Reranker):
    """Several rerankers of the same candidates. Models of one kind are averaged, different kinds are added.

    So are the paper's: four seeds of one kind, averaged; and R2L, added to the base model's L2R.
    """

    kind = title = "ensemble"

    def __init__(self, members: Sequence[Reranker]) -> None:
        self.members = members
        proposers = [member.kind for member in members if type(member).propose is not Reranker.propose]
        if proposers and any(member.needs_log_probs for member in members):
            raise InputError(
                f"{proposers[0]} adds a candidate, of which there is no log-probability; use it without base."
            )
        self.signature = "+".join(member.signature for member in members)
        self.needs_log_probs = any(member.needs_log_probs for member in members)

    @property
    def names(self) -> tuple[RerankerName, ...]:
        return tuple(name for member in self.members for name in member.names)

    def propose(self, candidates: Candidates) -> Candidates:
        for member in self.members:
            candidates = member.propose(candidates)
        return candidates

    def scores(self, rows: Sequence[Candidates]) -> list[Scores]:
        """Return the combined scores, with equal weights."""
        return [combine(scored.scores, self.kinds, range(len(scored.candidates.texts)), Settings())
                for scored in self.score(rows)]  # fmt: skip

    def score(self, rows: Sequence[Candidates]) -> list[Scored]:
        proposed = [self.propose(row) for row in rows]
        every = [member.checked_scores(proposed) for member in self.members]
        return [Scored(row, scores) for row, scores in zip(proposed, zip(*every))]


def as_candidates(source: str, candidates: Sequence[str], log_probs: Sequence[float | None] | None) -> Candidates:
    """Check what a caller gives, so that a mistake is one clear error."""
    if not isinstance(source, str):
        raise InputError(f"the source must be a text, not {type(source).__name__}.")
    if (
        not isinstance(candidates, Iterable)
        or isinstance(candidates, str)
        or not all(isinstance(text, str) for text in candidates)
    ):
        raise InputError("the candidates must be a list of texts.")
    if not candidates:
        raise InputError("there is no candidate; the first one must be the base model's output.")
    if log_probs is not None and len(log_probs) != len(candidates):
        raise InputError(f"there are {len(candidates)} candidates, but {len(log_probs)} log-probabilities.")
    if log_probs is not None and not all(value is None or math.isfinite(value) for value in log_probs):
        raise InputError("the log-probabilities must be finite numbers, or None.")
    return Candidates(source, tuple(candidates), None if log_probs is None else tuple(log_probs))
