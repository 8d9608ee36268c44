"""What users are shown is true: Python blocks run, links lead somewhere, and the map of the paper names what exists."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import tiny
import typer
import yaml
from checkpoints import content_of, save
from four import SENTENCES, write_gold
from served import scripted, served

import btr
from btr.cli import app
from btr.training.cost import stage_cost
from btr.training.recipe import read_recipe

ROOT = Path(__file__).parents[1]
ALL_PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
MAP, REPRODUCE = ROOT / "docs" / "paper.md", ROOT / "docs" / "reproduce.md"
FOLDERS = "candidates", "corpus", "correction", "decisions", "metrics", "models", "rerankers", "studies", "training"
SERVER = "http://127.0.0.1:8081"  # where `btr serve` is, as the pages name it


def python_blocks(page):
    """Return a page's Python blocks as one program, in which every line has the number that it has in the page."""
    lines, inside = [], False
    for line in page.read_text(encoding="utf-8").splitlines():
        inside = inside and line != "```"
        lines.append(line if inside else "")
        inside = inside or line == "```python"
    return "\n".join(lines)


RUN_ELSEWHERE = (ROOT / "docs" / "scaling.md",)  # each block by itself, in test_scaling.py
PAGES = [
    page
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md")))
    if python_blocks(page).strip() and page not in RUN_ELSEWHERE
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_in_the_docs_runs(page, tmp_path):
    """In a process of its own, in a folder of its own, with the examples beside it."""
    program = python_blocks(page)
    assert program.count("\n") < len(page.read_text(encoding="utf-8").splitlines())
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    with served(scripted()) as address:
        (tmp_path / page.with_suffix(".py").name).write_text(program.replace(SERVER, address), encoding="utf-8")
        done = subprocess.run(
            [sys.executable, page.with_suffix(".py").name],
            cwd=tmp_path, capture_output=True, text=True, timeout=600,
            env={**os.environ, "OMP_WAIT_POLICY": "passive"},
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    for shown, comment in re.findall(r"^print\((.*)\)  # (.*)$", program, re.MULTILINE):
        if shown.endswith((".text", ".signature()")):  # other comments explain what is printed
            assert comment in done.stdout.splitlines()


def test_an_undefined_name_would_fail(tmp_path):
    (tmp_path / "page.md").write_text("A\n\n```python\nx = 1\n```\n\n```sh\nls\n```\n\n```python\nprint(x, y)\n```\n")
    program = python_blocks(tmp_path / "page.md")
    assert program.splitlines()[3] == "x = 1"
    with pytest.raises(NameError, match="'y' is not defined"):
        exec(compile(program, "page.md", "exec"), {})


def anchors(page):
    """Return the anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", ALL_PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if "://" in link:
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


def code_spans(page):
    """Return what a page has between backticks, and the lines of its blocks."""
    text = page.read_text(encoding="utf-8")
    blocks = re.findall(r"```\w*\n(.*?)```", text, re.DOTALL)
    return [
        *re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", text, flags=re.DOTALL)),
        *"\n".join(blocks).splitlines(),
    ]


@pytest.mark.parametrize("page", [MAP, REPRODUCE], ids=lambda page: page.name)
def test_files_and_commands_that_are_named_exist(page):
    verbs = typer.main.get_command(app).commands
    paths = set()
    for span in code_spans(page):
        for path in re.findall(r"(?:^|[\s:])((?:src|tests|recipes/paper|studies)/[\w./-]+)", span):
            assert (ROOT / path).exists() or (ROOT / "src" / "btr" / path).exists(), path
            paths.add(path)
        if span.startswith(tuple(f"{folder}/" for folder in FOLDERS)) and " " not in span:
            assert any((root / span).exists() for root in (ROOT / "src" / "btr", ROOT)), span
        for command in re.findall(r"\bbtr ([a-z].*?)(?:;|$)", span):
            words = command.split()
            assert words[0] in verbs, span
            options = {name for parameter in verbs[words[0]].params for name in parameter.opts}
            assert {word for word in words if re.match(r"--?[a-z]", word)} <= options, span
    assert len(paths) > 3


def numbered(text, word):
    """Return the numbers after a word: 'Tables 8, 9, 10' or 'equations 11 to 13'."""
    found = set()
    for listed in re.findall(rf"\b{word}s? ((?:\d+(?: to |, )?)+)", text, re.IGNORECASE):
        for first, last in re.findall(r"(\d+)(?: to (\d+))?", listed):
            found |= set(range(int(first), int(last or first) + 1))
    return found


def map_rows():
    table = MAP.read_text(encoding="utf-8").partition("| paper |")[2].partition("\n\n")[0]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in table.splitlines()[2:]]


def test_the_map_has_every_number_of_the_paper():
    rows = map_rows()
    assert {len(row) for row in rows} == {6}
    first = " · ".join(row[0] for row in rows)
    assert numbered(first, "Table") == set(range(1, 30))
    assert numbered(first, "Figure") == set(range(1, 16))
    assert numbered(first, "Equation") == set(range(1, 15))
    for section in (
        "1 ",
        "2 ",
        "3.1 ",
        "3.2 ",
        "3.3 ",
        "4 ",
        "4.1 ",
        "4.2 ",
        "4.3 ",
        *(f"5.{k} " for k in range(1, 7)),
    ):
        assert any(row[0].startswith(section) for row in rows), section
    for section in "ABCDEFGHIJKLM":
        assert any(row[0].startswith(f"{section} ") for row in rows), section


def test_the_map_has_every_heading_of_the_paper(data):
    """Appendices A and B have formulas in their headings."""
    source = data.parent / "paper" / "btr.tex"
    if not source.is_file():
        pytest.skip(f"needs the paper's source, expected in {source}")
    text = source.read_text(encoding="utf-8")
    assert len(re.findall(r"^\\caption|^ +\\caption", text, re.MULTILINE)) >= 29 + 15
    first = " · ".join(row[0] for row in map_rows())
    for heading in re.findall(r"^\\(?:sub)?section\{(.*)\}$", text, re.MULTILINE):
        title = re.sub(r"\\textcolor\{black\}\{(.*)\}", r"\1", heading)
        title = re.sub(r" \(.*|, \$.*| Between \$.*|\$.*| Candidates$", "", title)
        assert title.strip() in first or title in (
            "Experiments",
            "Preliminary",
            "Bidirectional Transformer Reranker",
        ), title


def test_the_readme_leads_to_the_map():
    """From the README alone: the command for a table is one link away, in the first screen."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "(docs/paper.md)" in readme.partition("## ")[0]
    commands = {row[0]: row[2] for row in map_rows()}
    assert commands["Table 2"].startswith("study: table-02")
    assert "--oracle" in commands["Table 2"]
    assert commands["Table 5"].startswith("study: table-05")
    assert commands["Table 6"].startswith("study: table-06")
    assert "btr rerank SCORES --gold" in commands["Table 6"]
    assert commands["Tables 14, 15"] == "study: table-14"
    assert commands["Figure 4"] == "study: figure-04-conll-14"
    assert commands["M Inference Time Cost, Table 29"] == "study: table-29"


@pytest.fixture(scope="module")
def stand_ins(tmp_path_factory):
    """Checkpoints of the authors' structure and vocabulary, tiny; and four sentences in the authors' files."""
    folder = tmp_path_factory.mktemp("authors")
    for name, seed in (("btr-1", 1), ("btr-2", 2), ("btr-3", 3), ("btr-4", 4), ("t5gec", 5)):
        is_btr = name != "t5gec"
        shape = {"vocab_size": 32128, "d_model": 8, "num_layers": 1}
        model = tiny.save_t5(folder / "models-before" / name, bidirectional=is_btr, seed=seed, **shape)
        save(folder / f"{name}.pt", content_of(model, is_btr))
    corpus = folder / "data" / "conll13"
    corpus.mkdir(parents=True)
    write_gold(corpus / "cleaned.m2")
    rows = [{"source": [source], "gec_outputs": [[text] for text in texts]} for source, _, texts, _ in SENTENCES]
    (corpus / "t5gec-candidates.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def run_block(folder, block):
    """Run the lines of a page's block in a folder; `btr` is this package's."""
    start = f'btr() {{ {shlex.quote(sys.executable)} -m btr.cli "$@"; }}\nset -e\n'
    return subprocess.run(
        ["bash", "-c", start + block], cwd=folder, capture_output=True, text=True, timeout=600,
        env={**os.environ, "BTR_DATA": str(folder / "data"), "OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "passive"},
    )  # fmt: skip


def test_from_the_authors_checkpoints_in_three_commands(stand_ins, monkeypatch):
    monkeypatch.chdir(stand_ins)  # scores name the models as the commands did
    section = REPRODUCE.read_text(encoding="utf-8").partition("## With the authors' checkpoints")[2]
    first, second, study, *_ = re.findall(r"```\n(.*?)```", section, re.DOTALL)
    assert len(first.splitlines()) == 3
    assert "studies/authors.yaml" in study
    done = run_block(stand_ins, first)
    assert done.returncode == 0, done.stderr
    scores = stand_ins / "scores.jsonl"
    header = json.loads(scores.read_text().splitlines()[0])
    assert [reranker["kind"] for reranker in header["rerankers"]] == ["btr"] * 4
    reranked = btr.rerank(scores, profile="paper", gold=stand_ins / "data" / "conll13" / "cleaned.m2")
    assert (stand_ins / "reranked.txt").read_text().splitlines() == reranked.texts  # the profile is the same
    assert reranked.settings.threshold == 0.4
    assert reranked.evaluation.base.value == pytest.approx(btr.evaluate(
        stand_ins / "data" / "conll13" / "t5gec-candidates.jsonl", rank=1, metric="m2",
        gold=stand_ins / "data" / "conll13" / "cleaned.m2").value)  # fmt: skip
    done = run_block(stand_ins, second)
    assert done.returncode == 0, done.stderr
    assert len((stand_ins / "candidates.jsonl").read_text().splitlines()) == len(SENTENCES)


def test_the_authors_models_are_those_of_their_plan():
    plan = yaml.safe_load((ROOT / "studies" / "authors.yaml").read_text())
    page = REPRODUCE.read_text(encoding="utf-8")
    for name in [plan["candidates"]["T5GEC"]["model"], *plan["rerankers"]["BTR"]["models"]]:
        assert name.removeprefix("btr:").replace("btr-1", "btr-$seed") in page or name in page


def test_the_table_of_costs_is_what_the_command_prints(monkeypatch):
    monkeypatch.setenv("BTR_DATA", "/no/data")
    monkeypatch.chdir(ROOT)
    lines = re.findall(r"^\| `([\w-]+)` \| (.*) \|$", REPRODUCE.read_text(encoding="utf-8"), re.MULTILINE)
    assert {name for name, _ in lines} == {path.stem for path in (ROOT / "recipes" / "paper").glob("*.yaml")}
    stages = yaml.safe_load((ROOT / "studies" / "paper.yaml").read_text())["training"]
    runs = {Path(stage["train"]).stem: len(stage.get("seeds", [1])) for stage in stages if "train" in stage}
    for name, line in lines:
        path = f"recipes/paper/{name}.yaml"
        cost = stage_cost(read_recipe(path), path, devices=2)
        shown = [f"{runs[name]}", f"{cost.parameters / 1e6:.0f}", f"{cost.targets:,}", f"{cost.updates:,}"]
        shown += [f"{cost.tokens / 1e9:.1f}", f"{cost.flops.total:.2e}", f"{cost.memory.total / 1e9:.0f}"]
        assert [cell.strip() for cell in line.split("|")][:8] == [*shown, f"{cost.hours:.1f}"], name
