"""`btr study`: a plan in, every table and figure of the paper out, as one report."""

from collections import Counter
from pathlib import Path
from typing import Any

from btr.corpus.files import PathLike
from btr.errors import InputError
from btr.studies.stages import Stages


def study(plan: PathLike, output: PathLike) -> dict[str, Any]:
    """Run what is missing of a study, and write its report to a folder; gives what is in it, and what was run.

    Stages that are done are kept in the folder's `work`, by the content of what they depend on.
    """
    try:
        from btr.studies.contents import contents
        from btr.studies.plan import read_plan
        from btr.studies.report import write_report
        from btr.studies.results import gather
        from btr.studies.sheets import Gap
        from btr.studies.work import Work
    except ImportError as error:
        raise InputError(f"a study needs the extra 'train': pip install 'btr-gec[train]' ({error}).") from None
    folder = Path(output)
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{output}: is a file; name a folder for the report.")
    stages = Stages(folder / "work")
    results = gather(Work(read_plan(plan), stages))
    sections = contents(results)
    names = write_report(folder, results, sections, f"btr study {plan} -o {output}")
    return {
        "report": str(folder / "report.html"),
        "files": names,
        "ran": dict(sorted(Counter(stages.ran).items())),
        "gaps": {item.number: item.why for _, items in sections for item in items if isinstance(item, Gap)},
    }
