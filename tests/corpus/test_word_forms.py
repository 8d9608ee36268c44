"""Forms of one lemma, and British and American spellings of one word."""

import pytest

from btr.corpus.word_forms import inflection_type, is_opposite, is_spelling_variant


@pytest.mark.parametrize(
    ("word", "other", "kind"),
    [
        ("likes", "like", "VERB:SVA"),
        ("Likes", "Like", "VERB:SVA"),
        ("lead", "led", "VERB:FORM"),
        ("emails", "email", "MORPH"),  # a noun or a verb
        ("child", "children", "NOUN:NUM"),
        ("childrens", "children", "NOUN:INFL"),
        ("cactuss", "cacti", "NOUN:INFL"),
        ("teached", "taught", "VERB:INFL"),
        ("runing", "running", "VERB:INFL"),
        ("studys", "studies", "MORPH"),
        ("worse", "bad", "ADJ:FORM"),
    ],
)
def test_forms_of_one_lemma(word, other, kind):
    assert inflection_type(word, other) == kind


@pytest.mark.parametrize(
    ("word", "other"),
    [("lokes", "likes"), ("form", "from"), ("there", "their"), ("then", "than"), ("loose", "lose"), ("where", "were"),
     ("libary", "library"), ("studing", "studying"), ("Like", "like"), ("recieve", "receive"), ("s", "as")],
)  # fmt: skip
def test_other_words_are_no_forms(word, other):
    assert inflection_type(word, other) is None


@pytest.mark.parametrize(
    ("british", "american"),
    [("colour", "color"), ("favourite", "favorite"), ("centres", "centers"), ("organisation", "organization"),
     ("Analyses", "Analyzes"), ("travelling", "traveling"), ("dialogue", "dialog"), ("defence", "defense"),
     ("grey", "gray"), ("judgement", "judgment"), ("LABOUR", "LABOR")],
)  # fmt: skip
def test_british_and_american_spelling(british, american):
    assert is_spelling_variant(british, american)
    assert is_spelling_variant(american, british)


@pytest.mark.parametrize(
    ("word", "other"),
    [("four", "for"), ("prise", "prize"), ("filling", "filing"), ("flour", "flor"), ("scouring", "scoring"),
     ("controled", "controlled"), ("licence", "license"), ("advice", "advise"), ("timbre", "timber"),
     ("color", "Colour"), ("color", "color"), ("behavoir", "behaviour"), ("where", "were"), ("colors", "colour")],
)  # fmt: skip
def test_what_is_no_variant(word, other):
    assert not is_spelling_variant(word, other)
    assert not is_spelling_variant(other, word)


@pytest.mark.parametrize(
    ("word", "other"),
    [("unconvenient", "convenient"), ("Possible", "impossible"), ("happily", "unhappily"), ("honest", "dishonest"),
     ("regular", "irregular")],
)  # fmt: skip
def test_opposites(word, other):
    assert is_opposite(word, other)
    assert is_opposite(other, word)


@pytest.mark.parametrize(
    ("word", "other"),
    [("unconvenient", "inconvenient"), ("less", "unless"), ("cover", "discover"), ("prove", "improve"),
     ("stead", "instead"), ("habitants", "inhabitants"), ("happy", "happy"), ("happy", "unhappily")],
)  # fmt: skip
def test_what_is_no_opposite(word, other):
    assert not is_opposite(word, other)
    assert not is_opposite(other, word)
