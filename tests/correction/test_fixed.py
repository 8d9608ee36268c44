"""Text that is never changed: figures, names of commands, code in plain text, front matter."""

import io
import random
import re
import sys
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from judged import judged_corrector
from scripted import Opposed, Scripted

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
from digits import TEXTS, edit_at_random, sentences_with_numbers

from btr.candidates.decoding import DecodingSettings
from btr.corpus.m2 import Edit
from btr.correction.blocks import cut_blocks
from btr.correction.changes import applicable_edits, apply_changes, to_character_changes
from btr.correction.code_lines import is_code_line
from btr.correction.corrector import Corrector
from btr.correction.fixed import FIXED
from btr.correction.segments import cut_segments
from btr.decisions import Settings
from btr.metrics.errant import extract_edits


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("from 1,250 to 0.18%, or -5 °C!", ["1,250", "0.18%", "-5 °C"]),
        ("$5, € 12.50 (USD 5) or 7 EUR.", ["$5", "€ 12.50", "USD 5", "7 EUR"]),
        ("At 12:30 pm on 2024-01-31, v2.1.0—he", ["12:30 pm", "2024-01-31", "v2.1.0"]),
        ('In the 1990s, 3–5 km; "12" for COVID-19.', ["1990s", "3–5 km", "12", "COVID-19"]),
        ("I bought 5 in London and 2 dog.", ["5", "2"]),
        ("My iPhone has a camelCase.", ["iPhone", "camelCase"]),
        ('Run npm install, then git commit -m "it go".', ["npm install", 'git commit -m "it go"']),
        ("Then run make test, or poetry install.", ["make test", "poetry install"]),
        ("Start it with python train.py.", ["python train.py"]),
        ("I go to make tea, and make a test.", []),
        ("He go to the commit.", []),
    ],
)
def test_what_is_fixed(text, expected):
    assert [match[0] for match in FIXED.finditer(text)] == expected


@pytest.mark.parametrize(
    ("text", "edit", "is_applicable"),
    [
        ("It cost 1,250 euro .", (2, 3, "1.250"), False),
        ("It cost 0.18 euro .", (2, 3, "0.01"), False),
        ("It cost 5 euro .", (2, 3, "five"), False),
        ("It cost five euro .", (2, 3, "5"), False),
        ("It cost 5 euro .", (2, 3, ""), False),
        ("It cost euro .", (2, 2, "5"), False),
        ("It cost $5 today .", (2, 3, "€"), False),
        ("It cost $5 today .", (3, 3, "the"), False),  # between the sign and the number
        ("It is 5 km far .", (3, 4, "miles"), False),
        ("It is 3 5 far .", (3, 3, "-"), False),
        ("It is 5 far .", (2, 2, "-"), False),
        ("It is - the 5 far .", (3, 4, ""), False),
        ("He run npm install now .", (3, 4, "installer"), False),
        ("He run npm install now .", (3, 3, "to"), False),
        ("It cost 5 euro .", (3, 4, "euros"), True),
        ("It cost 5 euro .", (2, 2, "about"), True),
        ("In 2019 20 dog go .", (2, 2, "the"), True),
        ("On the 21th of May .", (2, 3, "21st"), True),
        ("On the 21th of May .", (2, 3, "22nd"), False),
    ],
)
def test_which_edits_are_applicable(text, edit, is_applicable):
    (segment,) = cut_segments(text, str)
    start, end, words = edit
    made = Edit(start, end, "R:OTHER", (words,))
    assert applicable_edits(text, segment.tokens, [made]) == [made] * is_applicable


FIGURES = ["1,250", "0.18", "$5", "12:30", "2024-01-31", "v2.1", "3%", "5th", "€7.50", "10km", "3-5"]
WORDS = st.lists(st.sampled_from([*FIGURES, "a", "dog", ",", "-", ".", "the", "is"]), min_size=1, max_size=8)


@settings(deadline=None)
@given(WORDS, WORDS)
def test_no_candidate_changes_a_digit(words, candidate):
    text = " ".join(words)
    for segment in cut_segments(text, str):
        edits = extract_edits(segment.source, " ".join(candidate))
        changes = to_character_changes(
            text, segment.tokens, applicable_edits(text, segment.tokens, edits)
        )  # fmt: skip
        changed = apply_changes(text, changes)
        assert [word for word in words if word in FIGURES] == figures(changed)


