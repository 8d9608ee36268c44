import pytest

from btr.studies.decisions import decision_table, told_p
from btr.studies.levels import level_table, type_table
from btr.studies.pictures import ranks_figure
from btr.studies.plan import Plan
from btr.studies.results import Results
from btr.studies.sheets import Cell, Gap, Row, Sheet, embolden, to_csv, to_latex, to_markdown
from btr.studies.tables import difference, main_results, seconds, time_table, told_sizes

PLAN = Plan.model_validate(
    {
        "sets": {"Dev": {"metric": "errant", "gold": ["A.m2", "B.m2"]}},
        "validation": "Dev",
        "candidates": {"Base": {"files": {"Dev": "candidates.jsonl"}}},
        "rerankers": {"BTR": {"models": ["mbr"]}},
    }
)


def scored(value):
    return {"scores": {"precision": value, "recall": value, "f0.5": value}}


def by(shift):
    """Levels, operations and types; what a reranker has is shifted."""
    operations = {"Missing": scored(10 + shift), "Replacement": scored(20.0)}
    return {
        "operation": operations,
        "type": {name: scored(k + shift) for k, name in enumerate(["OTHER", "PUNCT", "DET", "PREP", "A", "B", "C"])},
        "group": {"A": {**scored(40 + shift), "operation": operations}, "B": {**scored(50 - shift), "operation": {}}},
    }


@pytest.fixture
def results():
    interval = {name: [29.0, 31.0] for name in ("precision", "recall", "f0.5")}
    base = {**scored(30.0), "interval": interval}
    tuned = {**scored(31.0), "interval": interval, "difference": interval, "p": dict.fromkeys(interval, 0.01)}
    case = {"percent": 0.0}
    moved = {"base": 30.0, "suggested": 31.0, "interval": [-0.5, 2.5], "p_bootstrap": 0.2, "p_t_test": 0.3}
    reranked = {
        "tuned": tuned,
        "plain": {**tuned, **scored(28.0)},
        "setting": {"top": 5, "threshold": 1.0},
        "decisions": {"accept": case, "reject": case, "equal": {"percent": 100.0}},
        "by": by(1),
        "compared": {
            "level": {"A": moved, "B": {**moved, "suggested": 29.0}, "all": {**moved, "p_bootstrap": 0.01}},
            "type": dict.fromkeys(["PUNCT", "DET", "PREP", "A"], moved),
        },
        "reranker": "btr|model:x",
        "seconds": 12.6,
    }
    crossed = {**scored(30.5), "folds": 10, "difference": 0.5, "interval": [-0.2, 1.2], "p": 0.2}
    found = {"base": base, "oracle": base, "candidates": 5, "by": by(0), "source": "candidates.jsonl#1234"}
    return Results(
        PLAN,
        bases={("Base", "Dev"): {**found, "signature": "errant|gold:A", "seconds": None}},
        reranked={("BTR", "Base", "Dev"): reranked},
        tuned={("BTR", "Base", "Dev"): {"crossed": crossed}},
    )


def test_levels_and_operations(results):
    sheet = level_table(results, "Dev")
    assert sheet.columns == ["Missing", "Replacement", "Unnecessary", "All", "Δ base [95 %]"]
    told = {row.label: [(cell.text, cell.style) for cell in row.cells] for row in sheet.rows}
    assert list(told) == ["Base, A", "Base, B", "Base, all", "BTR, A", "BTR, B", "BTR, all"]
    assert told["Base, A"] == [("10.00", ""), ("20.00", ""), ("–", ""), ("40.00", ""), ("–", "")]
    assert told["BTR, A"][:4] == [("11.00", "best"), ("20.00", ""), ("–", ""), ("41.00", "best")]
    deltas = [told[f"BTR, {level}"][4][0] for level in ("A", "B", "all")]
    assert deltas == ["+1.00 [−0.50, +2.50]", "−1.00 [−0.50, +2.50]", "+1.00† [−0.50, +2.50]"]
    assert told["Base, B"][3] == ("50.00", "best")
    assert told["BTR, all"][3] == ("31.00", "best")
    assert sheet.rows[3].cells[0].signature.endswith("btr|model:x|top:5|threshold:1")


def test_the_most_frequent_types(results):
    sheet = type_table(results, "Dev")
    assert sheet.columns == ["PUNCT", "DET", "PREP", "A", "B"]
    assert [cell.value for cell in sheet.rows[1].cells] == [2, 3, 4, 5, 6]
    assert all(cell.style == "best" for cell in sheet.rows[1].cells)
    assert [cell.text for cell in sheet.rows[2].cells] == ["+1.00 [−0.50, +2.50]"] * 4 + ["–"]  # B was not compared
    del results.bases["Base", "Dev"]["by"]["type"]
    assert isinstance(type_table(results, "Dev"), Gap)


def test_main_results(results):
    sheet = main_results(results, "Base", "Table 5", "table-05")
    assert sheet.groups == [("Dev", ["P", "R", "F0.5", "Δ base [95 %]", "cross-validated", "its Δ base [95 %]"])]
    assert [row.label for row in sheet.rows] == ["Oracle (5 candidates)", "Base", "BTR (λ = 1)", "  w/o λ"]
    assert [cell.text for cell in sheet.rows[2].cells] == [
        "31.00",
        "31.00",
        "31.00",
        "+1.00† [+29.00, +31.00]",
        "30.50",
        "+0.50 [−0.20, +1.20]",
    ]
    assert [cell.text for cell in sheet.rows[3].cells[2:]] == ["28.00", "−2.00† [+29.00, +31.00]", "–", "–"]
    assert [row.partition(",")[0] for row in to_csv(sheet).splitlines()[-12::6]] == ["BTR (λ = 1)", "BTR w/o λ"]
    assert sheet.rows[2].cells[4].style == "best"  # 30.50 cross-validated, above the base model's 30.00
    assert any("no λ is better" in note for note in sheet.notes)  # since nothing was accepted


