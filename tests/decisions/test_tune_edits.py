"""`score --edits` → `tune --edits` → `rerank --judge` on the command line, with sentences of the toy language."""

import json
import signal
import sys

import pytest
import toy
from judged import RANKS, make_table, write_judge, write_tables

import btr
from btr.cli import main
from btr.corpus import read_lines
from btr.corpus.candidates import read_candidates
from btr.corpus.edits import read_edit_tables
from btr.decisions.edit_features import WITH_LOG_PROBS, WITHOUT_LOG_PROBS
from btr.decisions.edit_table import extract_tables
from btr.decisions.fit_judge import fit_judges
from btr.decisions.judge import read_judges
from btr.decisions.tune_edits import (
    CUTOFFS,
    all_confidences,
    cross_validate,
    load_edit_gold,
    read_set,
    tune_edits,
)
from btr.errors import InputError
from btr.rerankers.edit_scores import score_edits
from btr.rerankers.model_free import MBR

SETS = {"one": (45, 0), "two": (30, 1)}  # sentences and seed


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Two sets, each with its edit tables and its gold, and a judge that was fitted on both."""
    folder = tmp_path_factory.mktemp("sets")
    for name, (count, seed) in SETS.items():
        rows = list(toy.sentences(count, seed))
        toy.write_candidates(folder / f"{name}.candidates.jsonl", rows)
        toy.write_m2(folder / f"{name}.m2", rows)
        # Which `btr score --edits` refuses, since it is about the list of candidates; here it is as good as any.
        tables = extract_tables(list(read_candidates(folder / f"{name}.candidates.jsonl")), processes=1)
        write_tables(folder / f"{name}.jsonl", score_edits([MBR()], tables), "mbr", sources=count)
    tune_edits(
        [folder / "one.jsonl", folder / "two.jsonl"], folder / "judge.json",
        gold=[folder / "one.m2", folder / "two.m2"], folds=2,
    )  # fmt: skip
    return folder


@pytest.fixture
def run(monkeypatch, capsys):
    """Run `btr` as a user does, and return the exit code, standard output and standard error."""

    def run(*arguments):
        monkeypatch.setattr(signal, "signal", lambda *_: None)
        monkeypatch.setattr(sys, "argv", ["btr", *map(str, arguments)])
        capsys.readouterr()
        code = 0
        try:
            main()
        except SystemExit as end:
            code = end.code
        return code, *capsys.readouterr()

    return run


def both(folder):
    return ["tune", "--edits", folder / "one.jsonl", folder / "two.jsonl", "--gold", folder / "one.m2",
            "--gold", folder / "two.m2", "--folds", 2]  # fmt: skip


def test_a_judge_of_two_sets(run, made, tmp_path):
    output, figure = tmp_path / "judge.json", tmp_path / "reliability.png"
    code, printed, _ = run(*both(made), "-o", output, "--plot", figure, "--json")
    record = json.loads(printed)
    assert code == 0
    golds = [made / "one.m2", made / "two.m2"]
    assert record == json.loads(
        json.dumps(tune_edits([made / "one.jsonl", made / "two.jsonl"], gold=golds, folds=2).to_dict())
    )
    judges = read_judges(output)
    assert [judge.to_dict() for judge in judges.judges] == record["judges"]
    assert judges.rerankers == ("mbr",)
    assert [judge.names for judge in judges.judges] == [
        (*WITH_LOG_PROBS, "mbr"), WITH_LOG_PROBS, (*WITHOUT_LOG_PROBS, "mbr"), WITHOUT_LOG_PROBS,
    ]  # fmt: skip
    assert {judge.fitted_on for judge in judges.judges} == {("one", "two")}
    assert [(each["name"], each["sentences"]) for each in record["sets"]] == [("one", 45), ("two", 30)]
    assert len(record["fold_cutoffs"]) == 2
    for each in record["sets"]:
        assert len(each["curve"]) == len(record["cutoffs"]) == len(CUTOFFS)
        assert each["gain"] == pytest.approx(each["cross_validated"]["scores"]["f0.5"] - each["base"]["scores"]["f0.5"])
        assert each["base"]["metric"] == "errant"
        assert each["edits"] == sum(row["edits"] for row in each["calibration"]["bins"])
    assert figure.read_bytes()[:4] == b"\x89PNG"
    assert figure.stat().st_size > 2000


def test_what_people_read(run, made, tmp_path):
    code, printed, _ = run(*both(made), "-o", tmp_path / "judge.json")
    assert code == 0
    for words in (
        "one: 45 sentences, ",
        "two: 30 sentences, ",
        "cross-validated (",
        "expected calibration error 0.",
        "Cut-off for all sentences: 0.",
        "if the base candidate makes it",
        "if mbr prefers the sentence with the edit (log-odds)",
        "if words are replaced",
    ):
        assert words in printed
    assert read_judges(tmp_path / "judge.json") == read_judges(made / "judge.json")


def test_each_fold_is_decided_by_judges_of_the_others(made):
    sets = [read_set(made / f"{name}.jsonl", load_edit_gold(made / f"{name}.m2")) for name in SETS]
    confidences, cutoffs, texts = cross_validate(sets, (), 3, CUTOFFS, False)
    for fold in range(3):
        others = [each.labelled.select([k for k in range(len(each.labelled.tables)) if k % 3 != fold]) for each in sets]
        judges = fit_judges(others)
        for each, values, chosen in zip(sets, confidences, texts):
            expected = all_confidences(judges, each.labelled)
            assert values[fold::3] == expected[fold::3]
            assert chosen[fold::3] == each.texts(expected, cutoffs[fold], False)[fold::3]


def test_the_cutoff_has_the_best_mean_of_the_sets(made):
    sets = [read_set(made / f"{name}.jsonl", load_edit_gold(made / f"{name}.m2")) for name in SETS]
    paths, golds = ([made / f"{name}{suffix}" for name in SETS] for suffix in (".jsonl", ".m2"))
    tuned = tune_edits(paths, gold=golds, folds=2, cutoffs=(0.0, 0.3, 0.5, 0.99))
    means = {
        cutoff: sum(
            each.gold.metric.score(each.texts(all_confidences(tuned.judges, each.labelled), cutoff, False)).value
            for each in sets
        )
        for cutoff in tuned.cutoffs
    }
    assert means[tuned.cutoff] == max(means.values())
    assert len(set(means.values())) > 1


def test_an_adapted_judge(run, made, tmp_path):
    before = (made / "judge.json").read_bytes()
    command = ["tune", "--edits", made / "two.jsonl", "--gold", made / "two.m2", "--folds", 2]
    code, printed, _ = run(*command, "--judge", made / "judge.json", "-o", tmp_path / "adapted.json", "--json")
    assert code == 0
    adapted = read_judges(tmp_path / "adapted.json")
    assert [judge.to_dict() for judge in adapted.judges] == json.loads(printed)["judges"]
    assert {judge.fitted_on for judge in adapted.judges} == {("one", "two", "two")}
    assert adapted.judges != fit_judges([read_set(made / "two.jsonl", load_edit_gold(made / "two.m2")).labelled])
    assert (made / "judge.json").read_bytes() == before


def test_references_stand_for_the_gold(run, made, tmp_path):
    rows = list(toy.sentences(*SETS["two"]))
    (tmp_path / "source").write_text("".join(f"{source}\n" for source, *_ in rows))
    (tmp_path / "reference").write_text("".join(f"{gold}\n" for _, gold, _ in rows))
    options = ["--source", tmp_path / "source", "--reference", tmp_path / "reference", "--folds", 2, "--json"]
    code, printed, _ = run("tune", "--edits", made / "two.jsonl", *options)
    assert code == 0
    record = json.loads(printed)
    assert record["sets"][0]["base"]["metric"] == "gleu"
    expected = tune_edits(made / "two.jsonl", gold=made / "two.m2", folds=2)
    assert record["judges"] == [judge.to_dict() for judge in expected.judges]  # the labels are the same


def test_a_judge_decides_as_it_was_tuned(run, made, tmp_path):
    output, judge = tmp_path / "out.txt", made / "judge.json"
    options = ["--judge", judge, "--cutoff", 0.4, "--gold", made / "one.m2", "--metric", "errant"]
    code, printed, _ = run("rerank", made / "one.jsonl", *options, "-o", output, "--json")
    assert code == 0
    record = json.loads(printed)
    texts = list(read_lines(output))
    assert texts == [sentence["text"] for sentence in record["sentences"]]
    each = read_set(made / "one.jsonl", load_edit_gold(made / "one.m2"))
    confidences = all_confidences(read_judges(judge).judges, each.labelled)
    assert texts == each.texts(confidences, 0.4, False)
    assert [[edit["confidence"] for edit in sentence["edits"]] for sentence in record["sentences"]] == confidences
    for sentence in record["sentences"]:
        assert all(edit["confidence"] >= 0.4 for edit in sentence["edits"] if edit["made"])
    evaluated = btr.evaluate(output, metric="errant", gold=made / "one.m2").scores
    assert record["reranked"]["scores"] == evaluated
    assert record["base"]["scores"] != evaluated
    assert record["features"] == [*WITH_LOG_PROBS, "mbr"]
    assert record["signature"].endswith("|cutoff:0.4")


def test_a_higher_cutoff_makes_fewer_edits(run, made, tmp_path):
    table, judge = made / "one.jsonl", ["--judge", made / "judge.json"]
    sources = [each.candidates.source for each in read_edit_tables(table)[1]]
    counts = []
    for cutoff in (0, 0.5, 1):
        code, printed, _ = run("rerank", table, *judge, "--cutoff", cutoff, "-o", tmp_path / "out.txt")
        counts.append(int(printed.split()[0]))
        assert (code, "edits made in 45 sentences" in printed) == (0, True)
    assert counts == sorted(counts, reverse=True)
    assert counts[0] > counts[1] > counts[2] == 0
    assert list(read_lines(tmp_path / "out.txt")) == sources
    code, printed, _ = run("rerank", table, *judge, "--cutoff", 0, "--base-edits-only", "-o", tmp_path / "base.txt")
    assert list(read_lines(tmp_path / "base.txt")) == [each.candidates.texts[0] for each in read_edit_tables(table)[1]]


def test_texts_on_standard_output_are_alone_there(run, made):
    code, printed, said = run("rerank", made / "two.jsonl", "--judge", made / "judge.json", "-o", "-")
    assert (code, len(printed.splitlines())) == (0, 30)
    assert "edits made in 30 sentences" in said


def refuse(run, folder, *arguments):
    """Return the one sentence of a command that can't be done; it must leave everything as it was."""
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    code, printed, said = run(*arguments)
    assert (code, printed, said.count("\n")) == (2, "", 1)
    assert said.startswith("btr: ")
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    return said


