"""Features, judges and their confidences, worked out by hand."""

import json
import math

import numpy as np
import pytest
from judged import PLAIN, RANKS, make_judge, make_judges, make_table

from btr.decisions.edit_features import available_features, compute_features, has_log_probs
from btr.decisions.judge import Judge, read_judges, write_judges
from btr.errors import InputError

PROBABILITIES = 0.5, 0.3, 0.2
TABLE = make_table(
    "He go to home .",
    ("He goes home .", "He goes to home .", "He go home ."),
    [math.log(value) for value in PROBABILITIES],
    (1, 2, "goes", "R:VERB:SVA", [0, 1], [0.7]),
    (2, 3, "", "U:PREP", [0, 2], [None]),
    (5, 5, "!", "M:PUNCT", [2], [-20.0]),
    (0, 1, "She", "R:PRON", [0, 1, 2], [1.0]),
)
WITHOUT = make_table("He go .", ("He goes .", "He go ."), None, (1, 2, "goes", "R:VERB:SVA", [0]))


def column(name, table=TABLE, rerankers=("lm",)):
    return compute_features(table, [name], rerankers)[:, 0].tolist()


def test_posterior():
    """The shares of the candidates with each edit: .8, .7, .2, and 1, which is clipped to .999."""
    expected = [math.log(0.8 / 0.2), math.log(0.7 / 0.3), math.log(0.2 / 0.8), math.log(0.999 / 0.001)]
    assert column("posterior") == pytest.approx(expected)


def test_log_ratio():
    """The best with the edit over the best without it; where there is none without it, the bound."""
    assert column("log_ratio") == pytest.approx([math.log(0.5 / 0.2), math.log(0.5 / 0.3), math.log(0.2 / 0.5), 3.0])


def test_rank_posterior():
    """The weights of the ranks are 1, 2 ** -1.5 and 3 ** -1.5."""
    second, third = 2**-1.5, 3**-1.5
    expected = [(1 + second) / third, (1 + third) / second, third / (1 + second), 999.0]
    assert column("rank_posterior") == pytest.approx([math.log(value) for value in expected])


def test_the_other_features():
    assert column("base") == [1, 1, 0, 1]
    assert column("length") == pytest.approx([math.log(5)] * 4)
    assert column("lm") == pytest.approx([0.7, math.nan, -8.0, 1.0], nan_ok=True)  # clipped


def test_models_of_one_kind_are_averaged():
    table = make_table("a b", ("a c",), None, (1, 2, "c", "R:OTHER", [0], [1.0, 5.0, -2.0]))
    assert column("btr", table, ("btr", "lm", "btr")) == [-0.5]
    assert column("lm", table, ("btr", "lm", "btr")) == [5.0]


def test_which_features_are_known():
    assert has_log_probs(TABLE)
    assert not has_log_probs(WITHOUT)
    known = available_features(TABLE, ("lm", "btr", "lm"))
    assert set(known) == {
        "posterior",
        "log_ratio",
        "rival",
        "unchanged",
        "rank_posterior",
        "base",
        "length",
        "lm",
        "btr",
    }
    assert available_features(WITHOUT, ()) == ("rank_posterior", "base", "length")
    partly = make_table("a", ("b", "c"), (-1.0, None), (0, 1, "b", "R:OTHER", [0]))
    assert not has_log_probs(partly)


def test_a_table_without_edits_has_no_rows():
    table = make_table("a", ("a",), None)
    assert compute_features(table, ["rank_posterior", "base"], ()).shape == (0, 2)
    assert make_judges(PLAIN).confidences(table) == []


def sigmoid(value):
    return 1 / (1 + math.exp(-value))


