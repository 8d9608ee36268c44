"""Several systems' outputs become one text: by vote, by hand-computed cases and by what must always hold."""

import json
import math
from dataclasses import replace

import pytest
import toy
from hypothesis import given, settings
from hypothesis import strategies as st
from judged import RANKS, make_table, write_judge
from typer.testing import CliRunner

import btr
from btr.cli import app
from btr.corpus import read_candidates, read_lines, write_lines
from btr.corpus.candidates import tokens_of
from btr.corpus.m2 import Edit
from btr.decisions import combine as module
from btr.decisions.combine import Vote, make_row
from btr.decisions.edit_features import available_features, compute_features
from btr.decisions.edit_table import (
    edited_text,
    extract_tables,
    find_voters,
    is_in_conflict,
    join_insertions,
)
from btr.decisions.judge import read_judges
from btr.errors import InputError

SOURCES = ["He go home .", "I has dog .", "It is fine ."]
SYSTEMS = [
    ["He goes home .", "I have dogs .", "It is fine ."],
    ["He goes home .", "I had the dog .", "It is fine !"],
    ["He went home .", "I have the dog .", "It is fine ."],
]


@pytest.fixture
def files(tmp_path):
    """Three systems' outputs and their sources."""
    write_lines(tmp_path / "source.txt", SOURCES)
    for name, lines in zip("abc", SYSTEMS):
        write_lines(tmp_path / f"{name}.txt", lines)
    return [tmp_path / f"{name}.txt" for name in "abc"], tmp_path / "source.txt", tmp_path / "out.txt"


@pytest.mark.parametrize(
    ("votes", "lines"),
    [
        (None, ["He goes home .", "I have the dog .", "It is fine ."]),  # "the" is the second's and the third's
        (2, ["He goes home .", "I have the dog .", "It is fine ."]),
        # "dogs" touches "the", and no system makes both.
        (1, ["He goes home .", "I have the dog .", "It is fine !"]),
        (3, SOURCES),
    ],
)
def test_an_edit_needs_votes(files, votes, lines):
    paths, source, output = files
    result = btr.combine(paths, source, output, votes=votes)
    assert list(read_lines(output)) == lines
    assert result.votes == (votes or 2)


def test_what_became_of_the_edits(files):
    """He: goes (2 votes), went; I: have (2), had, the (2), dogs; It: an exclamation mark."""
    result = btr.combine(*files).to_dict()
    assert {name: result[name] for name in ("sentences", "changed", "edits", "made", "votes")} == {
        "sentences": 3, "changed": 2, "edits": 7, "made": 3, "votes": 2,
    }  # fmt: skip
    assert [(each["edits"], each["made"], each["unread"]) for each in result["systems"]] == [
        (3, 2, 0),  # goes, have, dogs
        (4, 2, 0),  # goes, had, the, !
        (3, 2, 0),  # went, have, the
    ]
    assert [each["file"] for each in result["systems"]] == [str(path) for path in files[0]]
    assert result["signature"].startswith("combine|systems:3|votes:2|errant:")
    assert "note" not in result


@pytest.mark.parametrize(("order", "text"), [("abc", "He goes ."), ("cab", "He went ."), ("bca", "He gone .")])
def test_of_equal_votes_the_earlier_system_wins(tmp_path, order, text):
    write_lines(tmp_path / "source.txt", ["He go ."])
    for name, line in zip("abc", ["He goes .", "He gone .", "He went ."]):
        write_lines(tmp_path / f"{name}.txt", [line])
    btr.combine([tmp_path / f"{name}.txt" for name in order], tmp_path / "source.txt", tmp_path / "out", votes=1)
    assert list(read_lines(tmp_path / "out")) == [text]


def systems_table(texts, *edits, source="I has dog ."):
    flags = {"system": tuple(range(len(texts)))}
    table = make_table(source, texts, None, *edits, flags=flags)
    first = {tokens_of(text): k for k, text in reversed(list(enumerate(texts)))}
    return replace(table, usable=tuple(sorted(first.values())))


