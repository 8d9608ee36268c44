import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from btr.correction.blocks import MAX_BLOCK, Block, cut_blocks, decode, read_blocks
from btr.errors import InputError


def cut(text, markdown=False):
    return list(cut_blocks(io.StringIO(text, newline="\n"), markdown))


def cut_stream(text, markdown=False):
    """The blocks of a file, whose long lines come in pieces."""
    return list(cut_blocks(decode(io.BytesIO(text.encode()), "t"), markdown))


def prose(blocks):
    return "".join(block.text for block in blocks if block.prose)


@given(st.text(st.sampled_from("ab .\n`~-+>#\t\r\x0c\u2028\ufeff—")), st.booleans())
def test_blocks_joined_are_the_text(text, markdown):
    blocks = cut(text, markdown)
    assert "".join(block.text for block in blocks) == text
    offset = 0
    for block in blocks:
        assert block.start == offset
        offset += len(block.text)


def test_paragraphs_code_and_blank_lines():
    text = "One.\nTwo.\n\n```py\nx have y\n\nz\n```\nThree.\n"
    assert [(block.text, block.prose) for block in cut(text)] == [
        ("One.\nTwo.\n", True),
        ("\n", False),
        ("```py\n", False),
        ("x have y\n", False),
        ("\n", False),
        ("z\n", False),
        ("```\n", False),
        ("Three.\n", True),
    ]


def test_markdown_has_indented_code_and_front_matter():
    text = "---\ntitle: a b\n---\nText.\n\n    code is\n\n    here\n\nMore.\n    and more.\n"
    assert prose(cut(text, markdown=True)) == "Text.\nMore.\n    and more.\n"
    assert "code is" in prose(cut(text))


@pytest.mark.parametrize(
    ("text", "markdown"),
    [
        ("Title\n~~~~~\nHe go.\n", False),  # an underline, not a fence
        ("```f``` do it.\nHe go.\n", True),  # code within a line
        ("---\nHe go.\n", True),  # a rule, not front matter
        ("+++\nHe go.\n", True),
        ("The hooks that run before every commit live in the folder of each\ngit commit hooks folder\nHe go.\n", False),
    ],
)
def test_what_only_looks_like_code_is_prose(text, markdown):
    assert "He go.\n" in prose(cut(text, markdown))


def test_a_long_line_comes_in_pieces():
    text = "It is so. " * 200_000
    pieces = list(decode(io.BytesIO(text.encode()), "t"))
    assert len(pieces) > 1
    assert max(map(len, pieces)) <= MAX_BLOCK
    assert "".join(pieces) == text


def test_long_paragraphs_are_cut_after_a_sentence():
    text = "It is so. " * (MAX_BLOCK // 5)
    blocks = cut(text)
    assert max(len(block.text) for block in blocks) <= MAX_BLOCK
    assert all(block.text.endswith(". ") for block in blocks)
    assert len(cut("x" * (3 * MAX_BLOCK))) == 3


def test_lines_that_were_wrapped_are_not_cut_within_a_sentence():
    text = "It is a long sentence, and so it goes on and on in the lines of\nthis page. " * 200
    blocks = cut(text)
    assert len(blocks) == 2
    assert all(block.prose and block.text.endswith("page. ") for block in blocks)


@pytest.mark.parametrize(
    "item", ["Short lines, no stops\n", f"- {'An item of a list that is long ' * 3}\n", f"{'On and on ' * 9}. He go.\n"]
)
def test_the_end_of_a_line_may_be_that_of_a_sentence(item):
    blocks = cut(item * 500)
    assert all(block.prose and block.text.endswith("\n") for block in blocks)
    assert max(len(block.text) for block in blocks) <= MAX_BLOCK


@pytest.mark.parametrize("long", [1, 2, 3])
def test_a_sentence_longer_than_a_block_is_no_prose(long):
    tail = "And so on " + "and so on " * (MAX_BLOCK // 10 * long) + "to its end. "
    text = f"First. {tail}Then he go. {'It is so. ' * 10}\n\nNext.\n"
    for blocks in (cut(text), cut_stream(text)):
        assert "".join(block.text for block in blocks) == text
        assert "".join(block.text for block in blocks if not block.prose) == f"{tail}\n"
        assert max(len(block.text) for block in blocks) <= MAX_BLOCK


@pytest.mark.parametrize("line", ["b\n", "bb\n"])
def test_a_line_end_where_a_block_ends_is_not_the_end_of_a_sentence(line):
    text = f"First.\nA{line * MAX_BLOCK}\n"
    assert prose(cut(text)) == "First.\n"


def test_a_long_line_of_code_is_code_to_its_end():
    text = f"```\n{'it go. ' * 20_000}\n```\nHe go.\n"
    blocks = cut_stream(text)
    assert [block.text for block in blocks if block.prose] == ["He go.\n"]
    assert max(len(block.text) for block in blocks) <= MAX_BLOCK


@pytest.mark.parametrize("text", ["---\na: b\n---\nHe go.\n", "```\nx\n```\nHe go.\n", "He go.\n"])
def test_a_byte_order_mark_is_a_block_of_its_own(text):
    first, *rest = cut(f"\ufeff{text}", markdown=True)
    assert first == Block("\ufeff", 0, False)
    assert rest == [block._replace(start=block.start + 1) for block in cut(text, markdown=True)]
    assert prose(rest) == "He go.\n"


@pytest.mark.parametrize(
    "text",
    [
        "- ```sh\n  it go\n  ```\n",
        "1. * ```\n     it go\n     ```\n",
        "> ```\n> it go\n> ```\n",
        "> - ```\n>   it go\n>   ```\n",
        "> ```\n> it go\n",  # ends with the quote
        "```\n> ```\nit go\n```\n",
    ],
)
def test_code_in_a_list_or_a_quote(text):
    for markdown in (False, True):
        assert prose(cut(f"{text}He go.\n", markdown)) == "He go.\n"


@pytest.mark.parametrize(
    "text",
    [
        "+++\ntitle = 'it go'\n+++\n",
        "+++\n[it]\ngo = 1\n---\n+++\n",
        "---\ntitle: it go\n...\n",
        "---\n---\n",
    ],
)
def test_front_matter(text):
    for markdown in (False, True):
        assert prose(cut(f"{text}He go.\n", markdown)) == "He go.\n"


class Trickle(io.BytesIO):
    """A file of which a few bytes can be read at a time."""

    def __init__(self, content, size):
        super().__init__(content)
        self.size = size

    def read(self, _size):
        return super().read(self.size)


@given(st.text(max_size=200).filter(lambda text: "\0" not in text), st.integers(1, 9))
def test_decoding_changes_no_character(text, size):
    lines = list(decode(Trickle(text.encode(), size), "t"))
    assert "".join(lines) == text
    assert all(line.endswith("\n") and line.count("\n") == 1 for line in lines[:-1])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"fine\nPK\0\3", "line 2: has a NUL byte; this is a binary file"),
        (b"fine\n\xe9t\xe9", "line 2: byte 0xe9 is not UTF-8"),
        (b"cut \xe2\x82", "line 1: byte 0xe2 is not UTF-8"),
        ("hello".encode("utf-16"), "is UTF-16"),
    ],
)
def test_what_is_no_text_is_refused(tmp_path, content, message):
    path = tmp_path / "t.txt"
    path.write_bytes(content)
    with pytest.raises(InputError, match=message):
        list(read_blocks(path, False))
