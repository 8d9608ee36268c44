"""The personal dictionary: its file, and words that no edit changes."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st
from judged import judged_corrector

from btr.correction.corrector import Corrector
from btr.correction.dictionary import (
    Dictionary,
    add_word,
    default_path,
    read_dictionary,
    read_personal_dictionary,
    remove_word,
)
from btr.errors import InputError

WORDS = st.text(st.characters(categories=["L", "N", "P"]), min_size=1, max_size=12).filter(
    lambda word: not word.startswith("#")
)


def test_a_file_of_words(tmp_path):
    path = tmp_path / "words.txt"
    path.write_text("# mine\nkebab\n\n  Kowalczyk  # a name\r\n", encoding="utf-8")
    words = read_dictionary(path)
    assert words.words == {"kebab", "Kowalczyk"}
    assert all(word in words for word in ("kebab", "Kebab", "KEBAB", "Kowalczyk"))
    assert not any(word in words for word in ("kowalczyk", "KOWALCZYK", "mine", ""))


def test_a_word_may_have_the_sign_of_a_comment_inside(tmp_path):
    path = tmp_path / "words.txt"
    path.write_text("C#\nF# # a language\n#comment\n\t# another\n", encoding="utf-8")
    assert read_dictionary(path).words == {"C#", "F#"}
    assert add_word(path, "A#")
    assert remove_word(path, "F#")
    assert read_dictionary(path).words == {"A#", "C#"}


def test_words_are_added_and_removed(tmp_path):
    path = tmp_path / "new" / "words.txt"
    assert add_word(path, " kebab ")
    assert not add_word(path, "kebab")
    assert add_word(path, "Kebab")  # another entry: only with a capital
    path.write_text(path.read_text() + "# a comment stays\nkebab # twice\n")
    assert remove_word(path, "kebab")
    assert not remove_word(path, "kebab")
    assert path.read_text() == "Kebab\n# a comment stays\n"
    assert not remove_word(tmp_path / "none.txt", "kebab")
    assert not (tmp_path / "none.txt").exists()


def test_nothing_is_lost_if_many_add_at_once(tmp_path):
    path = tmp_path / "words.txt"
    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(lambda k: add_word(path, f"word{k}"), range(24)))
    assert read_dictionary(path).words == {f"word{k}" for k in range(24)}


@given(words=st.lists(WORDS, max_size=6))
def test_what_is_added_is_read_again(tmp_path_factory, words):
    path = tmp_path_factory.mktemp("words") / "words.txt"
    for word in words:
        add_word(path, word)
    if words:
        assert read_dictionary(path).words == set(words)
        assert all(word in read_dictionary(path) for word in words)
    for word in dict.fromkeys(words):
        assert remove_word(path, word)
    assert not path.exists() or not read_dictionary(path).words


@pytest.mark.parametrize("word", ["", " ", "two words", "#tag", "a\nb", "a\x00b"])
def test_what_is_no_word_is_refused(tmp_path, word):
    for change in (add_word, remove_word):
        with pytest.raises(InputError, match="is no word"):
            change(tmp_path / "words.txt", word)
    with pytest.raises(InputError, match="is no word"):
        Dictionary().with_words([word])
    assert not (tmp_path / "words.txt").exists()


def test_errors_name_the_file_and_the_line(tmp_path):
    path = tmp_path / "words.txt"
    path.write_text("kebab\ntwo words\n")
    with pytest.raises(InputError, match=r"words\.txt, line 2: 'two words' is no word"):
        read_dictionary(path)
    with pytest.raises(InputError, match=r"none\.txt"):
        read_dictionary(tmp_path / "none.txt")
    with pytest.raises(InputError, match="a list of words"):
        Dictionary().with_words("kebab")


def test_the_users_own_file(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert default_path() == tmp_path / "btr" / "words.txt"
    assert not read_personal_dictionary(None).words
    add_word(default_path(), "kebab")
    assert read_personal_dictionary(None).words == {"kebab"}
    assert not read_personal_dictionary(tmp_path / "btr" / "words.txt").words - {"kebab"}


def test_words_of_the_dictionary_are_never_changed():
    """The scripted model writes "have" for "has" and "dogs" for "dog"; the latter's edits are sure enough at 0."""
    text = "She has a dog. Dog has it."
    corrected = judged_corrector(cutoff=0.0).correct(text).text
    assert "have" in corrected
    assert "dogs" in corrected
    with_words = judged_corrector(cutoff=0.0, dictionary=Dictionary(frozenset({"dog"})))
    result = with_words.correct(text)
    assert result.text == "She have a dog. Dog have it."
    assert with_words.signature != judged_corrector(cutoff=0.0).signature
    per_call = judged_corrector(cutoff=0.0)
    assert per_call.correct(text, words=["dog"]).text == result.text
    assert per_call.correct(text, words=["dog", "has"]).text == text
    assert per_call.correct(text).text == corrected  # only that call


def test_an_entry_with_a_capital_counts_only_with_it():
    corrector = judged_corrector(cutoff=0.0, dictionary=Dictionary(frozenset({"Dog"})))
    assert "dogs" in corrector.correct("She has a dog.").text


def test_words_that_spacy_cuts():
    """ "dog-has" is three tokens, and all of them stay; the same words elsewhere are changed."""
    result = judged_corrector(cutoff=0.0).correct("A dog-has is a dog.", words=["dog-has"])
    assert result.text == "A dog-has is a dogs."


def test_alternatives_leave_the_words_alone_too():
    result = judged_corrector(cutoff=1.0).correct("She has a dog.", words=["has"])
    assert {edit.replacement for sentence in result.sentences for edit in sentence.alternatives} == {"dogs"}


def test_a_missing_dictionary_is_an_error_before_models_are_loaded(tmp_path):
    with pytest.raises(InputError, match=r"none\.txt"):
        Corrector.from_pretrained(dictionary=tmp_path / "none.txt")
