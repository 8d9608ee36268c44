"""`btr rerank --judge`: edit tables and a judge in, the corrected sentences out."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from btr.corpus.edits import EditTable, read_edit_tables
from btr.corpus.files import PathLike, Paths, as_paths, write_lines
from btr.decisions.edit_features import available_features
from btr.decisions.judge import Judges, read_judges
from btr.decisions.judge_edits import decide_edits
from btr.decisions.settings import DEFAULT_CUTOFF, Settings
from btr.decisions.tune_edits import check_tables
from btr.errors import InputError
from btr.metrics.gold import load_gold
from btr.metrics.results import Score
from btr.records import Record
from btr.resume import check_output
from btr.wording import count_of


@dataclass(frozen=True)
class JudgedEdit(Record):
    """An edit of a source's tokens, the judge's confidence in it, and whether it was made."""

    start: int
    end: int
    correction: str
    type: str
    confidence: float
    made: bool


@dataclass(frozen=True)
class JudgedSentence(Record):
    """The text that the edits make of a source."""

    text: str
    edits: tuple[JudgedEdit, ...]


@dataclass(frozen=True)
class RerankedEdits(Record):
    """The decisions over a set, edit by edit; with gold, the scores of base candidates and of the decided texts."""

    sentences: tuple[JudgedSentence, ...]
    settings: Settings
    features: tuple[str, ...]  # of the judge that decided about most sentences
    signature: str
    base: Score | None = None
    reranked: Score | None = None
    note: str | None = None

    @property
    def texts(self) -> list[str]:
        """Return the decided texts."""
        return [sentence.text for sentence in self.sentences]


def rerank_edits(
    tables: PathLike,
    judge: PathLike,
    output: PathLike | None = None,
    *,
    cutoff: float | None = None,
    base_edits_only: bool = False,
    metric: str = "m2",
    gold: Paths | None = None,
    source: PathLike | None = None,
    reference: Paths | None = None,
) -> RerankedEdits:
    """Make the edits of a file of edit tables that the judge is at least as sure of as the cut-off says."""
    settings = Settings(cutoff=DEFAULT_CUTOFF if cutoff is None else cutoff, base_edits_only=base_edits_only)
    if output is not None:
        given = [] if source is None else [source]
        check_output(output, [tables, judge, *as_paths(gold), *as_paths(reference), *given])
    judges = read_judges(judge)
    header, stream = read_edit_tables(tables)
    rows = list(stream)
    if not rows:
        raise InputError(f"{tables}: has a header and no sources; was it cut short?")
    decided = [decide_edits(table, judges.confidences(table, header.kinds), settings) for table in rows]
    sentences = tuple(
        JudgedSentence(
            decision.text,
            tuple(
                JudgedEdit(*edit.key, edit.type, confidence, number in decision.chosen)
                for number, (edit, confidence) in enumerate(zip(decision.table.edits, decision.confidences))
            ),
        )
        for decision in decided
    )
    base = reranked = None
    if as_paths(gold) or as_paths(reference) or source is not None or metric != "m2":
        measured = load_gold(metric, gold=gold, source=source, reference=reference)
        check_tables(rows, measured, tables)
        base = measured.metric.score([table.candidates.texts[0] for table in rows])
        reranked = measured.metric.score([sentence.text for sentence in sentences])
    features = most_used_features([judges.select(table, header.kinds).names for table in rows if table.edits])
    signature = "|".join(filter(None, (header.signature, judges.signature, settings.signature())))
    note = describe_missing_features(judges, rows, header.kinds)
    result = RerankedEdits(sentences, settings, features, signature, base, reranked, note)
    if output is not None:
        write_lines(output, result.texts)
    return result


def most_used_features(every: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """Return the features of the judge that was used most, of equals the first; none if no sentence has an edit."""
    return Counter(every).most_common(1)[0][0] if every else ()


def describe_missing_features(judges: Judges, tables: Sequence[EditTable], rerankers: Sequence[str]) -> str | None:
    """Return a line that says which features of the first judge are not known of some edits; None if all are known."""
    wanted = judges.judges[0].names
    with_edits = [table for table in tables if table.edits]
    missing = [set(wanted) - set(available_features(table, rerankers)) for table in with_edits]
    count = sum(map(bool, missing))
    if not count:
        return None
    names = ", ".join(name for name in wanted if any(name in each for each in missing))
    return (
        f"{names}: not known of the edits of {count:,} of {count_of(len(with_edits), 'sentence')}; "
        "a judge that was fitted without them decides about these."
    )