def figures(text):
    """Return the figures of a text, and whatever else has a digit."""
    known = "|".join(map(re.escape, sorted(FIGURES, key=len, reverse=True)))
    return re.findall(rf"(?:{known})|\S*\d\S*", text)


def test_random_edits_of_real_sentences_change_no_number(data):
    chance = random.Random(0)
    texts = [text for file in TEXTS for text in islice(sentences_with_numbers(data / "text" / file), 500)]
    results = [edit_at_random(text, chance) for text in texts]
    assert [result["changed"] for result in results if result["changed"]] == []
    assert sum(result["edits"] for result in results) > 2000


SCRIPT = {
    "1,250": "1.250",
    "0.18": "0.01",
    "5": "five",
    "pm": "am",
    "npm": "nap",
    "install": "installer",
    "has": "have",
}
REPORT = "I has 1,250 dogs at 5 pm, or 0.18 of it. We has run npm install.\n"


def correctors():
    """One that a judge decides for, one that a reranker decides for, and one that takes the base candidate."""
    yield judged_corrector(Scripted(SCRIPT))
    for reranker in (Opposed(-4.0), None):
        yield Corrector(Scripted(SCRIPT), DecodingSettings(size=2), reranker, Settings())


def test_whoever_decides_no_figure_is_changed_nor_offered():
    for corrector in correctors():
        correction = corrector.correct(REPORT)
        assert correction.text == REPORT.replace("has", "have")
        offered = [edit for sentence in correction.sentences for edit in sentence.alternatives or ()]
        assert offered == []


CODE = """\
$ npm install
npm install foo
git commit -m "the has"
docker run -it ubuntu
cd src
me@host:~$ ls -la
def f(x):
class Foo(Bar):
for (i = 0; i < 3; i++) {
}
x = 5
import numpy as np
print(the, go);
console.log("x")
/usr/bin/env
"name": "has",
>>> has(1)
"""
PROSE = """\
$ 5 is too much.
git is a tool that I has.
Make the bed
He left (early);
For example:
If you like (or not):
The word(s) has
npm install is what you has to run.
Class today: we has it.
He said: "I has";
From here we import goods.
from me import duty was paid
Price = 5 euros for everyone, is it not?
git commit hooks which has run
"""


@pytest.mark.parametrize("line", CODE.splitlines())
def test_lines_of_code_are_passed_through(line):
    assert is_code_line(line + "\n")
    for markdown in (False, True):
        text = f"I has it.\n\n{line}\n\nWe has it.\n"
        assert judged_corrector().correct(text, markdown=markdown).text == f"I have it.\n\n{line}\n\nWe have it.\n"


@pytest.mark.parametrize("line", PROSE.splitlines())
def test_prose_is_no_code(line):
    assert not is_code_line(line + "\n")


@pytest.mark.parametrize("markdown", [False, True])
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "---\ntitle: I has it\n\nnote: we has\n---\nI has it.\n",
            "---\ntitle: I has it\n\nnote: we has\n---\nI have it.\n",
        ),
        ("\ufeff+++\ntitle = 'I has it'\n+++\nI has it.\n", "\ufeff+++\ntitle = 'I has it'\n+++\nI have it.\n"),
        ("---\nNote: it has no end.\n\nI has it.\n", "---\nNote: it have no end.\n\nI have it.\n"),
    ],
)
def test_front_matter_is_passed_through_in_every_format(text, expected, markdown):
    assert judged_corrector().correct(text, markdown=markdown).text == expected


@given(st.text(st.sampled_from("-+:=a \n#{};$")), st.booleans())
def test_blocks_joined_are_the_text(text, markdown):
    for start in ("", "---\na: b\n"):
        blocks = list(cut_blocks(io.StringIO(start + text, newline="\n"), markdown))
        assert "".join(block.text for block in blocks) == start + text


@pytest.mark.parametrize("path", ["/usr/bin/env", "~/notes/a", "./run.sh", "src/main.py", "README.md"])
def test_paths_are_masked(path):
    assert [segment.source for segment in cut_segments(f"It go to {path}. We go.", str)] == ["It go to X .", "We go ."]
    (segment,) = cut_segments("He/she and/or it go.", str)
    assert "X" not in segment.source.split()
