"""studies/paper.yaml from nothing to the report: the same plan and recipes, with tiny models and a toy language.

a_train is 0 and 5, a_pred 2 and 3, and there are two seeds; everything else is as in the plan.
"""

import csv
import json
import shutil
from pathlib import Path

import pytest
import yaml

import btr
from btr.studies.plan import read_plan

tiny = pytest.importorskip("tiny")
toy = pytest.importorskip("toy")

ROOT = Path(__file__).parents[2]
PAPER = ROOT / "studies" / "paper.yaml"
NAMES = "CoNLL-13", "CoNLL-14", "CoNLL-14 (cleaned)", "BEA dev", "BEA", "JFLEG dev", "JFLEG"


def write_corpora(folder):
    """Write toy corpora under the names that the plan has."""
    long = [*"abcde", "the", "cat", "sat", "on", "mat", ",", "he", "goes", "on", "two", "dogs", "."]  # for figure 3
    for name in ("clang8", "conll13", "conll14", "wi", "bea", "jfleg-dev", "jfleg"):
        (folder / name).mkdir(parents=True)
    pairs = list(toy.sentences(60, 1))
    (folder / "clang8" / "clang8.tsv").write_text("".join(f"{source}\t{gold}\n" for source, gold, _ in pairs))
    (folder / "text.txt").write_text("".join(f"{gold} {gold} {gold}\n" for _, gold, _ in pairs))
    toy.write_m2(folder / "conll13" / "cleaned.m2", list(toy.sentences(8, 2)))
    rows = [(" ".join(["a", *long[1:]]), " ".join(long), []) for long in (long, ["the", *long[1:]])]
    for name in ("official-2014.combined-withalt.m2", "cleaned.m2"):
        toy.write_m2(folder / "conll14" / name, [*toy.sentences(4, 3), *rows])
    for seed, level in enumerate("ABCN", 4):
        toy.write_m2(folder / "wi" / f"{level}.dev.gold.bea19.m2", list(toy.sentences(2, seed)))
    write_lines(folder / "bea" / "ABCN.test.bea19.orig", [source for source, _, _ in toy.sentences(6, 8)])
    for name, part, seed in (("jfleg-dev", "dev", 9), ("jfleg", "test", 10)):
        own = list(toy.sentences(4, seed))
        write_lines(folder / name / f"{part}.src", [source for source, _, _ in own])
        for k in range(4):
            write_lines(folder / name / f"{part}.ref{k}", [gold for _, gold, _ in own])


def write_lines(path, lines):
    path.write_text("".join(f"{line}\n" for line in lines))


def write_models(folder):
    """Write tiny models in place of the hub's; the T5 can name spans."""
    for name in ("google/t5-v1_1-base", "google/t5-v1_1-large"):
        tiny.save_t5(folder / name, vocab_size=40, num_layers=2)
        tokenizer = tiny.t5_tokenizer()
        tokenizer.add_tokens([f"<extra_id_{k}>" for k in range(1, 6)])
        tokenizer.save_pretrained(folder / name)
    tiny.save_encoder(folder / "roberta-base", "roberta")
    tiny.save_encoder(folder / "bert-large-cased", "bert")


def shrink_recipes(folder, data):
    """Write the paper's recipes for tiny models and one or two updates, otherwise as they are."""
    (folder / "recipes" / "paper").mkdir(parents=True)
    for path in (ROOT / "recipes" / "paper").glob("*.yaml"):
        recipe = yaml.safe_load(path.read_text())
        recipe |= {"batch_tokens": 512, "micro_tokens": 512}
        if "epochs" in recipe:
            recipe["epochs"] = 1 if recipe["kind"] == "seq2seq" else 2
        else:
            recipe["steps"] = 2
            recipe["data"]["text"] = [str(data / "text.txt")]
        if recipe["kind"] == "seq2seq":  # which writes at length after one update
            recipe["validation"]["sentences"] = 1
        if recipe["optimizer"].get("warmup_epochs"):
            recipe["optimizer"]["warmup_epochs"] = 0.5
        (folder / "recipes" / "paper" / path.name).write_text(yaml.safe_dump(recipe))


