"""The report of a study: one page of HTML that needs nothing else, the same in Markdown, and every table and figure."""

import re
from collections.abc import Sequence
from html import escape
from pathlib import Path

import btr
from btr.corpus.files import writing
from btr.studies.figures import save
from btr.studies.pictures import Picture
from btr.studies.results import Results
from btr.studies.sheets import Cell, Gap, Sheet, to_csv, to_latex, to_markdown
from btr.studies.words import mark_html

Item = Sheet | Picture | Gap
Section = tuple[str, Sequence[Item]]

NOT_RESULTS = (
    "Numbers are those of the paper’s tables and figures, so that the two can be laid side by side. Its Tables 3, 4, "
    "11 to 13 and 21 and its figures 1, 2 and 5 describe data, settings and models, and have no counterpart here."
)

CSS = """
:root { color-scheme: light dark; --ink: #1b1b1b; --paper: #fff; --soft: #666; --line: #ccc; --tint: #f3f3f3;
  --mark: #0072b2; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e6e6; --paper: #161616; --soft: #a0a0a0; --line: #444;
  --tint: #222; --mark: #56b4e9; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem; max-width: 80rem; color: var(--ink); background: var(--paper);
  font: 1rem/1.5 system-ui, sans-serif; }
h1 { font-size: 1.6rem; line-height: 1.2; } h2 { margin-top: 2.5rem; font-size: 1.25rem; }
p, .caption, figcaption, .notes, details { max-width: 48rem; }
a { color: var(--mark); } nav ul { padding-left: 1.2rem; }
figure, .table, .gap { margin: 1.5rem 0; }
figcaption, .caption { font-size: .9rem; margin-bottom: .4rem; } .caption b, figcaption b { white-space: nowrap; }
figure svg { display: block; width: 100%; max-width: 30rem; height: auto; color: var(--ink); }
figure svg text { fill: currentColor; }
.scroll { overflow-x: auto; } .scroll:focus-visible { outline: 2px solid var(--mark); }
table { border-collapse: collapse; font-size: .85rem; font-variant-numeric: tabular-nums; }
th, td { padding: .2rem .55rem; text-align: right; white-space: nowrap; }
th { font-weight: 600; } thead { border-bottom: 1px solid var(--ink); }
thead .group { text-align: left; border-bottom: 1px solid var(--line); }
tbody th { font-weight: 400; text-align: left; position: sticky; left: 0; background: var(--paper); }
thead tr > :first-child { text-align: left; position: sticky; left: 0; background: var(--paper); }
tbody th.inner { padding-left: 1.5rem; } tr.rule > * { border-top: 1px solid var(--line); }
tbody tr:hover > * { background: var(--tint); }
td.base { color: var(--soft); } td.best { font-weight: 700; }
td.text { text-align: left; white-space: normal; min-width: 16rem; } mark { color: var(--mark); background: none;
  font-weight: 600; }
.words th { text-align: left; white-space: normal; max-width: 9rem; } .words tbody > tr > * { vertical-align: top; }
.notes, details { font-size: .8rem; color: var(--soft); margin: .4rem 0; padding-left: 0; } .notes { list-style: none; }
details code { overflow-wrap: anywhere; } .gap { color: var(--soft); font-size: .9rem; }
.figures { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(24rem, 100%), 1fr)); gap: 0 2rem; }
.figures > :not(figure) { grid-column: 1 / -1; }
@media (max-width: 40rem) { table { font-size: .78rem; } th, td { padding: .2rem .35rem; }
  tbody th { white-space: normal; min-width: 7rem; } td.text { min-width: 12rem; } }
@media print { :root { --ink: #000; --paper: #fff; --soft: #444; --line: #bbb; --mark: #0072b2; }
  .figures { grid-template-columns: 1fr 1fr; }
  body { max-width: none; font-size: 10pt; } .scroll { overflow: visible; } table { font-size: 7pt; }
  th, td { padding: .1rem .25rem; } nav, details:not([open]) { display: none; }
  figure, .table, tr { break-inside: avoid; } }
"""


def write_report(folder: Path, results: Results, sections: Sequence[Section], command: str) -> list[str]:
    """Write the report, and its tables and figures as files of their own; gives their names."""
    folder.mkdir(parents=True, exist_ok=True)
    names, pictures = list[str](), dict[str, str]()
    for item in (item for _, items in sections for item in items):
        if isinstance(item, Sheet):
            texts = {f"{item.name}.csv": to_csv(item), f"{item.name}.tex": to_latex(item)}
            for name, text in texts.items():
                write(folder / name, text)
            names += texts
        elif isinstance(item, Picture):
            for kind in ("svg", "png"):
                save(item.drawn, folder / f"{item.name}.{kind}")
                names.append(f"{item.name}.{kind}")
            pictures[item.name] = inline_svg((folder / f"{item.name}.svg").read_text(encoding="utf-8"), item)
    title, intro = results.plan.title, introduce(results, command)
    write(folder / "report.html", page(title, intro, sections, pictures))
    write(folder / "report.md", markdown(title, intro, sections))
    return [*names, "report.html", "report.md"]


def write(path: Path, text: str) -> None:
    """Write a text, all or nothing."""
    with writing(path) as file:
        file.write(text)