def test_decisions_without_any(results):
    sheet = decision_table(results)
    assert [cell.text for cell in sheet.rows[0].cells] == ["0.00", "0.00", "100.00"]
    assert all([cell.text for cell in row.cells] == ["–", "–", "–"] for row in sheet.rows[1:])


def test_decisions_have_intervals(results):
    moved = results.reranked["BTR", "Base", "Dev"]["compared"]["level"]["all"]
    results.reranked["BTR", "Base", "Dev"]["decisions"]["accept"] = {"percent": 10.0, **moved}
    told = {row.label: row.cells[0] for row in decision_table(results).rows}
    assert [cell.text for cell in told.values()] == [
        "10.00",
        "30.00",
        "31.00†",
        "+1.00† [−0.50, +2.50]",
        "0.010",
        "0.300",
    ]
    assert told["Δ base [95 %]"].interval == (-0.5, 2.5)


def test_captions_say_how_many_candidates_take_part(results):
    """Also where it is not the same number for all, and where the oracle has more."""
    (note,) = [note for note in main_results(results, "Base", "", "").notes if "oracle" in note]
    assert note == "Rerankers choose among the top 5 candidates; the oracle among all that there are."
    assert told_sizes({"A": 2, "B": 5, "C": 2}) == "the top 2 candidates (A, C), the top 5 candidates (B)"
    other = {**results.reranked["BTR", "Base", "Dev"], "ranks": [0.5, 0.3, 0.2]}
    plan = PLAN.model_copy(update={"rerankers": {"R2L": PLAN.rerankers["BTR"], **PLAN.rerankers}})
    ranked = {("R2L", "Base", "Dev"): other, ("BTR", "Base", "Dev"): {**other, "ranks": [0.6, 0.4]}}
    picture = ranks_figure(Results(plan, bases=results.bases, reranked=ranked), "Dev")
    assert "over the top 2 candidates (BTR), the top 3 candidates (R2L) of Base." in picture.title
    assert [own.rpartition("|")[2] for own in picture.signatures.values()] == ["top:3", "top:2"]


def test_times(results):
    sheet = time_table(results)
    rows = {row.label: row.cells[0].text for row in sheet.rows}
    assert "score up to 5 a sentence" in sheet.title  # there are no more, though 20 might take part
    assert rows == {"Base": "–", "BTR": "13"}
    assert seconds({"seconds": 3.14}, "").text == "3.1"


def test_small_words():
    assert difference(-0.5, [-1, 0.25], 0.2, "s").text == "−0.50 [−1.00, +0.25]"
    assert difference(0.5, [0.1, 1], 0.01, "s").text == "+0.50† [+0.10, +1.00]"
    assert (told_p(0.0004), told_p(0.0324)) == ("< 0.001", "0.032")


def test_the_best_is_bold_unless_all_are():
    rows = [Row("oracle", [Cell("9", 9)]), Row("a", [Cell("1.001", 1.001)]), Row("b", [Cell("1.00", 1.0)])]
    assert [row.cells[0].style for row in embolden(rows, [0], 1)] == ["", "", ""]
    rows.append(Row("c", [Cell("0.50", 0.5)]))
    assert [row.cells[0].style for row in embolden(rows, [0], 1)] == ["", "best", "best", ""]


SHEET = Sheet(
    "table-05",
    "Table 5",
    "W&I",
    "Model",
    [("A", ["P", "R"]), ("B", ["F"])],
    [
        Row("Base", [Cell("1.00", 1.0, (0.5, 1.5), "m2|x"), Cell("–"), Cell("2.00", 2.0, None, "m2|y", "base")]),
        Row("  w/o λ", [Cell("3.00", 3.0, None, "m2|x", "best"), Cell("–"), Cell("4_0", 4.0)], rule=True),
    ],
    ["50 % of it"],
    {"A": "m2|x"},
)


def test_csv_has_a_line_a_cell():
    assert to_csv(SHEET).splitlines()[:4] == [
        "row,column,value,low,high,signature",
        "Base,A P,1.0,0.5,1.5,m2|x",
        "Base,A R,–,,,",
        "Base,B F,2.0,,,m2|y",
    ]


def test_latex():
    assert to_latex(SHEET).splitlines()[3:] == [
        "\\begin{tabular}{lrrr}",
        "\\toprule",
        " & \\multicolumn{2}{c}{A} & \\multicolumn{1}{c}{B} \\\\",
        "\\cmidrule(lr){2-3} \\cmidrule(lr){4-4}",
        "Model & P & R & F \\\\",
        "\\midrule",
        "Base & 1.00 & -- & \\textcolor{gray}{2.00} \\\\",
        "\\midrule",
        "\\quad w/o $\\lambda$ & \\textbf{3.00} & -- & 4\\_0 \\\\",
        "\\bottomrule",
        "\\end{tabular}",
        "\\caption{(Table 5) W\\&I}",
        "\\par\\smallskip\\raggedright\\scriptsize 50 \\% of it \\\\ A: m2\\textbar{}x",
        "\\end{table}",
    ]


def test_markdown():
    assert to_markdown(SHEET).splitlines() == [
        "**Table 5. W&I**",
        "",
        "| Model | A P | A R | B F |",
        "| :-- | --: | --: | --: |",
        "| Base | 1.00 | – | *2.00* |",
        "| &emsp;w/o λ | **3.00** | – | 4_0 |",
        "",
        "- 50 % of it",
        "- A: `m2|x`",
    ]