def shrink_plan():
    """Return the paper's plan with a_train 0 and 5, a_pred 2 and 3, two seeds, and short candidates."""
    plan = yaml.safe_load(PAPER.read_text())
    left_out = ("-a10", "-a20", "-10.", "-20.")
    plan["training"] = [
        {**stage, **({"seeds": stage["seeds"][:2]} if "seeds" in stage else {})}
        for stage in plan["training"]
        if not any(end in f"{stage.get('train', '')} {stage['output']} " for end in left_out)
    ]
    for stage in plan["training"]:
        if "generate" in stage:
            stage["max_length"] = 25
    rerankers = {
        name: reranker
        for name, reranker in plan["rerankers"].items()
        if not name.endswith(("(a_train 10)", "(a_train 20)"))
    }
    rerankers["BTR"] = {**rerankers.pop("BTR (a_train 5)"), "negatives": 5}
    del rerankers["BTR"]["variant_of"]
    for reranker in rerankers.values():
        reranker["models"] = [name for name in reranker["models"] if not name.endswith(("-3/model", "-4/model"))]
    plan["rerankers"] = rerankers
    plan["finetuning"] = {name: runs[:2] for name, runs in plan["finetuning"].items() if name.endswith(("= 0", "= 5"))}
    for part in ("candidates", "decoding"):
        for candidates in plan[part].values():
            candidates["max_length"] = 25
    for dataset in plan["sets"].values():
        dataset.pop("sentences")
        dataset.pop("tokens")
    plan["sets"]["BEA"]["levels"] = {"A": 2, "B": 2, "C": 1, "N": 1}
    del plan["sets"]["CoNLL-13"]["reference"], plan["launch"], plan["counts"]
    return {**plan, "top": [2, 3], "folds": 2}


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    write_corpora(folder / "data")
    write_models(folder)
    shrink_recipes(folder, folder / "data")
    (folder / "study.yaml").write_text(yaml.safe_dump(shrink_plan(), sort_keys=False))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("BTR_DATA", str(folder / "data"))
        yield folder, btr.study("study.yaml", "report", beside="paper")
    shutil.rmtree(folder, ignore_errors=True)


def cells(folder, name):
    with open(folder / "report" / f"{name}.csv", encoding="utf-8", newline="") as file:
        return {(row["row"], row["column"]): row for row in csv.DictReader(file)}


def test_every_table_and_figure_is_made(ran):
    folder, result = ran
    assert result.gaps == {}
    numbers = [2, 4, 5, 6, 13, 14, 16, 18, 20, 21, 26, 28, 29]
    tables = [f"table-{number:02}" for number in numbers]
    tables += ["table-07-t5gec-large", "table-19-t5gec-large", "table-22-bea-dev", "table-23-bea-dev"]
    tables += ["table-24-bea-dev", "table-25-jfleg-dev"]
    assert {name for name in tables if f"{name}.csv" not in result.files} == set()
    figures = ["figure-03", "figure-06", "figure-07", "figure-04-conll-14", "figure-08-conll-13", "figure-08-conll-14"]
    figures += ["figure-10-bea-dev", "figure-10-bea", "figure-12-bea", "figure-13-jfleg-dev", "figure-13-jfleg"]
    figures += ["figure-15-jfleg"]
    assert {name for name in figures if f"{name}.svg" not in result.files} == set()
    text = (folder / "report" / "report.md").read_text()
    for number in ("Tables 5 and 8", "Tables 9 and 20", "Tables 7, 10 and 27", "Tables 14 and 15", "Tables 16 and 17"):
        assert f"**{number}." in text


def test_every_stage_ran_once(ran):
    _, result = ran
    # T5GEC in two sizes; pre-training of R2L and BTR; two seeds each of R2L, BERT, RoBERTa and BTR with both a_train
    assert result.ran["train"] == 2 + 2 + 2 * (1 + 1 + 2 + 2)
    assert result.ran["generate"] == 2  # to validate on, and negatives of a beam of 5
    assert btr.study("study.yaml", "report", beside="paper").ran == {}


