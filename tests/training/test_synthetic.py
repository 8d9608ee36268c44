"""Synthetic errors: what each kind makes of hand-written sentences, and what holds for all of them."""

from collections.abc import Sequence
from itertools import islice, pairwise
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from btr.errors import InputError
from btr.training.error_kinds import CONFUSED, KINDS, PREPOSITIONS, WEIGHTS, Change, Word
from btr.training.synthetic import Corrupter, sentences

TEXTS = [
    "She goes to the market every day , and her brothers always buy fresh apples .",
    "I do n't know whether Tom 's friends have already seen a film about Paris .",
    "They were swimming in the lake because it was hot .",
    "Yes .",
    "",
]


def tagged(text: str) -> list[Word]:
    """Words from "He/PRP left/VBD"."""
    return [Word(*word.split("/")) for word in text.split()]


def applied(change: Change, words: list[Word]) -> str:
    texts = [word.text for word in words]
    return " ".join([*texts[: change.start], *change.words, *texts[change.end :]])


def yields(kind: str, text: str, at: int) -> set[str]:
    """All that a kind makes of a sentence at one place."""
    words = tagged(text)
    changes = (KINDS[kind](words, at, Random(seed)) for seed in range(400))
    return {applied(change, words) for change in changes if change}


def corrupted(texts: list[str], **settings: float) -> list[tuple[str, str]]:
    return list(Corrupter(**settings).corrupt(texts))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("kind", "text", "at", "expected"),
    [
        ("article", "The/DT old/JJ dog/NN", 0, {"Old dog", "An old dog"}),
        ("article", "see/VB a/DT dog/NN", 1, {"see dog", "see the dog"}),
        ("article", "an/DT hour/NN", 0, {"hour", "the hour", "a hour"}),
        ("article", "gives/VBZ to/IN advice/NN now/RB", 2, {"gives to the advice now", "gives to an advice now"}),
        ("article", "for/IN young/JJ dogs/NNS", 1, {"for the young dogs"}),
        ("article", "my/PRP$ dog/NN barks/VBZ", 1, set()),
        ("article", "with/IN the/DT", 1, set()),
        ("preposition", "left/VBD on/IN Monday/NNP", 1, {f"left{w} Monday" for w in ("", " in", " at", " to")}),
        ("preposition", "Like/IN me/PRP", 0, {"Me", "As me"}),
        ("preposition", "ready/JJ to/TO go/VB", 1, set()),
        ("agreement", "he/PRP goes/VBZ", 1, {"he go"}),
        ("agreement", "they/PRP have/VBP", 1, {"they has"}),
        ("agreement", "Was/VBD he/PRP", 0, {"Were he"}),
        ("agreement", "he/PRP went/VBD", 1, set()),
        ("agreement", "it/PRP 's/VBZ", 1, set()),
        ("number", "two/CD children/NNS", 1, {"two child"}),
        ("number", "Information/NN is/VBZ", 0, {"Informations is"}),
        ("number", "bus/NN stop/NN", 0, set()),
        ("number", "DNA/NN", 0, set()),
        ("verb_form", "can/MD go/VB", 1, {"can going", "can went"}),
        ("verb_form", "can/MD go/VB", 0, {"could go"}),
        ("verb_form", "She/PRP was/VBD", 1, {"She is"}),
        ("verb_form", "has/VBZ gone/VBN", 1, {"has go", "has went", "has going"}),
        ("verb_form", "enjoy/VBP Swimming/VBG", 1, {"enjoy Swim", "enjoy To swim"}),
        ("verb_form", "want/VBP to/TO go/VB", 1, {"want go", "want going"}),
        ("verb_form", "a/DT dog/NN", 1, set()),
        ("spelling", "Their/PRP$ dog/NN", 0, {"There dog"}),
        ("spelling", "its/PRP$ tail/NN", 0, {"it 's tail"}),
        ("spelling", "dog/NN", 0, set()),
        ("spelling", "Paris/NNP", 0, set()),
        ("punctuation", "Yes/UH ,/, he/PRP", 1, {"Yes he"}),
        ("punctuation", "He/PRP left/VBD ./.", 2, {"He left"}),
        ("punctuation", "left/VBD ;/: he/PRP", 1, {"left , he"}),
        ("punctuation", "think/VBP that/IN he/PRP", 1, {"think , that he"}),
        ("punctuation", "Tom/NNP ’s/POS dog/NN", 1, {"Toms dog"}),
        ("punctuation", "dogs/NNS '/POS tails/NNS", 1, {"dogs tails"}),
        ("punctuation", "do/VBP n't/RB go/VB", 1, {"dont go"}),
        ("punctuation", "./.", 0, set()),
        ("capitals", "My/PRP$ dog/NN", 0, {"my dog"}),
        ("capitals", "am/VBP I/PRP", 1, {"am i"}),
        ("capitals", "in/IN Paris/NNP", 1, {"in paris"}),
        ("capitals", "a/DT summer/NN", 1, {"a Summer"}),
        ("order", "he/PRP can/MD also/RB go/VB", 1, {"he also can go"}),
        ("order", "I/PRP often/RB go/VBP", 1, {"I go often"}),
        ("order", "a/DT red/JJ dog/NN", 1, {"a dog red"}),
        ("order", "it/PRP is/VBZ n't/RB", 1, set()),
        ("order", "a/DT dog/NN", 1, set()),
    ],
)
def test_what_a_kind_yields(kind: str, text: str, at: int, expected: set[str]) -> None:
    assert yields(kind, text, at) == expected


