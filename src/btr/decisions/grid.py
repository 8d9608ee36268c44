"""Many settings at once: candidates are measured once, and then every setting is arithmetic over arrays.

The choices are those of `decide`, sentence by sentence; a test holds the two together.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from btr.corpus.scores import Scored
from btr.decisions.decide import average, competing, is_usable
from btr.decisions.settings import Settings
from btr.errors import InputError
from btr.metrics.base import Array, Metric
from btr.metrics.results import Score
from btr.wording import count_of


class DecisionGrid:
    """The scored candidates of a set, with the metric's counts of each, ready to be decided by any settings.

    Choices are candidates' indices; `width`, the largest number of candidates, stands for the source itself, which
    replaces a base candidate that is a runaway, if settings drop those.
    """

    def __init__(self, metric: Metric, rows: Sequence[Scored], kinds: Sequence[str]) -> None:
        check_rows(metric, rows)
        self.metric, self.rows = metric, rows
        self.kinds, self.distinct_kinds = tuple(kinds), tuple(dict.fromkeys(kinds))
        sizes = [len(row.candidates.texts) for row in rows]
        self.width = max(sizes)
        pairs = [(number, text) for number, row in enumerate(rows) for text in row.candidates.texts]
        self.has_runaway_base = np.array([not is_usable(row.candidates, 0) for row in rows])
        replaced = np.flatnonzero(self.has_runaway_base).tolist()
        sources = [(number, rows[number].candidates.source) for number in replaced]
        self.counts = metric.stack(metric.count_pairs([*pairs, *sources]))
        # Row of `counts` for each sentence and candidate; a sentence with fewer candidates repeats its last. One more
        # column is for the source, where it may replace the base candidate.
        starts = np.cumsum([0, *sizes])[:-1]
        self.count_rows = starts[:, None] + np.minimum(np.arange(self.width + 1), np.array(sizes)[:, None] - 1)
        self.count_rows[replaced, self.width] = len(pairs) + np.arange(len(replaced))
        self._scores: dict[tuple[object, ...], Array] = {}
        self._competing: dict[tuple[object, ...], Array] = {}
        self._suggestions: dict[tuple[object, ...], tuple[Array, Array]] = {}

    def competing(self, settings: Settings) -> Array:
        """Return which candidates compete (sentences, candidates)."""
        key = settings.top, settings.gap, settings.drop_runaways
        if key not in self._competing:
            mask = np.zeros((len(self.rows), self.width), dtype=bool)
            for number, row in enumerate(self.rows):
                mask[number, competing(row.candidates, settings)] = True
            self._competing[key] = mask
        return self._competing[key]

    def scores(self, settings: Settings) -> Array:
        """Return each kind's averaged scores (kinds, sentences, candidates); NaN where there is none."""
        key: tuple[object, ...] = (settings.average,)
        if settings.average == "f":  # depends on which candidates compete
            key += settings.top, settings.gap, settings.drop_runaways
        if key not in self._scores:
            scores = np.full((len(self.distinct_kinds), len(self.rows), self.width), np.nan)
            for number, row in enumerate(self.rows):
                indices = competing(row.candidates, settings)
                for k, kind in enumerate(self.distinct_kinds):
                    models = [values for values, other in zip(row.scores, self.kinds) if other == kind]
                    averaged = average(models, settings, indices)
                    scores[k, number, : len(averaged)] = [np.nan if value is None else value for value in averaged]
            self._scores[key] = scores
        return self._scores[key]

    def probabilities(self, settings: Settings) -> Array:
        """Return f(y|x) of each candidate; NaN where one that competes could not be scored."""
        weights = np.array([settings.weight(kind) for kind in self.distinct_kinds])
        used, mask = np.flatnonzero(weights), self.competing(settings)
        mixed = np.where(mask, np.tensordot(weights[used], self.scores(settings)[used], 1), -np.inf)
        alone = mask[:, 0] & (mask.sum(1) == 1)  # only the base candidate: whatever its score, it is certain
        mixed[alone, 0] = 0.0
        highest = mixed.max(1, keepdims=True)
        powers = np.exp(mixed - np.where(np.isneginf(highest), 0, highest))
        probabilities: Array = powers / np.maximum(powers.sum(1, keepdims=True), np.finfo(float).tiny)
        return probabilities

    def suggest(self, settings: Settings) -> tuple[Array, Array]:
        """Return the index of the candidate with the highest probability for each sentence, and its margin."""
        weights = tuple(settings.weight(kind) for kind in self.distinct_kinds)
        key = settings.top, settings.gap, settings.drop_runaways, settings.average, weights
        if key not in self._suggestions:
            probabilities = self.probabilities(settings)
            best = probabilities.argmax(1)
            self._suggestions[key] = best, probabilities[np.arange(len(best)), best] - probabilities[:, 0]
        return self._suggestions[key]

    def choose(self, every: Iterable[Settings]) -> Array:
        """Return the index of the candidate that each settings object chooses for each sentence."""
        chosen = []
        for settings in every:
            best, margins = self.suggest(settings)
            accepted = margins >= settings.threshold if settings.at_least else margins > settings.threshold
            choices = np.where(accepted, best, 0)  # a margin of NaN is not accepted
            if settings.drop_runaways:
                choices = np.where((choices == 0) & self.has_runaway_base, self.width, choices)
            chosen.append(choices)
        return np.array(chosen)

    def accepted(self, choices: Array) -> Array:
        """Return where a suggestion was accepted, that is another candidate than the base candidate was chosen."""
        accepted: Array = (choices > 0) & (choices < self.width)
        return accepted

    def values(self, choices: Array, sentences: Array | None = None) -> Array:
        """Return the metric's main score of each row of choices, in percent, over all sentences or some."""
        numbers = np.arange(len(self.rows)) if sentences is None else sentences
        scores = self.metric.aggregate(self.counts, self.count_rows[numbers, choices[:, numbers]])
        return 100 * scores[self.metric.main_score]

    def score(self, choices: Array) -> Score:
        """Return the score of one choice per sentence."""
        return self.metric.score_counts(self.counts_of(choices))

    def counts_of(self, choices: Array) -> Array:
        """Return the counts of one choice per sentence."""
        counts: Array = self.counts[self.count_rows[np.arange(len(self.rows)), choices]]
        return counts

    def texts(self, choices: Array) -> list[str]:
        """Return the chosen texts."""
        rows = (row.candidates for row in self.rows)
        return [row.source if choice == self.width else row.texts[choice] for row, choice in zip(rows, choices)]


def check_rows(metric: Metric, rows: Sequence[Scored]) -> None:
    """Refuse scores whose sources are not those of the gold."""
    if len(rows) != metric.size:
        raise InputError(f"the gold has {count_of(metric.size, 'sentence')}, but the scores have {len(rows):,}.")
    for number, row in enumerate(rows):
        if row.candidates.source.split() != metric.source(number).split():
            raise InputError(
                f"sentence {number + 1} of the scores has another source than the gold; are both in order?"
            )