def test_a_train_and_a_pred(ran):
    folder, _ = ran
    assert {row for row, _ in cells(folder, "table-14")} == {
        *("RoBERTa, a_train = 0", "RoBERTa, a_train = 5", "BTR, a_train = 0", "BTR, a_train = 5"),
    }
    table = cells(folder, "table-16")
    assert {row for row, _ in table} == {f"{name}, a_pred = {size}" for name in ("RoBERTa", "BTR") for size in (2, 3)}
    assert "|size:2|" in table["BTR, a_pred = 2", "1"]["signature"]
    assert "|size:3|" in table["BTR, a_pred = 3", "1"]["signature"]
    grid = cells(folder, "table-24-bea-dev")
    names = ("BTR", "BTR (a_train 0)")
    assert {row for row, _ in grid} == {f"{name}, a_pred = {size}" for name in names for size in (2, 3)}
    transfer = cells(folder, "table-26")
    for tuned_on in ("CoNLL-13", "BEA dev", "JFLEG dev"):
        assert transfer[tuned_on, "a_train"]["value"] in ("0", "5")
        assert transfer[tuned_on, "a_pred"]["value"] in ("2", "3")
    assert transfer["CoNLL-13", "a_train"]["value"] == "5"
    assert transfer["BEA dev", "JFLEG (GLEU)"]["value"] == "–"
    assert transfer["JFLEG dev", "JFLEG (GLEU)"]["value"] != "–"
    assert set(cells(folder, "table-13")) == {(a, kind) for a in "05" for kind in ("btr", "roberta")}
    pairs = {a: int(cells(folder, "table-13")[a, "btr"]["value"]) for a in "05"}
    assert pairs["0"] == 60 < pairs["5"]


def test_without_gold(ran):
    """BEA's test set is reranked and timed, and its outputs are there to be scored elsewhere."""
    folder, result = ran
    assert not any(column.startswith("BEA ") for _, column in cells(folder, "table-05") if "dev" not in column)
    assert cells(folder, "table-29")["BTR", "BEA"]["value"] != "–"
    assert cells(folder, "table-21")["BEA, A", "# of data"]["value"] == "2"
    outputs = ["output-bea-t5gec.txt", "output-bea-t5gec-btr.txt", "output-bea-tuned-on-bea-dev.txt"]
    for name in outputs:
        assert name in result.files
        assert len((folder / "report" / name).read_text().splitlines()) == 6
    log = json.dumps(result.to_dict())
    assert "output-bea-t5gec-large-r2l.txt" in log


def test_rows_of_the_main_table(ran):
    folder, _ = ran
    rows = list(dict.fromkeys(row.partition(" (λ")[0] for row, _ in cells(folder, "table-05")))
    assert rows == [
        *("Oracle (2 candidates)", "T5GEC", "R2L", "R2L w/o L2R", "BERT", "RoBERTa", "RoBERTa w/o λ"),
        *("BTR", "BTR w/o λ", "BTR w/o a_train, λ"),
    ]


def test_the_cost_of_the_papers_plan(monkeypatch):
    """Without any corpus or model: the counts of the plan and of the recipes stand in."""
    monkeypatch.chdir(ROOT)
    monkeypatch.delenv("BTR_DATA", raising=False)
    cost = btr.study_cost("studies/paper.yaml", devices=2)
    kinds = [stage.stage for stage in cost.stages]
    of_training = 44 + 4  # runs, and the candidates that they need
    assert kinds[of_training:] == sorted(kinds[of_training:], key=["generate", "score", "tables"].index)
    assert kinds[:3] == ["train", "train", "generate"]
    assert kinds.count("train") == 4 + 4 * (1 + 1 + 4 + 4)
    assert all(stage.flops > 0 and stage.hours > 0 for stage in cost.stages[:-1])
    by_name = {stage.what: stage for stage in cost.stages}
    # A BTR reads each of 5 candidates once per token: 1 source and 5 × 28 rows of 28 tokens, for 1,381 sentences.
    scored = by_name["btr:runs/btr-a20/model, T5GEC, CoNLL-13 (5 candidates)"]
    assert scored.tokens == 1381 * (28 + 5 * 28 * 28)
    assert f"T5GEC, CoNLL-13 ({20} candidates)" in by_name
    assert "T5GEC, CoNLL-14 (20 candidates)" not in by_name  # nothing is tuned there
    assert sum(stage.hours for stage in cost.stages) == pytest.approx(cost.hours)
    half = btr.study_cost("studies/paper.yaml", devices=4)
    assert half.hours == pytest.approx(cost.hours / 2)


def test_the_plan_names_the_papers_sets():
    plan = read_plan(PAPER)
    assert tuple(plan.sets) == NAMES
    assert {plan.rerankers[name].negatives for name in plan.family("BTR")} == {0, 5, 10, 20}
    assert plan.top == [5, 10, 15, 20]
