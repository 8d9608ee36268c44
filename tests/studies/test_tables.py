from dataclasses import replace

import pytest

from btr.decisions.rerank import BaseVersusSuggested
from btr.decisions.settings import Settings
from btr.studies.decision_table import decision_table, format_p
from btr.studies.error_tables import level_table, type_table
from btr.studies.figures import ranks_figure
from btr.studies.pipeline import BaseResult, RerankerResult
from btr.studies.plan import Plan
from btr.studies.records import (
    BaseMeasures,
    ComparedScores,
    CrossValidatedScore,
    ErrorComparisons,
    ErrorScores,
    LevelScores,
    RerankerMeasures,
    SystemScores,
    TunedGrid,
    VerdictMeasures,
)
from btr.studies.result_tables import describe_tops, difference_cell, main_results
from btr.studies.results import RankCurve, Results
from btr.studies.table import Cell, ColumnGroup, NotComputed, Row, Table, embolden, to_csv, to_latex, to_markdown
from btr.studies.time_table import time_cell, time_table

PLAN = Plan.model_validate(
    {
        "sets": {"Dev": {"metric": "errant", "gold": ["A.m2", "B.m2"]}},
        "validation": "Dev",
        "candidates": {"Base": {"files": {"Dev": "candidates.jsonl"}}},
        "rerankers": {"BTR": {"models": ["mbr"]}},
    }
)
MOVED = BaseVersusSuggested(10, 30.0, 31.0, (-0.5, 2.5), p_t_test=0.3, p_bootstrap=0.2)


def scores(value):
    return {"precision": value, "recall": value, "f0.5": value}


COLUMNS = {"precision": "precision", "recall": "recall", "f0.5": "F0.5"}


def errors(shift):
    """Levels, operations and types; what a reranker has is shifted."""
    operations = {"Missing": 10.0 + shift, "Replacement": 20.0}
    return ErrorScores(
        operations,
        {name: float(k + shift) for k, name in enumerate(["OTHER", "PUNCT", "DET", "PREP", "A", "B", "C"])},
        {"A": LevelScores(40.0 + shift, operations), "B": LevelScores(50.0 - shift, {})},
    )


@pytest.fixture
def results():
    interval = dict.fromkeys(("precision", "recall", "f0.5"), (29.0, 31.0))
    base = SystemScores(scores(30.0), interval, "f0.5")
    tuned = ComparedScores(scores(31.0), interval, "f0.5", (29.0, 31.0), 0.01, base=30.0)
    reranked = RerankerMeasures(
        tuned=tuned,
        without_threshold=replace(tuned, scores=scores(28.0)),
        verdicts={
            "accept": VerdictMeasures(0.0, None),
            "reject": VerdictMeasures(0.0, None),
            "equal": VerdictMeasures(100.0, None),
        },
        by_threshold=[],
        mean_probabilities=[],
        errors=errors(1),
        error_comparisons=ErrorComparisons(
            {"A": MOVED, "B": replace(MOVED, suggested=29.0), "all": replace(MOVED, p_bootstrap=0.01)},
            dict.fromkeys(["PUNCT", "DET", "PREP", "A"], MOVED),
        ),
        seeds=[],
        reranker_signature="btr|model:x",
    )
    measures = BaseMeasures(
        base, base, COLUMNS, candidates=5, gold_percent=0.0, unique_percent=0.0, errors=errors(0), sentences=10,
        signature="errant|gold:A",
    )  # fmt: skip
    crossed = CrossValidatedScore(10, 30.5, 0.5, (-0.2, 1.2), 0.2)
    settings = Settings(top=5, threshold=1.0)
    return Results(
        PLAN,
        bases={("Base", "Dev"): BaseResult(measures, "candidates.jsonl#1234", None)},
        reranked={("BTR", "Base", "Dev"): RerankerResult(reranked, settings, 12.6)},
        tuned={("BTR", "Base", "Dev"): TunedGrid(settings, crossed, [5], [None], [1.0], [[31.0]], [[True]])},
    )


def change_measures(results, **changes):
    """Change what was measured of the reranker."""
    result = results.reranked["BTR", "Base", "Dev"]
    results.reranked["BTR", "Base", "Dev"] = replace(result, measures=replace(result.measures, **changes))


def test_levels_and_operations(results):
    table = level_table(results, "Dev")
    assert table.columns == ["Missing", "Replacement", "Unnecessary", "All", "Δ base [95 %]"]
    told = {row.label: [(cell.text, cell.style) for cell in row.cells] for row in table.rows}
    assert list(told) == ["Base, A", "Base, B", "Base, all", "BTR, A", "BTR, B", "BTR, all"]
    assert told["Base, A"] == [("10.00", None), ("20.00", None), ("–", None), ("40.00", None), ("–", None)]
    assert told["BTR, A"][:4] == [("11.00", "best"), ("20.00", None), ("–", None), ("41.00", "best")]
    deltas = [told[f"BTR, {level}"][4][0] for level in ("A", "B", "all")]
    assert deltas == ["+1.00 [−0.50, +2.50]", "−1.00 [−0.50, +2.50]", "+1.00† [−0.50, +2.50]"]
    assert told["Base, B"][3] == ("50.00", "best")
    assert told["BTR, all"][3] == ("31.00", "best")
    assert table.rows[3].cells[0].signature.endswith("btr|model:x|threshold:1|top:5")


