"""Candidates for unknown words: which words are unknown, what is suggested, and what becomes of the texts."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from judged import judged_corrector
from scripted import Scripted

from btr.candidates.spelling import EVIDENCE, add_spellings, compose, find_misspellings
from btr.corpus.candidates import PROPOSED, Candidates
from btr.corpus.words import is_known, suggest
from btr.correction.blocks import Block
from btr.correction.corrector import Corrector
from btr.errors import InputError


def row(source, *texts, log_probs=None):
    texts = texts or (source,)
    return Candidates(source, texts, log_probs or tuple(-1.0 - k for k in range(len(texts))))


def misspelt(source, *texts, known=()):
    words = source.split()
    return [words[each.index] for each in find_misspellings(row(source, *texts), lambda word: word in known)]


@pytest.mark.parametrize(
    "word",
    ["colour", "color", "organise", "organize", "travelling", "centre", "labor", "analyzed", "Travelers", "airplane"],
)
def test_british_and_american_words_are_known(word):
    assert is_known(word)


@pytest.mark.parametrize(
    ("word", "right"),
    [("carreer", "career"), ("maintainance", "maintenance"), ("tommorow", "tomorrow"), ("tounge", "tongue"),
     ("wich", "which"), ("alot", "a lot"), ("febuary", "February"), ("dependencys", "dependencies")],
)  # fmt: skip
def test_suggestions(word, right):
    assert right in suggest(word)


@pytest.mark.parametrize(
    ("word", "right"),
    [("unconvenient", "inconvenient"), ("unregular", "irregular"), ("unlegal", "illegal"),
     ("unhonest", "dishonest")],
)  # fmt: skip
def test_another_prefix_is_suggested_where_no_list_has_the_word(word, right):
    assert not is_known(word)
    assert suggest(word) == (right,)
    assert is_known("unproved")  # which nobody means for "improved"


@given(st.text("abcdefghijklmnopqrstuvwxyz", min_size=4, max_size=14))
@settings(deadline=None)  # the first example reads the lists of words
def test_suggestions_are_few_known_words(word):
    suggested = suggest(word)
    assert len(suggested) == len(set(suggested)) <= 5
    assert all(is_known(part) for suggestion in suggested for part in suggestion.split())


@pytest.mark.parametrize(
    "word",
    ["deduplicate", "unfollow", "unmount", "ungroups", "unbuilt", "overcorrection", "vlog", "backend", "Chatbot"],
)
def test_new_words_and_words_with_prefixes_are_known(word):
    assert is_known(word)


@pytest.mark.parametrize(
    "word", ["desing", "untill", "recieve", "mispell", "interupt", "unfortunatly", "overal", "occured"]
)
def test_misspellings_that_begin_like_a_prefix_are_unknown(word):
    assert not is_known(word)


def test_sentences_with_many_unknown_words_cost_little():
    source = "carreer becuase recieve tommorow wich adress beleive"
    counts = [len(each.suggestions) for each in find_misspellings(row(source), lambda word: False)]
    assert len(counts) == 7
    assert sum(counts) <= 10


def test_which_words_are_unknown():
    assert misspelt("My carreer is long , becuase I work .") == ["carreer", "becuase"]
    assert misspelt("My carreer is long .", known=["carreer"]) == []
    assert misspelt("The man met Carreer in BECUASE .") == []  # names, and what is written in capitals
    assert misspelt("carr33r carr-eer carreer's wrld/ teh .") == []  # no words, or too short
    assert misspelt("Maintainance of the bridge is hard .") == ["Maintainance"]
    assert misspelt("Kowalski wrote the second chapter .") == []


@pytest.mark.parametrize(
    ("text", "corrected"),
    [
        ("My career is long .", True),
        ("My long career is .", True),
        ("My is long .", False),
        ("My job is long .", False),
        ("My carreer is a career .", False),
    ],
)
def test_what_the_base_model_corrects_needs_no_candidates(text, corrected):
    """What corrects the word gains by the evidence, and where the base candidate does, nothing is added."""
    (result,) = add_spellings(Scripted(), [row("My carreer is long .", text)], 128)
    assert result.log_probs[0] == -1.0 + EVIDENCE * corrected
    assert (len(result.texts) == 1) == corrected


@pytest.mark.parametrize(
    ("base", "composed"),
    [
        ("She have a carreer .", "She have a career ."),
        ("She has a long carreer .", "She has a long career ."),
        ("She has .", "She have a career ."),  # what was changed beside it is undone
        ("She has a .", "She has a career ."),
        ("She has a job .", "She has a career ."),
        ("She has a new job .", "She has a career ."),
        ("They have a job .", "They have a career ."),
    ],
)
def test_the_word_is_replaced_in_the_base_candidate(base, composed):
    assert compose(row("She have a carreer .", base), {3: "career"}) == composed


TOKENS = st.lists(st.sampled_from(["a", "b", "c", "carreer"]), min_size=1, max_size=6)


@given(before=TOKENS, after=TOKENS, base=TOKENS)
def test_the_suggestion_is_always_in_the_composed_text(before, after, base):
    source = [*before, "wrld", *after]
    text = compose(row(" ".join(source), " ".join(base)), {len(before): "world"})
    assert text.split().count("world") == 1
    assert "wrld" not in text


def test_composed_texts_are_candidates_with_log_probabilities():
    """The scripted engine says -3 of every text; the dictionary's evidence is added once per word."""
    source = "My carreer ends tommorow ."
    (result,) = add_spellings(Scripted(), [row(source, log_probs=(-1.0,))], 128)
    by_text = dict(zip(result.texts, result.log_probs))
    assert result.texts[0] == source
    assert by_text[source] == -1.0
    assert by_text["My career ends tommorow ."] == by_text["My carreer ends tomorrow ."] == EVIDENCE - 3
    both = [text for text in result.texts if "tommorow" not in text and "carreer" not in text]
    assert [by_text[text] for text in both] == [2 * EVIDENCE - 3]
    assert result.flags[PROPOSED] == tuple(range(1, len(result.texts)))


