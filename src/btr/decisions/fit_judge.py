"""Fit a judge: penalised logistic regression of "is this edit in the gold?" on the features of edits."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from btr.corpus.edits import EditKey, EditTable
from btr.corpus.m2 import Sentence
from btr.decisions.edit_features import (
    WITH_LOG_PROBS,
    WITHOUT_LOG_PROBS,
    compute_features,
    count_systems,
    has_log_probs,
    name_system_features,
)
from btr.decisions.judge import Judge
from btr.errors import InputError
from btr.metrics.base import Array
from btr.metrics.errant import extract_many, load_annotator
from btr.metrics.gold import Gold
from btr.pool import parallel_map

OPERATIONS = "M", "R", "U"
MIN_EDITS_PER_TYPE = 20  # a rarer type has no weight of its own
SET_POWER = 0.25  # 1: every edit counts the same; 0: every set does
# A column times a scale s is penalised by 1/s²: features hardly, types more.
FEATURE_SCALE, TYPE_SCALE = 10.0, 0.7
# How far an existing judge moves when it is adapted: its log-odds are stretched and shifted, and weights change.
STRETCH_SCALE, SHIFT_SCALE, CHANGE_SCALE = 0.2, 0.5, 0.2


@dataclass(frozen=True)
class LabelledSet:
    """Edit tables of a set with gold: one label per edit, whether it is right."""

    name: str
    tables: Sequence[EditTable]
    rerankers: tuple[str, ...]  # kinds, one per log-odds
    labels: Sequence[Array]
    reranker_names: tuple[str, ...] = ()  # e.g. lm:smollm2-135m

    def select(self, numbers: Sequence[int]) -> "LabelledSet":
        """Return some of the sentences."""
        tables, labels = [self.tables[k] for k in numbers], [self.labels[k] for k in numbers]
        return replace(self, tables=tables, labels=labels)


def label_edits(tables: Sequence[EditTable], gold: Gold) -> list[Array]:
    """Return for each edit of each table whether it is right.

    It is, if an annotator made it, or if ERRANT finds it between the source and an annotator's corrected sentence.
    """
    size = 64
    pairs = [(table.candidates.source, text) for table, texts in zip(tables, gold.references) for text in texts]
    load_annotator()
    chunks = [pairs[start : start + size] for start in range(0, len(pairs), size)]
    extracted = iter([edits for chunk in parallel_map(extract_many, chunks, min_per_process=2) for edits in chunk])
    sentences: Sequence[Sentence] = getattr(gold.metric, "sentences", ())
    labels = []
    for number, (table, texts) in enumerate(zip(tables, gold.references)):
        right = {EditKey(edit.start, edit.end, edit.corrections[0]) for _ in texts for edit in next(extracted) or ()}
        if sentences:
            right |= annotated_edits(sentences[number])
        labels.append(np.array([edit.key in right for edit in table.edits], dtype=bool))
    return labels


def annotated_edits(sentence: Sentence) -> set[EditKey]:
    """Return the edits that any annotator of a sentence made."""
    edits = (edit for each in sentence.annotations.values() for edit in each)
    return {EditKey(edit.start, edit.end, text) for edit in edits for text in edit.corrections}


def fit_judge(sets: Sequence[LabelledSet], features: Sequence[str], prior: Judge | None = None) -> Judge:
    """Fit a judge with these features on several sets together; a set counts by the fourth root of its edits.

    With `prior`, an existing judge is adapted: see `adapt`.
    """
    from sklearn.linear_model import LogisticRegression

    numbers = np.concatenate([np.zeros((0, len(features))), *(feature_rows(each, features) for each in sets)])
    labels = np.concatenate([label for each in sets for label in each.labels]) if sets else np.zeros(0)
    complete = ~np.isnan(numbers).any(1)
    if len(set(labels[complete].tolist())) < 2:
        raise InputError("a judge needs edits that are right and edits that are wrong; give it more sentences.")
    sizes = [sum(map(len, each.labels)) for each in sets]
    parts = np.maximum(sizes, 1) ** SET_POWER
    shares = np.repeat(sum(sizes) / parts.sum() * parts / np.maximum(sizes, 1), sizes)
    kinds = [edit.type for each in sets for table in each.tables for edit in table.edits]
    counts = Counter(np.array(kinds)[complete].tolist())
    types = sorted(kind for kind, count in counts.items() if count >= MIN_EDITS_PER_TYPE)
    one_hot = np.array([[kind[:1] == name for name in OPERATIONS] + [kind == name for name in types] for kind in kinds])
    means, spreads = numbers[complete].mean(0), np.maximum(numbers[complete].std(0), 1e-6)
    columns = np.concatenate([(numbers - means) / spreads, one_hot], axis=1)
    if prior is not None:
        logits = np.concatenate([prior.logits(table, each.rerankers) for each in sets for table in each.tables])
        stretch, shift, weights = adapt(logits[complete], columns[complete], labels[complete], shares[complete])
    else:
        scales = np.repeat([FEATURE_SCALE, TYPE_SCALE], [len(features), one_hot.shape[1]])
        model = LogisticRegression(C=1.0, solver="newton-cholesky", max_iter=200)
        model.fit(scales * columns[complete], labels[complete], sample_weight=shares[complete])
        stretch, shift, weights = 0.0, float(model.intercept_[0]), scales * model.coef_[0]
    numeric = weights[: len(features)] / spreads
    rest = weights[len(features) :]
    judge = Judge(
        dict(zip(features, map(float, numeric))),
        dict(zip(OPERATIONS, map(float, rest))),
        dict(zip(types, map(float, rest[len(OPERATIONS) :]))),
        shift - float(numeric @ means),
        tuple(each.name for each in sets),
    )
    return judge if prior is None else add(judge, prior, stretch)


def fit_judges(sets: Sequence[LabelledSet], priors: Sequence[Judge] = ()) -> list[Judge]:
    """Fit judges with fewer and fewer features; an existing judge with the same features is adapted."""
    by_features = {frozenset(prior.names): prior for prior in priors}
    return [fit_judge(chosen, names, by_features.get(frozenset(names))) for chosen, names in wanted_judges(sets)]


def wanted_judges(sets: Sequence[LabelledSet]) -> list[tuple[list[LabelledSet], tuple[str, ...]]]:
    """Return the judges to fit, in order of preference: the sets that have a judge's features, and the features.

    They know systems, have log-probabilities or neither, and all rerankers, or all but the last, and so on. A set
    without log-probabilities has a part only in the judges that need none, and one of systems' outputs only in that of
    so many systems and in those that use ranks.
    """
    kinds = tuple(dict.fromkeys(sets[0].rerankers))
    with_log_probs = [each for each in sets if all(has_log_probs(table) for table in each.tables if table.edits)]
    choices = [(with_log_probs, WITH_LOG_PROBS)] if with_log_probs else []
    by_systems: dict[int, list[LabelledSet]] = {}
    for each in sets:
        counts = {count_systems(table) for table in each.tables}
        if len(counts) == 1:
            by_systems.setdefault(counts.pop(), []).append(each)
    by_systems.pop(0, None)
    systems = [(chosen, (*name_system_features(count), "length")) for count, chosen in by_systems.items()]
    return [
        (chosen, (*names, *kinds[:count]))
        for chosen, names in [*systems, *choices, (list(sets), WITHOUT_LOG_PROBS)]
        for count in range(len(kinds), -1, -1)
    ]


def adapt(logits: Array, columns: Array, labels: Array, counts: Array) -> tuple[float, float, Array]:
    """Return how an existing judge's log-odds are to be stretched and shifted, and what each column adds to them.

    All are penalised as deviations from the judge as it is, so that a few sentences hardly move it, and a hundred say
    how often edits are right in a user's own text.
    """
    from scipy.optimize import minimize
    from scipy.special import expit

    matrix = np.column_stack([STRETCH_SCALE * logits, np.full(len(logits), SHIFT_SCALE), CHANGE_SCALE * columns])
    signs = np.where(labels, 1.0, -1.0)

    def loss(changes: Array) -> tuple[float, Array]:
        margins = signs * (logits + matrix @ changes)
        slopes = -counts * signs * expit(-margins)
        return float(counts @ np.logaddexp(0, -margins) + changes @ changes / 2), matrix.T @ slopes + changes

    changes = minimize(loss, np.zeros(matrix.shape[1]), jac=True, method="L-BFGS-B").x
    return 1 + STRETCH_SCALE * float(changes[0]), SHIFT_SCALE * float(changes[1]), CHANGE_SCALE * changes[2:]


def add(change: Judge, prior: Judge, weight: float) -> Judge:
    """Return one judge whose log-odds are the changes plus the weighted log-odds of the prior."""

    def combine(new: dict[str, float], old: dict[str, float]) -> dict[str, float]:
        return {name: new.get(name, 0.0) + weight * old.get(name, 0.0) for name in dict.fromkeys((*old, *new))}

    return Judge(
        combine(dict(change.features), dict(prior.features)),
        combine(dict(change.operations), dict(prior.operations)),
        combine(dict(change.types), dict(prior.types)),
        change.intercept + weight * prior.intercept,
        (*prior.fitted_on, *change.fitted_on),
    )


def feature_rows(each: LabelledSet, features: Sequence[str]) -> Array:
    """Return the features of all edits of a set, one row per edit."""
    rows = [compute_features(table, features, each.rerankers) for table in each.tables]
    return np.concatenate([np.zeros((0, len(features))), *rows])
