"""Judges are fitted on made-up edits whose truth is known."""

import math
import random

import numpy as np
import pytest
from judged import make_judge, make_table, write_judge

from btr.decisions.edit_features import WITH_LOG_PROBS, WITHOUT_LOG_PROBS
from btr.decisions.fit_judge import (
    MIN_EDITS_PER_TYPE,
    LabelledSet,
    fit_judge,
    fit_judges,
    label_edits,
    wanted_judges,
)
from btr.decisions.tune_edits import read_priors
from btr.errors import InputError
from btr.metrics.gold import load_gold

TRUTH = make_judge({"log_ratio": 0.8, "lm": 0.5}, -0.6, {"R": 0.4}, {"R:SPELL": 1.0})


def draw(count, seed, truth=TRUTH, name="made-up", log_probs=True):
    """Return edits that are right with the probabilities that a judge gives them."""
    luck = random.Random(seed)
    tables, labels = [], []
    for _ in range(count):
        better = luck.uniform(-2.5, 2.5)
        kind = luck.choice(["R:SPELL", "R:VERB", "M:DET"])
        edit = (1, 2, "x", kind, [luck.choice([0, 1])], [luck.uniform(-4, 4)])
        table = make_table("a b c", ("a x c", "a b c"), (better, 0.0), edit)
        labels.append(np.array([luck.random() < truth.confidences(table, ("lm",))[0]]))
        tables.append(table if log_probs else make_table("a b c", ("a x c", "a b c"), None, edit))
    return LabelledSet(name, tables, ("lm",), labels, ("lm:x",))


def test_weights_are_found_again():
    judge = fit_judge([draw(6_000, 1)], ["log_ratio", "lm"])
    assert judge.features == pytest.approx(TRUTH.features, abs=0.1)
    assert judge.types["R:SPELL"] - judge.types["R:VERB"] == pytest.approx(1.0, abs=0.2)
    for kind in ("R:SPELL", "R:VERB", "M:DET"):
        assert judge.type_weight(kind) == pytest.approx(TRUTH.type_weight(kind), abs=0.2)
    assert judge.fitted_on == ("made-up",)
    fresh = draw(500, 2)
    for table in fresh.tables:
        assert judge.confidences(table, ("lm",)) == pytest.approx(TRUTH.confidences(table, ("lm",)), abs=0.06)


def distance(judge, other, labelled):
    """Return the mean distance of two judges' log-odds."""
    pairs = [(judge.logits(table, ("lm",)), other.logits(table, ("lm",))) for table in labelled.tables]
    return float(np.mean([np.abs(one - two).mean() for one, two in pairs]))


def test_a_hundred_sentences_adapt_a_judge():
    """The users' edits are right more often than the prior thinks: fitting alone on a hundred edits is far worse."""
    mine = make_judge({"log_ratio": 0.8, "lm": 0.5}, 0.6, {"R": 0.4}, {"R:SPELL": 1.0})
    fresh = draw(300, 99, mine)
    adapted, alone = [], []
    for seed in range(5):
        few = [draw(100, seed, mine)]
        adapted.append(distance(fit_judge(few, ["log_ratio", "lm"], TRUTH), mine, fresh))
        alone.append(distance(fit_judge(few, ["log_ratio", "lm"]), mine, fresh))
    assert np.mean(adapted) < np.mean(alone)
    assert np.mean(adapted) < distance(TRUTH, mine, fresh) / 1.5
    judge = fit_judge([draw(100, 0, mine)], ["log_ratio", "lm"], TRUTH)
    assert judge.fitted_on == ("toy", "made-up")
    assert set(judge.names) == set(TRUTH.names)


def test_a_right_prior_stays_nearly_as_it_is():
    assert distance(fit_judge([draw(3_000, 5)], ["log_ratio", "lm"], TRUTH), TRUTH, draw(300, 6)) < 0.15


