"""`generate`, `score` and `rerank` with a profile give what `correct` gives, sentence by sentence."""

import json
import random
import shutil
from pathlib import Path

import pytest
import tiny

import btr
from btr.corpus import Candidates, read_candidates, read_lines, read_scores, write_lines
from btr.correction import DEFAULT_MODEL
from btr.correction.correct import correct_file
from btr.correction.corrector import Corrector
from btr.correction.given_candidates import score_candidates
from btr.correction.loading import LENGTH_PENALTY, MAX_LENGTH
from btr.models.locate import locate_model

EXAMPLES = Path(__file__).parents[2] / "examples"
PROFILE = {
    "candidates": 4,
    "top": 3,
    "threshold": 0.3,
    "gap": 2.0,
    "drop_runaways": True,
    "weights": {"contrast": 0.4, "base": 0.3},
    "rerankers": ["contrast", "base"],
}


def step_by_step(folder, sources, model, rerankers, profile, note=""):
    """Return the texts of the three verbs, one after the other, with the options that `correct` has inside."""
    generated, scores = folder / "candidates.jsonl", folder / "scores.jsonl"
    size = Corrector.from_pretrained(model, rerankers, profile=profile).settings.candidates
    btr.generate(
        sources, model, generated, engine="ctranslate2", dtype="int8", size=size, max_length=MAX_LENGTH,
        length_penalty=LENGTH_PENALTY,
    )  # fmt: skip
    scored = btr.score(generated, rerankers, scores, profile=profile, int8=True)
    result = btr.rerank(scores, folder / "reranked.txt", profile=profile)
    for each in (scored, result):
        assert (each.note or "").startswith(note)
        assert bool(each.note) == bool(note)
    return result


def all_in_one(folder, sources, model, rerankers, profile):
    """Return the texts of `btr correct --tokenized` and of `Corrector.correct_sentences`."""
    corrector = Corrector.from_pretrained(model, rerankers, profile=profile)
    counts = correct_file(sources, folder / "corrected.txt", corrector, tokenized=True)
    texts = corrector.correct_sentences(list(read_lines(sources)))
    assert counts.sentences == len(texts)
    return list(read_lines(folder / "corrected.txt")), texts


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    base, reranker = tiny.save_t5(folder / "base", seed=3), tiny.save_t5(folder / "btr", bidirectional=True, seed=4)
    (folder / "btr" / "profiles.json").write_text(json.dumps({"mine": PROFILE}))
    return base, [f"contrast:{reranker}", "base"]


@pytest.fixture
def sources(tmp_path):
    luck = random.Random(5)
    lines = [" ".join(luck.choices(tiny.WORDS, k=luck.randint(1, 9))) for _ in range(40)]
    write_lines(tmp_path / "sources.txt", [*lines, "", "a " * 200, "unknown words here", *lines[:3]])
    return tmp_path / "sources.txt"


def test_with_tiny_models(tmp_path, models, sources):
    result = step_by_step(tmp_path, sources, *models, "mine")
    from_file, from_list = all_in_one(tmp_path, sources, *models, "mine")
    assert result.texts == from_file == from_list == list(read_lines(tmp_path / "reranked.txt"))
    assert {decision.verdict.value for decision in result.decisions} == {"accept", "reject", "equal"}
    sizes = {len(row.candidates.texts) for row in read_scores(tmp_path / "scores.jsonl")[1]}
    assert sizes == {1, 2, 3}  # the gap and the number of candidates matter here


@pytest.mark.parametrize(("tuned", "verdicts"), [(None, {"reject", "equal"}), (0.1, {"accept", "reject", "equal"})])
def test_the_papers_profile_with_tiny_models(tmp_path, models, sources, tuned, verdicts):
    """It applies to a BTR without such a profile too, and chooses the same; early stopping changes nothing."""
    base, folder = models[0], tmp_path / "btr"
    shutil.copytree(models[1][0].partition(":")[2], folder)
    write_lines(sources, list(read_lines(sources))[-18:])  # tiny models write at length, and each token is masked
    note, reranker = "profile paper: the threshold is the paper's, 0.4", f"btr:{folder}"
    if tuned is not None:
        own = {"paper": {"top": 5, "threshold": tuned, "rerankers": ["btr"]}}
        (folder / "profiles.json").write_text(json.dumps(own))
        note = ""
    result = step_by_step(tmp_path, sources, base, reranker, "paper", note)
    from_file, from_list = all_in_one(tmp_path, sources, base, reranker, "paper")
    assert result.texts == from_file == from_list == list(read_lines(tmp_path / "reranked.txt"))
    assert {decision.verdict.value for decision in result.decisions} == verdicts
    assert result.settings.signature() == f"threshold:{tuned or 0.4}|top:5"
    sizes = {len(row.candidates.texts) for row in read_scores(tmp_path / "scores.jsonl")[1]}
    assert sizes == {1, 5}  # nothing is left out, but for what is not read at all


