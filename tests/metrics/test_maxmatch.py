"""The fast alignment against cases worked out by hand, and against the official scorer's steps written out."""

import random

import plain_maxmatch
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from btr.corpus.m2 import Edit, Sentence
from btr.metrics import maxmatch, maxmatch_large
from btr.metrics.edit_lattice import bits, build_lattice
from btr.metrics.m2 import count_correct, count_edits


def edits(*rows):
    return tuple(Edit(start, end, "X", (correction,) if isinstance(correction, str) else correction)
                 for start, end, correction in rows)  # fmt: skip


@pytest.mark.parametrize(
    ("source", "hypothesis", "gold", "counts"),
    [
        ("a b c", "a b c", [], (0, 0, 0)),
        ("a b c", "a b c", [(1, 2, "x")], (0, 0, 1)),
        ("a b c", "a x c", [(1, 2, "x")], (1, 1, 1)),
        ("a b c", "a x c", [(1, 2, "y")], (0, 1, 1)),
        ("a b c", "a x c", [(1, 2, ("y", "x"))], (1, 1, 1)),  # alternatives
        ("a b c", "a c", [(1, 2, "")], (1, 1, 1)),
        ("a b", "a x b", [(1, 1, "x")], (1, 1, 1)),
        ("", "a b", [(0, 0, "a b")], (1, 1, 1)),
        ("a b", "", [(0, 2, "")], (1, 1, 1)),
        # Dahlmeier and Ng's point: one gold edit, which a plain alignment would cut in two.
        ("our baseline system feeds word", "our baseline system feeds a word", [(4, 5, "a word")], (1, 1, 1)),
        # Two changes are one edit if at most two words between them are unchanged...
        ("a b c d", "x b c y", [(0, 4, "x b c y")], (1, 1, 1)),
        ("a b c d", "x b c y", [(0, 1, "x"), (3, 4, "y")], (2, 2, 2)),
        ("a b c d", "x b c y", [], (0, 1, 0)),
        # ... and two edits if three are.
        ("a b c d e", "x b c d y", [(0, 5, "x b c d y")], (0, 2, 1)),
        # Two gold insertions at one place are two edits.
        ("a b", "a x y b", [(1, 1, "x"), (1, 1, "y")], (2, 2, 2)),
        ("a b", "a x y b", [(1, 1, "x y")], (1, 1, 1)),
        # An annotator who gives the same correction twice is agreed with twice.
        ("a b", "a x", [(1, 2, "x"), (1, 2, "x")], (2, 1, 2)),
        # Repeated words: the deletion counts wherever the gold has it.
        ("the the cat", "the cat", [(0, 1, "")], (1, 1, 1)),
        ("the the cat", "the cat", [(1, 2, "")], (1, 1, 1)),
    ],
)
def test_by_hand(source, hypothesis, gold, counts):
    gold_edits = edits(*gold)
    assert count_edits(source, hypothesis, [gold_edits]) == [counts]
    assert plain_maxmatch.count_edits(source, hypothesis, [gold_edits]) == [counts]


words = st.sampled_from("abcdef")


@st.composite
def cases(draw):
    source = draw(st.lists(words, max_size=8))
    hypothesis = draw(st.lists(words, max_size=8))
    if draw(st.booleans()):  # a few changes, as in life
        hypothesis = list(source)
        for _ in range(draw(st.integers(0, 3))):
            at = draw(st.integers(0, len(hypothesis)))
            hypothesis[at : at + draw(st.integers(0, 2))] = draw(st.lists(words, max_size=2))
    gold = []
    for _ in range(draw(st.integers(0, 3))):
        start = draw(st.integers(0, len(source)))
        end = min(start + draw(st.integers(0, 3)), len(source))
        left = draw(st.integers(0, len(hypothesis)))
        correction = hypothesis[left : left + draw(st.integers(0, 3))]
        gold.append((start, end, " ".join(correction)))
    return " ".join(source), " ".join(hypothesis), edits(*gold)


@settings(max_examples=400, deadline=None)
@given(cases())
@example(("g a j a", "j h h d", edits((2, 3, ""), (4, 4, "d"))))  # a tie that listing an arc twice decides
@example(("b a b b a b a", "b b b a a a b", ()))
def test_as_the_official_way(case):
    source, hypothesis, gold = case
    assert count_edits(source, hypothesis, [gold]) == plain_maxmatch.count_edits(source, hypothesis, [gold])


