"""How good a model is after an epoch: its score on a validation set.

As in the paper, a BTR or a RoBERTa has the score of its best threshold λ; thresholds whose score is that of the base
candidates are ignored, as in its Tables 14 and 15. R2L and BERT have no threshold, and R2L's scores are added to those
of its L2R partner. An objective says of itself whether it has a threshold and a partner.
"""

import tempfile
from itertools import islice
from typing import Any

from btr.candidates.decoding import DecodingSettings
from btr.candidates.engine import Engine
from btr.candidates.generate import WINDOW, generate_many, load_engine
from btr.candidates.transformers_engine import TransformersEngine
from btr.corpus.candidates import Candidates, read_candidates, tokens_of
from btr.corpus.files import file_signature
from btr.corpus.m2 import read_m2
from btr.corpus.scores import Scored, Scores
from btr.decisions import Settings, decide
from btr.decisions.decide import eligible
from btr.decisions.grid import DecisionGrid
from btr.decisions.search import THRESHOLDS
from btr.errors import InputError
from btr.metrics.base import Metric
from btr.metrics.errant import Errant
from btr.metrics.m2 import M2
from btr.models.loaded import LoadedModel
from btr.rerankers import load_reranker
from btr.rerankers.base import Reranker
from btr.resume import windows
from btr.training import OBJECTIVES
from btr.training.objective import Objective
from btr.training.recipe import Recipe, ValidationSettings, expand
from btr.training.records import Measures


class Validator:
    """Measures a model on a recipe's validation set."""

    def __init__(self, recipe: Recipe) -> None:
        self.settings, self.gap = recipe.validation, recipe.objective.gap
        self.objective = OBJECTIVES[recipe.kind]
        self.metric, self.sources, self.targets = read_gold(self.settings)
        self.rows: list[Candidates] = []
        if self.settings.candidates:
            path = expand(self.settings.candidates)
            settings = Settings(top=self.settings.top, gap=self.gap)
            rows = islice(read_candidates(path), self.settings.sentences)
            self.rows = [row.select(eligible(row, settings)) for row in rows]
            if [row.source.split() for row in self.rows] != [source.split() for source in self.sources]:
                raise InputError(f"{path}: does not have the sources of the validation set; are both in order?")
        self.added, self.added_kinds = self.score_partners()

    def measure(self, objective: Objective) -> Measures:
        """Return the scores of an objective's model as it is now."""
        model = objective.model
        was_training = model.training
        model.eval()
        try:
            if objective.reranker is None:
                return self.measure_corrections(model, objective.tokenizer)
            return self.measure_reranker(objective.load_reranker())
        finally:
            model.train(was_training)

    def measure_corrections(self, model: Any, tokenizer: Any) -> Measures:
        """Return the scores of what a base model writes."""
        decoding = DecodingSettings(
            size=self.settings.beam, early_stopping=True, length_penalty=self.settings.length_penalty
        )
        with tempfile.TemporaryDirectory() as folder:
            if self.settings.engine == "ctranslate2":
                model.save_pretrained(folder)
                tokenizer.save_pretrained(folder)
                engine: Engine = load_engine(folder, "ctranslate2", dtype="int8")
            else:
                engine = TransformersEngine(LoadedModel(model, tokenizer, "in training"))
            texts = [
                row.texts[0]
                for window in windows(self.sources, WINDOW)
                for row in generate_many(engine, window, decoding)
            ]
        return Measures(self.metric.score(texts).scores, signature=self.metric.signature())

    def measure_reranker(self, reranker: Reranker) -> Measures:
        """Return the scores at the threshold that counts, and those at all others."""
        own = score_all(reranker, self.rows)
        scored = [Scored(row.candidates, (*row.scores, *more)) for row, more in zip(own, self.added)]
        grid = DecisionGrid(self.metric, scored, (*reranker.kinds, *self.added_kinds))
        choices = grid.choose([Settings(threshold=threshold) for threshold in THRESHOLDS])
        *values, base = map(float, grid.values(choices))  # at the last threshold the base candidates stay
        best = best_threshold(values, base) if self.objective.tunes_threshold else 0
        gold_first, gold_f = self.rank_gold(reranker)
        return Measures(
            grid.score(choices[best]).scores,
            threshold=THRESHOLDS[best],
            base=base,
            gold_first=gold_first,
            gold_f=gold_f,
            grid={f"{threshold:.1f}": value for threshold, value in zip(THRESHOLDS, values)},
            signature=self.metric.signature(),
        )

    def score_partners(self) -> tuple[list[tuple[Scores, ...]], tuple[str, ...]]:
        """Return the scores that are added to those of the model, once for all epochs, and the kinds that gave them.

        They are the partner's, and with a gap the base model's own log-probabilities.
        """
        names = [] if self.gap is None else ["base"]
        if self.settings.partner:
            names.append(f"{self.objective.partner}:{expand(self.settings.partner)}")
        if not names:
            return [() for _ in self.rows], ()
        partners = load_reranker(names)
        return [scored.scores for scored in score_all(partners, self.rows)], partners.kinds

    def rank_gold(self, reranker: Reranker) -> tuple[float, float]:
        """Return how often gold is preferred to the candidates, in percent, and its mean f(y|x) among them."""
        rows = [
            Candidates(row.source, (target, *(text for text in row.texts if tokens_of(text) != tokens_of(target))))
            for row, target in zip(self.rows, self.targets)
        ]
        rows = [row for row in rows if len(row.texts) > 1]
        decisions = [decide(scored, reranker.kinds, Settings()) for scored in score_all(reranker, rows)]
        count = max(1, len(rows))
        return (
            100 * sum(decision.suggestion == 0 for decision in decisions) / count,
            sum(decision.probabilities[0] for decision in decisions) / count,
        )


def best_threshold(values: list[float], base: float) -> int:
    """Return the index of the highest score, the first of equals; scores equal to the base candidates' are ignored.

    Such a score says nothing about the reranker, of which nothing was accepted. It counts only if there is no other.
    """
    others = [value for value in values if value != base]
    return values.index(max(others or values))


def score_all(reranker: Reranker, rows: list[Candidates]) -> list[Scored]:
    """Score many sources, some at a time."""
    return [scored for window in windows(rows, WINDOW) for scored in reranker.score(window)]


def read_gold(settings: ValidationSettings) -> tuple[Metric, list[str], list[str]]:
    """Return the metric over the validation set, its sources, and the first annotator's corrections."""
    paths = list(map(expand, settings.gold))
    sentences = list(islice((sentence for path in paths for sentence in read_m2(path)), settings.sentences))
    name = "+".join(file_signature(path, "gold") for path in paths)
    if settings.sentences is not None:
        name += f"[:{settings.sentences}]"
    metric = (M2 if settings.metric == "m2" else Errant)(sentences, name, processes=1)
    return metric, [sentence.source for sentence in sentences], [sentence.corrected() for sentence in sentences]
