"""ERRANT through btr against the package's commands."""

import sys

import pytest
from errant.commands import compare_m2
from hypothesis import given, settings
from hypothesis import strategies as st

from btr.corpus import Edit, Sentence, read_m2, write_m2
from btr.errors import InputError
from btr.metrics.errant import Errant, extract_edits, extract_many, full_type, round_decimals

SOURCES = [
    "I has two cat .",
    "She go to school yesterday .",
    "This are a good ideas",
    "He like apples very much .",
    "All is well .",
]
HYPOTHESES = [
    "I have two cats .",
    "She went to the school yesterday .",
    "This is a good idea .",
    "He likes apple very much .",
    "All is well .",
]
REFERENCES = [
    [
        "I have two cats .",
        "She went to school yesterday .",
        "This is a good idea .",
        "He likes apples .",
        "All is well .",
    ],
    [
        "I have two cats !",
        "She goes to school .",
        "These are good ideas",
        "He likes apples very much .",
        "All is good .",
    ],
]


@pytest.fixture(scope="module")
def sentences():
    return [
        Sentence(source, {k: tuple(extract_edits(source, texts[n])) for k, texts in enumerate(REFERENCES)})
        for n, source in enumerate(SOURCES)
    ]


def official(tmp_path, capsys, monkeypatch, sentences, hypotheses, *flags):
    """What errant_compare prints: rows of category (empty for all), TP, FP, FN."""
    write_m2(tmp_path / "gold.m2", sentences)
    extracted = [
        Sentence(sentence.source, {0: tuple(extract_edits(sentence.source, text))})
        for sentence, text in zip(sentences, hypotheses, strict=True)
    ]
    write_m2(tmp_path / "hyp.m2", extracted)
    arguments = ["-hyp", str(tmp_path / "hyp.m2"), "-ref", str(tmp_path / "gold.m2"), *flags]
    monkeypatch.setattr(sys, "argv", ["errant_compare", *arguments])
    capsys.readouterr()
    compare_m2.main()
    rows = {}
    for line in capsys.readouterr().out.splitlines():
        parts = line.split()
        if len(parts) == 6 and parts[0].isdigit():
            rows[""] = tuple(map(int, parts[:3]))
        elif len(parts) == 7 and parts[1].isdigit():
            rows[parts[0]] = tuple(map(int, parts[1:4]))
    return rows


def as_official(correct, proposed, gold):
    return correct, proposed - correct, gold - correct


@pytest.mark.parametrize(("mode", "flag"), [("correction", "-cs"), ("detection", "-ds"), ("token-detection", "-dt")])
def test_as_errant_compare(tmp_path, capsys, monkeypatch, sentences, mode, flag):
    score = Errant(sentences, mode=mode).score(HYPOTHESES)
    expected = official(tmp_path, capsys, monkeypatch, sentences, HYPOTHESES, flag)
    assert as_official(**score.counts) == expected[""]
    assert score.counts["correct"] > 0


def test_breakdowns_as_errant_compare(tmp_path, capsys, monkeypatch, sentences):
    metric = Errant(sentences)
    for by, tier in (("operation", "1"), ("type", "2")):
        expected = official(tmp_path, capsys, monkeypatch, sentences, HYPOTHESES, "-cat", tier)
        expected.pop("")
        ours = metric.breakdown(HYPOTHESES, range(len(SOURCES)), by)
        label = (lambda name: name[0]) if by == "operation" else str
        assert {label(name): as_official(*counts) for name, counts in ours.items()} == expected


def test_corpus_as_errant_compare(tmp_path, capsys, monkeypatch, data):
    """300 real sentences with two annotators each, against a hypothesis that is right and wrong in places."""
    sentences = list(read_m2(data / "cweb-dev" / "CWEB-G.dev.m2"))[:300]
    hypotheses = [s.corrected(n % 2).replace(" the ", " a ", n % 3) for n, s in enumerate(sentences)]
    expected = official(tmp_path, capsys, monkeypatch, sentences, hypotheses, "-cat", "3")
    assert as_official(**Errant(sentences).score(hypotheses).counts) == expected[""]


def test_by_hand():
    gold = Sentence("I has two cat .", {0: (Edit(1, 2, "R:VERB:SVA", ("have",)), Edit(3, 4, "R:NOUN:NUM", ("dogs",)))})
    score = Errant([gold]).score(["I have two cats ."])
    assert score.counts == {"correct": 1, "proposed": 2, "gold": 2}
    assert score.scores == pytest.approx({"precision": 50, "recall": 50, "f0.5": 50})
    assert Errant([gold], mode="detection").score(["I have two cats ."]).counts["correct"] == 2


def test_alternatives_and_unknown():
    gold = Sentence("I has two cat .", {0: (Edit(1, 2, "R:VERB", ("had", "have")), Edit(3, 4, "UNK", ("cat",)))})
    assert Errant([gold]).score(["I have two cat ."]).counts == {"correct": 1, "proposed": 1, "gold": 1}
    assert Errant([gold], mode="detection").score(["I have two cat ."]).counts["gold"] == 2