def test_the_most_frequent_types(results):
    table = type_table(results, "Dev")
    assert table.columns == ["PUNCT", "DET", "PREP", "A", "B"]
    assert [cell.value for cell in table.rows[1].cells] == [2, 3, 4, 5, 6]
    assert all(cell.style == "best" for cell in table.rows[1].cells)
    assert [cell.text for cell in table.rows[2].cells] == ["+1.00 [−0.50, +2.50]"] * 4 + ["–"]  # B was not compared
    base = results.bases["Base", "Dev"]
    untyped = replace(base.measures, errors=replace(errors(0), by_type=None))
    results.bases["Base", "Dev"] = replace(base, measures=untyped)
    assert isinstance(type_table(results, "Dev"), NotComputed)


def test_main_results(results):
    table = main_results(results, "Base", "Table 5", "table-05")
    assert table.groups == [
        ColumnGroup("Dev", ["P", "R", "F0.5", "Δ base [95 %]", "cross-validated", "its Δ base [95 %]"])
    ]
    assert [row.label for row in table.rows] == ["Oracle (5 candidates)", "Base", "BTR (λ = 1)", "w/o λ"]
    assert [cell.text for cell in table.rows[2].cells] == [
        "31.00",
        "31.00",
        "31.00",
        "+1.00† [+29.00, +31.00]",
        "30.50",
        "+0.50 [−0.20, +1.20]",
    ]
    assert [cell.text for cell in table.rows[3].cells[2:]] == ["28.00", "−2.00† [+29.00, +31.00]", "–", "–"]
    assert [row.partition(",")[0] for row in to_csv(table).splitlines()[-12::6]] == ["BTR (λ = 1)", "BTR w/o λ"]
    assert table.rows[2].cells[4].style == "best"  # 30.50 cross-validated, above the base model's 30.00
    assert any("no λ is better" in note for note in table.notes)  # since nothing was accepted


def test_decisions_without_any(results):
    table = decision_table(results)
    assert [cell.text for cell in table.rows[0].cells] == ["0.00", "0.00", "100.00"]
    assert all([cell.text for cell in row.cells] == ["–", "–", "–"] for row in table.rows[1:])


def test_decisions_have_intervals(results):
    verdicts = results.reranked["BTR", "Base", "Dev"].measures.verdicts
    change_measures(results, verdicts={**verdicts, "accept": VerdictMeasures(10.0, replace(MOVED, p_bootstrap=0.01))})
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


def test_captions_say_how_many_candidates_compete(results):
    """Also where it is not the same number for all, and where the oracle has more."""
    (note,) = [note for note in main_results(results, "Base", "", "").notes if "oracle" in note]
    assert note == "Rerankers choose among the top 5 candidates; the oracle chooses among all candidates."
    assert describe_tops({"A": None}) == "all candidates"
    assert describe_tops({"A": 2, "B": 5, "C": 2}) == "the top 2 candidates (A, C), the top 5 candidates (B)"
    plan = PLAN.model_copy(update={"rerankers": {"R2L": PLAN.rerankers["BTR"], **PLAN.rerankers}})
    ranks = {("R2L", "Dev"): RankCurve([0.5, 0.3, 0.2], "r2l"), ("BTR", "Dev"): RankCurve([0.6, 0.4], "btr")}
    figure = ranks_figure(Results(plan, bases=results.bases, ranks=ranks), "Dev")
    assert "over the top 2 candidates (BTR), the top 3 candidates (R2L) of Base." in figure.title
    assert figure.signatures == {"R2L": "r2l", "BTR": "btr"}


def test_times(results):
    table = time_table(results)
    rows = {row.label: row.cells[0].text for row in table.rows}
    assert "score up to 5 per sentence" in table.title  # there are no more, though 20 might compete
    assert rows == {"Base": "–", "BTR": "13"}
    assert time_cell(3.14, "").text == "3.1"


def test_small_words():
    assert difference_cell(-0.5, (-1, 0.25), 0.2, "s").text == "−0.50 [−1.00, +0.25]"
    assert difference_cell(0.5, (0.1, 1), 0.01, "s").text == "+0.50† [+0.10, +1.00]"
    assert (format_p(0.0004), format_p(0.0324)) == ("< 0.001", "0.032")


def test_the_best_is_bold_unless_all_are():
    rows = [Row("oracle", [Cell("9", 9)]), Row("a", [Cell("1.001", 1.001)]), Row("b", [Cell("1.00", 1.0)])]
    assert [row.cells[0].style for row in embolden(rows, [0], 1)] == [None, None, None]
    rows.append(Row("c", [Cell("0.50", 0.5)]))
    assert [row.cells[0].style for row in embolden(rows, [0], 1)] == [None, "best", "best", None]


TABLE = Table(
    "table-05",
    "Table 5",
    "W&I",
    "Model",
    [ColumnGroup("A", ["P", "R"]), ColumnGroup("B", ["F"])],
    [
        Row("Base", [Cell("1.00", 1.0, (0.5, 1.5), "m2|x"), Cell("–"), Cell("2.00", 2.0, None, "m2|y", "base")]),
        Row("w/o λ", [Cell("3.00", 3.0, None, "m2|x", "best"), Cell("–"), Cell("4_0", 4.0)], True, indent=True),
    ],
    ["50 % of it"],
    {"A": "m2|x"},
)


def test_csv_has_a_line_a_cell():
    assert to_csv(TABLE).splitlines()[:4] == [
        "row,column,value,low,high,signature",
        "Base,A P,1.0,0.5,1.5,m2|x",
        "Base,A R,–,,,",
        "Base,B F,2.0,,,m2|y",
    ]


def test_latex():
    assert to_latex(TABLE).splitlines()[3:] == [
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
    assert to_markdown(TABLE).splitlines() == [
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
