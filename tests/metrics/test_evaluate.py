"""The verbs as Python functions, on the sample that the demo shows."""

from dataclasses import replace
from pathlib import Path

import pytest

import btr
from btr.corpus import write_candidates, write_lines
from btr.corpus.candidates import read_candidates
from btr.errors import InputError

EXAMPLES = Path(__file__).parents[2] / "examples"
GOLD = [EXAMPLES / "gold.m2"]
REFERENCES = [EXAMPLES / "reference0.txt", EXAMPLES / "reference1.txt"]
GLEU = {"metric": "gleu", "source": EXAMPLES / "source.txt", "reference": REFERENCES}


def test_text_rank_and_rank_files_agree():
    text = btr.evaluate(EXAMPLES / "base.txt", gold=GOLD)
    ranked = btr.evaluate(EXAMPLES / "candidates.jsonl", gold=GOLD, rank=1)
    files = btr.evaluate([EXAMPLES / "base.txt", EXAMPLES / "second.txt"], gold=GOLD, rank=2)
    assert text.scores == ranked.scores
    assert ranked.signature == text.signature
    assert ranked.rank == 1
    assert files.scores == btr.evaluate(EXAMPLES / "second.txt", gold=GOLD).scores


def test_signature_names_what_matters(tmp_path):
    signature = btr.evaluate(EXAMPLES / "base.txt", gold=GOLD, resamples=0).signature
    name, gold, *rest = signature.split("|")
    assert (name, gold[:13], rest) == ("m2", "gold:gold.m2#", ["beta:0.5", "unchanged:2", f"btr:{btr.__version__}"])
    changed = tmp_path / "gold.m2"
    changed.write_text(GOLD[0].read_text() + "\n")
    assert btr.evaluate(EXAMPLES / "base.txt", gold=[changed], resamples=0).signature != signature


def test_oracle():
    base = btr.evaluate(EXAMPLES / "candidates.jsonl", gold=GOLD)
    oracle = btr.evaluate(EXAMPLES / "candidates.jsonl", gold=GOLD, oracle=True)
    given = btr.evaluate(EXAMPLES / "candidates.jsonl", gold=GOLD, reference=REFERENCES, oracle=True)
    assert base.value < oracle.value < 100
    assert oracle.scores == given.scores  # the references are what the annotators' edits make
    assert oracle.oracle.gold_percent == 85
    gleu = [btr.evaluate(EXAMPLES / "candidates.jsonl", oracle=o, resamples=0, **GLEU).value for o in (False, True)]
    assert gleu[0] < gleu[1] < 100


def test_groups_by_file_and_by_label_agree(tmp_path):
    blocks = GOLD[0].read_text().split("\n\n")
    (tmp_path / "A.test.m2").write_text("\n\n".join(blocks[:8]))
    (tmp_path / "B.test.m2").write_text("\n\n".join(blocks[8:]))
    write_lines(tmp_path / "labels", ["A"] * 8 + ["B"] * 12)
    files = btr.evaluate(EXAMPLES / "base.txt", gold=[tmp_path / "A.test.m2", tmp_path / "B.test.m2"], by=["group"])
    labels = btr.evaluate(EXAMPLES / "base.txt", gold=GOLD, groups=tmp_path / "labels", by=["group"])
    assert files.by == labels.by
    assert {name: part.sentences for name, part in files.by["group"].items()} == {"A": 8, "B": 12}
    gleu = btr.evaluate(EXAMPLES / "base.txt", groups=tmp_path / "labels", by=["group"], resamples=10, **GLEU)
    assert set(gleu.by["group"]) == {"A", "B"}


def test_operations_add_up(tmp_path):
    write_lines(tmp_path / "labels", ["A", "B"] * 10)
    score = btr.evaluate(
        EXAMPLES / "base.txt",
        metric="errant",
        gold=GOLD,
        groups=tmp_path / "labels",
        by=["operation", "type", "group"],
        resamples=0,
    )
    for kind in ("operation", "type"):
        sums = {name: sum(part.counts[name] for part in score.by[kind].values()) for name in score.counts}
        assert sums == score.counts
    for group in score.by["group"].values():
        assert sum(part.counts["gold"] for part in group.by["operation"].values()) == group.counts["gold"]
    assert set(score.by["operation"]) == {"Missing", "Replacement", "Unnecessary"}


def test_confidence_is_in_percent_and_optional():
    score = btr.evaluate(EXAMPLES / "base.txt", gold=GOLD)
    low, high = score.confidence.intervals["f0.5"]
    assert low < score.value < high <= 100
    assert btr.evaluate(EXAMPLES / "base.txt", gold=GOLD, resamples=0).confidence is None


def test_compare():
    result = btr.compare(EXAMPLES / "base.txt", EXAMPLES / "second.txt", gold=GOLD)
    a, b = (btr.evaluate(EXAMPLES / name, gold=GOLD) for name in ("base.txt", "second.txt"))
    assert result.a.scores == a.scores
    assert result.difference["f0.5"] == pytest.approx(b.value - a.value)
    low, high = result.to_dict()["significance"]["bootstrap"]["f0.5"]["interval"]
    assert low < result.difference["f0.5"] < high
    same = btr.compare(EXAMPLES / "base.txt", EXAMPLES / "base.txt", resamples=50, **GLEU)
    assert same.difference["gleu"] == 0
    assert same.to_dict()["sentences"] == {"changed": 0, "better": 0, "worse": 0, "all": 20}


