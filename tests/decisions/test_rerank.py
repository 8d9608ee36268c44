"""`btr rerank` from file to file."""

import math
from pathlib import Path

import pytest
from four import ROWS, write_scores

import btr
from btr.corpus import Candidates, Scored, read_candidates, read_lines, read_scores
from btr.errors import InputError

EXAMPLES = Path(__file__).parents[2] / "examples"
CANDIDATES = EXAMPLES / "candidates.jsonl"


@pytest.fixture
def scores(tmp_path):
    """Scores that prefer the second candidate of the first ten sentences, with margins from 0.1 to 0.9."""
    rows = []
    for k, row in enumerate(read_candidates(CANDIDATES)):
        margin = 0.1 + 0.08 * (k % 10)
        score = math.log((1 + margin) / (1 - margin))  # of two candidates, f rises by the margin
        rows.append(Scored(row, ((0.0, score if k < 10 else -score, -99.0),)))
    return write_scores(tmp_path / "scores.jsonl", rows, "btr")


def test_rerank_by_threshold(tmp_path, scores):
    result = btr.rerank([scores], tmp_path / "out.txt", threshold=0.49, top=2)
    assert result.shares == {"accept": 25, "reject": 25, "equal": 50}  # margins 0.5 … 0.82 are over 0.49
    assert result.signature == "btr|model:x|threshold:0.49|top:2"
    assert btr.rerank([scores], at_least=True).signature == "btr|model:x|threshold:0|at-least"
    base, out = (list(read_lines(path)) for path in (EXAMPLES / "base.txt", tmp_path / "out.txt"))
    second = list(read_lines(EXAMPLES / "second.txt"))
    assert out == base[:5] + second[5:10] + base[10:] == result.texts
    assert result.decisions[5].verdict == "accept"
    assert result.decisions[5].margin == pytest.approx(0.5)


def test_a_string_is_one_path(scores):
    single = btr.rerank(str(scores), threshold=0.49, gold=str(EXAMPLES / "gold.m2"))
    listed = btr.rerank([str(scores)], threshold=0.49, gold=[str(EXAMPLES / "gold.m2")])
    assert single == listed
    assert single.evaluation is not None
    base, gold = str(EXAMPLES / "base.txt"), str(EXAMPLES / "gold.m2")
    assert btr.evaluate(base, gold=gold) == btr.evaluate([base], gold=[gold])
    reference = str(EXAMPLES / "reference0.txt")
    by_gleu = [
        btr.evaluate(base, metric="gleu", source=EXAMPLES / "source.txt", reference=given, resamples=0)
        for given in (reference, [reference])
    ]
    assert by_gleu[0] == by_gleu[1]


def test_as_json(scores):
    record = btr.rerank(scores, threshold=0.49).to_dict()
    assert list(record) == ["sentences", "decisions", "shares", "unscored", "settings", "signature"]
    assert (record["sentences"], len(record["decisions"]), record["settings"]["threshold"]) == (20, 20, 0.49)
    assert set(record["decisions"][5]) == {"text", "index", "verdict", "suggestion", "probabilities", "margin"}


def test_rerank_with_gold_is_table_6(scores):
    evaluation = btr.rerank([scores], threshold=0.49, gold=[EXAMPLES / "gold.m2"]).evaluation
    assert evaluation.base.scores == btr.evaluate(EXAMPLES / "base.txt", gold=[EXAMPLES / "gold.m2"]).scores
    cases = evaluation.by_verdict
    assert {name: case.sentences for name, case in cases.items()} == {"accept": 5, "reject": 5, "equal": 10}
    assert cases["equal"].base == cases["equal"].suggested
    assert cases["equal"].p_t_test == 1


def test_rerank_bad_input(tmp_path, scores):
    for threshold in (-0.1, 1.1):
        with pytest.raises(InputError, match="the threshold is a difference of probabilities, from 0 to 1"):
            btr.rerank([scores], threshold=threshold)
    rows = list(read_scores(scores)[1])
    short = write_scores(tmp_path / "short.jsonl", rows[:-1], "btr")
    with pytest.raises(InputError, match=r"short\.jsonl: ends before line 21"):
        btr.rerank([scores, short])
    with pytest.raises(InputError, match="gold has 20 sentences, but the scores have 19"):
        btr.rerank([short], gold=[EXAMPLES / "gold.m2"])
    with pytest.raises(InputError, match="is this a scores file"):
        btr.rerank([CANDIDATES])
    with pytest.raises(InputError, match="gleu needs --source and at least one --reference"):
        btr.rerank([scores], metric="gleu")
    with pytest.raises(InputError, match="m2 needs --gold"):
        btr.rerank([scores], source=EXAMPLES / "source.txt")
    with pytest.raises(InputError, match="name at least one scores file"):
        btr.rerank([])
    with pytest.raises(InputError, match="average must be one of log, probability, f, not 'x'"):
        btr.rerank(scores, average="x")
    with pytest.raises(InputError, match=r"there is a weight for contrast, but the scores are of btr\."):
        btr.rerank(scores, weights={"contrast": 2.0})


def test_a_scores_file_that_was_cut_is_refused(tmp_path):
    """Also at a line's end: the header says how many sources there were."""
    btr.score(CANDIDATES, ["mbr"], tmp_path / "scores.jsonl")
    lines = (tmp_path / "scores.jsonl").read_bytes().splitlines(keepends=True)
    (tmp_path / "cut.jsonl").write_bytes(b"".join(lines[:-3]))
    with pytest.raises(InputError, match=r"cut\.jsonl: has 17 sources, but its header says 20; was it cut short"):
        btr.rerank([tmp_path / "cut.jsonl"])