# The second system repeats the first, and the fourth the third, with other spaces.
TWICE = systems_table(
    ("I have dog .", "I have dog .", "I had dogs .", "I  had dogs ."),
    (1, 2, "had", "R:VERB:TENSE", [2]),
    (1, 2, "have", "R:VERB:SVA", [0]),
    (2, 3, "dogs", "R:NOUN:NUM", [2]),
)


def test_a_system_that_repeats_another_has_its_own_vote():
    assert find_voters(TWICE) == [(2, 3), (0, 1), (2, 3)]
    assert Vote(2).choose(TWICE) == [1]  # of equals the earlier system's; "dogs" is never with "have"
    assert Vote(3).choose(TWICE) == []


def test_more_votes_come_before_earlier_systems():
    table = systems_table(
        ("I have dog .", "I had dog .", "I had the dog ."),
        (1, 2, "had", "R:VERB:TENSE", [1, 2]),
        (1, 2, "have", "R:VERB:SVA", [0]),
        (2, 2, "the", "M:DET", [2]),
    )
    assert Vote(1).choose(table) == [0, 2]


WORDS = st.lists(st.sampled_from(["the", "a", "dog", "dogs", "He", "go", "goes", ",", "."]), min_size=1, max_size=7)
SENTENCES = WORDS.map(" ".join)


def votes_by_edit(table):
    return {edit.key: len(voters) for edit, voters in zip(table.edits, find_voters(table))}


@settings(max_examples=60, deadline=None)
@given(SENTENCES, SENTENCES, st.integers(2, 4))
def test_a_system_combined_with_itself_is_that_system(source, text, count):
    (table,) = extract_tables([make_row(source, [text] * count)], 1)
    for needed in range(1, count + 1):
        assert edited_text(table, Vote(needed).choose(table)) == text