@settings(max_examples=200, deadline=None)
@given(cases(), st.integers(0, 6), st.integers(0, 6))
def test_plain_stretches_count_as_listed(case, before, after):
    """The graph leaves out plain matches, but knows how many arcs the official scorer would have listed for them."""
    source, hypothesis, _ = case
    source = ["P", "Q", "R", "S", "T", "U"][:before] + source.split() + ["u", "v", "w", "x", "y", "z"][:after]
    hypothesis = source[:before] + hypothesis.split() + source[len(source) - after :]
    if source != hypothesis:
        graph = maxmatch.build_graph(build_lattice(source, hypothesis))
        assert graph.list_length == len(plain_maxmatch.list_arcs(source, hypothesis, 2)[0])


@settings(max_examples=200, deadline=None)
@given(cases())
def test_lattice_is_both_matrices(case):
    source, hypothesis = case[0].split(), case[1].split()
    lattice = build_lattice(source, hypothesis)
    arcs = set()
    for i in range(len(source) + 1):
        for j in bits(lattice.match[i] | lattice.substitute[i]):
            arcs.add(((i - 1, j - 1), (i, j)))
        arcs.update(((i - 1, j), (i, j)) for j in bits(lattice.delete[i]))
        arcs.update(((i, j - 1), (i, j)) for j in bits(lattice.insert[i]))
        assert not lattice.match[i] & lattice.substitute[i]
    one, two = (plain_maxmatch.levenshtein_arcs(source, hypothesis, cost) for cost in (1, 2))
    assert arcs == one | two
    in_both = sum(mask.bit_count() for i in range(len(source) + 1) for mask in lattice.in_both.row(i))
    assert in_both == len(one & two)


def test_large_agrees_on_nearly_all():
    """Where arcs are too many to list, ties may fall the other way: rarely, and by little."""
    generator = random.Random(0)
    differences = []
    for _ in range(1500):
        source = [generator.choice("abcdef") for _ in range(generator.randint(1, 8))]
        hypothesis = [generator.choice("abcdef") for _ in range(generator.randint(1, 8))]
        if source == hypothesis:
            continue
        start = generator.randint(0, len(source))
        left = generator.randint(0, len(hypothesis))
        gold = edits((start, min(start + generator.randint(0, 2), len(source)), " ".join(hypothesis[left : left + 2])))
        exact = count_edits(" ".join(source), " ".join(hypothesis), [gold])[0]
        path = maxmatch_large.shortest_path(build_lattice(source, hypothesis), hypothesis, gold)
        rough = count_correct(path, hypothesis, gold), len(path), len(gold)
        differences.append(sum(abs(a - b) for a, b in zip(exact, rough, strict=True)))
    assert max(differences) <= 1
    assert sum(map(bool, differences)) / len(differences) < 0.01


def test_large_counts_unchanged_words_of_matches_only():
    lattice = build_lattice(list("cddb"), list("cbdb"))
    path = maxmatch_large.shortest_path(lattice, list("cbdb"), edits((2, 4, "b")))
    assert (count_correct(path, list("cbdb"), edits((2, 4, "b"))), len(path)) == (1, 2)


@pytest.mark.parametrize(
    "hypothesis",
    [
        "w1 w2 w3 w4 " * 50,  # repeated n-grams
        " ".join(f"v{k}" for k in range(200)),  # nothing in common
        "w0 " * 200,
    ],
)
def test_too_many_arcs_still_end(hypothesis):
    source = " ".join(f"w{k}" for k in range(150))
    assert maxmatch.build_graph(build_lattice(source.split(), hypothesis.split())) is None
    gold = edits((0, 0, "w1"), (1, 2, "w2"), (140, 150, ""))
    ((correct, proposed, total),) = count_edits(source, hypothesis, [gold])
    assert 0 <= correct <= total == 3
    assert 1 <= proposed <= 150


@st.composite
def corrected(draw):
    """A sentence with sorted edits that do not overlap or touch, and are changes."""
    tokens = draw(st.lists(words, min_size=1, max_size=10))
    gold_edits, at = [], 0
    while at <= len(tokens) and draw(st.booleans()):
        start = draw(st.integers(at, len(tokens)))
        end = min(start + draw(st.integers(0, 2)), len(tokens))
        correction = " ".join(draw(st.lists(st.sampled_from("xyz"), min_size=0 if end > start else 1, max_size=2)))
        gold_edits.append((start, end, correction))
        at = end + 1
    return Sentence(" ".join(tokens), {0: edits(*gold_edits)})


@settings(max_examples=300, deadline=None)
@given(corrected())
def test_the_gold_itself_is_perfect(sentence):
    ((correct, proposed, gold),) = count_edits(sentence.source, sentence.corrected(), [sentence.edits(0)])
    assert correct == proposed == gold
