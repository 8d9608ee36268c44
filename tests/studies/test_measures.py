import math
from dataclasses import replace

import pytest
from four import EQUAL, ROWS, write_gold

from btr.corpus.scores import Scored
from btr.decisions.grid import DecisionGrid
from btr.decisions.search import SearchSpace, cross_validate
from btr.decisions.settings import Settings
from btr.metrics.gold import load_gold
from btr.metrics.significance import bootstrap
from btr.rerankers import RERANKERS
from btr.rerankers.base import Reranker
from btr.studies.examples import choose_examples, mark_corrections
from btr.studies.losses import measure_losses, scores_tokens
from btr.studies.measures import measure_base, measure_reranker
from btr.studies.records import Losses
from btr.studies.tuning import TuningPlan, tune_grid, tune_reranker


@pytest.fixture
def gold(tmp_path):
    return load_gold("m2", gold=[write_gold(tmp_path / "gold.m2")])


def measure(gold, rows, seeds=()):
    """Two candidates compete, and λ is 0.1."""
    grids = [make_grid(gold, seed) for seed in seeds]
    return measure_reranker(gold, make_grid(gold, rows), "scripted", Settings(top=2, threshold=0.1), grids)


def make_grid(gold, *rerankers):
    """Several rerankers of the same candidates, each of a kind of its own."""
    rows = [Scored(together[0].candidates, tuple(row.scores[0] for row in together)) for together in zip(*rerankers)]
    return DecisionGrid(gold.metric, rows, [f"kind{k}" for k, _ in enumerate(rerankers)])


def scores_of(comparison):
    return comparison.base, comparison.suggested


def f(precision, recall):
    return 100 * 1.25 * precision * recall / (0.25 * precision + recall)


def test_base_and_oracle_by_hand(gold):
    """The base makes two edits, one of three that are right; its candidates hold all of them."""
    found = measure_base(gold, [row.candidates.texts for row in ROWS])
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
    assert found.seeds == pytest.approx([200 / 3, f(1 / 2, 1 / 3)])
    first = [1 / (1 + math.exp(-gap)) for gap in (1.5, 0.1, 0.1, 2.9)]
    assert found.mean_probabilities == pytest.approx([sum(first) / 4, 1 - sum(first) / 4])


def test_what_could_not_be_scored_has_no_rank(gold):
    rows = [replace(ROWS[0], scores=((None, -0.5),)), *ROWS[1:]]
    first = [1 / (1 + math.exp(-gap)) for gap in (0.1, 0.1, 2.9)]
    assert measure(gold, rows).mean_probabilities == pytest.approx([sum(first) / 3, 1 - sum(first) / 3])
    assert measure(gold, [replace(row, scores=((None, None),)) for row in ROWS]).mean_probabilities == []


def test_the_difference_to_the_base_has_an_interval(gold):
    """Of the four sentences, the first is the one that λ = 0.1 changes."""
    found = measure(gold, ROWS).tuned
    texts = [[row.candidates.texts[k and number == 0] for number, row in enumerate(ROWS)] for k in (0, 1)]
    test = bootstrap(gold.metric, *map(gold.metric.counts, texts))["f0.5"]
    assert found.difference == pytest.approx([100 * value for value in test.interval])
    assert found.p == test.p


def test_the_cross_validated_difference_has_an_interval(gold):
    """Two folds: the setting that is best on sentences 2 and 4 chooses for 1 and 3, and the other way round."""
    grid = make_grid(gold, ROWS)
    found = tune_reranker({None: grid}, TuningPlan(Settings(), [2], [0.0, 0.1, 1.0], mix=False, folds=2)).crossed
    chosen = [0, 0, 0, 0]
    for fold, settings in enumerate(cross_validate(grid, SearchSpace([2], [0.0, 0.1, 1.0]), 2).settings):
        chosen[fold::2] = grid.choose([settings])[0, fold::2]
    texts = [row.candidates.texts[k] for row, k in zip(ROWS, chosen)]
    base = [row.candidates.texts[0] for row in ROWS]
    counts = [gold.metric.counts(own) for own in (base, texts)]
    before, after = (gold.metric.score_counts(own).value for own in counts)
    assert (found.difference, found.score) == pytest.approx((after - before, after))
    test = bootstrap(gold.metric, *counts)["f0.5"]
    assert (found.interval, found.p) == (pytest.approx([100 * value for value in test.interval]), test.p)