@settings(max_examples=60, deadline=None)
@given(SENTENCES, st.lists(SENTENCES, min_size=2, max_size=4), st.randoms())
def test_what_holds_for_every_vote(source, texts, random):
    (table,) = extract_tables([make_row(source, texts)], 1)
    votes = votes_by_edit(table)
    # One vote is enough: what is left out is in conflict with what is made, and nothing that is made is.
    keys = [edit.key for edit in table.edits]
    made = {keys[index] for index in Vote(1).choose(table)}
    assert not any(is_in_conflict(one, other, table) for one in made for other in made - {one})
    assert all(any(is_in_conflict(key, other, table) for other in made) for key in set(keys) - made)
    # More than half: two such edits share a system, so none is in conflict with another, and the order is nothing.
    majority = Vote(len(texts) // 2 + 1)
    chosen = majority.choose(table)
    assert {keys[index] for index in chosen} == {key for key, count in votes.items() if count >= majority.needed}
    shuffled = random.sample(texts, len(texts))
    (other,) = extract_tables([make_row(source, shuffled)], 1)
    assert votes_by_edit(other) == votes
    assert edited_text(other, majority.choose(other)) == edited_text(table, chosen)


def test_insertions_at_one_place_are_one_edit():
    edits = [Edit(0, 1, "R:X", ("a",)), Edit(1, 1, "M:PREP", ("On",)), Edit(1, 1, "M:DET", ("the",)),
             Edit(1, 2, "R:Y", ("b",)), Edit(2, 2, "M:Z", ("c",))]  # fmt: skip
    assert join_insertions(edits) == [edits[0], Edit(1, 1, "M:PREP", ("On the",)), *edits[3:]]


def test_the_papers_candidates_combined_with_themselves(data, tmp_path):
    """Also where ERRANT separates two words that are inserted at one place: "On" and "the" before "one hand"."""
    rows = [row for row in read_candidates(data / "conll13" / "t5gec-candidates.jsonl") if " one side " in row.source]
    assert rows
    for row in rows:
        for text in row.texts:
            (table,) = extract_tables([make_row(row.source, [text, text])], 1)
            assert edited_text(table, Vote(2).choose(table)).split() == text.split()


def test_outputs_that_are_not_read_have_no_vote(tmp_path):
    """An empty output, a runaway, and a source that is empty itself."""
    write_lines(tmp_path / "source", ["He go .", "He go .", "", " "])
    write_lines(tmp_path / "a", ["", "He goes ." * 20 + " x" * 30, "", ""])
    write_lines(tmp_path / "b", ["He goes .", "He goes .", "", "Hi"])
    result = btr.combine([tmp_path / "a", tmp_path / "b"], tmp_path / "source", tmp_path / "out", votes=1)
    assert (tmp_path / "out").read_text() == "He goes .\nHe goes .\n\nHi\n"
    assert [(each.edits, each.unread) for each in result.systems] == [(0, 2), (3, 0)]
    btr.combine([tmp_path / "a", tmp_path / "b"], tmp_path / "source", tmp_path / "out")
    assert (tmp_path / "out").read_text() == "He go .\nHe go .\n\n \n"  # the sources with all their spaces


def test_files_are_streamed_window_by_window(files, monkeypatch):
    paths, source, output = files
    btr.combine(paths, source, output)
    expected, sizes, extract = output.read_text(), [], module.extract_tables
    monkeypatch.setattr(module, "WINDOW", 2)
    monkeypatch.setattr(module, "extract_tables", lambda rows, processes: sizes.append(len(rows)) or extract(rows))
    btr.combine(paths, source, output)
    assert (sizes, output.read_text()) == ([2, 1], expected)


def test_sources_may_be_m2_and_outputs_compressed(files, tmp_path):
    paths, source, output = files
    btr.combine(paths, source, output)
    expected = output.read_text()
    (tmp_path / "gold.m2").write_text("".join(f"S {line}\n\n" for line in SOURCES))
    write_lines(tmp_path / "c.txt.gz", SYSTEMS[2])
    btr.combine([*paths[:2], tmp_path / "c.txt.gz"], tmp_path / "gold.m2", output)
    assert output.read_text() == expected


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"systems": "a.txt"}, "name the outputs of two or more systems, one file per system."),
        ({"systems": ["a.txt", "short.txt"]}, "short.txt: ends before line 3, which its companion files still have."),
        ({"systems": ["a.txt", "long.txt"]}, "source.txt: ends before line 4, which its companion files still have."),
        ({"systems": ["a.txt", "no.txt"]}, "no.txt: no such file; check the path."),
        ({"systems": ["a.txt", "b.jsonl"]}, "b.jsonl: is no output of a system; expected text, one corrected sen"),
        ({"systems": ["a.txt", "gold.m2"]}, "gold.m2: is no output of a system"),
        ({"systems": ["-", "-"]}, "standard input (-) can be read once only"),
        ({"source": "empty.txt"}, "empty.txt: is empty; expected one sentence per line."),
        ({"output": "b.txt"}, "b.txt: is an input, too; choose another output."),
        ({"output": "source.txt"}, "source.txt: is an input, too; choose another output."),
        ({"candidates": "a.txt"}, "a.txt: is an input, too; choose another output."),
        ({"candidates": "./out.txt"}, "out.txt: is the output, too; name another file for the candidates."),
        ({"output": "no/out.txt"}, "out.txt: cannot be written; is no a folder"),
        ({"votes": 0}, "an edit can't need 0 votes of 2 systems; choose 1 to 2."),
        ({"votes": 3}, "an edit can't need 3 votes of 2 systems; choose 1 to 2."),
        ({"cutoff": 0.5}, "--cutoff needs a judge; name one with --judge, or say with --votes how many systems"),
        ({"judge": "judge.json", "votes": 1}, "--judge decides by its confidence; leave out --votes or --judge."),
        ({"judge": "judge.json", "cutoff": 1.5}, "the cut-off is a probability, from 0 to 1, not 1.5."),
        ({"judge": "lm.json"}, "lm.json: has no judge for 2 systems that asks no reranker; fit one with"),
        ({"judge": "three.json"}, "three.json: has no judge for 2 systems that asks no reranker; fit one with"),
        ({"judge": "no.json"}, "no.json: no such file"),
        ({"judge": ""}, "the name of the judge is empty; name a file that 'btr tune --edits' wrote."),
    ],
)
def test_what_is_refused(files, tmp_path, monkeypatch, change, message):
    monkeypatch.chdir(tmp_path)
    write_lines("short.txt", SOURCES[:2])
    write_lines("long.txt", [*SOURCES, "One more ."])
    write_lines("empty.txt", [])
    write_judge(tmp_path / "judge.json", RANKS)
    write_judge(tmp_path / "lm.json", {**RANKS, "lm": 1.0}, rerankers=("lm:x",))
    write_judge(tmp_path / "three.json", {"system_1_of_3": 1.0})
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    arguments = {"systems": ["a.txt", "b.txt"], "source": "source.txt", "output": "out.txt", **change}
    with pytest.raises(InputError) as error:
        btr.combine(**arguments)
    assert message in str(error.value)
    assert "\n" not in str(error.value)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before  # nothing is left half-written


