"""Texts that are too long for a metric are refused at once, whatever their shape; those of real corpora are not."""

import gzip
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

import btr
from btr.corpus import write_lines
from btr.corpus.m2 import read_m2
from btr.corpus.parallel import read_tsv
from btr.errors import InputError
from btr.metrics.lengths import MAX_ERRANT_WORDS, count_changes, too_long, too_long_for_errant, too_long_for_m2


def words(count, prefix="w"):
    return " ".join(f"{prefix}{k}" for k in range(count))


def plain_lcs(one, other):
    row = [0] * (len(other) + 1)
    for word in one:
        before = row
        row = [0]
        for j, each in enumerate(other, 1):
            row.append(before[j - 1] + 1 if word == each else max(before[j], row[-1]))
    return row[-1]


@given(st.lists(st.sampled_from("abc")), st.lists(st.sampled_from("abcd")))
def test_changes_are_the_words_outside_the_longest_common_subsequence(one, other):
    assert count_changes(one, other) == len(one) + len(other) - 2 * plain_lcs(one, other)


SHAPES = {
    "both long": (words(200_000), words(200_000, "v")),
    "hypothesis short": (words(200_000), "two words"),
    "source short": ("two words", words(200_000)),
    "hypothesis empty": (words(200_000), ""),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("metric", ["m2", "errant", "gleu"])
def test_any_long_shape_is_refused_at_once(metric, shape, tmp_path):
    source, hypothesis = SHAPES[shape]
    write_lines(tmp_path / "out.txt", ["fine", hypothesis])
    write_lines(tmp_path / "other.txt", ["fine", "short"])
    write_lines(tmp_path / "gold.m2", ["S fine", "", f"S {source}", ""])
    write_lines(tmp_path / "source.txt", ["fine", source])
    files = {"gold": tmp_path / "gold.m2"}
    if metric == "gleu":
        files = {"source": tmp_path / "source.txt", "reference": tmp_path / "other.txt"}
    start = time.process_time()
    limit = "1,000" if metric == "errant" else "10,000"
    message = rf"out\.txt, line 2: a text of 200,000 words is too long.* \(at most {limit}\); put one sentence on .*\.$"
    with pytest.raises(InputError, match=message):
        btr.evaluate(tmp_path / "out.txt", metric=metric, **files)
    with pytest.raises(InputError, match=message):
        btr.compare(tmp_path / "out.txt", tmp_path / "out.txt", metric=metric, **files)
    assert time.process_time() - start < 20  # most of it loads spaCy


def test_a_long_reference_is_refused(tmp_path):
    write_lines(tmp_path / "out.txt", ["fine"])
    write_lines(tmp_path / "reference.txt", [words(10_001)])
    with pytest.raises(InputError, match=r"out\.txt, line 1: a text of 10,001 words is too long"):
        btr.evaluate(
            tmp_path / "out.txt", metric="gleu", source=tmp_path / "out.txt", reference=tmp_path / "reference.txt"
        )


def test_limits_depend_on_what_costs_time():
    assert too_long(words(10_000)) is None
    assert too_long_for_m2(words(2_000), words(2_000, "v")) is None
    assert "at most 4,000,000 pairs" in too_long_for_m2(words(2_001), words(2_000, "v"))
    assert too_long_for_errant(words(200_000), words(200_000)) is None  # equal: nothing is aligned
    assert too_long_for_errant(words(1_000), words(1_000).replace("w500", "x")) is None
    assert too_long_for_errant(words(1_000), words(925)) is None
    message = "76 words differ between source and output, too many for ERRANT (at most 75 of 1,000); put one"
    assert too_long_for_errant(words(1_000), words(924)).startswith(message)


def test_sentences_of_real_corpora_pass(data):
    """The longest lines with a changed word, and every gold correction."""
    pairs = [
        (sentence.source, sentence.corrected(annotator))
        for path in sorted(data.rglob("*.m2"))
        for sentence in read_m2(path)
        for annotator in sentence.annotations
    ]
    if (data / "c4-200m" / "pairs.tsv").exists():
        pairs += read_tsv(data / "c4-200m" / "pairs.tsv")
    for path in sorted(data.glob("text/*.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            longest = max(lines, key=lambda line: len(line.split()))
        pairs.append((longest, f"{longest} changed"))
    assert len(pairs) > 1_000
    assert max(len(source.split()) for source, _ in pairs) < MAX_ERRANT_WORDS
    assert [pair for pair in pairs if too_long_for_errant(*pair) or too_long_for_m2(*pair)] == []
