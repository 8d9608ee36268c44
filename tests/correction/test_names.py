"""Names that no list has: which words are taken for one, and that they stay. The case of first letters."""

import pytest
from judged import judged_corrector
from scripted import Scripted

from btr.correction.names import mark_names
from btr.correction.segments import cut_segments


def names(text):
    marked = mark_names(list(cut_segments(text, lambda word: word)))
    return [token.text for segment in marked for token in segment.tokens if token.is_name]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("The plugin Fastcache is here.", ["Fastcache"]),
        ("We met Ms. Yamanaka at Zyntaro.", ["Yamanaka", "Zyntaro"]),
        ("Fastcache is fast. I like Fastcache.", ["Fastcache", "Fastcache"]),
        ("Quillbox is new. Quillbox is small.", ["Quillbox", "Quillbox"]),
        ("Fastcache is fast.", []),  # it may be misspelt: nothing else says that it is a name
        ("I was born in Febuary, and in Febuary I marry.", []),  # like a name that is known
        ("I saw my Freind in the Citty.", []),  # one letter from a known word
        ("He lives in Paris.", []),  # known: the model may change it
        ("DO NOT USE ZYNTARO NOW.", []),
        ('He said: "Teh Wprdl is big."', ["Wprdl"]),
        ("the fastcache and the fastcache", []),
    ],
)
def test_which_words_are_names(text, found):
    assert names(text) == found


@pytest.mark.parametrize("written", ["Fast cache", "FastCache", ""])
def test_names_are_neither_split_nor_removed(written):
    corrector = judged_corrector(Scripted({"Fastcache": written, "need": "needed"}), cutoff=0.1)
    text = "It runs when the plugin Fastcache is need."
    assert corrector.correct(text).text == text.replace("need", "needed")


@pytest.mark.parametrize("written", ["Fast cache", "FastCache"])
def test_a_first_word_that_may_be_a_name_is_not_split(written):
    corrector = judged_corrector(Scripted({"Fastcache": written, "Alot": "A lot"}), cutoff=0.1)
    assert corrector.correct("Fastcache is fast.").text == "Fastcache is fast."
    assert corrector.correct("Alot of it is.").text == "A lot of it is."


def test_a_name_of_one_paragraph_says_nothing_of_another():
    """Paragraphs are corrected alone or with others, of other clients too, and always alike."""
    corrector = judged_corrector(Scripted({"Fastcache": "Cache"}), cutoff=0.1)
    alone, beside = "Fastcache is fast.", "I like Fastcache."
    assert corrector.correct(alone).text == "Cache is fast."
    assert corrector.correct(f"{alone}\n\n{beside}").text == f"{corrector.correct(alone).text}\n\n{beside}"


@pytest.mark.parametrize(
    ("text", "corrected"),
    [
        ("# instalation\n", "# installation\n"),
        ("- instalation is hard\n", "- installation is hard\n"),
        ("instalation is hard.\n", "Installation is hard.\n"),
        ("- paris is big\n", "- Paris is big\n"),
    ],
)
def test_first_letters_of_headings_and_items(text, corrected):
    corrector = judged_corrector(Scripted({"instalation": "Installation", "paris": "Paris"}), cutoff=0.1)
    assert corrector.correct(text).text == corrected


def test_british_and_american_spelling_both_stay():
    corrector = judged_corrector(Scripted({"color": "colour", "centre": "center", "is": "was"}), cutoff=0.1)
    assert corrector.correct("The color is in the centre.").text == "The color was in the centre."


def test_no_word_becomes_its_opposite():
    corrector = judged_corrector(
        Scripted({"unconvenient": "convenient", "possible": "impossible", "is": "was"}), cutoff=0.1
    )
    assert corrector.correct("It is unconvenient but possible.").text == "It was unconvenient but possible."