# What a judge knows of systems


def test_features_of_systems_by_hand():
    """Weights by rank: 1, 2 ** -1.5, 3 ** -1.5 and 4 ** -1.5; each system counts, also one that repeats another."""
    names = [f"system_{k}_of_4" for k in range(1, 5)]
    assert available_features(TWICE, ()) == (*names, "rank_posterior", "base", "length")
    assert compute_features(TWICE, names, ()).tolist() == [[0, 0, 1, 1], [1, 1, 0, 0], [0, 0, 1, 1]]
    first, last = 1 + 2**-1.5, 3**-1.5 + 4**-1.5
    expected = [math.log(last / first), math.log(first / last), math.log(last / first)]
    assert compute_features(TWICE, ["rank_posterior"], ())[:, 0] == pytest.approx(expected)
    plain = replace(TWICE, candidates=replace(TWICE.candidates, flags={}))  # one model's candidates: duplicates are one
    assert compute_features(plain, ["rank_posterior"], ())[0] == pytest.approx(math.log(2**-1.5))
    assert available_features(plain, ()) == ("rank_posterior", "base", "length")


def test_a_judge_decides_by_the_systems_that_make_an_edit(files, tmp_path):
    """The judge believes the third system alone, and the second a little where it is alone."""
    paths, source, output = files
    features = {"system_1_of_3": -1.0, "system_2_of_3": 0.0, "system_3_of_3": 2.0}
    judge = write_judge(tmp_path / "judge.json", features, RANKS)
    result = btr.combine(paths, source, output, judge=judge, cutoff=0.6)
    assert list(read_lines(output)) == SYSTEMS[2]
    assert (result.cutoff, result.votes, result.note) == (0.6, None, None)
    assert f"systems:3|judge:{judge.name}#" in result.signature
    assert "|cutoff:0.6|" in result.signature
    btr.combine(paths, source, output, judge=judge, cutoff=0.5)  # 0.5: the second's exclamation mark
    assert list(read_lines(output)) == [*SYSTEMS[2][:2], "It is fine !"]


