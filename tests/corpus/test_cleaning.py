"""The cleaning of CoNLL files: hand-written sentences, properties, and the paper's cleaned file."""

import os
import subprocess
import sys
from itertools import chain
from pathlib import Path

import pytest
import spacy
from hypothesis import given, settings
from hypothesis import strategies as st

from btr.corpus.cleaning import clean, clean_sentences
from btr.corpus.m2 import Edit, Sentence, read_m2
from btr.errors import InputError

ENGLISH = spacy.blank("en").tokenizer


def cleaned(source: str, *edits: Edit) -> list[Sentence]:
    return list(clean_sentences([Sentence(source, {0: edits})]))


def sources(line: str) -> list[str]:
    return [part.source for part in clean_sentences([Sentence(line)])]


def edit(start: int, end: int, *corrections: str, kind: str = "Mec") -> Edit:
    return Edit(start, end, kind, corrections)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("A low-cost , part-time job .", "A low - cost , part - time job ."),
        ("My 'friends' came ,Tom too .", "My ' friends ' came , Tom too ."),
        ("It rained,so we stayed in .", "It rained , so we stayed in ."),
        ("It is Tom 's , is n't it ?", "It is Tom 's , is n't it ?"),
        (
            "Pay 1.8 million , e.g. in the U.S. at www.shop.org .",
            "Pay 1.8 million , e.g. in the U.S. at www.shop.org .",
        ),
        ("Its  spaces   vanish .", "Its spaces vanish ."),
        ("It is common (DementiaToday,2012) .", "It is common ( DementiaToday , 2012 ) ."),  # the paper's own example
        ("It is known , a fact .", "It is known , a fact ."),  # its other one
        ("In 2012,then in May .", "In 2012 , then in May ."),
        ("See Hill,2010;Ng,2011 , e.g.,5 .", "See Hill , 2010 ; Ng , 2011 , e.g. , 5 ."),
        ("From the U.S.,2012 on .", "From the U.S. , 2012 on ."),
        ("It cost 1,250 or US$1,250,000.50 .", "It cost 1,250 or US$ 1,250,000.50 ."),
        ("The 1,000th , 3.5 and 10:30 .", "The 1,000th , 3.5 and 10:30 ."),
        ("Mr. Hill , Ph.D. , i.e. him ;)", "Mr. Hill , Ph.D. , i.e. him ;)"),
        (
            "http://a.org/x,2012 www.shop.org/5,a a.b@mail.com",
            "http://a.org/x,2012 www.shop.org/5,a a.b@mail.com",
        ),
        ("", ""),
    ],
)
def test_punctuation_gets_spaces(line: str, expected: str) -> None:
    assert sources(line) == [expected]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("He left.She stayed .", ["He left .", "She stayed ."]),
        ("He left . She stayed . I ran", ["He left .", "She stayed .", "I ran"]),
        ("It fell in 2009 . Why ?", ["It fell in 2009 .", "Why ?"]),
        ("He saw Mr.Hill and Mr . Hill .", ["He saw Mr. Hill and Mr . Hill ."]),
        ("DEAR MS . HILL ,", ["DEAR MS . HILL ,"]),
        ("The U.S. Army met J. Hill , e.g. Tom .", ["The U.S. Army met J. Hill , e.g. Tom ."]),
        ("We need : 1 . Tea 2 . Milk", ["We need : 1 . Tea 2 . Milk"]),
        ("Wait ... Then . . . Go .", ["Wait ... Then . . . Go ."]),
        ("It ended . and so on .", ["It ended . and so on ."]),
        (". He left .", [". He left ."]),
    ],
)
def test_lines_split_at_the_full_stops_that_end_sentences(line: str, expected: list[str]) -> None:
    assert sources(line) == expected


@pytest.mark.parametrize(
    ("source", "before", "after"),
    [
        ("A low-cost car .", edit(2, 3, "cars"), edit(4, 5, "cars")),
        ("A low-cost car .", edit(2, 2, "new"), edit(4, 4, "new")),
        ("A low-cost car .", edit(1, 2, "cheap"), edit(1, 4, "cheap")),
        ("A low-cost car .", edit(1, 2, "low-price"), edit(3, 4, "price")),
        ("A low-cost car .", edit(1, 2, "high-cost"), edit(1, 2, "high")),
        ("A low-cost car .", edit(1, 2, "low-price", "low-end"), edit(3, 4, "price", "end")),
        ("A low-cost car .", edit(1, 2, "low-cost", "cheap"), edit(1, 4, "low - cost", "cheap")),
        ("A low-cost car .", edit(1, 2, ""), edit(1, 4, "")),
        ("A low cost car .", edit(1, 3, "low-cost"), edit(2, 2, "-")),
        ("A so very low price .", edit(1, 3, ""), edit(1, 3, "")),
        ("It was very very old .", edit(2, 4, "very"), edit(3, 4, "")),
        ("A low-cost car .", edit(1, 2, "", kind="Um"), edit(1, 4, "", kind="Um")),
        ("A low-cost car .", edit(1, 2, "low-cost", kind="UNK"), edit(1, 4, "low - cost", kind="UNK")),
    ],
)
def test_edits_move_with_their_tokens_and_are_cut(source: str, before: Edit, after: Edit) -> None:
    (part,) = cleaned(source, before)
    assert part.edits(0) == (after,)


