"""Several systems at once, and one report by every metric that the files allow."""

import json
from pathlib import Path

import pytest

import btr
from btr.corpus import write_lines
from btr.errors import InputError
from btr.metrics import METRICS
from btr.metrics.significance import holm

EXAMPLES = Path(__file__).parents[2] / "examples"
GOLD = EXAMPLES / "gold.m2"
BASE, SECOND, THIRD = (EXAMPLES / name for name in ("base.txt", "second.txt", "reference0.txt"))
GLEU = {"source": EXAMPLES / "source.txt", "reference": [EXAMPLES / f"reference{k}.txt" for k in range(2)]}


def test_each_system_is_compared_with_the_first():
    three = btr.compare(BASE, SECOND, THIRD, gold=GOLD, resamples=100)
    pairs = [btr.compare(BASE, other, gold=GOLD, resamples=100) for other in (SECOND, THIRD)]
    assert [score.scores for score in three.scores] == [pairs[0].a.scores, pairs[0].b.scores, pairs[1].b.scores]
    for contrast, pair in zip(three.contrasts, pairs, strict=True):
        assert contrast.difference == pair.difference
        assert contrast.sentences == pair.sentences
        for name, test in contrast.significance.bootstrap.items():
            assert (test.p, test.interval) == (
                pair.significance.bootstrap[name].p,
                pair.significance.bootstrap[name].interval,
            )
            assert test.p <= test.p_holm <= 2 * test.p


def test_the_json_of_two_is_as_before_and_of_three_a_list():
    two = btr.compare(BASE, SECOND, gold=GOLD, resamples=10).to_dict()
    assert list(two) == ["metric", "a", "b", "difference", "sentences", "significance", "signature"]
    assert "p_holm" not in json.dumps(two)
    three = btr.compare(BASE, SECOND, THIRD, gold=GOLD, resamples=10).to_dict()
    assert list(three) == ["metric", "systems", "signature"]
    first, second, third = three["systems"]
    assert list(first) == ["file", "scores", "counts"]
    assert list(second) == list(third) == ["file", "scores", "counts", "difference", "sentences", "significance"]
    assert third["difference"]["f0.5"] == pytest.approx(third["scores"]["f0.5"] - first["scores"]["f0.5"])
    assert "p_holm" in third["significance"]["randomisation"]["f0.5"]


def test_holm():
    """Three tests: the smallest p is tripled, the next doubled; none is below one that was smaller before."""
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.5, 0.001]) == pytest.approx([0.5, 0.002])
    assert holm([0.9, 0.8]) == [1, 1]


def test_a_report_has_the_scores_of_each_metric_alone():
    report = btr.report(BASE, gold=GOLD, resamples=50, **GLEU)
    assert list(report.sections) == ["m2", "errant", "cleme", "gleu"]
    for name, section in report.sections.items():
        files = GLEU if name == "gleu" else {"gold": GOLD}
        alone = btr.evaluate(BASE, metric=name, resamples=50, **files)
        assert section.comparison.a.scores == alone.scores
        assert section.confidence == (alone.confidence,)
        assert report.signatures[name] == alone.signature
    (system,) = report.to_dict()["systems"]
    assert system["file"] == str(BASE)
    assert list(system["metrics"]["cleme"]["scores"]) == ["hit", "wrong", "under", "over", "cleme"]
    assert "against_first" not in system["metrics"]["m2"]


def test_a_report_of_three_systems_with_clean_text():
    report = btr.report([BASE, SECOND, THIRD], gold=GOLD, clean=THIRD, clean_output=[BASE, SECOND, THIRD], resamples=50)
    assert list(report.sections) == ["m2", "errant", "cleme", "unchanged"]
    clean = report.sections["unchanged"].comparison
    equal = sum(a == b for a, b in zip(BASE.read_text().splitlines(), THIRD.read_text().splitlines(), strict=True))
    assert clean.a.value == pytest.approx(100 * equal / 20)
    assert clean.scores[2].scores == {"edits_per_1000_words": 0, "unchanged": 100}
    systems = report.to_dict()["systems"]
    assert systems[2]["metrics"]["unchanged"]["against_first"]["difference"]["unchanged"] == 100 - clean.a.value
    alone = btr.compare(BASE, SECOND, THIRD, gold=GOLD, resamples=50)
    assert report.sections["m2"].comparison == alone


def test_options_go_to_the_metrics_that_have_them():
    report = btr.report(BASE, gold=GOLD, mode="detection", beta=1, resamples=0, **GLEU)
    assert "f1" in report.sections["m2"].comparison.a.scores
    assert "|mode:detection|beta:1|" in report.signatures["errant"]
    assert report.sections["m2"].confidence == ()


def test_only_references():
    report = btr.report(BASE, resamples=0, **GLEU)
    assert list(report.sections) == ["gleu"]


@pytest.mark.parametrize(
    ("systems", "options", "message"),
    [
        ([BASE], {}, "a report needs --set, --gold with an M2 file, or --source with at least one --reference"),
        ([BASE], {"source": GLEU["source"]}, "a report needs --set"),
        ([BASE], {"reference": GLEU["reference"]}, "gleu needs --source and at least one --reference"),
        ([BASE], {"gold": GOLD, "clean": THIRD}, "one --clean-output for each of the 1 system, not 0"),
        ([BASE], {"gold": GOLD, "clean_output": THIRD}, "--clean-output needs --clean"),
        ([BASE, SECOND], {"gold": GOLD, "clean": THIRD, "clean_output": BASE}, "each of the 2 systems, not 1"),
        ([BASE, SECOND], {"gold": GOLD, "resamples": 0}, "--resamples must be at least 1 where outputs are compared"),
        ([BASE], {**GLEU, "mode": "detection"}, "--mode is no option of gleu"),
        ([BASE], {**GLEU, "source": BASE, "gold": GOLD}, r"base.txt, sentence \d+: is not that of .*gold.m2"),
    ],
)
def test_bad_input(systems, options, message):
    with pytest.raises(InputError, match=message):
        btr.report(systems, **options)


def test_one_output_is_not_compared():
    with pytest.raises(InputError, match="compare needs at least two outputs; 'btr evaluate' scores one"):
        btr.compare(BASE, gold=GOLD)


def test_a_registered_metric_is_in_the_report(monkeypatch):
    class Other(METRICS["gleu"]):
        name = "other"

    monkeypatch.setattr(METRICS, "_entries", dict(METRICS._entries))
    METRICS.register("other", Other)
    assert list(btr.report(BASE, resamples=0, **GLEU).sections) == ["gleu", "other"]


def test_a_report_of_many_sentences_with_several_annotators(tmp_path):
    """Counts add up: what ERRANT proposes is changed in CLEME's chunks, which join edits that touch."""
    write_lines(tmp_path / "out.txt", SECOND.read_text().splitlines())
    sections = btr.report(tmp_path / "out.txt", gold=GOLD, resamples=0).sections
    chunks, edits = sections["cleme"].comparison.a.counts, sections["errant"].comparison.a.counts
    assert 0 < chunks["hit"] + chunks["wrong"] + chunks["over"] <= edits["proposed"]
