"""Batches, updates and schedules: the same for all who ask, and within their budgets."""

import hashlib
import json

import numpy as np
import pytest
import tiny

from btr.corpus.candidates import Candidates
from btr.errors import InputError
from btr.models.initial import load_initial_model
from btr.training.batches import group_updates, pack_pairs, pack_shapes, plan_epoch
from btr.training.data import read_paragraphs, read_training_pairs, thin_out
from btr.training.loop import schedule
from btr.training.objective import TrainingPair
from btr.training.recipe import Data, ObjectiveSettings, Recipe
from btr.training.t5_objectives import MaskedTarget


def many(count=500, seed=0):
    random = np.random.default_rng(seed)
    shapes = np.stack([random.integers(1, 22, count), random.integers(2, 60, count), random.integers(2, 60, count)], 1)
    return shapes[:, 2] + shapes[:, 0] * shapes[:, 1], shapes


def test_batches_stay_within_the_budget_padding_included():
    _, shapes = many()
    batches = list(pack_shapes(shapes, 4000))
    assert sorted(k for batch in batches for k in batch) == list(range(500))
    for batch in batches:
        rows, longest, length = shapes[batch].max(0)
        assert len(batch) == 1 or len(batch) * (length + rows * longest) <= 4000


def test_an_epoch_has_every_example_once_and_another_order_each_time():
    sizes, shapes = many()
    first, again, second = (plan_epoch(sizes, shapes, 7, epoch, 4000, 20_000) for epoch in (0, 0, 1))
    assert first == again != second
    for updates in (first, second):
        assert sorted(k for update in updates for batch in update for k in batch) == list(range(500))
    tokens = [sum(int(sizes[k]) for batch in update for k in batch) for update in first[:-1]]
    assert np.mean(tokens) == pytest.approx(20_000, rel=0.15)


def test_recipes_that_count_both_sides_have_the_batches_that_they_always_had():
    plan = plan_epoch(*many(), 7, 0, 4000, 20_000)
    assert hashlib.sha256(json.dumps(plan).encode()).hexdigest()[:16] == "dec3ed96b9cf8666"
    assert plan_epoch(*many(), 7, 0, 4000, 20_000, "both_sides") == plan


def test_pairs_that_count_as_their_longer_side_by_hand():
    """Longer sides 8, 6 and 7; the last has two targets, so it is two pairs. 3 pairs × 7 are 21, 4 pairs × 8 are 32."""
    shapes = np.array([[1, 5, 8], [1, 6, 4], [2, 3, 7]])  # targets, the longest of them, the source
    assert list(pack_pairs(shapes, 24)) == [[1, 2], [0]]
    assert list(pack_pairs(shapes, 32)) == [[1, 2, 0]]
    assert list(pack_pairs(shapes, 1)) == [[1], [2], [0]]  # none is left out


def test_an_epoch_counted_by_the_longer_side():
    """Batches are within the budget as fairseq counts them, nearly full, and an update has 20,000 / 4,000 of them."""
    sizes, shapes = many(3000)
    first, again, second = (plan_epoch(sizes, shapes, 7, epoch, 4000, 20_000, "longer_side") for epoch in (0, 0, 1))
    assert first == again != second
    assert [len(update) for update in first[:-1]] == [5] * (len(first) - 1)
    assert 1 <= len(first[-1]) <= 5
    batches = [batch for update in first for batch in update]
    assert sorted(k for batch in batches for k in batch) == list(range(3000))
    counts = [int(shapes[batch, 0].sum() * shapes[batch, 1:].max()) for batch in batches]
    assert max(counts) <= 4000
    assert np.mean(counts) > 0.9 * 4000


def test_updates_by_hand():
    """Batches of 60, 60, 60 and 100 tokens; an update of 100 takes what comes nearest."""
    assert group_updates([[0], [1], [2], [3]], [60, 60, 60, 100], 100) == [[[0], [1]], [[2]], [[3]]]
    assert group_updates([[0], [1]], [500, 500], 100) == [[[0]], [[1]]]


@pytest.mark.parametrize(
    ("name", "warmup", "expected"),
    [
        ("constant", 0, [1, 1, 1, 1, 1]),
        ("constant", 2, [0.5, 1, 1, 1, 1]),
        ("linear", 0, [1, 0.8, 0.6, 0.4, 0.2]),
        ("linear", 1, [1, 1, 0.75, 0.5, 0.25]),
        ("inverse-sqrt", 2, [0.5, 1, (2 / 3) ** 0.5, 0.5**0.5, 0.4**0.5]),
    ],
)
def test_schedules(name, warmup, expected):
    assert [schedule(name, step, warmup, 5) for step in range(5)] == pytest.approx(expected)
    held = [1.0] * warmup + expected[warmup:]  # the authors': the peak rate during warm-up, then the same
    assert [schedule(name, step, warmup, 5, "constant") for step in range(5)] == pytest.approx(held)


