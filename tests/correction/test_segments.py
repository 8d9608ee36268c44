import pytest
from hypothesis import given
from hypothesis import strategies as st

from btr.correction.segments import cut_segments, mask_and_hide


def sources(text, round_trip=lambda word: word):
    return [segment.source for segment in cut_segments(text, round_trip)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("He don't know. Is it?  Yes!", ["He do n't know .", "Is it ?", "Yes !"]),
        ("See http://a.b/c_d?e=f, or mail me@x.org.", ["See X , or mail X ."]),
        ("Call `f(x) = 1` or ``a`b`` now.", ["Call X or X now ."]),
        ("We use snake_case and --flag here.", ["We use X and X here ."]),
        ("It is **very** good, *I* think_.", ["It is very good , I think ."]),
        ("Read [this page](http://x.y) ![pic](z.png) now.", ["Read this page now ."]),
        ("A <b>bold</b> word &amp; more.", ["A bold word X more ."]),
        ("Press <kbd>the Enter</kbd>, then <CODE class=a>I has\nit</CODE>.", ["Press X , then X ."]),
        ("He go.\n<pre>\nI has <code>it</code>\n</pre>\nShe go.", ["He go .", "She go ."]),
        ("<style>\np { color: red }\n</style>\n<script>\nit go\n", []),
        ("Write `<pre>` here. It go.", ["Write X here .", "It go ."]),
        ("Call `f`<code>the go</code> now.", ["Call X now ."]),
        ("# My day\n", ["My day"]),
        ("My day\r\n======\r\nIt go.", ["My day", "It go ."]),
        ("- one\n- two\n", ["one", "two"]),
        ("1. First thing\n2. Second thing\n", ["First thing", "Second thing"]),
        ("> She say so.\n", ["She say so ."]),
        ("| a | b |\n| - | - |\n", []),
        ("| a | b |\nHe go.\n", ["He go ."]),
        ("J. Smith met Mr. Brown etc. and left.", ["J. Smith met Mr. Brown etc . and left ."]),
        ("It cost ca. $75,000. See No. 5.", ["It cost ca . $ 75,000 .", "See No . 5 ."]),
        ("It is a max. We go.", ["It is a max .", "We go ."]),
        ("It cost €13.5m. We go.", ["It cost € 13.5 m .", "We go ."]),
        ("We lost 5kg.", ["We lost 5 kg ."]),
        ("It is 5m. long.", ["It is 5 m. long ."]),
    ],
)
def test_what_the_model_reads(text, expected):
    assert sources(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('He left. "I has it," she said.', ["He left .", '" I has it , " she said .']),
        ("He left. “I has it.” She go.", ["He left .", "“ I has it . ”", "She go ."]),
        ('He say "yes." She go.', ['He say " yes . "', "She go ."]),
        ("He left! (She go.) We go.", ["He left !", "( She go . )", "We go ."]),
        ("He left. '\"Go,\" he say.'", ["He left .", "' \" Go , \" he say . '"]),
    ],
)
def test_an_opening_quote_belongs_to_the_sentence_that_it_opens(text, expected):
    assert sources(text) == expected


def test_lines_that_were_wrapped_belong_together():
    long = "This is a line of a paragraph that someone has wrapped at the page's\nedge. It go on."
    assert sources(long) == [
        "This is a line of a paragraph that someone has wrapped at the page 's edge .",
        "It go on .",
    ]
    assert sources("Dear Ann\nHow are you\n") == ["Dear Ann", "How are you"]
    assert sources("he said that\nhe is here\n") == ["he said that he is here"]


def test_words_that_the_model_does_not_know_are_hidden():
    (segment,) = cut_segments("I has 😀 a dog 你好.", lambda word: word if word.isascii() else "")
    assert segment.source == "I has a dog ."
    assert segment.tokens[2].start == 8


@pytest.mark.parametrize(
    ("word", "tokens"),
    [
        *((word, "X") for word in ("naïve", "São", "Łukasz", "co‑op", "½", "wo\u200brd", "Łø", "COVID病")),
        *((word, "") for word in ("😀", "你好", "мир", "→", "1️⃣", "٣", "三")),
    ],
)
def test_a_word_that_the_model_cannot_write_is_masked_if_it_is_latin_and_hidden_if_not(word, tokens):
    (segment,) = cut_segments(f"He is {word} now.", lambda word: word if word.isascii() else "")
    assert segment.source.split() == ["He", "is", *tokens.split(), "now", "."]
    assert [token.is_masked for token in segment.tokens] == [word == "X" for word in segment.source.split()]


def test_headings_and_items_are_recognised():
    assert [segment.is_heading_or_item for segment in cut_segments("# Title\nSome text\n- item\n", str)] == [
        True,
        False,
        True,
    ]


def test_other_scripts_are_hidden_though_the_model_may_know_their_letters():
    (segment,) = cut_segments("He said как дела, я and μία to her.", str)
    assert segment.source == "He said , and to her ."


@pytest.mark.parametrize("sign", ["👍🏽", "❤️", "👨\u200d👩\u200d👧", "1️⃣", "🇩🇪", "😀"])
def test_emoji_leave_the_full_stop_beside_them(sign):
    text = f"I like it {sign}. This are good{sign}!"
    assert [segment.source for segment in cut_segments(text, str)] == ["I like it .", "This are good !"]


@pytest.mark.parametrize("line", ["===", "------", "  ---  ", "===\r"])
def test_an_underlined_heading_is_recognised(line):
    segments = list(cut_segments(f"Before it.\nMy day\n{line}\nSome text\n", str))
    assert [segment.source for segment in segments] == ["Before it .", "My day", "Some text"]
    assert [segment.is_heading_or_item for segment in segments] == [False, True, False]


@given(st.text() | st.text(st.sampled_from("aI. `_*<>[]()#-|:/@\n😀éя")))
def test_token_offsets_are_right(text):
    end = 0
    for segment in cut_segments(text, lambda word: word):
        for token in segment.tokens:
            assert end <= token.start < token.end <= len(text)
            end = token.end
            if not token.is_masked:
                assert token.text == text[token.start : token.end]


@given(st.text(st.sampled_from("ab`_*[]()<>/#@&;:.~ \nhttp")))
def test_masking_and_hiding_change_neither_length_nor_lines(text):
    visible, masked = mask_and_hide(text)
    assert len(visible) == len(text)
    breaks = [k for k, char in enumerate(text) if char == "\n"]
    assert all(visible[k] == "\n" or k in masked for k in breaks)
    assert "`" in text or masked.isdisjoint(breaks)  # only code may have several lines


@pytest.mark.parametrize("run", ["$" * 300, ".=" * 4_000, "x." * 4_000 + "@", "." * 300 + "a", "`a`" + "$" * 300])
def test_a_long_run_of_signs_is_masked_before_spacy_reads_it(run):
    (segment,) = cut_segments(f"See {run}, please.", lambda word: word)
    assert segment.source == "See X , please ."
    assert mask_and_hide(f"See {run}, please.")[0] == f"See {'X' * len(run)}, please."


def test_a_long_address_does_not_take_the_full_stop():
    assert sources(f"See http://x.y/{'z' * 300}. It go.") == ["See X .", "It go ."]
