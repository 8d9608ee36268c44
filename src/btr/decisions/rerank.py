"""`btr rerank`: scores and settings in, the chosen candidates out."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from btr.corpus.files import PathLike, as_paths, write_lines
from btr.corpus.scores import Header, Scored, read_scores
from btr.decisions.decide import Decision, Verdict, combine, competing, decide
from btr.decisions.grid import check_rows
from btr.decisions.settings import Settings, find_profile
from btr.errors import InputError
from btr.metrics import significance
from btr.metrics.base import Array, Metric
from btr.metrics.gold import load_gold
from btr.metrics.results import Score
from btr.models.locate import fetch_folder
from btr.records import Record
from btr.resume import check_output


@dataclass(frozen=True)
class BaseVersusSuggested:
    """Two scores over the same sentences, with the 95 % interval and the p-values of their difference."""

    sentences: int
    base: float
    suggested: float
    interval: tuple[float, float]
    p_t_test: float
    p_bootstrap: float


@dataclass(frozen=True)
class DecisionEvaluation(Record):
    """The paper's Table 6: the base candidate and the suggestion, over all sentences and within each verdict."""

    base: Score
    reranked: Score
    by_verdict: Mapping[str, BaseVersusSuggested]


@dataclass(frozen=True)
class Reranked(Record):
    """The decisions over a set, and the shares of accepted, rejected and equal suggestions, in percent."""

    decisions: tuple[Decision, ...]
    shares: Mapping[str, float]
    unscored: int  # sentences of which a competing candidate could not be scored
    settings: Settings
    signature: str
    evaluation: DecisionEvaluation | None = None
    note: str | None = None

    @property
    def texts(self) -> list[str]:
        """Return the chosen texts."""
        return [decision.text for decision in self.decisions]

    def to_dict(self) -> dict[str, Any]:
        """Return the result as JSON has it, with the number of sentences."""
        return {"sentences": len(self.decisions), **super().to_dict()}


def rerank(
    scores: PathLike | Sequence[PathLike],
    output: PathLike | None = None,
    *,
    profile: str | None = None,
    threshold: float | None = None,
    top: int | None = None,
    gap: float | None = None,
    at_least: bool | None = None,
    drop_runaways: bool | None = None,
    average: str | None = None,
    weights: Mapping[str, float] | None = None,
    metric: str = "m2",
    gold: PathLike | Sequence[PathLike] = (),
    source: PathLike | None = None,
    reference: PathLike | Sequence[PathLike] = (),
) -> Reranked:
    """Choose a candidate for each source; with gold, also score base candidates and suggestions within each verdict.

    Several files of scores are one ensemble: models of one kind are averaged, different kinds are added by their
    weights. The settings are the profile's, or the defaults, except for those that are given.
    """
    paths = as_paths(scores)
    if output is not None:
        given = [] if source is None else [source]
        check_output(output, [*paths, *as_paths(gold), *as_paths(reference), *given])
    header, rows = read_ensemble(paths)
    settings, note = choose_settings(header, profile)
    settings = settings.override(
        threshold=threshold, top=top, gap=gap, at_least=at_least, drop_runaways=drop_runaways, average=average,
        weights=weights,
    )  # fmt: skip
    settings.check_weights(header.kinds)
    judge: Metric | None = None
    if as_paths(gold) or as_paths(reference) or source is not None or metric != "m2":
        judge = load_gold(metric, gold=gold, source=source, reference=reference).metric
    scored = list(rows)
    if not scored:
        raise InputError(f"{paths[0]}: has a header and no scores; was it cut short?")
    decisions = tuple(decide(row, header.kinds, settings) for row in scored)
    counts = Counter(decision.verdict for decision in decisions)
    result = Reranked(
        decisions,
        {verdict.value: 100 * counts[verdict] / len(decisions) for verdict in Verdict},
        sum(is_unscored(row, header.kinds, settings) for row in scored),
        settings,
        f"{header.signature}|{settings.signature()}",
        evaluate_decisions(judge, scored, decisions) if judge is not None else None,
        note,
    )
    if output is not None:
        write_lines(output, result.texts)
    return result


def read_ensemble(paths: Sequence[PathLike]) -> tuple[Header, Iterator[Scored]]:
    """Read several files of scores of the same candidates as one."""
    if not paths:
        raise InputError("name at least one scores file.")
    headers, streams = zip(*map(read_scores, paths))

    def rows() -> Iterator[Scored]:
        for number, together in enumerate(zip_longest(*streams), 2):
            for path, row in zip(paths, together):
                if row is None:
                    raise InputError(f"{path}: ends before line {number:,}, which the other files still have.")
                first = together[0].candidates
                if (row.candidates.source, row.candidates.texts) != (first.source, first.texts):
                    raise InputError(f"{path}, line {number:,}: has other candidates than {paths[0]}.")
            yield Scored(together[0].candidates, tuple(scores for row in together for scores in row.scores))

    return Header(tuple(reranker for header in headers for reranker in header.rerankers)), rows()


def choose_settings(header: Header, profile: str | None) -> tuple[Settings, str | None]:
    """Return the settings of a profile of the rerankers' models, and a line to show if it was not tuned for them."""
    if profile is None:
        return Settings(), None
    folders = [fetch_folder(reranker.model) for reranker in header.rerankers if reranker.model is not None]
    settings, note = find_profile(profile, folders, header.kinds)
    return settings or Settings(), note


def is_unscored(row: Scored, kinds: Sequence[str], settings: Settings) -> bool:
    """Return whether a candidate that competes could not be scored; then the base candidate stays."""
    indices = competing(row.candidates, settings)
    combined = combine(row.scores, kinds, indices, settings)
    return any(combined[index] is None for index in indices)


def evaluate_decisions(metric: Metric, rows: Sequence[Scored], decisions: Sequence[Decision]) -> DecisionEvaluation:
    """Score base candidates, suggestions and choices, and compare the first two within each verdict."""
    check_rows(metric, rows)
    base = metric.counts([row.candidates.texts[0] for row in rows])
    suggested = metric.counts([row.candidates.texts[d.suggestion] for row, d in zip(rows, decisions)])
    by_verdict = {}
    for verdict in Verdict:
        numbers = [number for number, decision in enumerate(decisions) if decision.verdict == verdict]
        if numbers:
            by_verdict[verdict.value] = compare_counts(metric, base[numbers], suggested[numbers])
    return DecisionEvaluation(
        metric.score_counts(base), metric.score([decision.text for decision in decisions]), by_verdict
    )


def compare_counts(metric: Metric, base: Array, suggested: Array) -> BaseVersusSuggested:
    """Compare the counts of two outputs over the same sentences."""
    first, second = metric.score_counts(base), metric.score_counts(suggested)
    test = significance.bootstrap(metric, base, suggested)[metric.main_score]
    low, high = test.interval or (0.0, 0.0)
    t_test = significance.t_test(metric, base, suggested)
    return BaseVersusSuggested(len(base), first.value, second.value, (100 * low, 100 * high), t_test.p, test.p)