def test_negatives_are_the_candidates_that_are_not_gold(tmp_path):
    (tmp_path / "p.tsv").write_text("a b\ta c\n")
    row = {"source": "a b", "candidates": ["a d", "a c", "a d", "", "a  c", " a d", "a e"]}
    (tmp_path / "c.jsonl").write_text(json.dumps(row) + "\n")
    data = Data(pairs=[str(tmp_path / "p.tsv")], candidates=[str(tmp_path / "c.jsonl")])
    assert list(read_training_pairs(data, ObjectiveSettings(negatives=5))) == [
        TrainingPair("a b", "a c", ("a d", "a e"), Candidates("a b", ("a d", "a c", "a e")))
    ]
    assert list(read_training_pairs(data, ObjectiveSettings())) == [TrainingPair("a b", "a c")]


def test_a_negative_that_reads_as_gold_is_none(tmp_path):
    model, tokenizer = load_initial_model("btr", tiny.save_t5(tmp_path), None, 0)
    data = {"pairs": ["p.tsv"], "candidates": ["c.jsonl"]}
    recipe = Recipe(kind="btr", model="m", epochs=1, data=data, objective={"negatives": 5})
    example = MaskedTarget(recipe, model, tokenizer).encode(
        TrainingPair("the cat sat .", "a cat", ("a  cat", "a dog", "a  dog", "a mat"))
    )
    assert example["targets"] == [tokenizer(text)["input_ids"] for text in ("a cat", "a dog", "a mat")]


def test_sentinels_of_mt5_are_found_or_refused(tmp_path):
    model, tokenizer = load_initial_model("btr", tiny.save_t5(tmp_path, "mt5"), None, 0)
    recipe = Recipe(kind="btr", task="pre-train", model="m", epochs=1, data={"text": ["t.txt"]})
    with pytest.raises(InputError, match="its tokenizer has no <extra_id_1>"):
        MaskedTarget(recipe, model, tokenizer)
    tokenizer.add_tokens(["▁<extra_id_1>", "▁<extra_id_2>"])
    names = ["▁<extra_id_1>", "▁<extra_id_2>"]
    assert MaskedTarget(recipe, model, tokenizer).sentinels == tokenizer.convert_tokens_to_ids(names)


def test_a_dataset_that_cannot_be_had(monkeypatch):
    import datasets

    def refuse(*arguments, **options):
        raise ConnectionError("no network")

    monkeypatch.setattr(datasets, "load_dataset", refuse)
    with pytest.raises(InputError, match="the dataset can't be read"):
        list(read_paragraphs("datasets:allenai/c4/realnewslike"))
    asked = []
    monkeypatch.setattr(datasets, "load_dataset", lambda *a, **o: asked.append((a, o)) or [{"text": "one\n\ntwo"}])
    assert list(read_paragraphs("datasets:allenai/c4/realnewslike")) == ["one", "two"]
    assert asked == [(("allenai/c4", "realnewslike"), {"split": "train", "streaming": True})]


def test_a_gap_needs_log_probs_where_there_is_something_to_compare(tmp_path):
    pairs, candidates = tmp_path / "pairs.tsv", tmp_path / "candidates.jsonl"
    pairs.write_text("a b\ta c\nd\td\n")
    rows = [{"source": "a b", "candidates": ["a d", "a c", "a d"]}, {"source": "d", "candidates": ["d"]}]
    objective = ObjectiveSettings(negatives=2, temperature=0.3, gap=1.0)
    data = Data(pairs=[str(pairs)], candidates=[str(candidates)])
    candidates.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(InputError, match=r"candidates\.jsonl, line 1: has no log_probs, which objective\.gap compares"):
        list(read_training_pairs(data, objective))
    rows[0]["log_probs"] = [-1.0, -2.0, -3.0]
    candidates.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert [pair.candidates.log_probs for pair in read_training_pairs(data, objective)] == [(-1.0, -2.0), None]


def test_synthetic_pairs(tmp_path):
    text = tmp_path / "text.txt"
    text.write_text(
        "The cats are on the mat. She goes to the school every day.\nno capital here.\nIt is an old house.\n"
    )
    data = Data(synthetic={"text": [str(text)], "sentences": 3})
    pairs = list(read_training_pairs(data, ObjectiveSettings()))
    assert [pair.target for pair in pairs] == [
        "The cats are on the mat .",
        "She goes to the school every day .",
        "It is an old house .",
    ]
    with pytest.raises(InputError, match=r"the text has 3 sentences to make errors in .* but the recipe asks for 9"):
        list(read_training_pairs(Data(synthetic={"text": [str(text)], "sentences": 9}), ObjectiveSettings()))
    later = Data(synthetic={"text": [str(text)], "sentences": 2, "skip_sentences": 1})
    assert [*read_training_pairs(later, ObjectiveSettings())] == pairs[1:]
    with pytest.raises(InputError, match=r"the text has 1 sentence after the first 2 to make errors in"):
        list(
            read_training_pairs(
                Data(synthetic={"text": [str(text)], "sentences": 2, "skip_sentences": 2}), ObjectiveSettings()
            )
        )


def test_a_share_of_the_pairs_without_a_correction_is_kept():
    pairs = [TrainingPair("a b", "a c"), *[TrainingPair("d e", "d  e")] * 9, TrainingPair("f", "g")]
    assert len(list(thin_out(pairs, 1.0))) == 11
    assert [pair.source for pair in thin_out(pairs, 1 / 3)] == ["a b", "d e", "d e", "d e", "f"]
    assert [pair.source for pair in thin_out(pairs, 0.0)] == ["a b", "f"]
