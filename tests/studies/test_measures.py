import math
from dataclasses import replace

import pytest
from four import EQUAL, ROWS, write_gold

from btr.corpus.scores import Scored
from btr.metrics.gold import load_gold
from btr.metrics.significance import bootstrap
from btr.rerankers.table import Setting, Table
from btr.studies import losses
from btr.studies.examples import choose_examples, mark_corrections
from btr.studies.measures import measure_base, measure_reranker
from btr.studies.records import Losses
from btr.studies.tune import describe, try_all


@pytest.fixture
def gold(tmp_path):
    return load_gold("m2", gold=[write_gold(tmp_path / "gold.m2")])


def measure(gold, rows, seeds=()):
    """Two candidates compete, and λ is 0.1."""
    return measure_reranker(gold, rows, "scripted", Setting(2, 0.1), seeds)


def scores_of(comparison):
    return comparison.base, comparison.suggested


def f(precision, recall):
    return 100 * 1.25 * precision * recall / (0.25 * precision + recall)


def test_base_and_oracle_by_hand(gold):
    """The base makes two edits, one of three that are right; its candidates hold all of them."""
    found = measure_base(gold, [row.candidates for row in ROWS])
    assert found.base.scores == pytest.approx({"precision": 50, "recall": 100 / 3, "f0.5": f(1 / 2, 1 / 3)})
    assert found.oracle.scores == pytest.approx({"precision": 100, "recall": 100, "f0.5": 100})
    assert (found.gold_percent, found.unique_percent, found.candidates) == (100, 100, 2)
    low, high = found.base.intervals["f0.5"]
    assert low <= found.base.scores["f0.5"] <= high


def test_a_reranker_by_hand(gold):
    """f rises by tanh of half the difference: 0.64, 0.05, 0.05. So λ = 0.1 accepts one of three suggestions."""
    found = measure(gold, ROWS, [ROWS, EQUAL])
    assert found.tuned.scores == pytest.approx({"precision": 200 / 3, "recall": 200 / 3, "f0.5": 200 / 3})
    assert found.without_threshold.scores == pytest.approx({"precision": 75, "recall": 100, "f0.5": f(3 / 4, 1)})
    verdicts = found.verdicts
    assert [verdicts[verdict].percent for verdict in ("accept", "reject", "equal")] == [25, 50, 25]
    assert scores_of(verdicts["accept"].comparison) == pytest.approx((0, 100))
    assert scores_of(verdicts["reject"].comparison) == pytest.approx((0, f(1 / 2, 1)))
    assert scores_of(verdicts["equal"].comparison) == pytest.approx((100, 100))
    assert [one["f0.5"] for one in found.seeds] == pytest.approx([200 / 3, f(1 / 2, 1 / 3)])
    first = [1 / (1 + math.exp(-gap)) for gap in (1.5, 0.1, 0.1, 2.9)]
    assert found.mean_probabilities == pytest.approx([sum(first) / 4, 1 - sum(first) / 4])


def test_what_could_not_be_scored_has_no_rank(gold):
    rows = [Scored(ROWS[0].source, ROWS[0].candidates, (None, -0.5), ROWS[0].lengths), *ROWS[1:]]
    first = [1 / (1 + math.exp(-gap)) for gap in (0.1, 0.1, 2.9)]
    assert measure(gold, rows).mean_probabilities == pytest.approx([sum(first) / 3, 1 - sum(first) / 3])
    assert measure(gold, [replace(row, means=(None, None)) for row in ROWS]).mean_probabilities == []


def test_the_difference_to_the_base_has_an_interval(gold):
    """Of the four sentences, the first is the one that λ = 0.1 changes."""
    found = measure(gold, ROWS).tuned
    texts = [[row.candidates[k and number == 0] for number, row in enumerate(ROWS)] for k in (0, 1)]
    test = bootstrap(gold.metric, *map(gold.metric.counts, texts))["f0.5"]
    assert found.differences["f0.5"] == pytest.approx([100 * value for value in test.interval])
    assert found.p["f0.5"] == test.p


def test_the_cross_validated_difference_has_an_interval(gold):
    """Two folds: the setting that is best on sentences 2 and 4 chooses for 1 and 3, and the other way round."""
    table = Table(gold.metric, [ROWS])
    found = describe(table, [2], [0.0, 0.1, 1.0], 2)["crossed"]
    chosen = [0, 0, 0, 0]
    for fold, own in enumerate(found["settings"]):
        chosen[fold::2] = table.choose([Setting(**own)])[0, fold::2]
    texts = [row.candidates[k] for row, k in zip(ROWS, chosen)]
    base = [row.candidates[0] for row in ROWS]
    counts = [gold.metric.counts(own) for own in (base, texts)]
    before, after = (gold.metric.score_counts(own).value for own in counts)
    assert found["difference"] == pytest.approx(after - before)
    test = bootstrap(gold.metric, *counts)["f0.5"]
    assert (found["interval"], found["p"]) == (pytest.approx([100 * value for value in test.interval]), test.p)


def test_decisions_have_intervals(gold):
    """λ = 0.1 rejects the suggestions for sentences 2 and 3."""
    found = measure(gold, ROWS).verdicts
    before, after = (gold.metric.counts([row.candidates[k] for row in ROWS])[1:3] for k in (0, 1))
    test = bootstrap(gold.metric, before, after)["f0.5"]
    assert found["reject"].comparison.interval == pytest.approx([100 * value for value in test.interval])
    assert found["reject"].comparison.p_bootstrap == test.p
    assert found["equal"].comparison.interval == (0, 0)


