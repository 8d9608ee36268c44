"""The report of a study: one self-contained HTML page, the same in Markdown, and a file for every table and figure."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

import jinja2

from btr import __version__
from btr.corpus.files import writing
from btr.metrics import METRICS
from btr.studies.figures import ReportFigure
from btr.studies.markup import words_to_html
from btr.studies.pipeline import UngradedResult
from btr.studies.plan import file_stem
from btr.studies.plots import save
from btr.studies.results import Results
from btr.studies.table import NotComputed, Table, to_csv, to_latex, to_markdown

Item = Table | ReportFigure | NotComputed
TEMPLATE = "report.html.jinja"
NOT_RESULTS = (
    "Tables and figures have the paper’s numbers, so that both can be read side by side. The paper’s Tables 3, 11 "
    "and 12 and its figures 1, 2 and 5 describe examples, settings and models, and have no counterpart here."
)


@dataclass(frozen=True)
class Section:
    """A heading of the report and what stands below it."""

    title: str
    items: Sequence[Item]

    @property
    def has_figures(self) -> bool:
        """Whether figures stand side by side in this section."""
        return any(isinstance(item, ReportFigure) for item in self.items)


def write_report(folder: Path, results: Results, sections: Sequence[Section], command: str) -> list[str]:
    """Write the report and one file or more per table and figure; return the files' names."""
    folder.mkdir(parents=True, exist_ok=True)
    names, svgs = list[str](), dict[str, str]()
    for item in (item for section in sections for item in section.items):
        if isinstance(item, Table):
            texts = {f"{item.file_stem}.csv": to_csv(item), f"{item.file_stem}.tex": to_latex(item)}
            for name, text in texts.items():
                write(folder / name, text)
            names += texts
        elif isinstance(item, ReportFigure):
            for suffix in ("svg", "png"):
                save(item.drawing, folder / f"{item.file_stem}.{suffix}")
                names.append(f"{item.file_stem}.{suffix}")
            svgs[item.file_stem] = inline_svg((folder / f"{item.file_stem}.svg").read_text(encoding="utf-8"), item)
    for name, lines in outputs_without_gold(results).items():
        write(folder / name, "".join(f"{line}\n" for line in lines))
        names.append(name)
    title, introduction = results.plan.title, introduce(results, command)
    write(folder / "report.html", render_html(title, introduction, sections, svgs))
    write(folder / "report.md", render_markdown(title, introduction, sections))
    return [*names, "report.html", "report.md"]


def outputs_without_gold(results: Results) -> dict[str, list[str]]:
    """Return what models write for sets without gold, by file name, for whoever scores them elsewhere (btr export)."""
    plan, outputs = results.plan, dict[str, list[str]]()
    for (name, generator, dataset), result in results.ungraded.items():
        start = f"output-{file_stem(dataset)}-{file_stem(generator)}"
        outputs.setdefault(f"{start}.txt", result.measures.base_outputs)
        if plan.rerankers[name].variant_of is None:
            outputs[f"{start}-{file_stem(name)}.txt"] = result.measures.outputs
    for dataset, transferred in results.transferred.items():
        if isinstance(transferred, UngradedResult) and plan.tuned_on(dataset) != plan.validation:
            name = f"output-{file_stem(dataset)}-tuned-on-{file_stem(plan.tuned_on(dataset))}.txt"
            outputs[name] = transferred.measures.outputs
    return outputs


def write(path: Path, text: str) -> None:
    """Write a file, all or nothing."""
    with writing(path) as file:
        file.write(text)


def introduce(results: Results, command: str) -> list[str]:
    """Return the report's first paragraphs: data sets, models, and how to read the numbers."""
    plan = results.plan
    sets = ", ".join(
        f"{name} ({results.bases[plan.base, name].measures.sentences:,} sentences, {METRICS[metric].title})"
        for name in results.sets_of(plan.base)
        for metric in [plan.sets[name].metric]
    )
    ungraded = [name for name, dataset in plan.sets.items() if not dataset.has_gold]
    if ungraded:
        sets += f"; without gold: {', '.join(ungraded)}, whose outputs are in files beside this one"
    others = [name for name in plan.candidates if name != plan.base]
    larger = f" Candidates of {', '.join(others)} are reranked, too." if others else ""
    rerankers = (
        f"{larger} Rerankers: {', '.join(plan.rerankers)}; the main one is {plan.main_reranker}."
        if plan.rerankers
        else larger
    )
    return [
        f"Sets: {sets}. λ and the number of candidates were tuned on {plan.validation} only.",
        f"Base model: {plan.base}.{rerankers}",
        f"Command: {command} (btr {__version__})",
        NOT_RESULTS,
        "Every number has a signature, which says what it depends on: metric and gold file with its hash, candidates, "
        "reranker, settings, versions. Point at a cell to read it; it is also listed below each table and in each line "
        "of the CSV files.",
    ]


def render_html(title: str, introduction: Sequence[str], sections: Sequence[Section], svgs: Mapping[str, str]) -> str:
    """Return the report as one HTML page that loads nothing else."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("btr.studies", ""), autoescape=True, undefined=jinja2.StrictUndefined
    )
    environment.filters["words"] = words_to_html
    page = environment.get_template(TEMPLATE).render(
        title=title, introduction=introduction, sections=sections, svgs=svgs
    )
    return f"{page}\n"


def inline_svg(svg: str, figure: ReportFigure) -> str:
    """Return a figure as part of the page: in the page's colours, with unique ids and a description in words."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'\bid="', f'id="{figure.file_stem}-', svg)
    svg = re.sub(r'(href="|url\()#', rf"\g<1>#{figure.file_stem}-", svg)
    svg = svg.replace("#000000", "currentColor").replace("#ffffff", "var(--paper)")
    head, _, rest = svg.partition(">")
    head = re.sub(r' (?:width|height)="[^"]*"', "", head)
    return f'{head} role="img" aria-label="{escape(figure.description)}">{rest}'


def render_markdown(title: str, introduction: Sequence[str], sections: Sequence[Section]) -> str:
    """Return the report as Markdown; its figures are the files beside it."""
    parts = [f"# {title}", *introduction]
    for section in sections:
        parts += [f"## {section.title}", *map(item_to_markdown, section.items)]
    return "\n\n".join(parts) + "\n"


def item_to_markdown(item: Item) -> str:
    """Return a table, a figure, or the reason why there is none."""
    if isinstance(item, Table):
        return to_markdown(item).rstrip()
    caption = f"{item.number}. {item.title}"
    if isinstance(item, NotComputed):
        return f"**{caption}**: not computed, since {item.reason}"
    signatures = "".join(f"\n- {name}: `{signature}`" for name, signature in item.signatures.items())
    description = item.description.replace("[", "(").replace("]", ")")
    return f"**{caption}**\n\n![{description}]({item.file_stem}.svg)\n{signatures}".rstrip()