def test_a_few_sentences_hardly_move_a_judge():
    """Five edits, all of them right but the least likely one, are no reason to believe all the others."""
    tables = sorted(draw(5, 7).tables, key=lambda table: TRUTH.logits(table, ("lm",))[0])
    labels = [np.array([number > 0]) for number in range(5)]
    judge = fit_judge([LabelledSet("few", tables, ("lm",), labels)], ["log_ratio", "lm"], TRUTH)
    moved = [judge.logits(table, ("lm",)) - TRUTH.logits(table, ("lm",)) for table in draw(300, 8).tables]
    assert 0 < float(np.mean(moved)) < 0.5
    assert float(np.std(moved)) < 0.3


def test_sets_count_by_the_fourth_roots_of_their_edits():
    """1,600 edits against 100: the fourth roots are as 2 to 1, a third of the weight for the small set.

    All edits of a set are alike but for being right, so the confidence is the weighted share of the right ones.
    """

    def alike(count, right):
        table = make_table("a b c", ("a x c", "a b c"), (0.0, 0.0), (1, 2, "x", "R:OTHER", [0]))
        return LabelledSet("s", [table] * count, (), [np.array([k < right]) for k in range(count)])

    judge = fit_judge([alike(1_600, 320), alike(100, 90)], ["log_ratio"])
    (confidence,) = judge.confidences(alike(1, 1).tables[0])
    assert confidence == pytest.approx((2 * 0.2 + 0.9) / 3, abs=1e-3)


def test_rare_types_have_no_weight():
    labelled = draw(200, 3)
    rare = make_table("a b c", ("a x c", "a b c"), (0.0, 0.0), (1, 2, "x", "R:RARE", [0], [0.0]))
    more = [rare] * (MIN_EDITS_PER_TYPE - 1)
    labels = [*labelled.labels, *(np.array([True]) for _ in more)]
    judge = fit_judge([LabelledSet("s", [*labelled.tables, *more], ("lm",), labels)], ["log_ratio", "lm"])
    assert "R:RARE" not in judge.types
    more.append(rare)
    labels.append(np.array([True]))
    judge = fit_judge([LabelledSet("s", [*labelled.tables, *more], ("lm",), labels)], ["log_ratio", "lm"])
    assert judge.types["R:RARE"] > 0


def test_edits_that_a_reranker_cant_tell_have_no_part():
    """Their labels are all wrong here, so that they would do harm."""
    labelled = draw(2_000, 1)
    odd = make_table("a b c", ("a x c", "a b c"), (3.0, 0.0), (1, 2, "x", "R:SPELL", [0], [None]))
    tables, labels = [*labelled.tables, *[odd] * 500], [*labelled.labels, *[np.array([False])] * 500]
    more = LabelledSet("s", tables, ("lm",), labels)
    assert fit_judge([more], ["log_ratio", "lm"]).features == pytest.approx(
        fit_judge([labelled], ["log_ratio", "lm"]).features, abs=0.05
    )


@pytest.mark.parametrize("odds", [None, 0.5])
def test_edits_that_are_all_right_are_one_sentence(odds):
    table = make_table("a b c", ("a x c",), (0.0,), (1, 2, "x", "R:OTHER", [0], [odds]))
    wrong = make_table("a b c", ("a x c",), (0.0,), (1, 2, "x", "R:OTHER", [0], [None]))
    labelled = LabelledSet("s", [table, table, wrong], ("lm",), [np.array([True])] * 2 + [np.array([False])])
    with pytest.raises(InputError, match="a judge needs edits that are right and edits that are wrong"):
        fit_judge([labelled], ["log_ratio", "lm"])
    with pytest.raises(InputError, match="a judge needs edits"):
        fit_judge([], ["log_ratio"])


def test_a_set_without_log_probabilities_has_a_part_in_the_judges_that_need_none():
    judges = fit_judges([draw(300, 1, name="with"), draw(300, 2, name="without", log_probs=False)])
    assert [judge.names for judge in judges] == [
        (*WITH_LOG_PROBS, "lm"), WITH_LOG_PROBS, (*WITHOUT_LOG_PROBS, "lm"), WITHOUT_LOG_PROBS,
    ]  # fmt: skip
    assert [judge.fitted_on for judge in judges] == [("with",), ("with",), ("with", "without"), ("with", "without")]
    only = fit_judges([draw(300, 2, log_probs=False)])
    assert [judge.names for judge in only] == [(*WITHOUT_LOG_PROBS, "lm"), WITHOUT_LOG_PROBS]


