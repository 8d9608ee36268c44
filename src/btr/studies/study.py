"""`btr study`: from a plan to a report with every table and figure of the paper."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from btr.corpus.files import PathLike
from btr.errors import InputError
from btr.records import Record


@dataclass(frozen=True)
class StudyReport(Record):
    """Where the report is, which stages were run for it, and what it does not have."""

    report: str
    files: list[str]
    ran: Mapping[str, int]  # runs of each stage; what was in the cache was not run
    gaps: Mapping[str, str]  # why a table or figure was not computed, by its number


def study(plan: PathLike, output: PathLike) -> StudyReport:
    """Compute what is missing of a study, and write its report to a folder.

    Results of the stages are stored in the folder `work` below it, under a hash of what they depend on.
    """
    try:
        from btr.studies.cache import StudyCache
        from btr.studies.collect import collect
        from btr.studies.pipeline import Pipeline
        from btr.studies.plan import read_plan
        from btr.studies.report import write_report
        from btr.studies.sections import make_sections
        from btr.studies.table import NotComputed
    except ModuleNotFoundError as error:
        raise InputError(f"a study needs the extra 'train': pip install 'btr-gec[train]' ({error}).") from None
    folder = Path(output)
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{output}: is a file; name a folder for the report.")
    cache = StudyCache(folder / "work")
    results = collect(Pipeline(read_plan(plan), cache))
    sections = make_sections(results)
    files = write_report(folder, results, sections, f"btr study {plan} -o {output}")
    items = [item for section in sections for item in section.items]
    return StudyReport(
        str(folder / "report.html"),
        files,
        dict(sorted(Counter(cache.computed).items())),
        {item.number: item.reason for item in items if isinstance(item, NotComputed)},
    )