def files(tmp_path):
    write_lines(tmp_path / "short.txt", ["one"])
    (tmp_path / "empty.txt").touch()
    (tmp_path / "binary").write_bytes(b"\x89PNG\0\0")
    rows = list(read_candidates(EXAMPLES / "candidates.jsonl"))
    write_candidates(tmp_path / "few.jsonl", rows)
    write_candidates(tmp_path / "other.jsonl", [*rows[:-1], replace(rows[-1], source="Something else .")])
    write_lines(tmp_path / "uneven.jsonl", ['{"gec_outputs": [["a"]]}', '{"gec_outputs": [["a"], ["b"]]}'])
    return tmp_path


@pytest.mark.parametrize(
    ("hypotheses", "options", "message"),
    [
        ("short.txt", {"gold": GOLD}, "short.txt has 1 sentence but .*gold.m2 has 20"),
        ("empty.txt", {"gold": GOLD}, "empty.txt: is empty"),
        ("binary", {"gold": GOLD}, "NUL byte"),
        ("none.txt", {"gold": GOLD}, "no such file"),
        ("few.jsonl", {"gold": GOLD, "rank": 4}, "line 1: has no candidate of rank 4, but 3 in all"),
        ("few.jsonl", {"gold": GOLD, "by": ["type"]}, "--by type needs --metric errant"),
        ("few.jsonl", {"gold": GOLD, "by": ["group"]}, "--by group needs groups"),
        ("few.jsonl", {"gold": GOLD, "by": ["colour"]}, "--by must be one of group, operation, type, not 'colour'"),
        (
            "few.jsonl",
            {"gold": GOLD, "metric": "bleu"},
            "metric must be one of m2, errant, cleme, gleu, unchanged, not 'bleu' .did you mean gleu",
        ),
        ("few.jsonl", {"gold": GOLD, "beta": 0}, "beta must be larger than 0"),
        ("few.jsonl", {"gold": ["-"]}, r"- \(gold\): is read twice"),
        ("few.jsonl", {}, "m2 needs --gold"),
        ("few.jsonl", {"metric": "gleu"}, "gleu needs --source"),
        ("few.jsonl", {"gold": GOLD, "oracle": True, "rank": 2}, "exclude each other"),
        ("few.jsonl", {"gold": GOLD, "reference": REFERENCES}, "--reference is for gleu and for --oracle"),
        ("other.jsonl", {"gold": GOLD}, "line 20: its source is not the one of .*gold.m2"),
        ("few.jsonl", {**GLEU, "reference": "uneven.jsonl"}, "line 2: has 2 references, but line 1 has 1"),
        ("few.jsonl", {"metric": "errant", "gold": GOLD, "mode": "x"}, "mode must be one of correction"),
        ("few.jsonl", {"gold": GOLD, "mode": "detection"}, "--mode is no option of m2"),
        ("few.jsonl", {**GLEU, "beta": 1}, "--beta is no option of gleu"),
    ],
)
def test_bad_input(tmp_path, hypotheses, options, message):
    folder = files(tmp_path)
    if isinstance(options.get("reference"), str):
        options = {**options, "reference": folder / options["reference"]}
    with pytest.raises(InputError, match=message):
        btr.evaluate(folder / hypotheses, **options)


def test_types_of_another_corpus_are_refused(tmp_path):
    (tmp_path / "conll.m2").write_text("S I has .\nA 1 2|||SVA|||have|||REQUIRED|||-NONE-|||0\n")
    write_lines(tmp_path / "out.txt", ["I have ."])
    with pytest.raises(InputError, match="--by type needs ERRANT's types"):
        btr.evaluate(tmp_path / "out.txt", metric="errant", gold=tmp_path / "conll.m2", by="type")
    score = btr.evaluate(tmp_path / "out.txt", metric="errant", gold=tmp_path / "conll.m2", by="operation")
    assert score.by["operation"]["Replacement"].counts["correct"] == 1


def test_several_files_need_a_rank():
    with pytest.raises(InputError, match="say which with --rank"):
        btr.evaluate([EXAMPLES / "base.txt", EXAMPLES / "second.txt"], gold=GOLD)


def test_groups_of_files_with_one_name(tmp_path):
    blocks = GOLD[0].read_text().split("\n\n")
    for name, part in (("x", blocks[:8]), ("y", blocks[8:])):
        (tmp_path / name).mkdir()
        (tmp_path / name / "dev.m2").write_text("\n\n".join(part))
    score = btr.evaluate(EXAMPLES / "base.txt", gold=[tmp_path / "x/dev.m2", tmp_path / "y/dev.m2"], by=["group"])
    assert len(score.by["group"]) == 2


def test_json_with_spaces_is_json(tmp_path):
    text = (EXAMPLES / "candidates.jsonl").read_text().replace('{"', '{ "')
    (tmp_path / "spaced.jsonl").write_text(text)
    assert (
        btr.evaluate(tmp_path / "spaced.jsonl", gold=GOLD).scores
        == btr.evaluate(EXAMPLES / "base.txt", gold=GOLD).scores
    )