def test_decisions_have_intervals(gold):
    """λ = 0.1 rejects the suggestions for sentences 2 and 3."""
    found = measure(gold, ROWS).verdicts
    before, after = (gold.metric.counts([row.candidates.texts[k] for row in ROWS])[1:3] for k in (0, 1))
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
    base = [row.candidates.texts[0] for row in ROWS]
    texts = [ROWS[0].candidates.texts[1], *base[1:]]
    test = bootstrap(gold.metric, *(gold.metric.counts(own)[:2] for own in (base, texts)))["f0.5"]
    assert first.interval == pytest.approx([100 * value for value in test.interval])
    assert (second.interval, second.base) == ((0, 0), second.suggested)
    assert every.interval == pytest.approx(found.tuned.difference)
    assert list(compared.by_type) == ["VERB:SVA", "VERB:TENSE"]  # the base model's liked is of the latter
    sva = compared.by_type["VERB:SVA"]
    assert sva.suggested == pytest.approx(errors.by_type["VERB:SVA"])
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
    plan = TuningPlan(Settings(), [1, 2], [0.0, 0.1, 1.0], mix=False, folds=2)
    alone = tune_grid({None: make_grid(gold, ROWS)}, plan)
    assert (alone.settings.top, alone.settings.threshold) == (2, 0.0)
    assert alone.grid[1] == pytest.approx([f(3 / 4, 1), 200 / 3, f(1 / 2, 1 / 3)])
    assert alone.changed == [[False] * 3, [True, True, False]]
    grid = make_grid(gold, EQUAL, ROWS)
    mixed = tune_reranker({None: grid}, replace(plan, mix=True)).settings
    assert mixed.weights["kind1"] > 0
    assert grid.score(grid.choose([mixed])[0]).value == pytest.approx(f(3 / 4, 1))


def test_settings_that_are_given_are_not_tuned(gold):
    """The grid shows the paper's thresholds all the same."""
    given = Settings(top=2, threshold=0.35, gap=1.5, drop_runaways=True)
    found = tune_grid({None: make_grid(gold, ROWS)}, TuningPlan(given, None, None, mix=False, folds=2))
    assert found.settings == replace(given, rerankers=("kind0",))
    assert (found.tops, len(found.thresholds)) == ([2], 11)
    assert found.crossed.score == pytest.approx(200 / 3)  # in each fold with the same settings: tanh(0.75) is above λ
    every = tune_grid({None: make_grid(gold, ROWS)}, TuningPlan(Settings(), None, [0.0, 1.0], mix=False, folds=2))
    assert (every.settings.top, every.tops) == (None, [2])


def test_examples_gain_and_lose(gold):
    settings = Settings(top=2)
    grids = {"good": make_grid(gold, ROWS), "equal": make_grid(gold, EQUAL)}
    found = choose_examples(gold, "good", {name: (grid, settings) for name, grid in grids.items()})
    assert [(example.source, example.gain) for example in found] == [
        ("He go home .", 1),
        ("She like it .", 1),
        ("I am here .", -1),
    ]
    assert found[0].reference == "He goes home ."
    assert [candidate.chosen_by for candidate in found[0].candidates] == [["equal"], ["good"]]


class Words(Reranker):
    """Tokens are words, and the losses of the first target's tokens are 1, 2, 3 …, of the second's 2, 4, 6 …"""

    kind = title = "words"
    signature = token_signature = "words"

    @classmethod
    def from_pretrained(cls, name, **options):
        return cls()

    def scores(self, rows):
        raise AssertionError("only the tokens' probabilities are needed")

    def tokenizer(self, texts, add_special_tokens):
        assert not add_special_tokens
        return {"input_ids": [text.split() for text in texts]}

    def token_log_probs(self, rows):
        sizes = [len(row.texts[0].split()) + 1 for row in rows]
        assert sizes == [18, 20]  # with EOS; all targets of 18 to 20 tokens are scored at once
        return [[[-factor * position for position in range(1, size + 1)]] for factor, size in enumerate(sizes, 1)]


def test_losses_by_position_by_hand(tmp_path, monkeypatch):
    """A reranker of another package is enough, if its model gives every token a probability."""
    monkeypatch.setitem(RERANKERS._entries, "words", Words)
    sources = [" ".join(["word"] * (size - 2)) for size in (17, 18, 20, 21)]
    lines = [f"S {text}\nA 0 0|||X|||new|||REQUIRED|||-NONE-|||0\n\n" for text in sources]
    (tmp_path / "gold.m2").write_text("".join(lines))
    found = measure_losses("words:any", load_gold("m2", gold=[tmp_path / "gold.m2"]))
    curve = [1.5 * position for position in range(1, 19)] + [2.0 * 19, 2.0 * 20]
    assert found == Losses(pytest.approx(curve), 2, "words")
    assert scores_tokens("words:any")
    assert not scores_tokens("mbr")


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