def test_a_judge_of_other_systems_leaves_the_decision_to_one_that_uses_ranks(files, tmp_path):
    paths, source, output = files
    judge = write_judge(tmp_path / "judge.json", {"system_1_of_3": -9.0, "lm": 1.0}, RANKS, rerankers=("lm:x",))
    result = btr.combine(paths[:2], source, output, judge=judge, cutoff=0.5)
    assert result.note == ("system_1_of_3, lm: not known of these edits; a judge that was fitted without them decides.")
    assert list(read_lines(output)) == SYSTEMS[0]  # of two systems the first has the larger weight


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """The outputs of two systems in the toy language, the second of which is right twice as often, and a judge."""
    folder = tmp_path_factory.mktemp("systems")
    rows = list(toy.sentences(60, 5))
    write_lines(folder / "source.txt", [source for source, _, _ in rows])
    toy.write_m2(folder / "gold.m2", rows)
    write_lines(folder / "a.txt", [gold if k % 3 == 0 else texts[0] for k, (_, gold, texts) in enumerate(rows)])
    write_lines(folder / "b.txt", [gold if k % 3 else texts[2] for k, (_, gold, texts) in enumerate(rows)])
    systems = [folder / "a.txt", folder / "b.txt"]
    btr.combine(systems, folder / "source.txt", folder / "vote.txt", candidates=folder / "candidates.jsonl")
    scored = btr.score(folder / "candidates.jsonl", None, folder / "edits.jsonl", edits=True)
    assert scored.note is None  # systems have no log-probabilities that could be missing
    btr.tune_edits(folder / "edits.jsonl", folder / "judge.json", gold=folder / "gold.m2", folds=2)
    return folder


def test_a_judge_is_fitted_on_the_systems_own_outputs(fitted):
    first, second = read_judges(fitted / "judge.json").judges
    assert first.names == ("system_1_of_2", "system_2_of_2", "length")
    assert second.names == ("rank_posterior", "base", "length")
    assert first.features["system_2_of_2"] > first.features["system_1_of_2"]
    row = next(read_candidates(fitted / "candidates.jsonl"))
    assert row.flags == {"system": (0, 1)}
    assert [row.source, *row.texts] == [
        next(read_lines(fitted / name)) for name in ("source.txt", "a.txt", "b.txt")
    ]  # fmt: skip


@pytest.mark.parametrize("cutoff", [0.2, 0.5])
def test_combine_and_rerank_make_the_same_edits(fitted, tmp_path, cutoff):
    btr.combine(
        [fitted / "a.txt", fitted / "b.txt"], fitted / "source.txt", tmp_path / "out.txt",
        judge=fitted / "judge.json", cutoff=cutoff,
    )  # fmt: skip
    reranked = btr.rerank_edits(fitted / "edits.jsonl", fitted / "judge.json", cutoff=cutoff)
    assert list(read_lines(tmp_path / "out.txt")) == reranked.texts
    assert reranked.texts != list(read_lines(fitted / "source.txt"))


# The command


def run(*arguments):
    return CliRunner().invoke(app, ["combine", *map(str, arguments)])


def test_the_command_prints_what_became_of_the_edits(files):
    paths, source, output = files
    done = run(*paths, "--source", source, "-o", output)
    assert (done.exit_code, done.stdout) == (0, "")
    rows = [line.split() for line in done.stderr.splitlines()]
    assert rows[0] == ["3", "sentences", "edits", "made"]
    assert [row[-2:] for row in rows[1:5]] == [["3", "2"], ["4", "2"], ["3", "2"], ["7", "3"]]
    assert rows[4][0] == "together"
    assert rows[5][0].startswith("combine|systems:3|votes:2|")


def test_the_text_on_standard_output_and_json(files):
    paths, source, output = files
    expected = btr.combine(paths, source, output)
    assert run(*paths, "--source", source, "-o", "-").stdout == output.read_text()
    assert json.loads(run(*paths, "--source", source, "-o", output, "--json").stdout) == expected.to_dict()
    refused = run(*paths, "--source", source, "-o", "-", "--json").exception
    assert str(refused) == "--json and -o - would both write to standard output; name a file."


def test_one_system_by_standard_input(files):
    paths, source, output = files
    btr.combine(paths, source, output)
    expected = output.read_text()
    arguments = ["combine", str(paths[0]), "-", str(paths[2]), "--source", str(source), "-o", str(output)]
    assert CliRunner().invoke(app, arguments, input=paths[1].read_text()).exit_code == 0
    assert output.read_text() == expected