def test_confidence_by_hand():
    features = {"log_ratio": 0.5, "base": 1.0, "length": -0.25, "lm": 0.1}
    judge = make_judge(features, -0.4, {"R": 0.2, "U": -0.3}, {"R:VERB:SVA": 0.3})
    shared = -0.4 - 0.25 * math.log(5)
    expected = [
        sigmoid(shared + 0.5 * math.log(2.5) + 1 + 0.1 * 0.7 + 0.2 + 0.3),
        math.nan,  # the language model can't tell
        sigmoid(shared + 0.5 * math.log(0.4) - 0.1 * 8),  # no weight for M: it counts 0
        sigmoid(shared + 0.5 * 3 + 1 + 0.1 + 0.2),
    ]
    assert judge.confidences(TABLE, ("lm",)).tolist() == pytest.approx(expected, nan_ok=True)


def test_the_first_judge_whose_features_are_known_decides():
    with_lm, ranks_lm = {**PLAIN, "lm": 1.0}, {**RANKS, "lm": 1.0}
    judges = make_judges(with_lm, PLAIN, ranks_lm, RANKS, rerankers=["lm:x"])
    assert judges.select(TABLE, ("lm",)).features == with_lm
    assert judges.select(TABLE, ()).features == PLAIN
    assert judges.select(WITHOUT, ("lm",)).features == ranks_lm
    assert judges.select(WITHOUT, ()).features == RANKS
    assert judges.without(("lm",)).judges == (judges.judges[1], judges.judges[3])
    assert judges.without(("lm",)).rerankers == ()
    (confidence,) = judges.confidences(WITHOUT)  # the ratio of the ranks' weights is 2 ** 1.5
    assert confidence == pytest.approx(sigmoid(math.log(2**1.5) + 0.5))


def test_where_the_reranker_cant_tell_the_judge_without_it_decides():
    judges = make_judges({**PLAIN, "lm": 1.0}, PLAIN, rerankers=["lm:x"], settled=(0.06, 0.95))
    first, second, third, fourth = judges.confidences(TABLE, ("lm",))
    assert first == pytest.approx(sigmoid(math.log(2.5) + 0.5 + 0.7))
    assert second == pytest.approx(sigmoid(math.log(5 / 3) + 0.5))  # without the language model
    assert third == pytest.approx(sigmoid(math.log(0.4) - 8))
    assert fourth == pytest.approx(sigmoid(3 + 0.5))  # more than .95: the language model is not asked
    assert sigmoid(3.5) > 0.95
    assert judges.unsettled(TABLE) == [True, True, True, False]
    alone = make_judges({**PLAIN, "lm": 1.0}, rerankers=["lm:x"])
    assert alone.unsettled(TABLE) == [True] * 4
    assert alone.confidences(TABLE, ("lm",))[1] == 0.0


def test_settled_edits_are_decided_the_same_whether_the_reranker_was_asked_or_not():
    judges = make_judges({**PLAIN, "lm": 1.0}, PLAIN, rerankers=["lm:x"], settled=(0.12, 0.6))
    asked = judges.confidences(TABLE, ("lm",))
    values = [odds if wanted else None for (odds,), wanted in zip([e.log_odds for e in TABLE.edits],
                                                                  judges.unsettled(TABLE))]  # fmt: skip
    assert judges.confidences(TABLE.with_log_odds([values]), ("lm",)) == asked


def test_other_features_are_one_sentence():
    with pytest.raises(InputError, match=r"no judge can do without wisdom; fit one with 'btr tune --edits'\."):
        make_judges({"wisdom": 1.0, "base": 1.0}).confidences(TABLE, ("lm",))
    with pytest.raises(InputError, match="no judge can do without log_ratio"):
        make_judges(PLAIN).confidences(WITHOUT)
    with pytest.raises(InputError, match="no judge can do without log_ratio"):
        make_judges({**RANKS, "lm": 1.0}, PLAIN, rerankers=["lm:x"]).confidences(WITHOUT)
    judges = make_judges({**RANKS, "lm": 1.0}, PLAIN, rerankers=["lm:x"])
    table = WITHOUT.with_log_odds([[1.0]])
    assert judges.confidences(table, ("lm",)) == [pytest.approx(sigmoid(math.log(2**1.5) + 0.5 + 1))]
    assert judges.unsettled(table) == [True]  # the judge without the language model can't read these candidates


