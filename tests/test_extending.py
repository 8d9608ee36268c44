"""A reranker and a metric of another distribution work by their names in every verb, without a change here.

The distribution is real but for pip: a folder on the path with modules and `.dist-info`. Every verb runs in a process
of its own, as a user's command does.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from judged import write_judge
from outside_rerankers import Shortest

import btr
from btr.corpus import read_lines, read_scores
from btr.corpus.edits import read_edit_tables
from btr.correction.judging import EditJudge
from btr.decisions import Settings
from btr.decisions.edit_table import with_and_without
from btr.decisions.judge import read_judges

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"
FILES = ["--source", EXAMPLES / "source.txt", "--reference", EXAMPLES / "reference0.txt"]
MODULES = "outside_rerankers.py", "exact_match.py"


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The environment in which the other distribution is installed."""
    site = tmp_path_factory.mktemp("site")
    for name in MODULES:
        shutil.copy(ROOT / "tests" / "helpers" / name, site / name)
    (site / "outside-1.0.dist-info").mkdir()
    (site / "outside-1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: outside\nVersion: 1.0\n")
    (site / "outside-1.0.dist-info" / "entry_points.txt").write_text(
        "[btr.rerankers]\nshortest = outside_rerankers:Shortest\n[btr.metrics]\nexact = exact_match:ExactMatch\n"
    )
    path = os.pathsep.join(filter(None, (str(site), os.environ.get("PYTHONPATH"))))
    return {**os.environ, "PYTHONPATH": path, "OMP_WAIT_POLICY": "passive"}


def run(environment, *arguments, **options):
    command = [sys.executable, "-m", "btr.cli", *map(str, arguments)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600, **options)
    assert done.returncode == 0, done.stderr
    return done


def test_they_are_small():
    for name in MODULES:
        assert len((ROOT / "tests" / "helpers" / name).read_text().splitlines()) < 100


def test_they_are_not_here_without_the_distribution(tmp_path):
    for arguments in (
        ["score", EXAMPLES / "candidates.jsonl", "--reranker", "shortest", "-o", tmp_path / "scores.jsonl"],
        ["evaluate", EXAMPLES / "base.txt", "--metric", "exact", *FILES],
    ):
        command = [sys.executable, "-m", "btr.cli", *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600)
        assert done.returncode == 2
        assert "one of" in done.stderr


@pytest.fixture(scope="module")
def scores(installed, tmp_path_factory):
    path = tmp_path_factory.mktemp("scores") / "scores.jsonl"
    run(installed, "score", EXAMPLES / "candidates.jsonl", "--reranker", "shortest", "--reranker", "mbr", "-o", path)
    return path


def test_score(scores):
    header, rows = read_scores(scores)
    assert header.kinds == ("shortest", "mbr")
    assert header.signature.startswith("shortest|version:1+mbr|")
    for row in rows:
        length = len(row.candidates.source.split())
        assert row.scores[0] == tuple(-abs(len(text.split()) - length) for text in row.candidates.texts)


def test_rerank(installed, scores, tmp_path):
    options = ["--weight", "shortest=3", "--weight", "mbr=0", "--metric", "exact", *FILES]
    record = json.loads(run(installed, "rerank", scores, "-o", tmp_path / "out.txt", *options, "--json").stdout)
    chosen = (tmp_path / "out.txt").read_text().splitlines()
    assert chosen == [decision["text"] for decision in record["decisions"]]
    for text, row in zip(chosen, read_scores(scores)[1], strict=True):
        shortest = row.scores[0]
        texts = row.candidates.texts
        assert text == texts[shortest.index(max(shortest))]
    references = (EXAMPLES / "reference0.txt").read_text().splitlines()
    equal = sum(text == reference for text, reference in zip(chosen, references, strict=True))
    assert record["evaluation"]["reranked"]["scores"] == {"exact": pytest.approx(100 * equal / 20)}


def test_tune(installed, scores):
    options = ["--metric", "exact", *FILES, "--top", 2, "--top", 3, "--folds", 2, "--mix", "--json"]
    record = json.loads(run(installed, "tune", scores, *options).stdout)
    assert record["models"][0]["best_score"]["metric"] == "exact"
    assert set(record["mixture"]["best"]["weights"]) == {"shortest", "mbr"}


def test_correct(installed, tmp_path):
    """With the shipped base model: of its candidates, the one whose length is nearest to the source's."""
    sources = EXAMPLES / "source.txt"
    done = run(installed, "correct", sources, "--tokenized", "--reranker", "shortest", "-o", tmp_path / "out.txt")
    assert "profile minimal does not apply to shortest" in done.stderr
    base = btr.Corrector.from_pretrained(reranker="none")
    lines = list(read_lines(sources))
    expected = btr.Corrector(base.engine, base.decoding, Shortest()).correct_sentences(lines)
    assert list(read_lines(tmp_path / "out.txt")) == expected != base.correct_sentences(lines)


