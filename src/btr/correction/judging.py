"""Decisions edit by edit in the corrector: candidates → edit tables → log-odds of rerankers → the judge's decisions."""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import torch

from btr.corpus.candidates import Candidates
from btr.corpus.edits import EditTable
from btr.corpus.files import PathLike
from btr.correction.loading import folder_state, load_reranker_once
from btr.correction.selection import in_threads
from btr.decisions.edit_features import WITH_LOG_PROBS, WITHOUT_LOG_PROBS
from btr.decisions.edit_table import extract_tables
from btr.decisions.judge import JUDGE_FILE, Judges, check_judge_name, read_judges
from btr.decisions.judge_edits import EditDecision, decide_edits
from btr.decisions.settings import DEFAULT_CUTOFF, PAPER, Settings, read_profiles
from btr.errors import InputError
from btr.metrics.errant import discard_parses
from btr.models.locate import fetch_folder
from btr.rerankers import parse_name
from btr.rerankers.base import Reranker
from btr.rerankers.edit_scores import score_edits


class EditJudge:
    """The judges, and the rerankers that they ask about edits."""

    def __init__(
        self, judges: Judges, rerankers: Sequence[Reranker] = (), threads: int = 1, processes: int | None = None
    ) -> None:
        self.judges, self.threads, self.processes = judges, threads, processes
        self.members = sorted(rerankers, key=lambda reranker: reranker.kind == judges.spared)  # the spared come last

    @classmethod
    def from_file(
        cls, path: Path, *, device: str | None, int8: bool, processes: int | None
    ) -> "tuple[EditJudge, str | None]":
        """Load judges and their rerankers. Edits are aligned by so many processes (all cores if None).

        Without a reranker that is not at hand, judges decide that do not need it, and a line says so.
        """
        threads = torch.get_num_threads()
        judges = read_judges(path)
        loaded: dict[str, Reranker] = {}
        errors: dict[str, InputError] = {}  # by kind: a judge needs all models of a kind
        for name in judges.rerankers:
            try:
                _, model = parse_name(name)
                state = () if model is None else (folder_state(model),)
                loaded[name] = load_reranker_once((name,), state, device, int8, threads)
            except InputError as error:
                errors.setdefault(name.partition(":")[0], error)
        rest = judges.without(list(errors))
        if not rest.judges:
            raise next(iter(errors.values()))
        rest = replace(rest, rerankers=tuple(name for name in rest.rerankers if needs_reranker(rest, name)))
        members = [loaded[name] for name in rest.rerankers]
        judge = cls(rest, members, threads if members and int8 else 1, processes)
        if not errors:
            return judge, judge.describe_missing_features(path)
        reasons = " ".join(map(str, errors.values()))
        missing = [kind for kind in judges.reranker_kinds if kind not in judge.kinds]
        return judge, f"{reasons} Until then a judge without {' and '.join(missing)} decides."

    def describe_missing_features(self, path: Path) -> str | None:
        """Return a line that says which features of the first judge nothing gives, if another judge can decide."""
        known = {*WITH_LOG_PROBS, *WITHOUT_LOG_PROBS, *self.kinds}
        missing = [name for name in self.judges.judges[0].names if name not in known]
        if not missing or not any(known.issuperset(judge.names) for judge in self.judges.judges):
            return None
        return f"{path}: nothing gives {', '.join(missing)}; a judge that was fitted without them decides."

    @property
    def kinds(self) -> tuple[str, ...]:
        """Return the kinds of the rerankers."""
        return tuple(member.kind for member in self.members)

    @property
    def signature(self) -> str:
        """Return what confidences depend on."""
        signatures = "+".join(member.signature for member in self.members)
        return f"{self.judges.signature}|{signatures or 'no-reranker'}"

    def decide(self, rows: Sequence[Candidates], settings: Settings) -> list[EditDecision]:
        """Decide about the edits of many sources."""
        is_main = threading.current_thread() is threading.main_thread()
        with discard_parses():
            tables = extract_tables(rows, self.processes if is_main else 1)  # a server's threads start no processes
        scored = self.score(tables)
        return [decide_edits(table, self.judges.confidences(table, self.kinds), settings) for table in scored]

    def score(self, tables: Sequence[EditTable]) -> list[EditTable]:
        """Ask the rerankers about edits; the last one only about those that are not settled without it."""
        parallel = partial(in_threads, threads=self.threads)
        spared = [member for member in self.members if member.kind == self.judges.spared]
        others = [member for member in self.members if member not in spared]
        scored = score_edits(others, tables, parallel=parallel)
        if not spared:
            return scored
        kinds = [member.kind for member in others]
        unsettled = [self.judges.unsettled(table, kinds) for table in scored]
        return score_edits(spared, scored, unsettled, parallel)


def needs_reranker(judges: Judges, name: str) -> bool:
    """Return whether any of the judges asks a reranker."""
    return any(name.partition(":")[0] in judge.names for judge in judges.judges)


def find_judged_profile(model: str, profile: str, judge: PathLike | None) -> tuple[Path, Settings] | None:
    """Return the file of judges and the settings of a profile that decides edit by edit; None if it does not.

    Such profiles stand in the base model's folder, since a judge is fitted for the candidates of a base model.
    """
    if judge is not None:
        check_judge_name(judge)
    folder = fetch_folder(model)
    settings = read_profiles(folder).get(profile)
    if settings is None or settings.cutoff is None:
        if judge is None or profile == PAPER:
            return None
        settings = Settings(cutoff=DEFAULT_CUTOFF)
    return (folder / JUDGE_FILE if judge is None else Path(judge)), settings


def refuse_options(options: Mapping[str, object], profile: str) -> None:
    """Refuse options of the decision per sentence where a judge decides edit by edit."""
    given = [name.replace("_", "-") for name, value in options.items() if value is not None]
    if given:
        raise InputError(
            f"--{given[0]} is for choosing among whole candidates, but the profile {profile} decides edit by edit; "
            f"use --cutoff, --profile {PAPER}, or --reranker."
        )
