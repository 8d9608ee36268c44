"""`btr combine`: the outputs of several systems in, one text out, decided edit by edit by vote or by a judge."""

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from btr import __version__
from btr.corpus.candidates import SYSTEM, Candidates, tokens_of
from btr.corpus.edits import EditTable
from btr.corpus.files import PathLike, Paths, as_paths, read_lines, writing, zip_streams
from btr.corpus.pairs import file_kind, read_sources
from btr.corpus.parallel import is_json_lines
from btr.decisions.edit_features import available_features
from btr.decisions.edit_table import choose_edits, edited_text, extract_tables, find_voters, leave_out_conflicts
from btr.decisions.judge import Judges, read_judges
from btr.decisions.settings import DEFAULT_CUTOFF, Settings
from btr.errors import InputError
from btr.metrics.errant import annotator_versions, discard_parses
from btr.progress import track
from btr.records import Record
from btr.resume import check_output, windows
from btr.wording import count_of

WINDOW = 512  # sentences that are aligned together: enough for eight cores


@dataclass(frozen=True)
class CombinedSystem(Record):
    """What became of one system's edits.

    `unread` counts the sentences of which its edits are not known: its output is empty though the source is not, a
    runaway, or too long for ERRANT. There it has no vote.
    """

    file: str
    edits: int
    made: int
    unread: int


@dataclass(frozen=True)
class Combined(Record):
    """What was combined; `edits` counts an edit that several systems make once."""

    sentences: int
    changed: int  # sentences in which at least one edit was made
    edits: int
    made: int
    systems: tuple[CombinedSystem, ...]
    signature: str
    votes: int | None = None  # that an edit needs; None if a judge decided
    cutoff: float | None = None  # of the judge
    note: str | None = None


@dataclass(frozen=True)
class Vote:
    """Decides about edits by the number of systems that make them."""

    needed: int

    def choose(self, table: EditTable) -> list[int]:
        """Return the indices of the edits to make: more votes come first, then earlier systems."""
        voters = find_voters(table)
        elected = [index for index, each in enumerate(voters) if len(each) >= self.needed]
        return leave_out_conflicts(table, sorted(elected, key=lambda index: (-len(voters[index]), voters[index])))

    def signature(self) -> str:
        return f"votes:{self.needed}"


@dataclass(frozen=True)
class JudgedVote:
    """Decides about edits by a judge's confidence in them."""

    judges: Judges
    settings: Settings

    def choose(self, table: EditTable) -> list[int]:
        """Return the indices of the edits to make: the surest come first."""
        return choose_edits(table, self.judges.confidences(table), self.settings.cutoff or 0.0)

    def signature(self) -> str:
        return f"{self.judges.signature}|{self.settings.signature()}"


class Counts:
    """Counts what became of the edits, sentence by sentence."""

    def __init__(self, systems: int) -> None:
        self.sentences = self.changed = self.edits = self.made = 0
        self.edits_of, self.made_of, self.unread_of = ([0] * systems for _ in range(3))

    def add(self, table: EditTable, chosen: Sequence[int]) -> None:
        """Add a sentence and the indices of the edits that were made."""
        self.sentences += 1
        self.changed += bool(chosen)
        self.edits += len(table.edits)
        self.made += len(chosen)
        for index, voters in enumerate(find_voters(table)):
            for system in voters:
                self.edits_of[system] += 1
                self.made_of[system] += index in chosen
        readable = {tokens_of(table.candidates.source), *(tokens_of(table.candidates.texts[k]) for k in table.usable)}
        for system, text in enumerate(table.candidates.texts):
            self.unread_of[system] += tokens_of(text) not in readable

    def by_system(self, paths: Sequence[PathLike]) -> tuple[CombinedSystem, ...]:
        """Return the counts of each system."""
        rows = zip([os.fspath(path) for path in paths], self.edits_of, self.made_of, self.unread_of)
        return tuple(CombinedSystem(*row) for row in rows)


