"""What benchmarks/fuzz.py gives to parsers: valid examples with random changes, and random bytes."""

import io
import json
import zipfile
from collections.abc import Callable, Iterable, Sequence
from typing import Any
from urllib.parse import urlencode

import yaml
from hypothesis import strategies as st

Draw = Callable[[Any], Any]  # hypothesis calls such a function `draw`
Content = st.SearchStrategy[bytes]
Attempt = tuple[st.SearchStrategy[Any], Callable[[Any], bool]]  # inputs, and what accepts or refuses each
Attempts = Iterable[Attempt]

BOUNDARY = "btr-fuzz"
MULTIPART = f"multipart/form-data; boundary={BOUNDARY}"
URL_ENCODED = "application/x-www-form-urlencoded"


class BrokenPromiseError(Exception):
    """Something other than what is promised happened."""


# What parsers stumble over: ends of lines, encodings, separators, numbers that are no numbers, nesting, length.
PIECES = [
    *(b"\0", b"\n", b"\n\n", b"\r\n", b"\r", b"\t", b"\x0b", b"\x1f\x8b"),
    *(b"\xff\xfe", b"\xef\xbb\xbf", b"\xc3", b"\xed\xa0\x80", b"\\ud800", b"\\u0000"),
    *(each.encode() for each in ("\u2028", "\u0085", "é😀", "e\u0301\u202e", "٣", "²")),
    *(b"|||", b"||", b"|", b"S ", b"A ", b"A -1 -1|||noop|||-NONE-|||REQUIRED|||-NONE-|||0\n", b"A 0 1|||", b"-NONE-"),
    *(b"9" * 5000, b"1" + b"0" * 400, b"1e999", b"-1", b"-0", b"NaN", b"Infinity", b"1_0", b"0x1f", b"0o9", b"1:60"),
    *(b"null", b"true", b'""', b"[]", b"{}", b"[" * 3000, b'{"a":' * 3000, b"- " * 3000, b"a " * 3000),
    *(b"&a ", b"*a", b"? ", b"<<: ", b"!!binary x", b"!!int ''", b"%YAML 9.9\n---\n", b"---\n", b"2001-99-99"),
    *(b"!!python/object/apply:os.system [x]", b"$HOME", b"~", b"../", b"%", b"%zz", b"&", b"=", b"--"),
    *(f"--{BOUNDARY}\r\n".encode(), b"</w:t>", b"&#0;", b"<!ENTITY"),
]
NESTED: list[Any] = [[]]
for _ in range(200):
    NESTED = [NESTED]
VALUES = st.one_of(
    st.sampled_from([None, True, False, 0, -1, 1, 2, 10**9, 10**400, 0.5, -0.1, 1e308, float("nan"), float("inf")]),
    st.sampled_from(["", " ", "a", "a b", "\0", "\ud800", "a\nb", "0", "lm:", "lm:x", "mbr", "btr-small", "é" * 3000]),
    st.sampled_from([[], {}, [None], [[]], {"": None}, NESTED, ["a"] * 300, [0] * 300]),
    st.integers(),
    st.floats(),
    st.text(max_size=20),
    st.lists(st.integers(-3, 9) | st.text(max_size=4), max_size=4),
)