def test_misspellings_look_like_slips_of_the_pen() -> None:
    found = yields("spelling", "because/IN", 0)
    assert {"becuse", "becasue", "beccause", "bacause", "brcause"} <= found
    assert all(slip.startswith("b") and abs(len(slip) - len("because")) < 2 for slip in found)


def test_the_tables_never_give_back_what_was_there() -> None:
    assert all(wrong != right for right, wrong in CONFUSED.items())
    assert all(right not in wrong.split() for right, wrong in PREPOSITIONS.items())


def test_a_sentence_depends_on_seed_and_text_only() -> None:
    texts = TEXTS * 3
    forwards = corrupted(texts, clean=0.0)
    assert corrupted(texts, clean=0.0) == forwards
    assert corrupted(texts[::-1], clean=0.0) == forwards[::-1]
    assert [corrupted([text], clean=0.0)[0] for text in texts] == forwards
    assert corrupted(texts, clean=0.0, seed=2) != forwards


def test_it_streams() -> None:
    endless = iter(lambda: TEXTS[0], None)
    assert len(list(islice(Corrupter().corrupt(endless), 3))) == 3


def test_share_of_clean_sentences_and_mean_number_in_the_long_run() -> None:
    corrupter = Corrupter(errors=2.0, clean=0.25)
    words = tagged("He/PRP goes/VBZ to/IN the/DT old/JJ shops/NNS ,/, " * 12)
    counts = [len(corrupter.changes([Word(str(number), "CD"), *words])) for number in range(2000)]
    assert counts.count(0) / 2000 == pytest.approx(0.25, abs=0.03)
    assert sum(counts) / 2000 == pytest.approx(2.0, abs=0.15)


def test_all_or_none_can_be_clean() -> None:
    assert all(source == target for source, target in corrupted(TEXTS, clean=1.0))
    assert all(source != target for source, target in corrupted(TEXTS[:3], clean=0.0))