def test_levels_and_types_have_intervals(tmp_path):
    """Two levels of two sentences; λ = 0.1 changes the first sentence alone, whose error is of a verb's agreement."""
    lines = write_gold(tmp_path / "gold.m2").read_text().replace("|||X|||", "|||R:VERB:SVA|||").split("\n\n")
    for name, own in (("A", lines[:2]), ("B", lines[2:4])):
        (tmp_path / f"{name}.m2").write_text("".join(f"{text}\n\n" for text in own))
    gold = load_gold("errant", gold=[tmp_path / "A.m2", tmp_path / "B.m2"])
    found = measure(gold, ROWS)
    compared, errors = found.error_comparisons, found.errors
    assert list(compared.by_level) == ["A", "B", "all"]
    first, second, every = compared.by_level.values()
    base = [row.candidates[0] for row in ROWS]
    texts = [ROWS[0].candidates[1], *base[1:]]
    test = bootstrap(gold.metric, *(gold.metric.counts(own)[:2] for own in (base, texts)))["f0.5"]
    assert first.interval == pytest.approx([100 * value for value in test.interval])
    assert (second.interval, second.base) == ((0, 0), second.suggested)
    assert every.interval == pytest.approx(found.tuned.differences["f0.5"])
    assert list(compared.by_type) == ["VERB:SVA", "VERB:TENSE"]  # the base model's liked is of the latter
    sva = compared.by_type["VERB:SVA"]
    assert sva.suggested == pytest.approx(errors.by_type["VERB:SVA"]["f0.5"])
    assert scores_of(sva) == pytest.approx((f(1, 1 / 3), f(1, 2 / 3)))
    low, high = sva.interval
    assert low == 0 < high
    assert compared.by_type["VERB:TENSE"].interval == (0, 0)


def test_what_a_threshold_does(gold):
    curve = {point.threshold: point for point in measure(gold, ROWS).by_threshold}
    assert [curve[threshold].accepted_percent for threshold in (0.0, 0.1, 0.6, 0.7, 1.0)] == [75, 25, 25, 0, 0]
    assert curve[0.0].before == pytest.approx({"precision": 0, "recall": 0, "f0.5": 0})
    assert curve[0.0].after == pytest.approx({"precision": 200 / 3, "recall": 100, "f0.5": f(2 / 3, 1)})
    assert curve[0.0].whole["f0.5"] == pytest.approx(f(3 / 4, 1))
    assert (curve[1.0].before, curve[1.0].after) == (None, None)
    assert curve[1.0].whole["f0.5"] == pytest.approx(f(1 / 2, 1 / 3))


def test_tuning_alone_and_as_a_mixture(gold):
    limits = [1, 2], [0.0, 0.1, 1.0], 2
    alone = try_all(Table(gold.metric, [ROWS]), *limits)
    assert (alone["best"]["top"], alone["best"]["threshold"]) == (2, 0.0)
    assert alone["grid"][1] == pytest.approx([f(3 / 4, 1), 200 / 3, f(1 / 2, 1 / 3)])
    assert alone["changed"] == [[False] * 3, [True, True, False]]
    mixed = describe(Table(gold.metric, [EQUAL, ROWS]), *limits)
    assert mixed["best"]["weights"][1] > 0
    assert mixed["best"]["scores"]["f0.5"] == pytest.approx(f(3 / 4, 1))


def test_examples_gain_and_lose(gold):
    found = choose_examples(gold, "good", {"good": (ROWS, Setting(2, 0.0)), "equal": (EQUAL, Setting(2, 0.0))})
    assert [(example.source, example.gain) for example in found] == [
        ("He go home .", 1),
        ("She like it .", 1),
        ("I am here .", -1),
    ]
    assert found[0].reference == "He goes home ."
    assert [candidate.chosen_by for candidate in found[0].candidates] == [["equal"], ["good"]]


def test_losses_by_position_by_hand(tmp_path, monkeypatch):
    """All targets of 18 to 20 tokens with EOS are asked about at once; their losses at place j are j and 2j."""
    asked = []

    class Words:
        signature = "words"

        def tokenizer(self, texts, add_special_tokens):
            assert not add_special_tokens
            return {"input_ids": [text.split() for text in texts]}

        def token_log_probs(self, rows):
            asked.append([len(row.texts[0].split()) + 1 for row in rows])
            return [[[-factor * place for place in range(1, own + 1)]] for factor, own in enumerate(asked[-1], 1)]

    sizes = 17, 18, 20, 21  # with EOS
    sources = [" ".join(["word"] * (size - 2)) for size in sizes]
    lines = [f"S {text}\nA 0 0|||X|||new|||REQUIRED|||-NONE-|||0\n\n" for text in sources]
    (tmp_path / "gold.m2").write_text("".join(lines))
    monkeypatch.setattr(losses, "load_reranker", {"l2r:words": Words()}.__getitem__)
    found = losses.measure_losses("l2r", "words", load_gold("m2", gold=[tmp_path / "gold.m2"]))
    assert asked == [[18, 20]]
    curve = [1.5 * place for place in range(1, 19)] + [2.0 * 19, 2.0 * 20]
    assert found == Losses(pytest.approx(curve), 2, "words")


@pytest.mark.parametrize(
    ("source", "text", "expected"),
    [
        ("He go home .", "He goes home .", "He *goes* home ."),
        ("He go home .", "Now he goes home .", "*Now* *he* *goes* home ."),
        ("He the goes home .", "He goes home .", "He *goes* home ."),
        ("a b", "a b c", "a b *c*"),
        ("a b c", "a b", "a b"),
        ("a b c d e", "a x c d y e", "a *x* c d *y* e"),
    ],
)
def test_corrections_are_marked(source, text, expected):
    assert " ".join(f"*{word}*" if changed else word for word, changed in mark_corrections(source, text)) == expected
