"""How good a model is after an epoch: its score on a validation set, for a reranker over all thresholds."""

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
from btr.corpus.scores import Scored
from btr.decisions import Settings, decide
from btr.decisions.decide import eligible
from btr.decisions.grid import DecisionGrid
from btr.decisions.search import THRESHOLDS
from btr.errors import InputError
from btr.metrics.base import Metric
from btr.metrics.errant import Errant
from btr.metrics.m2 import M2
from btr.models.load import LoadedModel
from btr.rerankers.base import Ensemble, Reranker
from btr.rerankers.model_free import Base
from btr.resume import windows
from btr.training.objective import Objective
from btr.training.recipe import Recipe, ValidationSettings, expand
from btr.training.records import Measures


class Validator:
    """Measures a model on a recipe's validation set."""

    def __init__(self, recipe: Recipe) -> None:
        self.settings, self.gap = recipe.validation, recipe.objective.gap
        self.metric, self.sources, self.targets = read_gold(self.settings)
        self.rows: list[Candidates] = []
        if self.settings.candidates:
            path = expand(self.settings.candidates)
            settings = Settings(top=self.settings.top, gap=self.gap)
            rows = islice(read_candidates(path), self.settings.sentences)
            self.rows = [row.select(eligible(row, settings)) for row in rows]
            if [row.source.split() for row in self.rows] != [source.split() for source in self.sources]:
                raise InputError(f"{path}: does not have the sources of the validation set; are both in order?")

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
        """Return the scores with the best threshold, and without one."""
        everything = reranker if self.gap is None else Ensemble([reranker, Base()])
        grid = DecisionGrid(self.metric, score_all(everything, self.rows), everything.kinds)
        choices = grid.choose([Settings(threshold=threshold) for threshold in THRESHOLDS])
        *values, base = map(float, grid.values(choices))  # at the last threshold the base candidates stay
        best = values.index(max(values))
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