def test_an_edit_that_only_asked_for_the_spaces_leaves_its_annotator_with_nothing_to_correct() -> None:
    (part,) = cleaned("It rained,so we stayed .", edit(1, 2, "rained , so", "rained, so"))
    assert part == Sentence("It rained , so we stayed .", {0: ()})


def test_each_part_keeps_every_annotator_and_its_own_edits() -> None:
    first, second, moved = edit(1, 2, "leaves"), edit(5, 5, "today"), edit(2, 2, "today")
    between, last = edit(3, 3, "But"), edit(6, 6, "Bye !")
    line = Sentence("He left . She stayed .", {0: (), 3: (first, second), 1: (between, last)})
    assert list(clean_sentences([line])) == [
        Sentence("He left .", {0: (), 3: (first,), 1: ()}),
        Sentence("She stayed .", {0: (), 3: (moved,), 1: (edit(0, 0, "But"), edit(3, 3, "Bye !"))}),
    ]


@pytest.mark.parametrize(
    ("source", "over_the_stop"),
    [
        ("He left . She stayed .", edit(2, 4, ", she")),
        ("He left . She stayed .", edit(2, 3, ",")),
        ("He left . She stayed .", edit(0, 6, "", kind="Um")),
        ("He left.She stayed .", edit(1, 2, "left . She")),
    ],
)
def test_an_edit_of_the_stop_keeps_the_line_whole(source: str, over_the_stop: Edit) -> None:
    (part,) = clean_sentences([Sentence(source, {0: (), 1: (over_the_stop,)})])
    assert part.source == "He left . She stayed ."
    assert list(part.annotations) == [0, 1]


def test_cleaning_streams() -> None:
    endless = iter(lambda: Sentence("He left.She stayed ."), None)
    assert next(clean_sentences(endless)).source == "He left ."


def test_spacy_is_imported_only_for_cleaning() -> None:
    check = "import sys, btr.corpus.cleaning; sys.exit('spacy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0


WORDS = ["He", "She", "ran", "low-cost", "'so'", ",then", "it,so", "do.The", ".", "Mr.", "7", "can't", "U.S."]
TEXT = st.lists(st.sampled_from(WORDS), max_size=3).map(" ".join)
PIECES = st.lists(st.tuples(TEXT, st.none() | TEXT), max_size=8)


def annotate(pieces: list[tuple[str, str | None]]) -> Sentence:
    """A sentence of consecutive pieces, each of which stays as it is or is corrected to another text."""
    tokens: list[str] = []
    edits = []
    for text, correction in pieces:
        start = len(tokens)
        tokens += text.split()
        if correction is not None and text != correction:
            edits.append(edit(start, len(tokens), correction))
    return Sentence(" ".join(tokens), {0: tuple(edits), 1: ()})


@settings(deadline=None)  # the first example loads spaCy
@given(PIECES.map(annotate))
def test_cleaning_and_correcting_commute(sentence: Sentence) -> None:
    parts = list(clean_sentences([sentence]))
    for part in parts:
        length = len(part.source.split())
        assert all(0 <= e.start <= e.end <= length for e in part.edits(0))
        assert all(e.start < e.end or any(e.corrections) for e in part.edits(0))
        assert list(part.annotations) == [0, 1]
        assert part.edits(1) == ()
    for annotator in (0, 1):
        corrected = chain.from_iterable(part.corrected(annotator).split() for part in parts)
        assert list(corrected) == [token.text for token in ENGLISH(sentence.corrected(annotator))]


@pytest.mark.skipif("BTR_DATA" not in os.environ, reason="set BTR_DATA to the folder that has conll13/")
def test_the_papers_conll13_is_reproduced() -> None:
    folder = Path(os.environ["BTR_DATA"], "conll13")
    ours = list(clean_sentences(read_m2(folder / "official-preprocessed.m2")))
    papers = list(read_m2(folder / "cleaned.m2"))
    assert len(ours) == len(papers) == 1381
    assert [sentence.source for sentence in ours] == [sentence.source for sentence in papers]
    # The paper's edits come from other annotations, so some sentences differ in theirs.
    assert sum(our.edits(0) == paper.edits(0) for our, paper in zip(ours, papers, strict=True)) == 1266

    before = list(read_m2(folder / "official-preprocessed.m2"))
    assert sum(official.source == paper.source for official, paper in zip(before, papers, strict=True)) == 1310
    assert sum(official == paper for official, paper in zip(before, papers, strict=True)) == 1194
    changed = [
        (official, our, paper)
        for official, our, paper in zip(before, ours, papers, strict=True)
        if official.source != our.source
    ]
    kept = sum(edit in paper.edits(0) for _, our, paper in changed for edit in our.edits(0))
    assert (len(changed), sum(len(official.edits(0)) for official, _, _ in changed), kept) == (71, 200, 194)


def test_a_file_is_cleaned_whole_or_not_at_all(tmp_path: Path) -> None:
    (tmp_path / "in.m2").write_text("S He left.She stayed .\nA -1 -1|||noop|||-NONE-|||REQUIRED|||-NONE-|||0\n")
    assert clean(tmp_path / "in.m2", tmp_path / "out.m2") == 2
    assert [part.source for part in read_m2(tmp_path / "out.m2")] == ["He left .", "She stayed ."]
    (tmp_path / "in.m2").write_text("S Fine .\n\nbroken\n")
    with pytest.raises(InputError, match="line 3"):
        clean(tmp_path / "in.m2", tmp_path / "none.m2")
    assert not (tmp_path / "none.m2").exists()