def test_judges_come_back_from_their_file(tmp_path):
    judges = [
        Judge({"base": 0.25, "lm": -1.5}, {"R": 1.0}, {"R:VERB": 2.0}, -3.0, ("wi", "fce")),
        make_judge({"base": 1.0}),
    ]
    write_judges(tmp_path / "judge.json", judges, ["lm:x"])
    read = read_judges(tmp_path / "judge.json")
    assert (read.judges, read.rerankers, read.reranker_kinds) == (tuple(judges), ("lm:x",), ("lm",))
    assert read == read_judges(tmp_path)  # the folder's
    assert read.signature.startswith("judge:judge.json#")


GOOD = make_judge({"base": 1.0}).to_dict()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("not JSON", "can't be read as JSON"),
        ("[]", "has no judges; write a file of them"),
        ('{"judges": []}', "has no judges"),
        (json.dumps({"judges": [3]}), "judge 1: a judge has features, operations, types, intercept and fitted_on"),
        (json.dumps({"judges": [GOOD, GOOD | {"extra": 1}]}), "judge 2: a judge has"),
        (json.dumps({"judges": [GOOD | {"features": {"base": "1"}}]}), "the weights of a judge must be finite"),
        (json.dumps({"judges": [GOOD | {"intercept": math.nan}]}), "the weights of a judge must be finite"),
        (json.dumps({"judges": [GOOD | {"types": []}]}), "the weights of a judge must be finite"),
        (json.dumps({"judges": [GOOD | {"fitted_on": "wi"}]}), "fitted_on must be a list of names"),
        (json.dumps({"judges": [GOOD], "rerankers": "lm"}), "rerankers must be a list of names"),
        ("\ud800", "can't be read as JSON"),
    ],
)
def test_a_broken_judge_is_one_sentence(tmp_path, content, message):
    (tmp_path / "judge.json").write_text(content, errors="surrogatepass")
    with pytest.raises(InputError, match=message) as raised:
        read_judges(tmp_path / "judge.json")
    assert "\n" not in str(raised.value)


def test_no_judge_is_one_sentence(tmp_path):
    with pytest.raises(InputError, match=r"judge\.json: no such file"):
        read_judges(tmp_path)


def test_the_shipped_judges_read_everything(tmp_path):
    """With log-probabilities and without, with both models, the judging BTR only, and neither."""
    from btr.models.locate import SHIPPED

    judges = read_judges(SHIPPED / "t5gec-small")
    assert judges.reranker_kinds == ("edit-btr", "lm")
    names = [set(judge.names) for judge in judges.judges]
    assert [("edit-btr" in each, "lm" in each, "log_ratio" in each) for each in names] == [
        (True, True, True), (True, False, True), (False, False, True),
        (True, True, False), (True, False, False), (False, False, False),
    ]  # fmt: skip
    assert all(len(judge.fitted_on) >= 2 for judge in judges.judges)
    for table, kinds in ((TABLE, ("edit-btr",)), (TABLE, ()), (WITHOUT, ())):
        values = np.array(judges.confidences(table, kinds))
        assert ((values > 0) & (values < 1)).all()


BOTH = make_table(
    "He go to home .",
    ("He goes home .", "He goes to home .", "He go home ."),
    [math.log(value) for value in PROBABILITIES],
    (1, 2, "goes", "R:VERB:SVA", [0, 1], [0.25, 3.0]),
    (2, 3, "", "U:PREP", [0, 2], [-2.0, 3.0]),
    (5, 5, "!", "M:PUNCT", [2], [0.5, -3.0]),
    (0, 1, "She", "R:PRON", [1], [None, 3.0]),
)
ONE, TWO = {"base": 0.25, "edit-btr": 1.5}, {"base": 0.25, "edit-btr": 1.5, "lm": 1.0}  # in order of the rerankers


def two_rerankers(*features):
    return make_judges(*features, rerankers=["edit-btr:x", "lm:y"], intercept=-0.5, settled=(0.12, 0.6))


