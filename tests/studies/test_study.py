import csv
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from four import ROWS, write_gold

import btr
from btr.decisions.rerank import BaseVersusSuggested
from btr.errors import InputError
from btr.studies.cache import StudyCache, Written
from btr.studies.dataset import DataSet
from btr.studies.plan import DataSetPlan, read_plan
from btr.studies.records import VerdictMeasures
from btr.studies.training_stages import is_trained

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "study.yaml"
TABLES = "2", "5", "6", "7 and 27", "8 to 10", "20", "14 and 15", "16 and 17", "18", "19", "22", "23", "24", "25"
TABLES = *TABLES, "4", "13", "21", "26", "29", "1 and 28"
FIGURES = "3", "4", "12", "15", "8 and 9", "10 and 11", "13 and 14", "6", "7"


def cells(folder, name):
    """A table's cells by row and column."""
    with open(folder / f"{name}.csv", encoding="utf-8", newline="") as file:
        return {(row["row"], row["column"]): row for row in csv.DictReader(file)}


def bytes_of(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """The example's files in a folder of their own, and its report."""
    folder = tmp_path_factory.mktemp("study")
    shutil.copytree(ROOT / "examples", folder / "examples")
    patch = pytest.MonkeyPatch()
    patch.chdir(folder)
    yield folder / "report", btr.study("examples/study.yaml", "report")
    patch.undo()


def test_every_table_and_figure_is_there_or_says_why(ran):
    folder, result = ran
    page, text = (folder / "report.html").read_text(), (folder / "report.md").read_text()
    for kind, numbers in (("Table", TABLES), ("Figure", FIGURES)):
        for number in numbers:
            caption = f"{kind}{'s' if ' ' in number else ''} {number}."
            assert f"<b>{caption}</b>" in page
            assert f"**{caption}" in text
    assert set(result.gaps) == {
        *("Tables 7 and 27", "Tables 8 to 10", "Table 20", "Tables 14 and 15", "Table 19"),
        *("Table 13", "Table 21", "Figure 3", "Figure 6", "Figure 7"),
    }
    assert "btr study examples/study.yaml -o report" in text
    assert page.count("not computed, since") == len(result.gaps) == text.count("not computed, since")
    assert set(result.files) == set(bytes_of(folder))


def test_the_page_needs_nothing_else(ran):
    page = (ran[0] / "report.html").read_text()
    assert not re.search(r"<(?:link|script|img|iframe|object)\b|@import|url\((?!#)", page)
    for address in re.findall(r'(?:href|src)="([^"]*)"', page):
        assert address.startswith("#")
    assert "prefers-color-scheme: dark" in page
    assert "@media print" in page
    assert 'name="viewport"' in page
    names = re.findall(r' id="([^"]+)"', page)
    assert len(names) == len(set(names))
    assert {name[1:] for name in re.findall(r'href="(#[^"]*)"', page)} <= set(names)
    assert "<text" in page  # text stays text
    assert page.count('role="img"') == page.count("<svg")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_on_a_phone_without_network(ran, browser, scheme):
    """Nothing is fetched, only tables scroll sideways, and what figures say is large enough to read."""
    context = browser.new_context(viewport={"width": 360, "height": 740}, offline=True, color_scheme=scheme)
    page, asked = context.new_page(), list[str]()
    page.on("request", lambda request: asked.append(request.url))
    address = (ran[0] / "report.html").as_uri()
    page.goto(address)
    assert asked == [address]
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    texts = "[...document.querySelectorAll('figure svg text')].filter(text => text.textContent.trim())"
    sizes = page.evaluate(f"{texts}.map(text => text.getBoundingClientRect().height)")
    assert min(sizes) >= 9
    colours = page.evaluate(f"[...new Set({texts}.map(text => getComputedStyle(text).fill))]")
    ink, paper = page.evaluate("(s => [s.color, s.backgroundColor])(getComputedStyle(document.body))")
    assert colours == [ink]
    assert (sum(rgb(ink)) > sum(rgb(paper))) == (scheme == "dark")
    context.close()


def rgb(colour):
    return [int(value) for value in re.findall(r"\d+", colour)]


def test_every_cell_carries_its_signature(ran):
    folder, _ = ran
    for path in folder.glob("*.csv"):
        for row in cells(folder, path.stem).values():
            told = row["signature"] or row["value"] == "–" or row["column"] in ("a_train", "a_pred", "λ")
            assert told, (path.name, row)
    page = (folder / "report.html").read_text()
    assert page.count('<div class="table') == len(re.findall(r'<div class="table.*?<details><summary>Sign', page, re.S))
    figures = re.findall(r"<td[^>]*>[^<]*\d\.\d\d", page)
    assert figures
    assert all('title="' in cell for cell in figures)


def test_cells_are_what_the_other_verbs_give(ran):
    found = cells(ran[0], "table-05")
    gold = {"Letters": "m2", "Letters (ERRANT)": "errant"}
    for name, metric in gold.items():
        for row, options in (("Base model", {"rank": 1}), ("Oracle (3 candidates)", {"oracle": True})):
            score = btr.evaluate("examples/candidates.jsonl", metric=metric, gold="examples/gold.m2", **options)
            for column, key in (("P", "precision"), ("R", "recall"), ("F0.5", "f0.5")):
                cell = found[row, f"{name} {column}"]
                assert float(cell["value"]) == pytest.approx(score.scores[key])
                assert [float(cell["low"]), float(cell["high"])] == pytest.approx(score.confidence.intervals[key])
                assert score.signature in cell["signature"]
    btr.score("examples/candidates.jsonl", ["mbr"], "mbr.jsonl")
    (model,) = btr.tune("mbr.jsonl", gold="examples/gold.m2", top=[2, 3], folds=5).models
    row = f"MBR (λ = {model.best.threshold:g})"
    assert float(found[row, "Letters F0.5"]["value"]) == pytest.approx(model.best_score.value)
    assert float(found[row, "Letters cross-validated"]["value"]) == pytest.approx(model.cross_validated.value)
    levels = cells(ran[0], "table-22-letters-errant")["MBR, all", "Δ base [95 %]"]
    assert levels["value"] == found[row, "Letters (ERRANT) Δ base [95 %]"]["value"]
    assert (levels["low"], levels["high"]) != ("", "")
    (delta,) = {name for name, _ in cells(ran[0], "table-23-letters-errant")} - {"Base model", "MBR"}
    assert delta == "Δ base [95 %]"
    grid = cells(ran[0], "table-16")
    for top, values in zip(model.tops, model.grid):
        told = [float(grid[f"MBR, a_pred = {top}", f"{k / 10:g}"]["value"]) for k in range(11)]
        assert told == pytest.approx(values)


def test_latex_is_balanced_and_has_signatures(ran):
    folder, _ = ran
    for path in folder.glob("*.tex"):
        text = path.read_text()
        assert text.count("\\begin{") == text.count("\\end{") == 2
        assert "\\toprule" in text
        assert "\\bottomrule" in text
        widths = {line.replace("\\&", "").count("&") for line in text.splitlines() if line.endswith("\\\\")}
        if "multicolumn" not in text:
            assert len(widths) == 1
    assert "\\#" in (folder / "table-05.tex").read_text()


def test_again_changes_nothing(ran):
    folder, _ = ran
    before = bytes_of(folder)
    assert btr.study("examples/study.yaml", "report").ran == {}
    assert bytes_of(folder) == before


def test_what_is_gone_is_made_again_and_nothing_else(ran):
    folder, _ = ran
    before = bytes_of(folder)
    (folder / "report.html").unlink()
    one = next((folder / "work").glob("tuned-*.json"))
    one.unlink()
    assert btr.study("examples/study.yaml", "report").ran == {"tuned": 1}
    assert bytes_of(folder) == before
    next(path for path in (folder / "work").glob("scores-*.jsonl")).unlink()
    assert btr.study("examples/study.yaml", "report").ran == {"scores": 1}  # its content is as it was


def test_what_changes_is_measured_again_and_nothing_else(ran):
    """One reference in another wording: what depends on it is the set that is scored by it."""
    path = Path("examples/reference0.txt")
    before = path.read_text()
    path.write_text(before.replace(".", "!", 1))
    try:
        assert btr.study("examples/study.yaml", "report").ran == {
            "base": 1, "examples": 1, "reranked": 2, "tuned": 1,
        }  # fmt: skip
    finally:
        path.write_text(before)


def test_seeds_mixtures_larger_models_and_runs(tmp_path):
    """Scores that are there: two seeds of one kind, a mixture, candidates of a second model, and training curves."""
    write_gold(tmp_path / "gold.m2")
    rows = [row.candidates.to_dict() for row in ROWS]
    (tmp_path / "candidates.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    for name, kind, factor in (("one", "btr", 1.0), ("two", "btr", 0.0), ("base", "base", -1.0)):
        lines = [{"rerankers": [{"kind": kind, "signature": f"{kind}|model:{name}"}]}]
        lines += [
            {**row, "scores": [[factor * score if factor > 0 else factor for score in scored.scores[0]]]}
            for row, scored in zip(rows, ROWS)
        ]
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (tmp_path / "run").mkdir()
    log = [{"step": k, "loss": 3 - k} for k in range(3)]
    log.append({"step": 2, "epoch": 1, "validation": {"f0.5": 50.0, "grid": {"0.0": 40.0}}})
    (tmp_path / "run" / "log.jsonl").write_text("".join(json.dumps(line) + "\n" for line in log))

    def scored(*names):
        files = {"Toy": [str(tmp_path / f"{name}.jsonl") for name in names]}
        return {"Small": files, "Large": files}

    files = {"files": {"Toy": str(tmp_path / "candidates.jsonl")}}
    plan = {
        "sets": {"Toy": {"gold": [str(tmp_path / "gold.m2")]}},
        "validation": "Toy",
        "candidates": {"Small": files, "Large": files},
        "rerankers": {
            "BTR": {"scores": scored("one", "two"), "negatives": 5},
            "BTR w/o negatives": {"scores": scored("one"), "negatives": 0},
            "Plain": {"scores": scored("one"), "threshold": False},
            "Mixture": {"scores": scored("base", "one"), "mix": True},
        },
        "main": "BTR w/o negatives",
        "folds": 2,
        "top": [2],
        "pretraining": {"BTR": str(tmp_path / "run")},
        "finetuning": {"BTR": str(tmp_path / "run")},
    }
    (tmp_path / "study.yaml").write_text(yaml.safe_dump(plan, sort_keys=False))
    folder = tmp_path / "report"
    result = btr.study(tmp_path / "study.yaml", folder)
    assert set(result.gaps) == {
        *("Tables 8 to 10", "Table 2", "Tables 22 and 23", "Figure 3"),
        *("Table 24", "Figures 10 to 12", "Table 25", "Figures 13 to 15", "Table 13", "Table 21", "Table 26"),
    }
    f0 = 100 * 1.25 * 3 / (4 + 0.25 * 3)  # without λ: three of four edits are right, and all are found
    base = 100 * 1.25 * 1 / (2 + 0.25 * 3)
    # Averaged with a seed that knows nothing, margins are tanh of a quarter of the difference; λ = 0 stays the best.
    seeds = cells(folder, "table-20")["BTR", "Toy (F0.5)"]
    assert float(seeds["value"]) == pytest.approx((f0 + base) / 2)
    deviation = (f0 - base) / 2**0.5  # of a sample of two
    assert seeds["signature"].endswith(f"|seeds:2|deviation:{deviation:.4f}")
    assert f"| BTR | {(f0 + base) / 2:.2f} ± {deviation:.2f} |" in (folder / "report.md").read_text()
    for name in ("table-05", "table-07-large"):
        found = cells(folder, name)
        for row in ("BTR (λ = 0)", "BTR w/o negatives (λ = 0)", "Plain"):
            assert float(found[row, "Toy F0.5"]["value"]) == pytest.approx(f0)
        assert float(found["Plain", "Toy Δ base [95 %]"]["value"]) == pytest.approx(f0 - base)
        (mixed,) = [row for row, column in found if row.startswith("Mixture (") and column == "Toy F0.5"]
        assert "|weights:" in found[mixed, "Toy F0.5"]["signature"]
        assert float(found[mixed, "Toy F0.5"]["value"]) == pytest.approx(f0)
    assert ("BTR w/o negatives, a_train = 0", "0.1") in cells(folder, "table-14")
    assert float(cells(folder, "table-18")["2", "Plain"]["value"]) == pytest.approx(f0)
    assert ("BTR, a_pred = 2", "0") in cells(folder, "table-19-large")
    decided = cells(folder, "table-06")
    assert decided["Proportion (%)", "Toy Accept"]["value"] == "75.0"
    assert "Figure 7" in (folder / "report.md").read_text()
    shown = (folder / "report.md").read_text()
    assert "| Toy, gained: source | He **go** home . |" not in shown  # the source is as it is
    assert "| candidate 2 (BTR, BTR w/o negatives, Plain" in shown
    assert "He **goes** home ." in shown


def test_without_log_probabilities_what_needs_them_is_left_out_and_told(tmp_path):
    write_gold(tmp_path / "gold.m2")
    rows = [row.candidates.to_dict() for row in ROWS]
    known = [{**row, "log_probs": [-1.0 - k for k, _ in enumerate(row["candidates"])]} for row in rows]
    for name, lines in (("small", known), ("large", rows)):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    plan = {
        "sets": {"Toy": {"gold": [str(tmp_path / "gold.m2")]}},
        "validation": "Toy",
        "candidates": {
            name.title(): {"files": {"Toy": str(tmp_path / f"{name}.jsonl")}} for name in ("small", "large")
        },
        "rerankers": {"MBR": {"models": ["mbr"]}, "MBR + base": {"models": ["mbr", "base"]}},
        "folds": 2,
    }
    (tmp_path / "study.yaml").write_text(yaml.safe_dump(plan, sort_keys=False))
    btr.study(tmp_path / "study.yaml", tmp_path / "report")
    assert any(row.startswith("MBR + base") for row, _ in cells(tmp_path / "report", "table-05"))
    assert not any(row.startswith("MBR + base") for row, _ in cells(tmp_path / "report", "table-07-large"))
    told = (tmp_path / "report" / "report.md").read_text()
    assert told.count("MBR + base does not rerank these candidates: they come without") == 1


def test_models_write_and_score(tmp_path):
    """Tiny models with random weights: candidates, scores, losses by position and times are made."""
    tiny = pytest.importorskip("tiny")
    words = [*"abcde", "the", "cat", "sat", "on", "mat", ",", "he", "goes", "on", "two", "dogs", "."]
    gold = "".join(f"S {' '.join([*words[:k], 'it', *words[k:]])}\nA {k} {k + 1}|||X||||||REQUIRED|||-NONE-|||0\n\n"
                   for k in range(4))  # fmt: skip
    (tmp_path / "gold.m2").write_text(gold)
    base = tiny.save_t5(tmp_path / "base")
    models = {
        "R2L": [f"r2l:{tiny.save_t5(tmp_path / 'r2l', right_to_left=True)}", f"l2r:{base}"],
        "RoBERTa": [f"roberta:{tiny.save_encoder(tmp_path / 'roberta', 'roberta')}"],
        "BTR": [f"btr:{tiny.save_t5(tmp_path / f'btr{seed}', bidirectional=True, seed=seed)}" for seed in (1, 2)],
    }
    plan = {
        "sets": {"Toy": {"gold": [str(tmp_path / "gold.m2")]}},
        "validation": "Toy",
        "candidates": {"Base": {"model": base, "size": 2}},
        "rerankers": {name: {"models": own} for name, own in models.items()},
        "decoding": {"Nucleus sampling": {"model": base, "method": "nucleus", "size": 2}},
        "folds": 2,
    }
    (tmp_path / "study.yaml").write_text(yaml.safe_dump(plan, sort_keys=False))
    result = btr.study(tmp_path / "study.yaml", tmp_path / "report")
    assert result.ran["scores"] == 5
    assert result.ran["candidates"] == 2
    assert result.ran["losses"] == 5  # L2R's is also the base model's
    page = (tmp_path / "report" / "report.html").read_text()
    assert 'id="figure-03"' in page
    seeds = cells(tmp_path / "report", "table-20")  # R2L and RoBERTa have one model of a kind each
    assert {row for row, _ in seeds} == {"BTR"}
    assert "|seeds:2|" in seeds["BTR", "Toy (F0.5)"]["signature"]
    times = cells(tmp_path / "report", "table-29")
    assert {row for row, _ in times} == {"Base", *models}
    assert all(float(row["value"]) >= 0 for row in times.values())
    before = bytes_of(tmp_path / "report")
    assert btr.study(tmp_path / "study.yaml", tmp_path / "report").ran == {}
    assert bytes_of(tmp_path / "report") == before
    assert "|int8" not in (tmp_path / "report" / "table-05.csv").read_text()
    plan["rerankers"]["Both"] = {"models": [models["BTR"][0], "base"], "int8": True}
    plan["rerankers"]["Contrast"] = {"models": [models["RoBERTa"][0].replace("roberta:", "contrast:", 1)]}
    (tmp_path / "study.yaml").write_text(yaml.safe_dump(plan, sort_keys=False))
    before = set((tmp_path / "report" / "work").glob("losses-*"))
    assert btr.study(tmp_path / "study.yaml", tmp_path / "report").ran["scores"] == 3
    (added,) = set((tmp_path / "report" / "work").glob("losses-*")) - before
    values = [json.loads(path.read_text())["value"] for path in before]
    assert json.loads(added.read_text())["value"] in values  # contrast can be asked about every token, too
    assert "|int8:rows+base|btr:" in cells(tmp_path / "report", "table-05")["Both w/o λ", "Toy F0.5"]["signature"]
    told = (tmp_path / "report" / "report.md").read_text()
    figure = told[told.index("**Figure 3.") : told.index("**Figure 4.")]
    (contrasting,) = re.findall("^- Contrast: .*", figure, re.MULTILINE)
    assert "roberta|model:" in contrasting  # what was asked, not how it scores
    assert contrasting.endswith("|targets:4`")
    assert "since they score whole sentences: Both." in figure  # with base, that is


def test_the_papers_cells_to_the_digit(data, tmp_path):
    """The oracle chooses among all five candidates, though two are reranked."""
    folder = data / "conll13"
    plan = {
        "sets": {"CoNLL-13": {"gold": [str(folder / "cleaned.m2")], "reference": [str(folder / "reference.jsonl")]}},
        "validation": "CoNLL-13",
        "candidates": {"T5GEC": {"files": {"CoNLL-13": str(folder / "t5gec-candidates.jsonl")}}},
        "rerankers": {"MBR": {"models": ["mbr"]}},
        "top": [2],
        "decoding": {"Beam search": {"files": {"CoNLL-13": str(folder / "t5gec-candidates.jsonl")}}},
    }
    (tmp_path / "study.yaml").write_text(yaml.safe_dump(plan, sort_keys=False))
    btr.study(tmp_path / "study.yaml", tmp_path / "report")
    found = cells(tmp_path / "report", "table-05")
    for row, values in (("T5GEC", (59.19, 29.65, 49.36)), ("Oracle (5 candidates)", (65.50, 33.71, 55.11))):
        for column, value in zip(("P", "R", "F0.5"), values):
            assert f"{float(found[row, f'CoNLL-13 {column}']['value']):.2f}" == f"{value:.2f}"
    beam = cells(tmp_path / "report", "table-02")
    assert f"{float(beam['Beam search', 'Unique (%)']['value']):.2f}" == "98.93"
    assert f"{float(beam['Beam search', 'Oracle (F0.5)']['value']):.2f}" == "55.11"


def test_without_rerankers_the_decoding_methods_are_compared(tmp_path, monkeypatch):
    """Table 2 alone needs a set, candidates and methods."""
    monkeypatch.chdir(ROOT)
    plan = yaml.safe_load(EXAMPLE.read_text())
    plan = {key: plan[key] for key in ("sets", "validation", "candidates", "decoding")}
    (tmp_path / "study.yaml").write_text(yaml.safe_dump(plan, sort_keys=False))
    result = btr.study(tmp_path / "study.yaml", tmp_path / "report")
    assert result.ran == {"base": 3}
    assert cells(tmp_path / "report", "table-02")["Beam search", "Gold (%)"]["signature"]
    assert {row for row, _ in cells(tmp_path / "report", "table-05")} == {"Oracle (3 candidates)", "Base model"}
    assert "the study names no rerankers." in result.gaps.values()


def toy(folder, name, lists):
    """A study of four sentences with these candidates, two of which are reranked; gives its report's folder."""
    write_gold(folder / "gold.m2")
    rows = [{"source": row.candidates.source, "candidates": texts} for row, texts in zip(ROWS, lists)]
    (folder / "candidates.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    plan = {
        "sets": {name: {"gold": [str(folder / "gold.m2")]}},
        "validation": name,
        "candidates": {"Base": {"files": {name: str(folder / "candidates.jsonl")}}},
        "rerankers": {"MBR": {"models": ["mbr"]}},
        "top": [2],
        "folds": 2,
    }
    (folder / "study.yaml").write_text(yaml.safe_dump(plan, sort_keys=False))
    btr.study(folder / "study.yaml", folder / "report")
    return folder / "report"


def test_the_oracle_is_over_all_candidates(tmp_path):
    """The third of the first sentence's is gold; only the first two are reranked."""
    lists = [("He go home .", "He goes at home .", "He goes home ."), *(row.candidates.texts for row in ROWS[1:])]
    folder = toy(tmp_path, "Toy", lists)
    assert float(cells(folder, "table-05")["Oracle (3 candidates)", "Toy F0.5"]["value"]) == 100
    told = (folder / "report.md").read_text()
    assert "Rerankers choose among the top 2 candidates; the oracle chooses among all candidates." in told
    assert "over the top 2 candidates of Base." in told


def test_the_cleaned_conll_14_has_tables_of_its_own(tmp_path):
    told = (toy(tmp_path, "CoNLL-14 (cleaned)", [row.candidates.texts for row in ROWS]) / "report.md").read_text()
    for number in ("Tables 5 and 8", "Tables 9 and 20"):
        assert f"**{number}." in told
    assert "Tables 8 to 10" not in told
    assert "**Table 10. Cleaned CoNLL-14**: not computed, since there are no candidates of a larger model" in told


def test_scores_of_other_candidates_are_refused(tmp_path):
    folder = toy(tmp_path, "Toy", [row.candidates.texts for row in ROWS])
    plan = yaml.safe_load((tmp_path / "study.yaml").read_text())
    swapped = [{"source": row.candidates.source, "candidates": row.candidates.texts[::-1]} for row in ROWS]
    (tmp_path / "swapped.jsonl").write_text("".join(json.dumps(row) + "\n" for row in swapped))
    btr.score(tmp_path / "swapped.jsonl", ["mbr"], tmp_path / "scores.jsonl")
    plan["rerankers"] = {"MBR": {"scores": {"Base": {"Toy": [str(tmp_path / "scores.jsonl")]}}}}
    (tmp_path / "study.yaml").write_text(yaml.safe_dump(plan, sort_keys=False))
    with pytest.raises(InputError, match=r"scores.jsonl: has other candidates of sentence 1 than Base's file for Toy"):
        btr.study(tmp_path / "study.yaml", folder)


def test_equal_files_of_other_names_are_told_apart(tmp_path):
    """A set's key has its files' names, which signatures tell."""
    keys = []
    for name in ("a.m2", "b.m2"):
        plan = DataSetPlan(gold=[str(write_gold(tmp_path / name))])
        keys.append(DataSet("Toy", plan, StudyCache(tmp_path)).key)
    assert keys[0]["gold"] == keys[1]["gold"]
    assert keys[0] != keys[1]


@pytest.mark.parametrize("path", [EXAMPLE, *sorted((ROOT / "studies").glob("*.yaml"))], ids=str)
def test_plans_of_the_repository_can_be_read(path):
    assert read_plan(path).main_reranker


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"validaton": "Letters"}, "validaton is no key of a study; did you mean validation?"),
        ({"validation": "Else"}, "validation: 'Else' is none of Letters, Letters (ERRANT), Letters (GLEU)."),
        ({"main": "BTR"}, "main: 'BTR' is none of Vote, MBR."),
        ({"rerankers": {"MBR": {"model": ["mbr"]}}}, "rerankers.MBR.model is no key of a study; did you mean models?"),
        ({"rerankers": {"MBR": {}}}, "rerankers.MBR: give either models or scores."),
        ({"rerankers": {"MBR": {"models": "mbr"}}}, "rerankers.MBR.models: must be a list, e.g. [FILE]."),
        ({"rerankers": {"MBR": {"models": ["mbx"]}}}, "study.yaml: rerankers.MBR: 'mbx' is no reranker"),
        ({"rerankers": {"MBR": "mbr"}}, "rerankers.MBR: must be keys with values"),
        ({"rerankers": {"MBR": {"models": ["mbr"], "mix": True}}}, "a mixture needs several kinds"),
        ({"rerankers": {"A": {"scores": {"Base model": {"Letters": ["x"]}}, "int8": True}}}, "int8 is for models"),
        (
            {"rerankers": {"A": {"models": ["btr:a", "btr:b", "r2l:a", "r2l:b", "r2l:c"]}}},
            "or the same number of seeds",
        ),
        ({"rerankers": {"A": {"models": ["btr:no/such/model"]}}}, "no/such/model: no such folder"),
        ({"rerankers": {"A": {"models": ["mbr", "base"]}}}, "the main reranker, A, needs log-probabilities"),
        ({"sets": {"Letters": {"metric": "gleu"}}}, "sets.Letters: gleu needs source and reference."),
        ({"candidates": {"A": {"model": "x", "files": {"Letters": "y"}}}}, "candidates.A: give either files"),
        ({"candidates": {"A": {"files": {"Letters (GLEU)": "y"}}}}, "needs a file for the validation set, Letters"),
        ({"candidates": {"A": {"files": {"Letters": "nothing.jsonl"}}}}, "nothing.jsonl: no such file"),
        ({"candidates": {"A": {"files": {"Letters": "$NO_SUCH/x.jsonl"}}}}, "names a variable that is not set"),
        ({"finetuning": {"BTR": "examples"}}, "examples: has no log.jsonl"),
        ({"rerankers": {"Base model": {"models": ["mbr"]}}, "main": "Base model"}, "is the base model's name"),
        ({"rerankers": {"base": {"models": ["mbr"]}}, "main": "base"}, "rerankers.base: is the base model's name"),
        ({"rerankers": {"A": {"scores": {"Base model": {"Letters": []}}}}}, "the same number of files, one or more"),
        (
            {"rerankers": {"A": {"scores": {"Base model": {"Letters": ["x"], "Letters (ERRANT)": ["x", "y"]}}}}},
            "scores: every set needs the same number of files",
        ),
        ({"rerankers": {"A": {"scores": {"Base model": {"Letters": ["x"]}}, "mix": True}}}, "x: no such file"),
        ({"rerankers": {"A": {"models": ["btr:examples/none"]}}}, "examples/none: no such folder"),
        ({"candidates": {"A-B": {"model": "x"}, "A B": {"model": "x"}}}, "candidates: names must differ"),
        ({"folds": 50}, "can't be dealt into 50 folds"),
    ],
)
def test_bad_plans_are_told_in_one_sentence(change, message, tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    plan = {**yaml.safe_load(EXAMPLE.read_text()), **change}
    (tmp_path / "study.yaml").write_text(yaml.safe_dump(plan, sort_keys=False))
    with pytest.raises(InputError) as error:
        btr.study(tmp_path / "study.yaml", tmp_path / "report")
    assert message in str(error.value)
    assert not (tmp_path / "report" / "report.html").exists()


def test_a_name_twice_is_refused(tmp_path):
    (tmp_path / "study.yaml").write_text(EXAMPLE.read_text().replace("  MBR:", "  Vote:"))
    with pytest.raises(InputError, match=r"study.yaml, line \d+: is not valid YAML \(Vote stands there twice\)"):
        read_plan(tmp_path / "study.yaml")


@pytest.mark.parametrize(("missing", "code", "told"), [("torch", 0, ""), ("matplotlib", 2, "needs the extra 'train'")])
def test_without_torch_and_without_matplotlib(tmp_path, missing, code, told):
    """What is scored already needs no torch; what is to be drawn needs matplotlib, and says so."""
    write_gold(tmp_path / "gold.m2")
    rows = [row.candidates.to_dict() for row in ROWS]
    (tmp_path / "candidates.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    plan = {
        "sets": {"Toy": {"gold": ["gold.m2"]}},
        "validation": "Toy",
        "candidates": {"Base": {"files": {"Toy": "candidates.jsonl"}}},
        "rerankers": {"MBR": {"models": ["mbr"]}},
        "folds": 2,
    }
    (tmp_path / "study.yaml").write_text(yaml.safe_dump(plan))
    script = f"""
import sys

class Missing:
    def find_spec(self, name, *_):
        if name.partition(".")[0] == {missing!r}:
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Missing())
sys.argv = ["btr", "study", "study.yaml", "-o", "report"]
from btr.cli import main
main()
"""
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert (done.returncode, told in done.stderr) == (code, True)
    assert (tmp_path / "report" / "report.html").exists() == (code == 0)


def test_a_broken_cache_names_the_file(tmp_path):
    cache = StudyCache(tmp_path)
    assert cache.value("thing", {"a": 1}, list[int], lambda: [1]) == [1]
    assert cache.value("thing", {"a": 1}, list[int], lambda: [2]) == [1]
    assert cache.value("thing", {"a": 2}, list[int], lambda: [2]) == [2]
    assert cache.computed == ["thing", "thing"]
    one, two = sorted(tmp_path.glob("thing-*.json"))
    one.write_text("{")
    two.write_text(json.dumps({"key": {}, "value": "text"}))
    for a in (1, 2):
        with pytest.raises(InputError, match="delete the file, and it will be computed again"):
            cache.value("thing", {"a": a}, list[int], lambda: [1])


def test_records_come_back_from_the_cache_as_they_were(tmp_path):
    """Numbers to the last bit, tuples as tuples, absent values as None, and names in their order."""
    comparison = BaseVersusSuggested(3, 0.1, 1 / 3, (-1e-17, 2.5), 0.5, 0.25)
    measures = {"reject": VerdictMeasures(100 / 3, comparison), "accept": VerdictMeasures(0.0, None)}
    for _ in range(2):
        found = StudyCache(tmp_path).value("verdicts", {}, dict[str, VerdictMeasures], lambda: measures)
        assert (found, list(found)) == (measures, ["reject", "accept"])


def test_numbers_that_json_lacks_are_refused(tmp_path):
    with pytest.raises(ValueError, match="not JSON compliant"):
        StudyCache(tmp_path).value("thing", {}, list[float], lambda: [float("nan")])


def test_an_interrupted_stage_has_no_time(tmp_path):
    cache = StudyCache(tmp_path)

    def write(path):
        path.write_text("x")
        return Written("signature", 1.26)

    whole = cache.file("whole", {}, ".txt", write)
    assert whole.seconds == 1.3
    assert cache.file("whole", {}, ".txt", pytest.fail) == whole
    path = cache.path_of("resumed", {}, ".txt")
    path.with_name(f"{path.name}.part").write_text("")
    assert cache.file("resumed", {}, ".txt", write).seconds is None


def test_a_run_that_was_killed_before_its_card_is_continued(tmp_path):
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").write_text("{}")
    assert is_trained(tmp_path)  # imported: there is no log
    (tmp_path / "run.json").write_text('{"complete": true}')
    assert not is_trained(tmp_path)
    (tmp_path / "model" / "README.md").write_text("a card")
    assert is_trained(tmp_path)
