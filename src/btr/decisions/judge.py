"""The judge: from the features of an edit to a confidence, the probability that the edit is right.

A judge is a logistic regression, small enough to be read: a weight per feature, per operation and per ERRANT type. A
file has several of them, in order of preference: the first whose features are all known is used.
"""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from btr.corpus.edits import EditTable
from btr.corpus.files import PathLike, file_signature, writing
from btr.decisions.edit_features import available_features, compute_features
from btr.errors import InputError
from btr.metrics.base import Array
from btr.records import Record, is_number

JUDGE_FILE = "judge.json"  # in a model's folder
ASK_ABOUT_ALL = 0.0, 1.0  # no edit is settled before all rerankers were asked


@dataclass(frozen=True)
class Judge(Record):
    """The weights of a logistic regression. Its signature names the sets that it was fitted on and its features."""

    features: Mapping[str, float]  # by name
    operations: Mapping[str, float]  # M, R and U: missing, replacement, unnecessary
    types: Mapping[str, float]  # ERRANT's, e.g. R:VERB:SVA; a type that is absent counts 0
    intercept: float
    fitted_on: tuple[str, ...]  # the sets

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the features."""
        return tuple(self.features)

    def logits(self, table: EditTable, rerankers: Sequence[str]) -> Array:
        """Return the log-odds that each edit of a table is right; NaN where a feature is missing."""
        values = compute_features(table, self.names, rerankers) @ np.array(list(self.features.values()))
        logits: Array = values + np.array([self.type_weight(edit.type) for edit in table.edits])
        return logits

    def confidences(self, table: EditTable, rerankers: Sequence[str] = ()) -> Array:
        """Return the probability that each edit of a table is right; NaN where a feature is missing."""
        confidences: Array = 1 / (1 + np.exp(-self.logits(table, rerankers)))
        return confidences

    def type_weight(self, kind: str) -> float:
        """Return the part of the log-odds that is the same for all edits of a type."""
        return self.intercept + self.operations.get(kind[:1], 0.0) + self.types.get(kind, 0.0)

    @classmethod
    def from_dict(cls, record: object, where: str = "judge") -> "Judge":
        """Check a judge of a file; `where` names it in errors."""
        if not isinstance(record, dict) or set(record) != {"features", "operations", "types", "intercept", "fitted_on"}:
            raise InputError(f"{where}: a judge has features, operations, types, intercept and fitted_on.")
        features, operations, types = record["features"], record["operations"], record["types"]
        for group in (features, operations, types, {"intercept": record["intercept"]}):
            if not isinstance(group, dict) or not all(is_number(value) for value in group.values()):
                raise InputError(f"{where}: the weights of a judge must be finite numbers.")
        fitted_on = record["fitted_on"]
        if not isinstance(fitted_on, list) or not all(isinstance(name, str) for name in fitted_on):
            raise InputError(f"{where}: fitted_on must be a list of names.")
        return cls(features, operations, types, float(record["intercept"]), tuple(fitted_on))


@dataclass(frozen=True)
class Judges:
    """Judges of the same question with fewer and fewer features.

    The last of their rerankers may be spared work: where a judge without it is less or more sure of an edit than
    `settled` says, it is not asked.
    """

    judges: tuple[Judge, ...]
    rerankers: tuple[str, ...]  # names of the rerankers that the judges ask, e.g. lm:smollm2-135m
    signature: str
    spared: str | None = None  # the kind of the last reranker
    settled: tuple[float, float] = ASK_ABOUT_ALL

    @classmethod
    def make(
        cls,
        judges: Sequence[Judge],
        rerankers: Sequence[str],
        signature: str,
        settled: tuple[float, float] = ASK_ABOUT_ALL,
    ) -> "Judges":
        """Return judges that ask these rerankers."""
        spared = rerankers[-1].partition(":")[0] if rerankers else None
        return cls(tuple(judges), tuple(rerankers), signature, spared, settled)

    @property
    def reranker_kinds(self) -> tuple[str, ...]:
        """Return the kinds of rerankers that any of the judges asks."""
        return tuple(dict.fromkeys(name.partition(":")[0] for name in self.rerankers))

    def select(self, table: EditTable, rerankers: Sequence[str]) -> Judge:
        """Return the first judge whose features are all known of a table's edits."""
        judge = self.find(table, rerankers)
        if judge is not None:
            return judge
        missing = sorted(set(self.judges[-1].names) - set(available_features(table, rerankers)))
        raise InputError(f"no judge can do without {', '.join(missing)}; fit one with 'btr tune --edits'.")

    def find(self, table: EditTable, rerankers: Sequence[str]) -> Judge | None:
        """Return the first judge whose features are all known of a table's edits; None if there is none."""
        known = set(available_features(table, rerankers))
        return next((judge for judge in self.judges if set(judge.names) <= known), None)

    def confidences(self, table: EditTable, rerankers: Sequence[str] = ()) -> list[float]:
        """Return the confidence of each edit, by the first judge whose features are all known.

        A judge that asks fewer rerankers decides about edits that it settles without the last of them, and about those
        that a reranker can't tell. Without such a judge, the latter have the confidence 0.
        """
        if not table.edits:
            return []
        judge, first = self.select(table, rerankers), self.find_first(table, rerankers)
        values = judge.confidences(table, rerankers)
        if first is not None and self.spared in judge.names:
            others = first.confidences(table, rerankers)
            values = np.where(np.isnan(values) | self.is_settled(others), others, values)
        if np.isnan(values).any():
            alone = self.without(self.reranker_kinds).find(table, ())
            if alone is not None:
                values = np.where(np.isnan(values), alone.confidences(table), values)
        return [float(value) for value in np.nan_to_num(values)]

    def find_first(self, table: EditTable, rerankers: Sequence[str]) -> Judge | None:
        """Return the judge that decides before the last reranker is asked; None if there is none."""
        return self.without([self.spared] if self.spared else []).find(table, rerankers)

    def unsettled(self, table: EditTable, rerankers: Sequence[str] = ()) -> list[bool]:
        """Return for each edit whether the last reranker must be asked; `rerankers` are those that were."""
        judge = self.find_first(table, rerankers)
        if judge is None:
            return [True] * len(table.edits)
        unsettled: list[bool] = (~self.is_settled(judge.confidences(table, rerankers))).tolist()
        return unsettled

    def is_settled(self, confidences: Array) -> Array:
        """Return which edits the last reranker is not asked about."""
        low, high = self.settled
        settled: Array = (confidences < low) | (confidences > high)
        return settled

    def without(self, kinds: Sequence[str]) -> "Judges":
        """Return the judges that need none of these kinds of rerankers."""
        rest = tuple(judge for judge in self.judges if not set(judge.names) & set(kinds))
        names = tuple(name for name in self.rerankers if name.partition(":")[0] not in kinds)
        return replace(self, judges=rest, rerankers=names)