@pytest.mark.parametrize(
    ("files", "golds", "options", "why"),
    [
        (["one", "two"], ["one"], [], "each file of edit tables needs its gold: there are 2 files and 1 gold"),
        (["one"], ["one", "two"], [], "each file of edit tables needs its gold: there are 1 file and 2 golds"),
        (["one"], [], [], "each file of edit tables needs its gold"),
        (["one", "two"], [], ["--reference", "one.m2", "--source", "one.m2"], "each file of edit tables needs"),
        (["one"], ["two"], [], "one.jsonl: has 45 sources, but {folder}/two.m2 has 30 sentences"),
        (["one", "two"], ["two", "one"], [], "one.jsonl: has 45 sources, but"),
        (["two"], ["turned"], [], "two.jsonl: source 1 is not that of {folder}/turned.m2; are both in order?"),
        (["two", "plain"], ["two", "two"], [], "plain.jsonl: has log-odds of other rerankers than {folder}/two.jsonl"),
        (["two"], ["absent"], [], "absent.m2: no such file"),
        (["absent"], ["two"], [], "absent.jsonl: no such file"),
        (["two.candidates"], ["two"], [], "line 1: is no file of edit tables; write one with 'btr score --edits'"),
        (["two"], ["two"], ["--folds", "31"], "the sentences of a set can't be dealt into 31 folds"),
        (["two"], ["two"], ["--folds", "1"], "--folds"),
        (["two"], ["two"], ["--judge", "absent.json"], "absent.json: no such file"),
        (["two"], ["two"], ["--judge", "two.m2"], "two.m2: can't be read as JSON"),
        (["two"], ["nothing"], [], "a judge needs edits that are right and edits that are wrong"),
        (["two"], ["two"], ["-o", "two.jsonl"], "two.jsonl: is an input, too; choose another output"),
        (["two"], ["two"], ["--judge", "judge.json", "-o", "judge.json"], "judge.json: is an input, too"),
        (["two"], ["two"], ["-o", "two.m2"], "two.m2: is an input, too; choose another output"),
        (["two"], ["two"], ["-o", "nowhere/judge.json"], "judge.json: cannot be written; is {folder}/nowhere a folder"),
    ],
)
def test_what_cannot_be_tuned_is_one_sentence(run, made, tmp_path, files, golds, options, why):
    for path in made.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    rows = list(toy.sentences(*SETS["two"]))
    toy.write_m2(tmp_path / "turned.m2", rows[::-1])
    toy.write_m2(tmp_path / "nothing.m2", [(source, source, texts) for source, _, texts in rows])
    write_tables(
        tmp_path / "plain.jsonl", [table.with_log_odds([]) for table in read_edit_tables(made / "two.jsonl")[1]]
    )
    options = [tmp_path / each if "." in each else each for each in options]
    if "-o" not in options:
        options += ["-o", tmp_path / "new.json"]
    command = [*(tmp_path / f"{name}.jsonl" for name in files)]
    command += [part for name in golds for part in ("--gold", tmp_path / f"{name}.m2")]
    assert why.format(folder=tmp_path) in refuse(run, tmp_path, "tune", "--edits", *command, *options)