def introduce(results: Results, command: str) -> list[str]:
    """What the study is about, in a few lines."""
    plan = results.plan
    sets = ", ".join(
        f"{own} ({results.bases[plan.base, own]['sentences']:,} sentences, {plan.sets[own].metric.upper()})"
        for own in results.sets_of(plan.base)
    )
    others = [name for name in plan.candidates if name != plan.base]
    larger = f" Also reranked: candidates of {', '.join(others)}." if others else ""
    return [
        f"Sets: {sets}. λ and numbers of candidates were tuned on {plan.validation} only.",
        f"Base model: {plan.base}.{larger} Rerankers: {', '.join(plan.rerankers)}; looked at closely: {plan.chief}.",
        f"Made by: {command} (btr {btr.__version__})",
        NOT_RESULTS,
        "Every number has a signature, which says what it depends on: metric and gold file with its hash, candidates, "
        "reranker, setting, versions. It shows when a cell is pointed at, stands in a list below each table, and in "
        "each line of the CSV files.",
    ]


def page(title: str, intro: Sequence[str], sections: Sequence[Section], pictures: dict[str, str]) -> str:
    """The page."""
    contents = "".join(f'<li><a href="#s{k}">{escape(name)}</a></li>' for k, (name, _) in enumerate(sections))
    body = []
    for k, (name, items) in enumerate(sections):
        kind = ' class="figures"' if any(isinstance(item, Picture) for item in items) else ""
        body.append(f'<section id="s{k}"{kind}><h2>{escape(name)}</h2>')
        body += [item_html(item, pictures) for item in items]
        body.append("</section>")
    told = "".join(f"<p>{escape(text)}</p>" for text in intro)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{CSS}</style></head>\n'
        f"<body><main><h1>{escape(title)}</h1>{told}<nav><ul>{contents}</ul></nav>\n"
        + "\n".join(body)
        + "\n</main></body></html>\n"
    )


def item_html(item: Item, pictures: dict[str, str]) -> str:
    """A table, a figure, or why there is none."""
    caption = f"<b>{escape(item.number)}.</b> {escape(item.title)}"
    if isinstance(item, Gap):
        return f'<p class="gap">{caption}: not computed, since {escape(item.why)}</p>'
    signed = signatures_html(item.signatures)
    if isinstance(item, Picture):
        return f'<figure id="{item.name}"><figcaption>{caption}</figcaption>{pictures[item.name]}{signed}</figure>'
    notes = "".join(f"<li>{escape(note)}</li>" for note in item.notes)
    words = any(cell.pieces for row in item.rows for cell in row.cells)
    return (
        f'<div class="table{" words" if words else ""}" id="{item.name}"><div class="caption">{caption}</div>'
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(item.number)}">{table_html(item)}</div>'
        + (f'<ul class="notes">{notes}</ul>' if notes else "")
        + f"{signed}</div>"
    )


def table_html(sheet: Sheet) -> str:
    """A table's cells, each with its signature."""
    grouped = any(group for group, _ in sheet.groups)
    head = ""
    if grouped:
        groups = "".join(
            f'<th class="group" scope="colgroup" colspan="{len(own)}">{escape(group)}</th>'
            for group, own in sheet.groups
        )
        head += f"<tr><td></td>{groups}</tr>"
    names = "".join(f'<th scope="col">{escape(name)}</th>' for _, own in sheet.groups for name in own)
    head += f'<tr><th scope="col">{escape(sheet.head)}</th>{names}</tr>'
    rows = []
    for row in sheet.rows:
        inner = ' class="inner"' if row.label.startswith(" ") else ""
        cells = "".join(map(cell_html, row.cells))
        rule = ' class="rule"' if row.rule else ""
        rows.append(f'<tr{rule}><th scope="row"{inner}>{escape(row.label.strip())}</th>{cells}</tr>')
    return f"<table><thead>{head}</thead><tbody>\n" + "\n".join(rows) + "\n</tbody></table>"


def cell_html(cell: Cell) -> str:
    """A cell; its title is its signature, and its interval if it has one."""
    kind = "text" if cell.pieces else cell.style
    between = f"95 %: {cell.interval[0]:.2f} to {cell.interval[1]:.2f} · " if cell.interval else ""
    title = f' title="{escape(between + cell.signature)}"' if cell.signature else ""
    text = mark_html(cell.pieces) if cell.pieces else escape(cell.text)
    shape = f' class="{kind}"' if kind else ""
    return f"<td{shape}{title}>{text}</td>"


def signatures_html(signatures: dict[str, str]) -> str:
    """A list to open, for those who can't point."""
    if not signatures:
        return ""
    items = "".join(f"<li>{escape(name)}: <code>{escape(own)}</code></li>" for name, own in signatures.items())
    return f"<details><summary>Signatures</summary><ul>{items}</ul></details>"


def inline_svg(svg: str, picture: Picture) -> str:
    """A figure as part of the page: in its colours, with names of its own, and told in words."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'\bid="', f'id="{picture.name}-', svg)
    svg = re.sub(r'(href="|url\()#', rf"\g<1>#{picture.name}-", svg)
    svg = svg.replace("#000000", "currentColor").replace("#ffffff", "var(--paper)")
    head, _, rest = svg.partition(">")
    head = re.sub(r' (?:width|height)="[^"]*"', "", head)
    return f'{head} role="img" aria-label="{escape(picture.told)}">{rest}'


def markdown(title: str, intro: Sequence[str], sections: Sequence[Section]) -> str:
    """The report as Markdown; figures are the files beside it."""
    parts = [f"# {title}", *intro]
    for name, items in sections:
        parts.append(f"## {name}")
        for item in items:
            if isinstance(item, Sheet):
                parts.append(to_markdown(item).rstrip())
            elif isinstance(item, Picture):
                signed = "".join(f"\n- {name}: `{own}`" for name, own in item.signatures.items())
                told = item.told.replace("[", "(").replace("]", ")")
                parts.append(f"**{item.caption}**\n\n![{told}]({item.name}.svg)\n{signed}".rstrip())
            else:
                parts.append(f"**{item.number}. {item.title}**: not computed, since {item.why}")
    return "\n\n".join(parts) + "\n"