def test_the_last_of_two_rerankers_is_spared():
    """Log-odds before it is asked: .125, -3.25, .25 and unknown; settled are those below .12 and above .6."""
    judges = two_rerankers(TWO, ONE, {"base": 0.25})
    assert (judges.spared, judges.reranker_kinds) == ("lm", ("edit-btr", "lm"))
    assert judges.find_first(BOTH, ("edit-btr", "lm")).features == ONE
    first_only = BOTH.with_log_odds([[edit.log_odds[0] for edit in BOTH.edits]])
    assert judges.unsettled(first_only, ("edit-btr",)) == [True, False, True, True]
    values = judges.confidences(BOTH, ("edit-btr", "lm"))
    assert values == pytest.approx([
        sigmoid(-0.5 + 0.25 + 1.5 * 0.25 + 3),
        sigmoid(-0.5 + 0.25 - 1.5 * 2),  # settled: the second reranker makes no difference
        sigmoid(-0.5 + 1.5 * 0.5 - 3),
        sigmoid(-0.5),  # of what the first can't tell, the judge without both decides
    ])  # fmt: skip
    assert sigmoid(-3.25) < 0.12


def test_before_the_last_reranker_without_a_judge_for_the_first_the_one_without_both_decides():
    judges = two_rerankers(TWO, {"base": 0.25})
    assert judges.find_first(BOTH, ("edit-btr",)).features == {"base": 0.25}
    assert judges.unsettled(BOTH, ("edit-btr",)) == [True] * 4  # .44 and .38
    assert two_rerankers(TWO).find_first(BOTH, ("edit-btr",)) is None
    assert two_rerankers(TWO).unsettled(BOTH, ("edit-btr",)) == [True] * 4


def test_without_some_rerankers_the_last_one_is_still_spared():
    """Else other edits would be settled where one is not at hand."""
    judges = two_rerankers(TWO, ONE, {"base": 0.25, "lm": 1.0}, {"base": 0.25})
    rest = judges.without(["edit-btr"])
    assert (rest.spared, rest.rerankers) == ("lm", ("lm:y",))
    assert [judge.features for judge in rest.judges] == [{"base": 0.25, "lm": 1.0}, {"base": 0.25}]
    rest = judges.without(["lm"])
    assert (rest.spared, rest.rerankers) == ("lm", ("edit-btr:x",))
    assert [judge.features for judge in rest.judges] == [ONE, {"base": 0.25}]
    table = BOTH.with_log_odds([[edit.log_odds[0] for edit in BOTH.edits]])
    settled = rest.confidences(table, ("edit-btr",))
    assert settled[1] == pytest.approx(sigmoid(-3.25))  # by the first reranker, which is asked about all
    assert make_judges({"base": 1.0}).spared is None


def test_rival():
    """Edits that overlap are rivals, and those that touch unless a candidate makes both."""
    assert column("rival") == [0.0] * 4
    table = make_table(
        "a b c d e",
        ("a x c d e", "a y z d e", "a b c d v e", "a b c d e"),
        [math.log(value) for value in (0.4, 0.3, 0.2, 0.1)],
        (1, 2, "x", "R:OTHER", [0]),
        (1, 3, "y z", "R:OTHER", [1]),
        (4, 4, "v", "M:OTHER", [2]),
        (0, 1, "u", "R:OTHER", [2]),
    )
    assert column("rival", table) == pytest.approx([0.3, 0.4, 0.0, 0.4])


def test_unchanged():
    """The same number for all edits of a source; between the bounds where no candidate is the source."""
    table = make_table(
        "a b",
        ("a c", " a  b", "a d"),
        [math.log(value) for value in (0.5, 0.3, 0.2)],
        (1, 2, "c", "R:OTHER", [0]),
        (1, 2, "d", "R:OTHER", [2]),
    )
    assert column("unchanged", table) == pytest.approx([math.log(0.3 / 0.7)] * 2)
    assert column("unchanged") == pytest.approx([math.log(0.001 / 0.999)] * 4)
    with pytest.raises(KeyError):
        column("unchanged", WITHOUT)  # which needs log-probabilities