@pytest.mark.parametrize("cutoffs", [(), (0.5, 1.1), (-0.1,), (float("nan"),)])
def test_cutoffs_are_probabilities(made, tmp_path, cutoffs):
    with pytest.raises(InputError, match=r"^the cut-offs are probabilities, from 0 to 1\.$"):
        tune_edits(made / "two.jsonl", tmp_path / "judge.json", gold=made / "two.m2", cutoffs=cutoffs)
    assert not (tmp_path / "judge.json").exists()


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (
            ["--judge", "judge.json", "--cutoff", "1.5"],
            "Invalid value for '--cutoff': must be a number from 0 to 1, not 1.5; see",
        ),
        (
            ["--judge", "judge.json", "--cutoff", "-0.1"],
            "Invalid value for '--cutoff': must be a number from 0 to 1, not -0.1; see",
        ),
        (
            ["--judge", "judge.json", "--cutoff", "nan"],
            "Invalid value for '--cutoff': must be a number from 0 to 1, not nan; see",
        ),
        (["--judge", "judge.json", "--gold", "one.m2"], "two.jsonl: has 30 sources, but"),
        (["--judge", "absent.json"], "absent.json: no such file"),
        (["--judge", "other.json"], "no judge can do without wisdom; fit one with 'btr tune --edits'"),
        (["--judge", "judge.json", "one.jsonl"], "a judge reads one file of edit tables"),
        (["--cutoff", "0.5"], "--cutoff needs a judge; name one with --judge"),
        (["--judge", "judge.json", "-o", "judge.json"], "judge.json: is an input, too"),
    ],
)
def test_what_cannot_be_judged_is_one_sentence(run, made, tmp_path, options, why):
    for path in made.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    write_judge(tmp_path / "other.json", {"wisdom": 1.0})
    options = [tmp_path / each if each.endswith((".json", ".m2", ".jsonl")) else each for each in options]
    if "-o" not in options:
        options += ["-o", tmp_path / "out.txt"]
    assert why in refuse(run, tmp_path, "rerank", tmp_path / "two.jsonl", *options)


