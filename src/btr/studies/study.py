"""`btr study`: from a plan to a report with every table and figure of the paper."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from btr.corpus.files import PathLike
from btr.errors import InputError
from btr.records import Record

if TYPE_CHECKING:  # needs torch
    from btr.studies.study_cost import StudyCost

PAPER = "paper"  # what values may stand beside the study's


@dataclass(frozen=True)
class StudyReport(Record):
    """Where the report is, which stages were run for it, and what it does not have."""

    report: str
    files: list[str]
    ran: Mapping[str, int]  # runs of each stage; what was in the cache was not run
    gaps: Mapping[str, str]  # why a table or figure was not computed, by its number


def study(plan: PathLike, output: PathLike, *, beside: str | None = None) -> StudyReport:
    """Compute what is missing of a study, and write its report to a folder.

    Models that the plan trains are trained first, if they are not there. Results of the other stages are stored in the
    folder `work` below it, under a hash of what they depend on. With `beside="paper"`, the paper's own values stand in
    brackets after those that can be compared with them.
    """
    try:
        from btr.studies.beside import put_beside
        from btr.studies.cache import StudyCache
        from btr.studies.collect import collect
        from btr.studies.pipeline import Pipeline
        from btr.studies.plan import read_plan
        from btr.studies.report import write_report
        from btr.studies.sections import make_sections
        from btr.studies.study_files import check_files
        from btr.studies.table import NotComputed
        from btr.studies.training_stages import run_training
    except ModuleNotFoundError as error:
        raise InputError(f"a study needs the extra 'train': pip install 'btr-gec[train]' ({error}).") from None
    folder = Path(output)
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{output}: is a file; name a folder for the report.")
    if beside not in (None, PAPER):
        raise InputError(f"beside must be {PAPER!r}, not {beside!r}.")
    settings, cache = read_plan(plan), StudyCache(folder / "work")
    check_files(settings, cache)
    trained = run_training(settings)
    results = collect(Pipeline(settings, cache))
    sections = make_sections(results)
    command = f"btr study {plan} -o {output}"
    if beside == PAPER:
        sections, command = put_beside(results, sections), f"{command} --beside {PAPER}"
    files = write_report(folder, results, sections, command)
    items = [item for section in sections for item in section.items]
    return StudyReport(
        str(folder / "report.html"),
        files,
        dict(sorted(Counter([*trained, *cache.computed]).items())),
        {item.number: item.reason for item in items if isinstance(item, NotComputed)},
    )


def study_cost(plan: PathLike, *, devices: int = 1, flops_per_second: float | None = None) -> "StudyCost":
    """Return every stage of a study (training, generating, scoring, tables) with its cost, and run nothing.

    `flops_per_second` is what one device does in practice; the default is what an A100 did in the paper's training.
    """
    try:
        from btr.studies import study_cost as counting
    except ModuleNotFoundError as error:
        raise InputError(f"a study needs the extra 'train': pip install 'btr-gec[train]' ({error}).") from None
    return counting.study_cost(plan, devices=devices, flops_per_second=flops_per_second)