@st.composite
def changed_bytes(draw: Draw, examples: Sequence[bytes]) -> bytes:
    """Change an example in one to four places: remove, repeat or move a span, insert or replace something."""
    content: bytes = draw(st.sampled_from(examples))
    for _ in range(draw(st.sampled_from([1, 1, 1, 2, 4]))):
        start = draw(st.integers(0, len(content)))
        end = min(len(content), start + draw(st.integers(0, 40)))
        span, rest = content[start:end], content[end:]
        new = draw(
            st.sampled_from([b"", span * 2, span * 50, rest[:200]])
            | st.sampled_from(PIECES)
            | st.binary(max_size=8)
            | st.sampled_from(examples).map(lambda other: other[:300])
        )
        content = content[:start] + new + rest
    length: int = draw(st.sampled_from([len(content)] * 5 + [len(content) // 2]))
    return content[:length]


def change_value(draw: Draw, value: Any) -> Any:
    """Replace, remove or add something in a value of JSON, at any depth."""
    kind = draw(st.sampled_from(["deeper"] * 6 + ["replace", "remove", "add"]))
    if kind == "replace" or not isinstance(value, dict | list) or not value:
        return draw(VALUES)
    if isinstance(value, dict):
        key = draw(st.sampled_from(list(value)))
        if kind == "remove":
            return {name: inner for name, inner in value.items() if name != key}
        if kind == "add":
            return {**value, draw(st.sampled_from([*value, "x", "seed", "", "weights", "edits"])): draw(VALUES)}
        return {**value, key: change_value(draw, value[key])}
    index = draw(st.integers(0, len(value) - 1))
    if kind == "remove":
        return value[:index] + value[index + 1 :]
    new = [draw(VALUES), value[index]] if kind == "add" else [change_value(draw, value[index])]
    return [*value[:index], *new, *value[index + 1 :]]


@st.composite
def changed_lines(draw: Draw, examples: Sequence[list[Any]]) -> bytes:
    """Change values in one or two lines of JSON."""
    rows = list(draw(st.sampled_from(examples)))
    for _ in range(draw(st.integers(1, 2))):
        index = draw(st.integers(0, len(rows) - 1))
        rows[index] = change_value(draw, rows[index])
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


@st.composite
def changed_object(draw: Draw, examples: Sequence[Any]) -> bytes:
    """Change values in a file of JSON or YAML; the result is JSON, which is YAML."""
    content = draw(st.sampled_from(examples))
    for _ in range(draw(st.integers(1, 3))):
        content = change_value(draw, content)
    return json.dumps(content, default=str).encode()


def files_like(examples: Sequence[bytes], structure: str = "") -> Content:
    """Return files like these: with changed bytes, with changed values if they have a structure, and random bytes."""
    kinds = [changed_bytes(examples)] * 3 + [st.binary(max_size=200)]
    if structure == "lines":
        kinds += [changed_lines([[*map(json.loads, each.splitlines())] for each in examples])] * 4
    if structure == "object":
        kinds += [changed_object([*map(yaml.safe_load, examples)])] * 4
    return st.one_of(kinds)


TEXTS = st.sampled_from(["I has two dog.", "", " ", "She go.\n\nHe go.", "😀 I has\u0301 it.", "a" * 3000]) | st.text()


def annotations() -> st.SearchStrategy[str]:
    """Return texts with markup, as clients of LanguageTool send them."""
    parts = [{"text": "I has "}, {"markup": "<b>", "interpretAs": "x"}, {"text": "two dog."}, {"markup": "</b>"}]
    return files_like([json.dumps({"annotation": parts}).encode()], "object").map(lambda each: each.decode("latin-1"))


WHAT = st.fixed_dictionaries({"text": TEXTS}) | st.fixed_dictionaries({"data": annotations()})
OTHERS = st.fixed_dictionaries(
    {},
    optional={
        "language": st.sampled_from(["de", ""]) | st.text(max_size=5),
        "disabledRules": st.text(max_size=9),
        "enabledCategories": st.sampled_from(["TYPOS", "GRAMMAR,", ","]),
        "enabledOnly": st.sampled_from(["true", "false", "yes", "x"]),
        "level": st.sampled_from(["picky", "default", "x"]),
        "apiKey": st.text(max_size=5),
        "text": TEXTS,
        "data": annotations(),
    },
)
WORDS = st.fixed_dictionaries({"word": st.sampled_from(["btr", "two words", "#"]) | st.text(max_size=5)})


def encode_parts(fields: dict[str, str], file: tuple[str, bytes] | None = None) -> bytes:
    """Return a form in parts."""
    parts = [f'name="{name}"\r\n\r\n{value}\r\n'.encode(errors="replace") for name, value in fields.items()]
    if file:
        parts.append(f'name="file"; filename="{file[0]}"\r\n\r\n'.encode(errors="replace") + file[1] + b"\r\n")
    start = f"--{BOUNDARY}\r\nContent-Disposition: form-data; ".encode()
    return b"".join(start + part for part in parts) + f"--{BOUNDARY}--\r\n".encode()


@st.composite
def forms(draw: Draw, fields_like: st.SearchStrategy[dict[str, str]]) -> tuple[str, bytes]:
    """Return a Content-Type and the body of a form, also with changed bytes."""
    fields, is_multipart = {"language": "en", **draw(fields_like)}, draw(st.booleans())
    if draw(st.booleans()):
        fields |= draw(OTHERS)
    body = encode_parts(fields) if is_multipart else urlencode(fields, errors="replace").encode()
    if draw(st.booleans()):
        body = draw(changed_bytes([body]))
    other = draw(
        st.sampled_from([MULTIPART, URL_ENCODED, "application/json", "multipart/form-data", "", "x; boundary="])
    )
    return draw(st.sampled_from([MULTIPART if is_multipart else URL_ENCODED] * 4 + [other])), body


@st.composite
def changed_archive(draw: Draw, examples: Sequence[bytes]) -> bytes:
    """Change a file inside a .docx; it is packed again, so that the archive itself is sound."""
    packed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(draw(st.sampled_from(examples)))) as old, zipfile.ZipFile(packed, "w") as new:
        names = old.namelist()
        changed = draw(st.sampled_from(["word/document.xml"] * 5 + names))
        for name in names:
            content = old.read(name)
            new.writestr(name, draw(changed_bytes([content])) if name == changed else content)
    return packed.getvalue()


@st.composite
def documents(draw: Draw, examples: Sequence[bytes]) -> tuple[str, bytes]:
    """Return a Content-Type and a form with a document: a changed .docx, a text, or bytes."""
    content = draw(changed_archive(examples) | changed_archive(examples) | changed_bytes(examples) | st.binary())
    name = draw(st.sampled_from(["a.docx"] * 8 + ["a.txt", "a.md", "a.DOCX", "docx", "", 'a".docx']))
    options = st.sampled_from(["0.5", "2", "nan", "x", "", "9" * 5000])
    fields = draw(
        st.fixed_dictionaries({"text": TEXTS}, optional={"cutoff": options, "candidates": options, "words": TEXTS})
    )
    return MULTIPART, encode_parts(fields, (name, content))