def test_what_could_not_be_scored_is_counted(tmp_path):
    scored = [(-2.0, -1.0), (-2.0, None), (None, None)]
    rows = [Scored(Candidates("s", ("a", "b")), (scores,)) for scores in scored]
    path = write_scores(tmp_path / "scores.jsonl", rows, "btr")
    assert btr.rerank([path]).unscored == 2
    assert btr.rerank([path], top=1).unscored == 1  # the second does not compete


def test_inputs_are_never_overwritten(scores):
    before = scores.read_bytes()
    with pytest.raises(InputError, match="is an input, too"):
        btr.rerank([scores], scores)
    with pytest.raises(InputError, match="is an input, too"):
        btr.score(scores, ["mbr"], scores)
    assert scores.read_bytes() == before


def test_scores_in_another_order_than_the_gold_are_refused(tmp_path, scores):
    turned = write_scores(tmp_path / "turned.jsonl", list(read_scores(scores)[1])[::-1], "btr")
    (tmp_path / "out.txt").write_text("old")
    with pytest.raises(InputError, match="sentence 1 of the scores has another source than the gold"):
        btr.rerank([turned], tmp_path / "out.txt", gold=[EXAMPLES / "gold.m2"])
    assert (tmp_path / "out.txt").read_text() == "old"


def test_ensembles_of_files(scores):
    one = btr.rerank([scores], threshold=0.3)
    two = btr.rerank([scores, scores], threshold=0.3)
    assert one.decisions == two.decisions
    assert two.signature == "btr|model:x+btr|model:x|threshold:0.3"
    assert btr.rerank([scores, scores], average="f").signature.endswith("|threshold:0|average:f")


def test_two_seeds_of_a_kind_are_averaged_also_with_weights(tmp_path):
    """Two seeds of contrast, weighed 2, beside base: as one file of their average and base."""
    rows = [row.candidates for row in ROWS]
    first = [row.scores[0] for row in ROWS]
    second = [(-0.3, -1.1), (-2.0, -0.1), (-0.2, -0.4), (-1.0, -0.9)]
    average = [tuple((a + b) / 2 for a, b in zip(one, other)) for one, other in zip(first, second)]
    base = [(-1.0, -1.3)] * 4
    files = {}
    for name, kind, columns in (
        ("one", "contrast", first), ("two", "contrast", second), ("mean", "contrast", average), ("base", "base", base),
    ):  # fmt: skip
        scored = [Scored(row, (scores,)) for row, scores in zip(rows, columns)]
        files[name] = write_scores(tmp_path / f"{name}.jsonl", scored, kind)
    for weights in ({"contrast": 2.0}, {"contrast": 0.5, "base": 3.0}, {"base": 0.0}):
        seeds = btr.rerank([files["one"], files["two"], files["base"]], weights=weights)
        single = btr.rerank([files["mean"], files["base"]], weights=weights)
        for a, b in zip(seeds.decisions, single.decisions):
            assert a.probabilities == pytest.approx(b.probabilities)
        expected = [
            weights.get("contrast", 1.0) * (m[1] - m[0]) + weights.get("base", 1.0) * (b[1] - b[0])
            for m, b in zip(average, base)
        ]
        odds = [math.log(d.probabilities[1] / d.probabilities[0]) for d in seeds.decisions]
        assert odds == pytest.approx(expected)


def test_a_profile_gives_all_settings_and_options_override_them(tmp_path):
    """The header of the scores names the model, and its folder has the profile."""
    model = tmp_path / "model"
    model.mkdir()
    (model / "profiles.json").write_text(
        '{"careful": {"top": 2, "threshold": 0.6, "weights": {"good": 2.0}, "rerankers": ["good"]}}'
    )
    good = write_scores(tmp_path / "good.jsonl", ROWS, "good", model=str(model))
    result = btr.rerank(good, profile="careful")
    assert (result.settings.top, result.settings.threshold, result.note) == (2, 0.6, None)
    assert result.decisions == btr.rerank(good, top=2, threshold=0.6, weights={"good": 2.0}).decisions
    assert btr.rerank(good, profile="careful", threshold=0.99).settings.threshold == 0.99
    with pytest.raises(InputError, match="there is no profile 'bold'; these models have careful"):
        btr.rerank(good, profile="bold")
    other = write_scores(tmp_path / "other.jsonl", ROWS, "other", model=str(model))
    result = btr.rerank(other, profile="careful")
    assert result.settings == btr.Settings()
    assert result.note == (
        "profile careful does not apply to other (it was tuned for good); the default settings are used: "
        "threshold 0, and all candidates compete."
    )


def test_broken_profiles_are_named(tmp_path):
    scores = write_scores(tmp_path / "scores.jsonl", ROWS, "good", model=str(tmp_path))
    for content, message in (
        ("{", r"profiles\.json: can't be read as JSON"),
        ("[]", r"profiles\.json: expected an object of settings by name"),
        ('{"a": {"weight": 2}}', r"profiles\.json, a: 'weight' is no setting"),
        ('{"a": {"threshold": 2}}', r"profiles\.json, a: the threshold is a difference"),
        ('{"a": 1}', r"profiles\.json, a: expected settings as a JSON object"),
    ):
        (tmp_path / "profiles.json").write_text(content)
        with pytest.raises(InputError, match=message):
            btr.rerank(scores, profile="a")
