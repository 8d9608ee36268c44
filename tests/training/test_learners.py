"""What learners wrote, put into other sentences: the table by hand, and what it makes of a text."""

from collections import Counter
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from btr.errors import InputError
from btr.training.error_kinds import KINDS, Change, Word, learners_kind
from btr.training.learners import RATE, SMOOTHING, Learners
from btr.training.synthetic import Corrupter

M2 = """S She gave me many advices about the informations .
A 4 5|||R:NOUN:NUM|||advice|||REQUIRED|||-NONE-|||0
A 6 7|||U:DET||||||REQUIRED|||-NONE-|||0
A 7 8|||R:NOUN:INFL|||information|||REQUIRED|||-NONE-|||0
A 7 8|||R:OTHER|||data|||REQUIRED|||-NONE-|||1

S He do a big mistake .
A 1 2|||R:VERB:TENSE|||made|||REQUIRED|||-NONE-|||0
A 3 4|||R:ADJ|||great|||REQUIRED|||-NONE-|||0

S It is a big pleasure listen music ,
A 3 4|||R:ADJ|||great|||REQUIRED|||-NONE-|||0
A 5 5|||M:VERB:FORM|||to|||REQUIRED|||-NONE-|||0
A 6 6|||M:PREP|||to|||REQUIRED|||-NONE-|||0
A 7 8|||R:PUNCT|||.|||REQUIRED|||-NONE-|||0

S A friend in the school told .
A 2 4|||R:PREP|||at|||REQUIRED|||-NONE-|||0
A 5 6|||R:VERB|||said so today|||REQUIRED|||-NONE-|||0
"""


@pytest.fixture
def learners(tmp_path: Path) -> Learners:
    path = tmp_path / "essays.m2"
    path.write_text(M2)
    return Learners([path])


def test_edits_the_other_way_round(learners: Learners) -> None:
    """Wrong forms count from the first time on, other words from the second; long ones, marks and articles don't."""
    assert learners.wrong == {
        ("advice",): Counter({("advices",): 1}),
        ("information",): Counter({("informations",): 1}),
        ("made",): Counter({("do",): 1}),
        ("great",): Counter({("big",): 2}),
        ("to",): Counter({(): 2}),
    }
    assert learners.occurrences["great",] == 2
    assert learners.occurrences["a", "great"] == 2
    assert learners.occurrences["big",] == 0


def test_a_phrase_is_spoilt_as_often_as_it_was(learners: Learners) -> None:
    learners.occurrences["great",] = 95  # twice wrong: two in a hundred, and ten times as often here
    drawn = [learners.draw(["Great", "men"], Random(seed)) for seed in range(2000)]
    assert set(drawn) == {None, (1, ("big",))}
    assert sum(each is not None for each in drawn) / 2000 == pytest.approx(RATE * 2 / (95 + SMOOTHING), abs=0.03)
    assert learners.draw(["small", "men"], Random(1)) is None


def test_what_it_makes_of_a_sentence(learners: Learners) -> None:
    kind = learners_kind(learners)
    text = "Great/JJ men/NNS like/VBP to/TO listen/VB to/IN Great/NNP"
    words = [Word(*pair.split("/")) for pair in text.split()]
    made = {at: {kind(words, at, Random(seed)) for seed in range(50)} - {None} for at in range(len(words))}
    assert made == {
        0: {Change(0, 1, ("Big",))},
        1: set(),
        2: set(),
        3: {Change(3, 4, ())},
        4: set(),
        5: {Change(5, 6, ())},
        6: set(),  # a name
    }


def test_it_is_one_kind_more(tmp_path: Path) -> None:
    path = tmp_path / "essays.m2"
    path.write_text(M2)
    only = {"learners": 1.0, **dict.fromkeys(KINDS, 0.0)}
    text = "Great advice is made to last ."
    (source, target), *_ = Corrupter(1, 5.0, 0.0, only, [path]).corrupt([text])
    assert target == text
    assert source != text
    assert set(source.split()) <= {"Great", "Big", "advice", "advices", "is", "made", "do", "to", "last", "."}
    with pytest.raises(InputError, match="learners=1: expected a weight"):
        Corrupter(weights={"learners": 1.0})


@given(st.lists(st.sampled_from(["Great", "advice", "to", "the", ".", "made"]), max_size=9), st.integers(0, 5))
def test_no_change_gives_back_the_same(words: list[str], seed: int) -> None:
    table = Learners([])
    table.wrong = {("great",): Counter({("big",): 1}), ("to",): Counter({(): 1}), ("to", "the"): Counter({("to",): 1})}
    kind = learners_kind(table)
    tagged = [Word(word, "NN") for word in words]
    for at in range(len(words)):
        if change := kind(tagged, at, Random(seed)):
            assert [*words[: change.start], *change.words, *words[change.end :]] not in ([], words)