def test_edit_tables_without_any_edit(run, made, tmp_path):
    """Beside another set they have no part in the judge; by themselves they stay as they are."""
    tables = [make_table(f"He is {k} .", (f"He is {k} .",), (-1.0,)) for k in range(4)]
    clean = write_tables(tmp_path / "clean.jsonl", [table.with_log_odds([[]]) for table in tables], "mbr")
    toy.write_m2(tmp_path / "clean.m2", [(table.candidates.source, table.candidates.source, ()) for table in tables])
    command = ["tune", "--edits", made / "two.jsonl", clean, "--gold", made / "two.m2", "--gold", tmp_path / "clean.m2"]
    code, printed, _ = run(*command, "--folds", 2, "--json", "--plot", tmp_path / "figure.svg")
    assert code == 0
    second = json.loads(printed)["sets"][1]
    assert (second["name"], second["edits"], second["calibration"]) == ("clean", 0, {"bins": [], "error": 0.0})
    assert (tmp_path / "figure.svg").stat().st_size > 2000
    judge = write_judge(tmp_path / "ranks.json", RANKS)
    code, printed, _ = run("rerank", clean, "--judge", judge, "-o", tmp_path / "out.txt")
    assert (code, printed.splitlines()[0]) == (0, "0 of 0 edits made in 4 sentences")
    assert list(read_lines(tmp_path / "out.txt")) == [table.candidates.source for table in tables]
