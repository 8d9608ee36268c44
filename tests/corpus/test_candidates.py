import json

import pytest
from four import write_scores

from btr.corpus import (
    Candidates,
    RerankerName,
    Scored,
    read_candidates,
    read_references,
    read_scores,
    read_tsv,
    write_candidates,
    write_lines,
)
from btr.errors import InputError


def test_our_candidates_come_back(tmp_path):
    rows = [Candidates("a « b", ("a b", "a c"), (-0.5, -1.25)), Candidates("", ("",))]
    write_candidates(tmp_path / "c.jsonl", rows)
    assert list(read_candidates(tmp_path / "c.jsonl")) == rows


def test_flags_come_back(tmp_path):
    rows = [Candidates("a", ("b", "b", "c"), None, {"duplicate": (1,), "runaway": (2,)})]
    write_candidates(tmp_path / "c.jsonl", rows)
    assert list(read_candidates(tmp_path / "c.jsonl")) == rows
    assert rows[0].select([0, 2]) == Candidates("a", ("b", "c"), None, {"runaway": (1,)})
    assert rows[0].is_flagged(2, "runaway", "unfinished")
    assert not rows[0].is_flagged(1, "runaway")


def test_the_authors_format(tmp_path):
    write_lines(tmp_path / "c.jsonl", ['{"source": ["a b"], "gec_outputs": [["a c"], ["a d"]]}'])
    assert list(read_candidates(tmp_path / "c.jsonl")) == [Candidates("a b", ("a c", "a d"))]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "line 2: not JSON"),
        ('{"source": "\\ud800", "candidates": ["b"]}', "line 2: has half of a character"),
        ('{"a":' * 100_000, "line 2: "),
        ("[1]", "line 2: expected a JSON object, found list"),
        ("{}", 'line 2: has no "source"'),
        ('{"source": "a", "candidates": "b"}', 'line 2: "candidates" must be a list of texts'),
        ('{"source": "a", "candidates": []}', "line 2: has no candidate"),
        ('{"source": "a", "candidates": ["b"], "log_probs": [1, 2]}', 'line 2: "log_probs" must be a list of 1'),
        ('{"source": "a", "candidates": ["b"], "flags": {"runaway": [1]}}', 'line 2: "flags" must have lists'),
        ('{"source": "a", "candidates": ["b\\nc"]}', "line 2: a source or candidate has a line break"),
        ('{"gec_outputs": [["b"]]}', 'line 2: expected "source"'),
        ('{"source": ["a"], "gec_outputs": ["b"]}', 'line 2: expected {"gec_outputs"'),
    ],
)
def test_broken_candidates(tmp_path, line, message):
    write_lines(tmp_path / "c.jsonl", ['{"source": "a", "candidates": ["b"]}', line])
    with pytest.raises(InputError, match=message):
        list(read_candidates(tmp_path / "c.jsonl"))


def test_empty_files(tmp_path):
    (tmp_path / "empty").touch()
    for read in (read_candidates, read_references, read_tsv):
        with pytest.raises(InputError, match="is empty"):
            list(read(tmp_path / "empty"))
    with pytest.raises(InputError, match="is this a scores file"):
        read_scores(tmp_path / "empty")


def test_references_in_text_or_json(tmp_path):
    write_lines(tmp_path / "text", ["a", '{"not json'])
    assert read_references(tmp_path / "text") == [("a",), ('{"not json',)]
    write_lines(tmp_path / "json", [json.dumps({"gec_outputs": [["a"], ["b"]]})])
    assert read_references(tmp_path / "json") == [("a", "b")]


def test_two_columns(tmp_path):
    write_lines(tmp_path / "pairs.tsv.gz", ["I has\tI have", "so\tso"])
    assert list(read_tsv(tmp_path / "pairs.tsv.gz")) == [("I has", "I have"), ("so", "so")]
    write_lines(tmp_path / "bad.tsv", ["a\tb", "a"])
    with pytest.raises(InputError, match=r"line 2: expected source and target .* found 1 columns"):
        list(read_tsv(tmp_path / "bad.tsv"))


def test_scores_come_back(tmp_path):
    rows = [
        Scored(Candidates("a", ("b", "c"), (-0.5, None)), ((-0.25, -1.5), (-2.0, None))),
        Scored(Candidates("é", ("é",), None, {"too_long": (0,)}), ((0.0,), (1.0,))),
    ]
    write_scores(tmp_path / "s.jsonl", rows, "btr", "base", model="x")
    header, stream = read_scores(tmp_path / "s.jsonl")
    assert list(stream) == rows
    assert header.rerankers == (RerankerName("btr", "x", "btr|model:x"), RerankerName("base", "x", "base|model:x"))
    assert (header.kinds, header.signature) == (("btr", "base"), "btr|model:x+base|model:x")


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ("[[1, 2]]", 'line 2: each list of "scores" must be a list of 1 numbers'),
        ('[["q"]]', 'line 2: each list of "scores" must be a list of 1 numbers'),
        ("[[NaN]]", 'line 2: each list of "scores" must be a list of 1 numbers'),
        ("[[true]]", 'line 2: each list of "scores" must be a list of 1 numbers'),
        ("[null]", 'line 2: "scores" must be a list of 1 lists'),
        ("[1]", 'line 2: each list of "scores" must be a list of 1 numbers'),
        ("[[1], [1]]", 'line 2: "scores" must be a list of 1 lists, one per reranker'),
        ("null", 'line 2: "scores" must be a list of 1 lists'),
    ],
)
def test_broken_scores(tmp_path, scores, message):
    head = '{"rerankers": [{"kind": "btr", "model": null, "signature": "x"}]}'
    write_lines(tmp_path / "s", [head, f'{{"source": "a", "candidates": ["b"], "scores": {scores}}}'])
    with pytest.raises(InputError, match=message):
        list(read_scores(tmp_path / "s")[1])


@pytest.mark.parametrize(
    "header",
    [
        '{"source": "a", "candidates": ["b"]}',
        '{"rerankers": []}',
        '{"rerankers": [{"kind": "btr"}]}',
        '{"rerankers": [{"kind": 1, "model": null, "signature": "x"}]}',
        '{"rerankers": ["btr"]}',
        '{"reranker": "btr", "signature": "x"}',
    ],
)
def test_broken_headers(tmp_path, header):
    write_lines(tmp_path / "s", [header])
    with pytest.raises(InputError, match="line 1: expected a header"):
        read_scores(tmp_path / "s")