def combine(
    systems: Paths,
    source: PathLike,
    output: PathLike,
    *,
    votes: int | None = None,
    judge: PathLike | None = None,
    cutoff: float | None = None,
    candidates: PathLike | None = None,
    processes: int | None = None,
) -> Combined:
    """Combine the outputs of several systems, one tokenised sentence per line, into one text.

    An edit is made if at least `votes` systems make it (default: more than half of them), or, with a judge, if its
    confidence is at least the cut-off. An edit that is in conflict with one of more votes is left out; of equals, that
    of an earlier system is made. The source is text, or an M2 or TSV file. With `candidates`, the outputs are also
    written as a candidates file, from which `btr score --edits` and `btr tune --edits` fit a judge.
    """
    paths = as_paths(systems)
    check_systems(paths, source, output, candidates)
    decision: Vote | JudgedVote
    if judge is None:
        if cutoff is not None:
            raise InputError(
                "--cutoff needs a judge; name one with --judge, or say with --votes how many systems must make an edit."
            )
        decision = Vote(check_votes(votes, len(paths)))
        note = None
    else:
        if votes is not None:
            raise InputError("--judge decides by its confidence; leave out --votes or --judge.")
        settings = Settings(cutoff=DEFAULT_CUTOFF if cutoff is None else cutoff)
        judges, note = find_judges(judge, len(paths))
        decision = JudgedVote(judges, settings)
    counts = Counts(len(paths))
    with ExitStack() as stack:
        out = stack.enter_context(writing(output))
        listed = None if candidates is None else stack.enter_context(writing(candidates))
        for window in windows(track(read_outputs(paths, source), None, "Combining"), WINDOW):
            with discard_parses():
                tables = extract_tables(window, processes)
            for table in tables:
                chosen = decision.choose(table)
                counts.add(table, chosen)
                out.write(edited_text(table, chosen) + "\n")
            if listed is not None:
                listed.writelines(json.dumps(row.to_dict(), ensure_ascii=False) + "\n" for row in window)
    versions = [f"{name}:{value}" for name, value in annotator_versions().items()]
    return Combined(
        counts.sentences,
        counts.changed,
        counts.edits,
        counts.made,
        counts.by_system(paths),
        "|".join(["combine", f"systems:{len(paths)}", decision.signature(), *versions, f"btr:{__version__}"]),
        votes=decision.needed if isinstance(decision, Vote) else None,
        cutoff=decision.settings.cutoff if isinstance(decision, JudgedVote) else None,
        note=note,
    )


def check_systems(
    paths: Sequence[PathLike], source: PathLike, output: PathLike, candidates: PathLike | None
) -> None:  # fmt: skip
    """Refuse files that can't be combined or written, before any work is done."""
    if len(paths) < 2:
        raise InputError("name the outputs of two or more systems, one file per system.")
    for path in paths:
        if file_kind(path) != ".txt" or is_json_lines(path, ""):
            raise InputError(f"{path}: is no output of a system; expected text, one corrected sentence per line.")
    inputs = [source, *paths]
    if [os.fspath(path) for path in inputs].count("-") > 1:
        raise InputError("standard input (-) can be read once only; name a file for the others.")
    check_output(output, inputs)
    if candidates is not None:
        check_output(candidates, inputs)
        if os.path.realpath(candidates) == os.path.realpath(output):
            raise InputError(f"{candidates}: is the output, too; name another file for the candidates.")


def check_votes(votes: int | None, systems: int) -> int:
    """Return how many votes an edit needs: more than half, if nothing is said."""
    if votes is None:
        return systems // 2 + 1
    if not 1 <= votes <= systems:
        raise InputError(f"an edit can't need {count_of(votes, 'vote')} of {systems} systems; choose 1 to {systems}.")
    return votes


def find_judges(path: PathLike, systems: int) -> tuple[Judges, str | None]:
    """Return the judges of a file that ask no reranker, and a line to show if one with more features is first."""
    judges = read_judges(path)
    alone = judges.without(judges.reranker_kinds)
    known = available_features(EditTable(make_row("", ("",) * systems), (), ()), ())
    if not any(set(each.names) <= set(known) for each in alone.judges):
        raise InputError(
            f"{path}: has no judge for {count_of(systems, 'system')} that asks no reranker; fit one with 'btr tune "
            "--edits', or score the candidates (--candidates) with 'btr score --edits' and use 'btr rerank --judge'."
        )
    missing = [name for name in judges.judges[0].names if name not in known]
    note = f"{', '.join(missing)}: not known of these edits; a judge that was fitted without them decides."
    return alone, note if missing else None


def read_outputs(paths: Sequence[PathLike], source: PathLike) -> Iterator[Candidates]:
    """Stream the sources with the systems' outputs as candidates; it is an error if a file ends before the others."""
    streams = [(source, read_sources(source)), *((path, read_lines(path)) for path in paths)]
    for text, *outputs in zip_streams(streams):
        yield make_row(text, outputs)


def make_row(source: str, outputs: Sequence[str]) -> Candidates:
    """Return the outputs of systems as candidates."""
    return Candidates(source, tuple(outputs), flags={SYSTEM: tuple(range(len(outputs)))})
