import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from btr.corpus.m2 import Edit, Sentence, read_m2, write_m2
from btr.errors import InputError

CONLL = """S The cat sit at mat .
A 2 3|||SVA|||sits|||REQUIRED|||-NONE-|||0
A 3 4|||Prep|||on||upon|||REQUIRED|||-NONE-|||0
A 4 4|||ArtOrDet|||the|||REQUIRED|||-NONE-|||0
A 0 1|||ArtOrDet|||-NONE-|||REQUIRED|||-NONE-|||1

S Fine .
A -1 -1|||noop|||-NONE-|||REQUIRED|||-NONE-|||0
"""


@pytest.fixture
def write(tmp_path):
    def write(text):
        path = tmp_path / "gold.m2"
        path.write_text(text)
        return path

    return write


def test_both_dialects(write):
    first, second = read_m2(write(CONLL))
    assert first.source == "The cat sit at mat ."
    assert [edit.corrections for edit in first.edits(0)] == [("sits",), ("on", "upon"), ("the",)]
    assert first.edits(1) == (Edit(0, 1, "ArtOrDet", ("",)),)
    assert second == Sentence("Fine .", {0: ()})
    assert [sentence.corrected() for sentence in (first, second)] == ["The cat sits on the mat .", "Fine ."]
    assert first.corrected(1) == "cat sit at mat ."
    assert first.corrected(7) == first.source  # an annotator who did not see it


@pytest.mark.parametrize("text", [CONLL.replace("\n", "\r\n"), CONLL.rstrip("\n"), "\n" + CONLL + "\n\n"])
def test_line_ends(write, text):
    assert list(read_m2(write(text))) == list(read_m2(write(CONLL)))


def test_sentence_without_edit_lines(write):
    assert list(read_m2(write("S a b\n\nS\n"))) == [Sentence("a b", {}), Sentence("", {})]


@pytest.mark.parametrize(
    ("edits", "corrected"),
    [
        ([], "a b c d"),
        ([(1, 2, "X", "x y")], "a x y c d"),
        ([(1, 3, "X", "")], "a d"),
        ([(4, 4, "X", "."), (0, 0, "X", "Oh")], "Oh a b c d ."),
        ([(1, 3, "X", "x"), (2, 3, "X", "y")], "a x y d"),  # the later overwrites what it covers
        ([(1, 2, "Um", ""), (2, 3, "UNK", "z")], "a b c d"),  # they mark a place, and correct nothing
    ],
)
def test_corrected(edits, corrected):
    annotated = tuple(Edit(start, end, kind, (text,)) for start, end, kind, text in edits)
    assert Sentence("a b c d", {0: annotated}).corrected() == corrected


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("A 0 1|||X|||y", "line 2: an edit has 6 fields"),
        ("A 0 x|||X|||y|||REQUIRED|||-NONE-|||0", "line 2: offsets and annotator must be whole numbers"),
        ("A 0|||X|||y|||REQUIRED|||-NONE-|||0", "line 2: offsets and annotator"),
        ("A 2 1|||X|||y|||REQUIRED|||-NONE-|||0", "line 2: the edit ends \\(1\\) before it starts \\(2\\)"),
        ("A 1 3|||X|||y|||REQUIRED|||-NONE-|||0", "line 2: the edit reaches token 3, but the sentence has only 2"),
        ("A 0 1|||X|||||||REQUIRED|||-NONE-|||0", "line 2: a '|' next to the separator"),
        ("B what", "line 2: expected 'S …', 'A …' or an empty line"),
    ],
)
def test_broken_lines(write, line, message):
    with pytest.raises(InputError, match=message):
        list(read_m2(write(f"S a b\n{line}\n")))


@pytest.mark.parametrize("correction", ["|", "a || b", "-NONE-"])
def test_what_m2_cannot_say_is_refused(tmp_path, correction):
    with pytest.raises(InputError, match="can't be written in M2"):
        write_m2(tmp_path / "out.m2", [Sentence("a", {0: (Edit(0, 1, "X", (correction,)),)})])
    assert not list(tmp_path.iterdir())


def test_no_m2_at_all(write):
    with pytest.raises(InputError, match="has no sentence"):
        list(read_m2(write("")))
    with pytest.raises(InputError, match="line 1: an edit \\(A\\) comes before any sentence"):
        list(read_m2(write("A 0 1|||X|||y|||REQUIRED|||-NONE-|||0")))


words = st.text(string.ascii_letters + ".,'é中", min_size=1, max_size=4)
texts = st.lists(words, max_size=3).map(" ".join)


@st.composite
def sentences(draw):
    tokens = draw(st.lists(words, max_size=6))
    annotations = {}
    for annotator in draw(st.lists(st.integers(0, 9), unique=True, max_size=3)):
        edits = []
        for _ in range(draw(st.integers(0, 3))):
            start = draw(st.integers(0, len(tokens)))
            end = draw(st.integers(start, len(tokens)))
            corrections = tuple(draw(st.lists(texts, min_size=1, max_size=3)))
            kind = draw(words.filter(lambda word: word != "noop"))
            edits.append(Edit(start, end, kind, corrections, draw(words), draw(words)))
        annotations[annotator] = tuple(edits)
    return Sentence(" ".join(tokens), annotations)


@given(st.lists(sentences(), min_size=1, max_size=4))
def test_what_we_write_we_read(tmp_path_factory, written):
    path = tmp_path_factory.mktemp("m2") / "file.m2.gz"
    write_m2(path, written)
    assert list(read_m2(path)) == written


def test_the_papers_references(data):
    """The authors' references of CoNLL-13 are what their M2 file corrects to, but for one sentence."""
    from btr.corpus.parallel import read_references

    gold = read_m2(data / "conll13" / "cleaned.m2")
    references = read_references(data / "conll13" / "reference.jsonl")
    same = sum(s.corrected() == " ".join(r[0].split()) for s, r in zip(gold, references, strict=True))
    assert (same, len(references)) == (1380, 1381)
