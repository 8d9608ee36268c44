"""Which lines of Markdown are prose, in texts of a few lines and in texts that are parsed in several windows."""

import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from btr.correction.blocks import MAX_BLOCK, cut_blocks, decode
from btr.correction.markdown import WINDOW


def cut(text):
    """The blocks of a Markdown file, whose long lines come in pieces."""
    return list(cut_blocks(decode(io.BytesIO(text.encode()), "t"), markdown=True))


def prose(text):
    return "".join(block.text for block in cut(text) if block.prose)


PROSE = [
    "He go.\nAnd so on.\n",
    "# He go\n",
    "He go\n-----\n",
    "- He go.\n- She go.\n  And so on.\n",
    "10) He go.\n",
    "> He go.\n> > She go.\nAnd so on.\n",
    "1. > He go.\n",
    "- [x] He go.\n",
    "He go: <b>so</b> `it go`.\n    And so on.\n",
    "[He](x.y) go.\n",
    "He go.\r\nAnd so on.\r\n",
    "He\rgo.\nAnd so on.\n",
]
OTHERS = [
    "    it go\n",
    "\tit go\n",
    "~~~\nit go\n~~~\n",
    "````\nit go\n```\nit go\n````\n",
    "- ```\n  it go\n",
    "> ```\n> it go\n",
    "-     it go\n",
    "***\n",
    "it | go\n--- | ---\nit | go\n",
    "| it | go |\n|:---|---:|\n",
    "<div>\nit go\n</div>\n",
    "<!-- it go\n\nit go -->\n",
    "<pre>\nit go\n\nit go\n</pre>\n",
    "<script>\nlet it = go\n\n</script>\n",
    '[it]: http://x.y "it go"\n',
    "[it]:\n  http://x.y\n  'it go'\n",
]


@pytest.mark.parametrize("text", PROSE)
def test_prose(text):
    assert prose(text) == text


@pytest.mark.parametrize("text", OTHERS)
def test_not_prose(text):
    assert prose(text) == ""
    text = f"He go.\n\n{text}\nShe go.\n"
    assert prose(text) == "He go.\nShe go.\n"
    assert prose(text.replace("\n", "\r\n")) == "He go.\r\nShe go.\r\n"


def test_code_in_a_list_item_between_its_paragraphs():
    text = "- He go.\n\n      it go\n\n  She go.\n\n      it go\n"
    assert prose(text) == "- He go.\n  She go.\n"


SECTIONS = st.lists(st.tuples(st.sampled_from(PROSE + OTHERS), st.integers(1, 4)), min_size=1, max_size=20)


@settings(deadline=None, max_examples=10)
@given(SECTIONS)
def test_the_parts_of_a_long_text_are_as_they_would_be_alone(sections):
    """A line of prose ends each part. The text is parsed in several windows."""
    parts = ["A line.\n\n" + "\n".join([text] * repeats) + "\nA line.\n\n" for text, repeats in sections]
    once = "".join(parts)
    times = 2 * WINDOW // len(once) + 1
    text = once * times
    blocks = cut(text)
    assert "".join(block.text for block in blocks) == text
    assert "".join(block.text for block in blocks if block.prose) == "".join(map(prose, parts)) * times


@pytest.mark.parametrize(
    ("opening", "line", "closing"),
    [
        ("```\n", "It go.\n\n", "```\n"),
        ("<!--\n", "It go.\n\n", "-->\n"),
        ("<div>\n", "It go.\n", "</div>\n\n"),
        ("- ```\n", "  It go.\n\n", "  ```\n"),
        ("> ```\n", "> It go.\n", "> ```\n"),
        ("It | go\n-- | --\n", "It | go.\n", "\n"),
        ("", "    It go.\n\n", ""),
        ("", "[It]: go.\n", "\n"),
    ],
)
@pytest.mark.parametrize("more", range(3))
def test_a_block_of_several_windows_that_is_not_prose(opening, line, closing, more):
    text = opening + line * (3 * WINDOW // len(line) + more) + closing + "He go.\n"
    assert prose(text) == "He go.\n"


@pytest.mark.parametrize(
    ("first", "line"),
    [
        ("It go.\n", "It go.\n"),
        ("It go.\n", "    It go.\n"),  # not code, since it continues a paragraph
        ("- It go.\n", "- It go.\n"),
        ("- It go.\n", "  It go.\n"),
        ("1.  It go.\n", "\n    It go.\n"),  # not code, since it belongs to the item
        ("> It go.\n", "> It go.\n"),
        ("- It go.\n", "  - It go.\n"),
    ],
)
def test_a_block_of_several_windows_that_is_prose(first, line):
    text = first + line * (3 * WINDOW // len(line))
    assert prose(text) == text.replace("\n\n", "\n")


@pytest.mark.parametrize(("opening", "closing"), [("```\n", "```\n"), ("<pre>\n", "</pre>\n")])
def test_code_that_ends_before_a_window_does(opening, closing):
    code = opening + "it go\n" * (WINDOW // 6 - 10) + closing
    assert len(code) < WINDOW
    assert prose(code + "\n" * 100 + "He go.\n") == "He go.\n"


@pytest.mark.parametrize("offset", range(0, 50, 7))
def test_windows_end_between_the_items_of_a_list(offset):
    first = f"- H{'e' * offset} go.\n"
    times = WINDOW // 30
    text = first + "\n- He go.\n\n  ```\n  It go.\n  It go.\n  ```\n" * times
    assert prose(text) == first + "- He go.\n" * times


def test_a_closing_fence_at_the_end_of_a_window():
    for size in range(WINDOW - 10, WINDOW + 10):
        text = f"```\n{'x' * 79}\n" + f"{'it go'.ljust(79)}\n" * (size // 80)
        text += "y" * (size - len(text)) + "\n```\nHe go.\n"
        assert prose(text) == "He go.\n"


def test_a_long_line_of_html_is_closed_by_its_end():
    assert prose(f"<script>{'it.go(); ' * WINDOW}</script>\nHe go.\n") == "He go.\n"


def test_a_long_line_of_prose():
    text = f"# It go. {'It is so. ' * WINDOW}\n"
    blocks = cut(text)
    assert all(block.prose for block in blocks)
    assert max(len(block.text) for block in blocks) <= MAX_BLOCK


@pytest.mark.parametrize("line", ["It go.\n", "- It go.\n\n", "It go. " * 1_000, "> x\n", "```\n", "\n"])
def test_only_a_window_is_in_memory(line):
    consumed = emitted = 0

    def lines():
        nonlocal consumed
        while consumed < 3 * WINDOW:
            consumed += len(line)
            yield line

    for block in cut_blocks(lines(), markdown=True):
        emitted += len(block.text)
        assert consumed - emitted < WINDOW + 3 * MAX_BLOCK
    assert emitted == consumed