@pytest.fixture(scope="module")
def judged(installed, tmp_path_factory):
    """Edit tables with the reranker's log-odds, the judge that was fitted on them, and what `tune` printed."""
    folder = tmp_path_factory.mktemp("edits")
    tables, judge = folder / "edits.jsonl", folder / "judge.json"
    run(installed, "score", EXAMPLES / "candidates.jsonl", "--edits", "--reranker", "shortest", "-o", tables)
    options = ["--gold", EXAMPLES / "gold.m2", "--folds", 2, "-o", judge, "--json"]
    return tables, judge, json.loads(run(installed, "tune", "--edits", tables, *options).stdout)


def test_score_edits(judged):
    """The words that the sentence with an edit is longer or shorter than the source, against those without it."""
    header, tables = read_edit_tables(judged[0])
    assert (header.kinds, header.signature) == (("shortest",), "shortest|version:1")
    different = set()
    for table in tables:
        for edit in table.edits:
            with_edit, without = (
                abs(len(text.split()) - len(table.words)) for text in with_and_without(table, edit.key)
            )
            assert edit.log_odds == (without - with_edit,)
            different.add(edit.log_odds)
    assert len(different) > 2


def test_tune_edits(judged):
    _, judge, record = judged
    assert record["rerankers"] == ["shortest"]
    names = [set(each["features"]) for each in record["judges"]]
    assert ["shortest" in each for each in names] == [True, False]
    assert record["judges"][0]["features"]["shortest"] != 0
    judges = read_judges(judge)
    assert (judges.rerankers, judges.reranker_kinds) == (("shortest",), ("shortest",))


def test_rerank_edits(installed, judged, tmp_path):
    tables, judge, _ = judged
    options = ["--judge", judge, "--cutoff", 0.5, "--gold", EXAMPLES / "gold.m2", "--json"]
    record = json.loads(run(installed, "rerank", tables, *options, "-o", tmp_path / "out.txt").stdout)
    assert "shortest" in record["features"]
    rows, judges = list(read_edit_tables(tables)[1]), read_judges(judge)
    confidences = [[edit["confidence"] for edit in sentence["edits"]] for sentence in record["sentences"]]
    assert confidences == [judges.confidences(table, ("shortest",)) for table in rows]
    assert confidences != [judges.confidences(table) for table in rows]  # it counts
    assert list(read_lines(tmp_path / "out.txt")) == [sentence["text"] for sentence in record["sentences"]]


def test_correct_edits(installed, tmp_path):
    """With the shipped base model: a judge by hand asks the reranker by its name, and adds no words."""
    features = {"base": 1.0, "shortest": 4.0}, {"base": 1.0}
    sources = EXAMPLES / "source.txt"
    judge = write_judge(tmp_path / "judge.json", *features, rerankers=["shortest"], intercept=-0.5)
    options = ["--tokenized", "--judge", judge, "--cutoff", 0.5, "-o", tmp_path / "out.txt"]
    done = run(installed, "correct", sources, *options)
    assert "decides" not in done.stderr
    base = btr.Corrector.from_pretrained(reranker="none")
    settings, lines = Settings(cutoff=0.5, drop_runaways=True), list(read_lines(sources))
    expected = [
        btr.Corrector(
            base.engine, base.decoding, settings=settings, judge=EditJudge(read_judges(judge), rerankers)
        ).correct_sentences(lines)
        for rerankers in ([Shortest()], [])
    ]  # fmt: skip
    assert list(read_lines(tmp_path / "out.txt")) == expected[0] != expected[1]


def test_study(installed, tmp_path):
    plan = yaml.safe_load((EXAMPLES / "study.yaml").read_text())
    plan["sets"] = {
        "Letters": {
            "metric": "exact",
            "source": "examples/source.txt",
            "reference": ["examples/reference0.txt", "examples/reference1.txt"],
        }
    }
    plan["candidates"] = {"Base model": {"files": {"Letters": "examples/candidates.jsonl"}}}
    plan["rerankers"] = {"Length": {"models": ["shortest"]}, "MBR": {"models": ["mbr"]}}
    (tmp_path / "plan.yaml").write_text(yaml.safe_dump(plan))
    run(installed, "study", tmp_path / "plan.yaml", "-o", tmp_path / "report", cwd=ROOT)
    report = (tmp_path / "report" / "report.md").read_text()
    assert "Length" in report
    assert "Exact" in report
