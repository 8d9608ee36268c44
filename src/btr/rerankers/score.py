"""`btr score`: candidates in, scores out, by any rerankers."""

import json
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from btr.corpus.candidates import SYSTEM, Candidates, read_candidates, tokens_of
from btr.corpus.edits import EditTable
from btr.corpus.files import PathLike, file_signature, read_lines
from btr.corpus.scores import Scored
from btr.decisions.decide import eligible
from btr.decisions.edit_features import WITH_LOG_PROBS, WITHOUT_LOG_PROBS
from btr.decisions.edit_table import extract_tables, usable_candidates
from btr.decisions.settings import Settings, find_profile
from btr.errors import InputError
from btr.metrics.errant import discard_parses
from btr.metrics.lengths import too_long
from btr.models.locate import fetch_folder
from btr.records import Record
from btr.rerankers import load_reranker, parse_name, rerankers_of_profile
from btr.rerankers.base import Ensemble
from btr.rerankers.edit_scores import refuse_list_rerankers, score_edits
from btr.resume import check_output, write_windows
from btr.wording import count_of

WINDOW = 32  # sources that are scored together
EDITS_WINDOW = 512  # sources whose edits are scored together: enough to align them on eight cores

ONLY_WITH_LOG_PROBS = tuple(name for name in WITH_LOG_PROBS if name not in WITHOUT_LOG_PROBS)  # features of an edit


@dataclass(frozen=True)
class ScoreResult(Record):
    """What was scored: the signature of the scores, None if edits were only listed.

    The note is a line to show if the profile was not tuned for the models, or candidates have no log-probabilities.
    """

    signature: str | None
    seconds: float  # of this run's work, without loading the models
    note: str | None = None


def score(
    candidates: PathLike,
    rerankers: str | Sequence[str] | None,
    output: PathLike,
    *,
    profile: str | None = None,
    top: int | None = None,
    gap: float | None = None,
    drop_runaways: bool | None = None,
    dtype: str = "float32",
    device: str | None = None,
    int8: bool = False,
    budget: int = 4096,
    edits: bool = False,
) -> ScoreResult:
    """Score the candidates of a file; a reranker is `kind:model`, or `kind` for one that needs no model.

    None stands for the rerankers that the profile of the shipped model is for. With `edits`, a file of edit tables is
    written: the edits of all candidates, with each reranker's log-odds; no reranker is needed for that.
    With a profile, `top`, `gap` or `drop_runaways`, only the candidates that these let through are scored and written.
    What is done is kept: the same call after an interruption continues.
    """
    if edits:
        refuse_selection(profile, top, gap, drop_runaways)
        rerankers = () if rerankers is None else rerankers
    if rerankers is None:
        if profile is None:
            raise InputError("name a reranker, e.g. btr:MODEL, or a profile, whose rerankers are used.")
        rerankers = rerankers_of_profile(profile)
    names = [rerankers] if isinstance(rerankers, str) else list(rerankers)
    parsed = [parse_name(name) for name in names]
    if edits:
        refuse_list_rerankers([reranker for reranker, _ in parsed])
    if parsed and all(model is None for _, model in parsed) and (dtype, device, int8) != ("float32", None, False):
        raise InputError(f"{', '.join(names)}: without a model, dtype, device and int8 do not apply; leave them out.")
    kinds = [reranker.kind for reranker, _ in parsed]
    settings, note = Settings(), None
    if profile is not None:
        folders = [fetch_folder(model) for _, model in parsed if model is not None]
        found, note = find_profile(profile, folders, kinds)
        settings = found or settings
    settings = settings.override(top=top, gap=gap, drop_runaways=drop_runaways)
    check_output(output, [candidates])
    is_stream = os.fspath(candidates) == "-"
    # What the scores depend on, so that another run's are not taken for these: sums are rounded by batches.
    depends: dict[str, Any] = {"budget": budget, "top": settings.top, "gap": settings.gap}
    depends["drop_runaways"] = settings.drop_runaways or None
    if not is_stream:
        depends["candidates"] = file_signature(candidates, "candidates")
        depends["sources"] = sum(1 for _ in read_lines(candidates))  # shows whether a file was cut short
    options: dict[str, Any] = {"dtype": dtype, "device": device, "int8": int8, "budget": budget}
    reranker = load_reranker(names, **options) if names or not edits else None
    members = [] if reranker is None else reranker.members if isinstance(reranker, Ensemble) else [reranker]
    header = {
        **({"edits": True} if edits else {}),
        "rerankers": [name.to_dict() for name in reranker.names] if reranker else [],
        **{name: value for name, value in depends.items() if value is not None},
    }

    def work(window: Sequence[Candidates]) -> Iterable[str]:
        scored: Sequence[Scored | EditTable]
        if edits:
            with discard_parses():
                tables = extract_tables(window)
            scored = score_edits(members, tables)
        else:
            assert reranker is not None
            scored = reranker.score(window)
        return (json.dumps(row.to_dict(), ensure_ascii=False, allow_nan=False) for row in scored)

    sources = without_log_probs = 0

    def read() -> Iterator[Candidates]:
        nonlocal sources, without_log_probs
        for row in read_candidates(candidates):
            sources += 1
            changed = [text for text in row.texts if tokens_of(text) != tokens_of(row.source)]
            if changed and (reason := too_long(row.source, *changed)):
                raise InputError(f"{candidates}, line {sources}: {reason}")
            without_log_probs += edits and lacks_log_probs(row)
            yield row.select(eligible(row, settings))

    start = time.perf_counter()
    window = EDITS_WINDOW if edits else WINDOW
    write_windows(read(), work, output, header, window, "Scoring", resumable=not is_stream)
    if without_log_probs:
        note = (
            f"{', '.join(ONLY_WITH_LOG_PROBS)}: not known of the edits of {without_log_probs:,} of "
            f"{count_of(sources, 'source')}, whose candidates have no log-probabilities; a judge that was fitted "
            "without them decides about these."
        )
    return ScoreResult(reranker.signature if reranker else None, time.perf_counter() - start, note)


def lacks_log_probs(row: Candidates) -> bool:
    """Return whether there are edits of which a judge can't know how probable the base model finds them.

    Outputs of several systems have no base model.
    """
    if SYSTEM in row.flags:
        return False
    usable, source = usable_candidates(row), tokens_of(row.source)
    has_edits = any(tokens_of(row.texts[index]) != source for index in usable)
    return has_edits and (row.log_probs is None or any(row.log_probs[index] is None for index in usable))


def refuse_selection(
    profile: str | None, top: int | None, gap: float | None, drop_runaways: bool | None
) -> None:  # fmt: skip
    """Refuse options that select candidates: an edit table is about all of them."""
    if (profile, top, gap, drop_runaways) != (None, None, None, None):
        raise InputError("edits are those of all candidates: leave out the profile, top, gap and drop-runaways.")
