import json

import pytest

import btr
from btr.errors import InputError
from btr.rerankers.table import WEIGHTS

SENTENCES = [  # source, gold's edit, candidates, what the good reranker says of them
    ("He go home .", "1 2|||X|||goes", ("He go home .", "He goes home ."), (-2.0, -0.5)),
    ("She like it .", "1 2|||X|||likes", ("She liked it .", "She likes it ."), (-1.0, -0.9)),
    ("I am here .", None, ("I am here .", "I was here ."), (-0.6, -0.5)),
    ("They is old .", "1 2|||X|||are", ("They are old .", "They is old ."), (-0.1, -3.0)),
]


@pytest.fixture
def place(tmp_path):
    blocks, good, bad = [], [], []
    for source, edit, candidates, means in SENTENCES:
        line = edit or "-1 -1|||noop|||-NONE-"
        blocks.append(f"S {source}\nA {line}|||REQUIRED|||-NONE-|||0\n\n")
        row = {"source": source, "candidates": candidates, "lengths": [5, 5]}
        good.append({**row, "means": means})
        bad.append({**row, "means": [-1.0, -1.0]})
    (tmp_path / "gold.m2").write_text("".join(blocks))
    for name, rows in (("good", good), ("bad", bad)):
        lines = [{"reranker": name, "signature": f"{name}|model:x"}, *rows]
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return tmp_path


def test_each_cell_is_what_rerank_gives(place):
    gold = [place / "gold.m2"]
    found = btr.tune([place / "good.jsonl"], gold=gold, top=[1, 2, 20], step=0.1, folds=2)
    (model,) = found["models"]
    assert model["tops"] == [1, 2]  # there are no more candidates
    assert found["thresholds"] == [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
    for top, values, changed in zip(model["tops"], model["grid"], model["changed"]):
        for threshold, value, own in zip(found["thresholds"], values, changed):
            result = btr.rerank([place / "good.jsonl"], threshold=threshold, top=top, gold=gold)
            assert result["evaluation"]["reranked"]["f0.5"] == pytest.approx(value)
            assert own == (result["shares"]["accept"] > 0)


def test_the_best_cell_by_hand(place):
    """Of three gold edits the base makes one, and one that is wrong."""
    found = btr.tune([place / "good.jsonl"], gold=[place / "gold.m2"], top=[2], step=0.01, folds=2)
    assert found["base"]["counts"] == {"correct": 1, "proposed": 2, "gold": 3}
    (model,) = found["models"]
    # f rises by tanh of half the difference: 0.64, 0.05, 0.05. So λ = 0.04 changes three, and λ = 0.06 only the first.
    assert model["grid"][0][4] == pytest.approx(100 * 1.25 * 3 / (4 + 0.25 * 3))
    assert model["grid"][0][6] == pytest.approx(100 * 1.25 * 2 / (3 + 0.25 * 3))
    assert model["best"]["threshold"] == pytest.approx(0.04)  # the most careful of the best
    assert model["crossed"]["folds"] == 2
    assert "gold.m2#" in found["signature"]


def test_a_mixture_finds_who_is_right_and_rerank_takes_its_weights(place):
    files, gold = [place / "bad.jsonl", place / "good.jsonl"], [place / "gold.m2"]
    found = btr.tune(files, gold=gold, mix=True, step=0.05, folds=2)
    best = found["mixture"]["best"]
    assert best["weights"][1] in WEIGHTS[1:]
    assert best["scores"]["f0.5"] == pytest.approx(100 * 1.25 * 3 / (4 + 0.25 * 3))
    result = btr.rerank(files, threshold=best["threshold"], top=best["top"], weights=best["weights"], gold=gold)
    assert result["evaluation"]["reranked"] == pytest.approx(best["scores"])
    assert "|weights:" in result["signature"]


@pytest.mark.parametrize("kind", ["png", "svg", "pdf"])
def test_grids_are_drawn_and_drawn_alike(place, kind):
    for name in ("one", "two"):
        btr.tune(
            [place / "good.jsonl", place / "bad.jsonl"],
            gold=[place / "gold.m2"],
            folds=2,
            plot=place / f"{name}.{kind}",
        )
    assert (place / f"one.{kind}").read_bytes() == (place / f"two.{kind}").read_bytes()
    assert (place / f"one.{kind}").stat().st_size > 2000


def test_refusals(place):
    gold, good = [place / "gold.m2"], [place / "good.jsonl"]
    for options, words in (
        ({"folds": 5}, "4 sentences; they can't be dealt into 5"),
        ({"mix": True}, "needs several"),
        ({"step": 0.0}, "the step between thresholds"),
        ({"top": [0]}, "must be 1 or more"),
        ({"folds": 2, "plot": place / "x.doc"}, "name ends in one of"),
    ):
        with pytest.raises(InputError, match=words):
            btr.tune(good, gold=gold, **options)
    with pytest.raises(InputError, match="there are 2 weights and 1 scores files"):
        btr.rerank(good, weights=[1, 2])
    (place / "empty.jsonl").write_text('{"reranker": "x", "signature": "x"}\n')
    with pytest.raises(InputError, match="header and no scores"):
        btr.tune([place / "empty.jsonl"], gold=gold, folds=2)
