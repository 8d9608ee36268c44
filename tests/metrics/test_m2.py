import numpy as np
import pytest

from btr.corpus import read_candidates, read_lines, read_m2, read_references
from btr.corpus.m2 import Edit, Sentence
from btr.metrics.m2 import M2
from btr.metrics.oracle import gold_percent, oracle_choice, unique_percent


def read_golden(path):
    """The official scorer's choice of annotator, and counts for every annotator, a sentence a row."""
    chosen, counts = [], []
    for line in list(read_lines(path))[1:]:
        annotator, *_, every = line.split("\t")
        chosen.append(int(annotator))
        counts.append([tuple(map(int, part.split(":")[1].split("/"))) for part in every.split()])
    return chosen, counts


def outputs(data, rank):
    return [row.texts[rank] for row in read_candidates(data / "conll13" / "t5gec-candidates.jsonl")]


@pytest.mark.parametrize(
    ("rank", "expected"), [(0, (59.19, 29.65, 49.36)), (1, (46.33, 29.08, 41.42)), (4, (39.49, 28.97, 36.82))]
)
def test_conll13_golden(data, golden, rank, expected):
    metric = M2(list(read_m2(data / "conll13" / "cleaned.m2")))
    hypotheses = outputs(data, rank)
    _, counts = read_golden(golden / "m2" / f"conll13.cand{rank}.tsv")
    assert metric.count_pairs(list(enumerate(hypotheses))) == counts
    assert tuple(round(value, 2) for value in metric.score(hypotheses).scores.values()) == expected


@pytest.mark.parametrize(
    ("hypotheses", "table", "expected"),
    [
        ("cweb-s-dev.hyp", "cweb-s-dev.tsv", (43.91, 78.03, 48.12)),
        ("cweb-s-dev.src", "cweb-s-dev.source.tsv", (100, 0, 0)),
    ],
)
def test_two_annotators_golden(golden, hypotheses, table, expected):
    metric = M2(list(read_m2(golden / "m2" / "cweb-s-dev.m2")))
    texts = list(read_lines(golden / "m2" / hypotheses))
    chosen, counts = read_golden(golden / "m2" / table)
    assert metric.count_pairs(list(enumerate(texts))) == counts
    _, ours = metric.choose_annotators(metric.counts(texts), np.arange(len(texts))[None])
    assert ours[0].tolist() == chosen
    assert tuple(round(value, 2) for value in metric.score(texts).scores.values()) == expected


def test_the_papers_oracle(data):
    candidates = [row.texts for row in read_candidates(data / "conll13" / "t5gec-candidates.jsonl")]
    references = read_references(data / "conll13" / "reference.jsonl")
    metric = M2(list(read_m2(data / "conll13" / "cleaned.m2")))
    score = metric.score(list(map(oracle_choice, candidates, references)))
    assert [round(value, 2) for value in score.scores.values()] == [65.50, 33.71, 55.11]
    assert round(unique_percent(candidates), 2) == 98.93  # the paper's Table 2
    assert round(gold_percent(candidates, references), 2) == 37.94  # its 37.97 is the same 524 of 1,380


def gold(*annotators):
    return Sentence("a b c", {k: tuple(Edit(*row) for row in rows) for k, rows in enumerate(annotators)})


def test_fold_by_hand():
    sentences = [
        gold([(1, 2, "X", ("x",))], []),  # correct with the first annotator
        gold([(0, 1, "X", ("y",))], [(1, 2, "X", ("x",)), (2, 3, "X", ("z",))]),  # F is higher with the second
        gold([], []),
    ]
    score = M2(sentences).score(["a x c", "a x c", "a b c"])
    assert score.counts == {"correct": 2, "proposed": 2, "gold": 3}
    # P = 2/2, R = 2/3, F = 1.25 * 2/3 / (0.25 + 2/3) = 10/11
    assert score.scores == pytest.approx({"precision": 100, "recall": 200 / 3, "f0.5": 1000 / 11})
    assert M2(sentences, beta=1).score(["a x c", "a x c", "a b c"]).scores["f1"] == pytest.approx(80)


def test_nothing_proposed_and_nothing_to_find():
    assert M2([gold([(1, 2, "X", ("x",))])]).score(["a b c"]).scores == {"precision": 100, "recall": 0, "f0.5": 0}
    assert M2([gold([])]).score(["a b c"]).scores == {"precision": 100, "recall": 100, "f0.5": 100}


def test_ties_between_annotators():
    """Equal F: the more correct edits win; then the fewer edits on both sides; then the first annotator."""
    metric = M2([gold([])])
    chosen = lambda *rows: metric.choose_annotators(np.array([rows]), np.zeros((1, 1), dtype=int))[1][0, 0]  # noqa: E731
    assert chosen((0, 1, 1), (0, 1, 1)) == 0
    assert chosen((1, 1, 1), (2, 2, 2)) == 1  # F is 1 for both
    assert chosen((0, 2, 3), (0, 2, 1)) == 1  # F is 0 for both
    assert chosen((0, 2, 1), (0, 2, 3)) == 0


def test_fold_of_many_is_the_fold_of_each():
    """A batch of resamples gives what each gives alone, annotators' running choice included."""
    generator = np.random.default_rng(0)
    sentences = [gold([(1, 2, "X", ("x",))], [(0, 1, "X", ("y",))], []) for _ in range(5)] + [gold([])] * 2
    metric = M2(sentences)
    counts = metric.counts(["a x c", "y b c", "y x c", "a b c", "a x", "q b c", "a b c"])
    indices = generator.integers(0, 7, (20, 7))
    batch = metric.aggregate(counts, indices)
    for row, pick in enumerate(indices):
        alone = metric.aggregate(counts, pick[None])
        assert {name: values[row] for name, values in batch.items()} == {n: v[0] for n, v in alone.items()}


def test_sentence_scores_take_the_best_annotator():
    metric = M2([gold([(1, 2, "X", ("x",))], [(0, 1, "X", ("y",))]), gold([])])
    assert metric.sentence_scores(metric.counts(["y b c", "a b c"])).tolist() == [1, 1]


def test_processes_do_not_matter():
    generator = np.random.default_rng(1)
    sentences = [gold([(1, 2, "X", ("x",))], [(0, 1, "X", ("y",))]) for _ in range(60)]
    texts = [" ".join(generator.choice(list("abcxy"), 4)) for _ in sentences]
    scores = []
    for processes in (1, 2, 3):
        metric = M2(sentences, processes=processes)
        metric.min_per_process = 5
        scores.append(metric.score(texts))
    assert scores[0] == scores[1] == scores[2]


def test_counts_are_computed_once(monkeypatch):
    metric = M2([gold([(1, 2, "X", ("x",))])] * 2)
    first = metric.counts(["a x c", "a b c"])
    monkeypatch.setattr(metric, "count", None)
    assert (metric.counts(["a x c", "a b c"]) == first).all()
