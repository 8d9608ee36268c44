"""How good a model is after an epoch: its F on a validation set, for a reranker over all thresholds."""

import tempfile
from itertools import islice
from typing import Any

from btr.candidates.ctranslate2_engine import CTranslate2Engine
from btr.candidates.decoding import DecodingSettings
from btr.candidates.generate import WINDOW, generate_many
from btr.candidates.transformers_engine import TransformersEngine
from btr.corpus.candidates import Candidates, read_candidates
from btr.corpus.files import file_signature
from btr.corpus.m2 import read_m2
from btr.errors import InputError
from btr.metrics.base import Metric
from btr.metrics.errant import Errant
from btr.metrics.m2 import M2
from btr.models.load import LoadedModel
from btr.rerankers.base import Reranker, Rule
from btr.rerankers.btr import BTR
from btr.rerankers.contrast import Contrast
from btr.rerankers.differences import NEAR
from btr.rerankers.encoders import BERT, RoBERTa
from btr.rerankers.ensemble import Ensemble
from btr.rerankers.free import Base
from btr.rerankers.left_to_right import RightToLeft
from btr.rerankers.table import THRESHOLDS, Setting, Table
from btr.resume import windows
from btr.training.recipe import Recipe, Validation, expand


class Closely(Contrast):
    """As the listwise objective scores: the tokens near differences are asked about whichever candidate is first."""

    first = second = NEAR


RERANKERS: dict[str, Any] = {"btr": BTR, "r2l": RightToLeft, "roberta": RoBERTa, "bert": BERT}


class Validator:
    """Measures a model on a recipe's validation set."""

    def __init__(self, recipe: Recipe) -> None:
        self.kind, self.settings, self.gap = recipe.kind, recipe.validation, recipe.objective.gap
        self.reranker: Any = Closely if recipe.objective.listwise else RERANKERS.get(recipe.kind)
        self.metric, self.sources, self.targets = read_gold(self.settings)
        self.rows: list[Candidates] = []
        if self.settings.candidates:
            path = expand(self.settings.candidates)
            rows = islice(read_candidates(path), self.settings.sentences)
            self.rows = [close(row.first(self.settings.top), self.gap) for row in rows]
            if [row.source.split() for row in self.rows] != [source.split() for source in self.sources]:
                raise InputError(f"{path}: does not have the sources of the validation set; are both in order?")

    def measure(self, model: Any, tokenizer: Any) -> dict[str, Any]:
        """The scores, best first to be read; `value` is the one that counts."""
        was_training = model.training
        model.eval()
        try:
            found = self._write(model, tokenizer) if self.kind == "seq2seq" else self._rerank(model, tokenizer)
        finally:
            model.train(was_training)
        return {**found, "signature": self.metric.signature()}

    def _write(self, model: Any, tokenizer: Any) -> dict[str, Any]:
        search = DecodingSettings(
            size=self.settings.beam, early_stopping=True, length_penalty=self.settings.length_penalty
        )
        with tempfile.TemporaryDirectory() as folder:
            if self.settings.engine == "ctranslate2":
                model.save_pretrained(folder)
                tokenizer.save_pretrained(folder)
                engine: Any = CTranslate2Engine(folder, "int8")
            else:
                engine = TransformersEngine(LoadedModel(model, tokenizer, "in training"))
            texts = [
                row.texts[0]
                for window in windows(self.sources, WINDOW)
                for row in generate_many(engine, window, search)
            ]
        score = self.metric.score(texts)
        return {"value": score.value, **score.scores}

    def _rerank(self, model: Any, tokenizer: Any) -> dict[str, Any]:
        reranker: Reranker = self.reranker(LoadedModel(model, tokenizer, "in training"))
        whole = reranker if self.gap is None else Ensemble([reranker, Base()])
        scored = [row for window in windows(self.rows, WINDOW) for row in whole.score_many(window)]
        table = Table(self.metric, [scored])
        choices = table.choose([Setting(self.settings.top, threshold) for threshold in THRESHOLDS])
        *values, base = map(float, table.values(choices))  # at the last threshold the base model's choice stays
        best = values.index(max(values))
        return {
            "value": values[best],
            **table.score(choices[best]).scores,
            "threshold": THRESHOLDS[best],
            "base": base,
            **self._set_apart(reranker),
            "grid": {f"{threshold:.1f}": value for threshold, value in zip(THRESHOLDS, values)},
        }

    def _set_apart(self, reranker: Reranker) -> dict[str, float]:
        """Whether gold stands out among other candidates: how often it is first, and its mean f."""
        rows = [
            Candidates(row.source, (target, *(text for text in dict.fromkeys(row.texts) if text != target)))
            for row, target in zip(self.rows, self.targets)
        ]
        rows = [row for row in rows if len(row.texts) > 1]
        decisions = [
            Rule().decide(row.source, row.texts, scored.means)
            for window in windows(rows, WINDOW)
            for row, scored in zip(window, reranker.score_many(window))
        ]
        count = max(1, len(rows))
        return {
            "gold_first": 100 * sum(decision.suggestion == 0 for decision in decisions) / count,
            "gold_f": sum(decision.f[0] for decision in decisions) / count,
        }


def close(row: Candidates, gap: float | None) -> Candidates:
    """The candidates that are not too far below the first by the base model's log-probabilities."""
    if gap is None or row.log_probs is None or row.log_probs[0] is None:
        return row
    least = row.log_probs[0] - gap
    kept = [(text, own) for text, own in zip(row.texts, row.log_probs) if own is not None and own >= least]
    return Candidates(row.source, tuple(text for text, _ in kept), tuple(own for _, own in kept))


def read_gold(settings: Validation) -> tuple[Metric, list[str], list[str]]:
    """The metric over the validation set, its sources, and the first annotator's corrections."""
    paths = list(map(expand, settings.gold))
    sentences = list(islice((sentence for path in paths for sentence in read_m2(path)), settings.sentences))
    name = "+".join(file_signature(path, "gold") for path in paths)
    if settings.sentences is not None:
        name += f"[:{settings.sentences}]"
    metric = (M2 if settings.metric == "m2" else Errant)(sentences, name, processes=1)
    return metric, [sentence.source for sentence in sentences], [sentence.corrected() for sentence in sentences]