@pytest.mark.parametrize("change", [{"threshold": 0.9}, {"gap": 0.0}, {"top": 1}, {"weights": {"contrast": 0.01}}])
def test_each_setting_counts(tmp_path, models, sources, change):
    """Other settings of the profile give other decisions, and the same texts both ways."""
    contrast = models[1][0]
    profiles = {"mine": PROFILE, "other": {**PROFILE, **change}}
    (Path(contrast.partition(":")[2]) / "profiles.json").write_text(json.dumps(profiles))
    before = step_by_step(tmp_path, sources, *models, "mine")
    result = step_by_step(tmp_path, sources, *models, "other")
    assert result.decisions != before.decisions
    from_file, from_list = all_in_one(tmp_path, sources, *models, "other")
    assert result.texts == from_file == from_list


def test_edit_by_edit_with_the_shipped_models(tmp_path):
    """generate → score --edits → rerank --judge is what `correct` does; the language model has a part if it is here."""
    sources, judge = tmp_path / "sources.txt", locate_model(DEFAULT_MODEL)
    write_lines(sources, [*read_lines(EXAMPLES / "source.txt"), "My carreer begins tommorow ."])
    corrector = Corrector.from_pretrained()
    names = corrector.judge.judges.rerankers if corrector.judge.kinds else None
    generated, tables = tmp_path / "candidates.jsonl", tmp_path / "edits.jsonl"
    btr.generate(
        sources, DEFAULT_MODEL, generated, engine="ctranslate2", dtype="int8", max_length=MAX_LENGTH,
        length_penalty=LENGTH_PENALTY, spelling=True,
    )  # fmt: skip
    assert any("proposed" in row.flags for row in read_candidates(generated))
    btr.score(generated, names, tables, int8=names is not None, edits=True)
    result = btr.rerank_edits(tables, judge, tmp_path / "out.txt", cutoff=corrector.settings.cutoff)
    from_file, from_list = all_in_one(tmp_path, sources, DEFAULT_MODEL, None, "minimal")
    assert result.texts == from_file == from_list == list(read_lines(tmp_path / "out.txt"))
    assert result.texts != list(read_lines(sources))
    assert any(edit.made for sentence in result.sentences for edit in sentence.edits)
    assert not all(edit.made for sentence in result.sentences for edit in sentence.edits)


@pytest.mark.parametrize(
    ("profile", "rerankers", "count"),
    [("minimal", ["contrast:btr-small", "base"], None), ("paper", None, 4)],  # `paper` takes more time
)
def test_with_the_shipped_models(tmp_path, profile, rerankers, count):
    """If no reranker is named, the profile says which."""
    sources = list(read_lines(EXAMPLES / "source.txt"))[:count]
    write_lines(tmp_path / "sources.txt", sources)
    arguments = tmp_path / "sources.txt", DEFAULT_MODEL, rerankers, profile
    result = step_by_step(tmp_path, *arguments)
    from_file, from_list = all_in_one(tmp_path, *arguments)
    assert result.texts == from_file == from_list
    assert result.texts != sources
    assert any(len(row.candidates.texts) > 1 for row in read_scores(tmp_path / "scores.jsonl")[1])


def test_the_servers_scores_are_those_of_btr_score(tmp_path, models, sources):
    """`/v1/score` gives what `score_candidates` gives: here with the log-probabilities that were sent."""
    base, rerankers = models
    step_by_step(tmp_path, sources, base, rerankers, "mine")
    corrector = Corrector.from_pretrained(base, rerankers, profile="mine")
    rows = list(read_candidates(tmp_path / "candidates.jsonl"))
    served = score_candidates(corrector, rows)
    weights = PROFILE["weights"]
    reranked = btr.rerank(tmp_path / "scores.jsonl", profile="mine")
    compared = 0
    for row, each, scored, decision in zip(
        rows, served, read_scores(tmp_path / "scores.jsonl")[1], reranked.decisions, strict=True
    ):
        expected = {
            text: weights["contrast"] * contrast + weights["base"] * log_prob
            for text, contrast, log_prob in zip(scored.candidates.texts, *scored.scores)
        }
        if row.log_probs is not None:  # a blank source, or one that is too long, was not read
            assert each.candidates == row
            assert each.scores == tuple(expected.get(text) for text in row.texts)  # bit by bit
            compared += len(expected) > 1
        assert (each.decision.text, each.decision.verdict) == (decision.text, decision.verdict)
        assert [p for p in each.decision.probabilities if p] == [p for p in decision.probabilities if p]
    assert compared > 10


def test_given_candidates_need_no_log_probabilities(models):
    """The base model computes those that are missing; they are what it says of the same texts elsewhere."""
    base, rerankers = models
    corrector = Corrector.from_pretrained(base, rerankers, profile="mine")
    texts = ("he goes", "he went on", "go")
    (scored,) = score_candidates(corrector, [Candidates("he go", texts)])
    (sent,) = score_candidates(corrector, [scored.candidates])
    assert None not in scored.candidates.log_probs
    assert scored == sent
