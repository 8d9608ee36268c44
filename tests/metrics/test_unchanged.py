"""Over-correction on clean text, counted by hand."""

import pytest

import btr
from btr.corpus import write_lines


def test_every_change_is_a_false_alarm(tmp_path):
    write_lines(tmp_path / "clean.txt", ["She likes cats .", "They went home early .", "It rains ."])  # 4 + 5 + 3 words
    write_lines(tmp_path / "out.txt", ["She likes cats .", "They go home the early .", "It  rains ."])
    result = btr.evaluate(tmp_path / "out.txt", metric="unchanged", source=tmp_path / "clean.txt")
    assert result.counts == {"changed": 1, "sentences": 3, "edits": 2, "words": 12}
    assert result.scores == pytest.approx({"edits_per_1000_words": 1000 * 2 / 12, "unchanged": 100 * 2 / 3})
    assert result.value == result.scores["unchanged"]
    assert result.signature.startswith("unchanged|source:clean.txt#")
    low, high = result.confidence.intervals["edits_per_1000_words"]
    assert low == 0 < result.scores["edits_per_1000_words"] < high


def test_two_systems_on_clean_text(tmp_path):
    write_lines(tmp_path / "clean.txt", ["She likes cats .", "They went home .", "It rains .", ""])
    write_lines(tmp_path / "a.txt", ["She like cats .", "They go home .", "It rains .", ""])
    result = btr.compare(
        tmp_path / "a.txt", tmp_path / "clean.txt", metric="unchanged", source=tmp_path / "clean.txt", resamples=50
    )
    assert (result.a.value, result.b.value) == (50, 100)
    assert (result.sentences.better, result.sentences.worse, result.sentences.changed) == (2, 0, 2)