def read_judges(path: PathLike) -> Judges:
    """Read a file of judges; a folder's is `judge.json` in it."""
    check_judge_name(path)
    file = Path(path) / JUDGE_FILE if Path(path).is_dir() else Path(path)
    signature = file_signature(file, "judge")
    try:
        record = json.loads(file.read_text(encoding="utf-8"))
    except (ValueError, RecursionError, OSError) as error:
        raise InputError(f"{file}: can't be read as JSON ({error}).") from None
    if not isinstance(record, dict) or not isinstance(record.get("judges"), list) or not record["judges"]:
        raise InputError(f"{file}: has no judges; write a file of them with 'btr tune --edits'.")
    judges = tuple(Judge.from_dict(each, f"{file}, judge {k}") for k, each in enumerate(record["judges"], 1))
    rerankers = record.get("rerankers", [])
    if not isinstance(rerankers, list) or not all(isinstance(name, str) for name in rerankers):
        raise InputError(f"{file}: rerankers must be a list of names, e.g. lm:MODEL.")
    settled = check_settled(record.get("settled", ASK_ABOUT_ALL), str(file))
    return Judges.make(judges, rerankers, f"judge:{signature}", settled)


def check_judge_name(path: PathLike) -> None:
    """Refuse an empty name, which would otherwise stand for the present folder."""
    if not os.fspath(path):
        raise InputError("the name of the judge is empty; name a file that 'btr tune --edits' wrote.")


def check_settled(bounds: object, where: str) -> tuple[float, float]:
    """Check the confidences between which the last reranker is asked; `where` names them in errors."""
    numbers = list(bounds) if isinstance(bounds, list | tuple) else []
    if len(numbers) != 2 or not all(map(is_number, numbers)) or not 0 <= numbers[0] <= numbers[1] <= 1:
        raise InputError(f"{where}: settled must be two confidences, from 0 to 1, the lower one first.")
    return float(numbers[0]), float(numbers[1])


def write_judges(
    path: PathLike, judges: Sequence[Judge], rerankers: Sequence[str], settled: tuple[float, float] = ASK_ABOUT_ALL
) -> None:
    """Write a file of judges, in order of preference, with the names of the rerankers that they ask."""
    spared = {} if settled == ASK_ABOUT_ALL else {"settled": list(settled)}
    record = {"rerankers": list(rerankers), **spared, "judges": [judge.to_dict() for judge in judges]}
    with writing(path) as file:
        json.dump(record, file, indent=2, ensure_ascii=False)
        file.write("\n")
