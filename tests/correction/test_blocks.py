import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from btr.correction import blocks
from btr.correction.blocks import MAX_BLOCK, cut_blocks, decode, find_cut, read_blocks
from btr.errors import InputError


def cut(text, markdown=False):
    return list(cut_blocks(io.StringIO(text, newline="\n"), markdown))


@given(st.text(st.sampled_from("ab .\n`~-#\t\r\x0c\u2028—")), st.booleans())
def test_blocks_are_the_text(text, markdown):
    found = cut(text, markdown)
    assert "".join(block.text for block in found) == text
    assert [block.start for block in found] == [sum(len(other.text) for other in found[:k]) for k in range(len(found))]


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
    prose = "".join(block.text for block in cut(text, markdown=True) if block.prose)
    assert prose == "Text.\nMore.\n    and more.\n"
    assert "code is" in "".join(block.text for block in cut(text) if block.prose)


@pytest.mark.parametrize(
    ("text", "markdown"),
    [
        ("Title\n~~~~~\nHe go.\n", False),  # an underline, not a fence
        ("```f``` do it.\nHe go.\n", True),  # code within a line
        ("---\nHe go.\n", True),  # a rule, not front matter
    ],
)
def test_what_only_looks_like_code_is_prose(text, markdown):
    assert "He go.\n" in "".join(block.text for block in cut(text, markdown) if block.prose)


def test_a_long_line_comes_in_pieces():
    text = "It is so. " * 200_000
    pieces = list(decode(io.BytesIO(text.encode()), "t"))
    assert max(map(len, pieces)) <= MAX_BLOCK
    assert "".join(pieces) == text


def test_long_paragraphs_are_cut_after_a_sentence():
    text = "It is so. " * (MAX_BLOCK // 5)
    found = cut(text)
    assert max(len(block.text) for block in found) <= MAX_BLOCK
    assert all(block.text.endswith(". ") for block in found)
    assert len(cut("x" * (3 * MAX_BLOCK))) == 3
    assert find_cut("word " * MAX_BLOCK) % 5 == 0


@given(st.text(max_size=200).filter(lambda text: "\0" not in text), st.integers(1, 9))
def test_decoding_keeps_every_character(text, size):
    before, blocks.READ = blocks.READ, size
    try:
        assert "".join(decode(io.BytesIO(text.encode()), "t")) == text
    finally:
        blocks.READ = before


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
