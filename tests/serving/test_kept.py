"""What a server keeps of what it was sent: nothing."""

from concurrent.futures import ThreadPoolExecutor
from itertools import product

import httpx
import pytest
from served import scripted, served

from btr.correction.segments import load_rules
from btr.metrics import errant
from btr.metrics.errant import extract_edits, forgetting, load_annotator

PAIR = "I has two dog .", "I have two dogs ."


def known(nlp):
    """How much spaCy knows: strings and words."""
    return len(nlp.vocab.strings), sum(1 for _ in nlp.vocab)


def new_texts(count, sentences=25):
    """Texts of words that nobody has seen."""
    words = map("".join, product("qxzvwk", repeat=5))
    for _ in range(count):
        yield " ".join(f"I has {next(words)} and {next(words)}s." for _ in range(sentences))


def test_no_word_of_a_text_is_kept():
    corrector = scripted()
    rules, annotator = load_rules(), load_annotator().nlp
    with served(corrector) as address:
        before = known(rules), known(annotator)
        for text in new_texts(5):
            answer = httpx.post(f"{address}/v1/correct", json={"text": text}, timeout=60).json()
            assert answer["text"] == text.replace("has", "have")
        assert (known(rules), known(annotator)) == before
    assert corrector.see.cache_info().currsize == 0
    assert errant._parse.cache_info().currsize == 0
    assert not annotator.get_pipe("lemmatizer").cache


def test_edits_are_the_same_when_sentences_are_forgotten():
    pairs = [(text, text.replace("has", "have")) for text in new_texts(10, sentences=1)] + [PAIR]
    kept = [extract_edits(*pair) for pair in pairs]
    with forgetting():
        assert [extract_edits(*pair) for pair in pairs] == kept

    def forget(pair):
        with forgetting():
            return extract_edits(*pair)

    with ThreadPoolExecutor(4) as pool:  # some forget, others don't
        asked = [pool.submit((forget, lambda pair: extract_edits(*pair))[k % 2], pairs[k % 11]) for k in range(44)]
        assert [own.result() for own in asked] == kept * 4


def test_sentences_are_forgotten_after_an_error_too():
    extract_edits(*PAIR)
    before = known(load_annotator().nlp)
    with pytest.raises(ZeroDivisionError), forgetting():
        assert 1 / len(extract_edits("I has a zzyzx .", "I have a zzyzx .")[1:])
    assert known(load_annotator().nlp) == before
    assert [edit.type for edit in extract_edits(*PAIR)] == ["R:VERB:SVA", "R:NOUN:NUM"]