def made_up(name, kinds, log_probs=(0.0, -1.0)):
    """A set of one edit, with a log-odds of each kind of reranker."""
    table = make_table("a b", ("a x", "a b"), log_probs, (1, 2, "x", "R:OTHER", [0], [1.0] * len(kinds)))
    return LabelledSet(name, [table], tuple(kinds), [np.array([True])], tuple(f"{kind}:x" for kind in kinds))


def test_the_judges_to_fit_in_order_of_preference():
    """All rerankers, then all but the last; several models of a kind are one feature."""
    kinds = "edit-btr", "lm", "lm"
    first, second = made_up("with", kinds), made_up("without", kinds, None)
    wanted = [([each.name for each in sets], names) for sets, names in wanted_judges([first, second])]
    both = ["with", "without"]
    assert wanted == [
        (["with"], (*WITH_LOG_PROBS, "edit-btr", "lm")),
        (["with"], (*WITH_LOG_PROBS, "edit-btr")),
        (["with"], WITH_LOG_PROBS),
        (both, (*WITHOUT_LOG_PROBS, "edit-btr", "lm")),
        (both, (*WITHOUT_LOG_PROBS, "edit-btr")),
        (both, WITHOUT_LOG_PROBS),
    ]
    assert [names for _, names in wanted_judges([made_up("without", (), None)])] == [WITHOUT_LOG_PROBS]


def test_only_a_judge_of_the_same_features_is_adapted(tmp_path):
    """In any order. One of other features would be fitted anew without a word."""
    features = dict.fromkeys((*WITH_LOG_PROBS, "lm"), 1.0)
    path = write_judge(tmp_path / "judge.json", {"base": 1.0}, dict(reversed(features.items())), rerankers=["lm:x"])
    assert len(read_priors(path, [made_up("same", ["lm"])])) == 2
    for kinds in ((), ("edit-btr",), ("edit-btr", "lm")):
        with pytest.raises(InputError) as raised:
            read_priors(path, [made_up("other", kinds)])
        names = ", ".join((*WITH_LOG_PROBS, *kinds))
        assert str(raised.value) == (
            f"{path}: has no judge with the features {names}; score the edits with lm:x, as it was fitted, or fit a "
            "new judge."
        )
    alone = write_judge(tmp_path / "alone.json", {"base": 1.0})
    with pytest.raises(InputError, match=r"score the edits without a reranker, as it was"):
        read_priors(alone, [made_up("other", ["lm"])])


def test_labels(tmp_path):
    """An edit is right if an annotator made it, or if ERRANT finds it between the source and an annotator's text."""
    (tmp_path / "gold.m2").write_text(
        "S He go home in morning .\n"
        "A 1 5|||X|||goes home in the morning|||REQUIRED|||-NONE-|||0\n"  # ERRANT: go → goes, the inserted
        "A 1 2|||X|||went||gone|||REQUIRED|||-NONE-|||1\n\n"
    )
    keys = [(1, 2, "goes"), (1, 2, "gone"), (1, 2, "went"), (1, 5, "goes home in the morning"), (4, 4, "the")]
    wrong = [(4, 4, "a"), (1, 2, "go")]
    edits = [(*key, "R:OTHER", [0]) for key in keys + wrong]
    table = make_table("He go home in morning .", ("x",), None, *edits)
    for metric in ("m2", "errant"):
        (labels,) = label_edits([table], load_gold(metric, gold=tmp_path / "gold.m2"))
        assert labels.tolist() == [True] * len(keys) + [False] * len(wrong)


def test_labels_by_references(tmp_path):
    (tmp_path / "source").write_text("He go .\n")
    (tmp_path / "reference").write_text("He goes .\n")
    gold = load_gold("gleu", source=tmp_path / "source", reference=[tmp_path / "reference"])
    keys = (1, 2, "goes"), (1, 2, "went")
    table = make_table("He go .", ("x",), None, *((*key, "R:OTHER", [0]) for key in keys))
    assert label_edits([table], gold)[0].tolist() == [True, False]
    assert math.isfinite(gold.metric.score(["He goes ."]).value)