def test_rows_without_unknown_words_stay():
    rows = [row("She has a dog .", "She have a dog ."), Candidates("carreer " * 200, ("carreer " * 200,))]
    assert add_spellings(Scripted(), rows, 128) == rows


def test_a_candidate_of_the_base_model_gains_by_the_evidence():
    source = "My carreer ends ."
    rows = [row(source, source, "My career ends .", log_probs=(-1.0, -6.0))]
    (result,) = add_spellings(Scripted(), rows, 128)
    assert result.log_probs[:2] == (-1.0, EVIDENCE - 6)
    assert 1 not in result.flags.get(PROPOSED, ())


def test_the_corrector_and_its_dictionary():
    corrector = judged_corrector(Scripted({}), spelling=True, cutoff=0.1)
    text = "She will come tommorow."
    assert corrector.correct(text).text == "She will come tomorrow."
    assert corrector.correct(text, words=["tommorow"]).text == text
    assert judged_corrector(Scripted({}), cutoff=0.1).correct(text).text == text
    assert "spelling:" in corrector.signature
    assert corrector.correct_sentences(["She will come tommorow ."]) == ["She will come tomorrow ."]


def test_a_sentence_begins_with_a_capital_whatever_the_model_writes():
    corrector = judged_corrector(Scripted({"Maintainance": "maintenance", "Phones": "iPhones"}), cutoff=0.1)
    blocks = corrector.examine([Block(text, 0, True) for text in ("Maintainance is hard.", "Phones are.", "he is.")])
    written = [block.sentences[0].candidates.texts[0] for block in blocks]
    assert written == ["Maintenance is hard .", "iPhones are .", "he is ."]


def test_spelling_needs_a_judge():
    with pytest.raises(InputError, match="spelling is for decisions edit by edit"):
        Corrector.from_pretrained(profile="paper", spelling=True)