def test_types_of_other_corpora():
    assert full_type(Edit(0, 0, "ArtOrDet", ("the",))) == "M:ArtOrDet"
    assert full_type(Edit(0, 1, "ArtOrDet", ("",))) == "U:ArtOrDet"
    assert full_type(Edit(0, 1, "Nn", ("cats",))) == "R:Nn"
    assert full_type(Edit(0, 1, "R:NOUN", ("cats",))) == "R:NOUN"


def test_processes_do_not_matter(sentences):
    scores = []
    for processes in (1, 2):
        metric = Errant(sentences, processes=processes)
        metric.min_per_process = 2
        scores.append(metric.score(HYPOTHESES))
    assert scores[0] == scores[1]


def test_empty_sentences():
    assert Errant([Sentence("", {}), Sentence("a b", {})]).score(["", ""]).counts["proposed"] == 1


def test_a_page_in_one_line_is_refused():
    long = " ".join(["word"] * 10_000)
    assert extract_edits(long, long) == []
    with pytest.raises(InputError, match=r"a text of 10,001 words is too long for ERRANT \(at most 1,000\)"):
        extract_edits(long, long + " more")


def test_ties_between_annotators():
    """F is compared to four digits; of equals, more correct, then fewer wrong, then fewer missed edits win."""
    import numpy as np

    metric = Errant([])
    before = np.array([[[5000, 6000, 6001]], [[0, 0, 0]]])
    rows = lambda *counts: np.concatenate([np.repeat(before, len(counts), 1), [counts, counts]])[[0, 2]]  # noqa: E731

    def chosen(*counts):
        return metric.choose_annotators(rows(*counts), np.array([[0, 1]]))[1][0, 1]

    assert chosen((1, 1, 1), (2, 2, 2)) == 1  # the second's F is higher by less than 0.00005, and it is right twice
    assert chosen((1, 2, 2), (1, 1, 2)) == 1
    assert chosen((0, 0, 1), (0, 0, 1)) == 0


def test_edits_are_errants_own():
    """What errant_parallel would write for the sentences."""
    from btr.metrics.errant import load_annotator

    annotator = load_annotator()
    for source, text in zip(SOURCES, HYPOTHESES, strict=True):
        expected = [e.to_m2() for e in annotator.annotate(annotator.parse(source), annotator.parse(text))]
        ours = [
            f"A {e.start} {e.end}|||{e.type}|||{e.corrections[0]}|||REQUIRED|||-NONE-|||0"
            for e in extract_edits(source, text)
        ]
        assert ours == expected


def test_rounding_is_pythons():
    import numpy as np

    values = np.array([0.12345, 0.00015, 0.78125, 0.5, 0.33333333, 1.00005])
    assert round_decimals(values, 4).tolist() == [round(value, 4) for value in values.tolist()]


def changed(words, changes):
    """Return a sentence's words after changes: (place, how many words go, what comes)."""
    words = list(words)
    for place, count, new in changes:
        place %= len(words) + 1
        words[place : place + count] = new
    return " ".join(words)


TOKENS = ["a", "the", "cat", "cats", "go", "goes", "went", ",", ".", "to", "very", "informations", "She", "n't", "😀"]
CHANGES = st.lists(
    st.tuples(st.integers(0, 20), st.integers(0, 3), st.lists(st.sampled_from(TOKENS), max_size=3)), max_size=4
)


def one_by_one(pairs):
    return [extract_edits(source, text) for source, text in pairs]


@settings(deadline=None, max_examples=30)
@given(st.lists(st.tuples(st.sampled_from(SOURCES), CHANGES), max_size=5))
def test_many_at_once_have_the_edits_that_each_has_alone(drawn):
    pairs = [(source, changed(source.split(), changes)) for source, changes in drawn]
    assert extract_many(pairs) == one_by_one(pairs)


def test_many_at_once_at_the_edges():
    """Empty and equal sentences, other spaces, repeated pairs, a source as a hypothesis, and long sentences."""
    long = SOURCES * 12
    pairs = [
        ("", ""),
        ("", "I have two cats ."),
        ("I has two cat .", ""),
        ("I has two cat .", "I has  two cat . "),
        *zip(SOURCES, HYPOTHESES),
        *zip(SOURCES, HYPOTHESES),
        *zip(HYPOTHESES, SOURCES),
        (" ".join(long), " ".join(long).replace("like", "likes")),
    ]
    edits = extract_many(pairs)
    assert edits == one_by_one(pairs)
    assert (edits[0], edits[3]) == ([], [])
    assert [len(each) for each in edits[1:3]] == [1, 1]
    assert len(edits[-1]) == 12
    assert extract_many([]) == []


def test_of_many_only_those_that_are_too_long_have_no_edits(monkeypatch):
    """Alone they are an error; equal sentences are never too long."""
    monkeypatch.setattr("btr.metrics.lengths.MAX_ERRANT_WORK", 5)
    pairs = [("a b c d e", "a b c d"), ("a b c d e", "a b c x e"), ("a b c d e", "a b c d e")]
    one, too_long, equal = extract_many(pairs)
    assert (one, too_long, equal) == (extract_edits(*pairs[0]), None, extract_edits(*pairs[2]))
    assert extract_many(pairs[1:]) == [None, []]
    with pytest.raises(InputError, match=r"^2 words differ .* too many for ERRANT \(at most 1 of 5\); .*\.$"):
        extract_edits(*pairs[1])