@pytest.mark.parametrize("kind", KINDS)
def test_a_weight_of_zero_switches_a_kind_off(kind: str) -> None:
    words = tagged("Dogs/NNS can/MD also/RB be/VB in/IN a/DT park/NN ,/, Tom/NNP says/VBZ ./.")
    only = Corrupter(clean=0.0, weights={other: 0 for other in KINDS if other != kind})
    places = [KINDS[kind](words, at, Random(seed)) for at in range(len(words)) for seed in range(300)]
    found = {change for seed in range(30) for change in Corrupter(seed, 1.0, 0.0, only.weights).changes(words)}
    assert found
    assert found <= set(places)
    assert Corrupter(clean=0.0, weights=dict.fromkeys(KINDS, 0)).changes(words) == []


def test_weights_are_shares() -> None:
    assert WEIGHTS.keys() == KINDS.keys()
    assert sum(WEIGHTS.values()) == 100


WORDS = ["The", "an", ",", ".", "'", "n't", "that", "to", "is", "its", "go", "children", "I", "In", "also"]
TAGS = ["NN", "NNS", "NNP", "VB", "VBZ", "VBP", "VBD", "VBG", "VBN", "MD", "TO", "IN", "DT", "JJ", "RB", "POS", "."]
TAGGED = st.builds(
    Word,
    st.sampled_from(WORDS) | st.text(st.characters(exclude_categories=("C", "Z")), min_size=1),
    st.sampled_from(TAGS),
)


@settings(deadline=None)  # the first to inflect a word loads the lexicon
@given(words=st.lists(TAGGED, min_size=1, max_size=8), seed=st.integers(0, 9))
def test_no_kind_gives_back_the_same_or_nothing(words: list[Word], seed: int) -> None:
    for kind in KINDS.values():
        for at in range(len(words)):
            if change := kind(words, at, Random(seed)):
                assert applied(change, words) not in ("", " ".join(word.text for word in words))


@settings(deadline=None)  # the first to inflect a word loads the lexicon
@given(words=st.lists(TAGGED, max_size=15), seed=st.integers(0, 9))
def test_errors_are_apart_and_never_leave_nothing(words: list[Word], seed: int) -> None:
    changes = Corrupter(seed, errors=5.0, clean=0.0).changes(words)
    assert all(one.end < other.start for one, other in pairwise(changes))
    assert len(changes) <= max(1, len(words) // 3)
    assert sum(change.end - change.start for change in changes if not change.words) < max(1, len(words))


@settings(max_examples=50, deadline=None)
@given(texts=st.lists(st.lists(TAGGED, max_size=12), max_size=4), clean=st.sampled_from([0.0, 0.5]))
def test_target_is_the_input_and_source_differs_by_the_errors(texts: list[list[Word]], clean: float) -> None:
    lines = ["  ".join(word.text for word in text) for text in texts]
    made: list[bool] = []

    class Recording(Corrupter):
        def changes(self, words: Sequence[Word]) -> list[Change]:
            changes = super().changes(words)
            made.append(bool(changes))
            return changes

    pairs = list(Recording(clean=clean).corrupt(lines))
    assert [target for _, target in pairs] == [" ".join(line.split()) for line in lines]
    assert [source != target for source, target in pairs] == made


def test_paragraphs_become_tokenised_sentences() -> None:
    paragraphs = [
        "Mr. Hill doesn't live in the U.S. any more. He left\u00a0it, he said,  in 1998!",
        "History",
        "of the town and its people.",
        "No way.",
        "",
        "It is " + "very " * 60 + "long.",
    ]
    assert list(sentences(paragraphs)) == [
        "Mr. Hill does n't live in the U.S. any more .",
        "He left it , he said , in 1998 !",
        "No way .",
    ]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"weights": {"typo": 1}}, "typo=1: expected a weight of 0 or more for one of punctuation, article"),
        ({"weights": {"order": -1}}, "order=-1: expected"),
        ({"clean": 1.5}, "a share of 1.5 clean"),
        ({"errors": 0.5, "clean": 0.1}, "0.5 errors per sentence and a share of 0.1 clean cannot go together"),
    ],
)
def test_impossible_settings_are_refused(wrong: dict[str, float], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Corrupter(**wrong)  # type: ignore[arg-type]
