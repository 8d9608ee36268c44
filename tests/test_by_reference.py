"""Correctors and rerankers in other processes: pickle sends how they were loaded, and forks compute, too."""

import json
import multiprocessing
import pickle
import shutil
from copy import copy
from functools import partial

import pytest
import tiny
import torch
from datasets.fingerprint import Hasher
from in_child import FORKED, SPAWNED, in_child, texts_of
from judged import PLAIN, write_judge
from outside_rerankers import Shortest
from scripted import Scripted

from btr import BTR, Corrector, load_reranker
from btr.by_reference import load_again
from btr.candidates.decoding import DecodingSettings
from btr.corpus.candidates import Candidates
from btr.correction.judging import EditJudge
from btr.correction.variants import Options, vary
from btr.errors import InputError
from btr.models.threads import Threaded
from btr.pool import parallel_map
from btr.rerankers.language_model import LanguageModel

ROWS = [Candidates("he go on", ("he goes on", "he went on"), (-1.0, -2.0)), Candidates("a cat", ("a cat",), (-0.5,))]
TEXTS = ["he go home .", "the cats sat on it .", "I has two cat ."]


@pytest.fixture(autouse=True)
def torch_threads():
    """Leave torch's number of threads as it was."""
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    return {
        "base": tiny.save_t5(folder / "base", seed=3),
        "btr": tiny.save_t5(folder / "btr", bidirectional=True, seed=4),
        "lm": tiny.save_language_model(folder / "lm"),
    }


def correct(corrector):
    return texts_of(corrector, TEXTS)


NAMES = ["btr:{btr}", "contrast:{btr}", "l2r:{base}", "lm:{lm}", "mbr", ["contrast:{btr}", "base"]]


def named(name, models):
    return name.format(**models) if isinstance(name, str) else [each.format(**models) for each in name]


@pytest.mark.parametrize("name", NAMES, ids=str)
@pytest.mark.parametrize("int8", [False, True])
def test_rerankers_are_sent_by_their_names(models, name, int8):
    reranker = load_reranker(named(name, models), int8=int8, budget=512, threads=1)
    sent = pickle.dumps(reranker)
    assert len(sent) < 1000
    copied = pickle.loads(sent)
    assert (type(copied), copied.names) == (type(reranker), reranker.names)
    assert copied.score(ROWS) == reranker.score(ROWS)
    for mine, other in zip(getattr(reranker, "members", [reranker]), getattr(copied, "members", [copied])):
        assert getattr(mine, "budget", None) == getattr(other, "budget", None)
        assert (mine.loaded_by and mine.loaded_by.keywords) == (other.loaded_by and other.loaded_by.keywords)


@pytest.mark.parametrize("make", [partial(BTR.from_pretrained), partial(LanguageModel.from_pretrained)], ids=str)
def test_rerankers_that_their_class_loaded_are_sent_too(models, make):
    reranker = make(models["btr" if make.func.__self__ is BTR else "lm"], int8=True)
    sent = pickle.dumps(reranker)
    assert len(sent) < 1000
    assert pickle.loads(sent).score(ROWS) == reranker.score(ROWS)


def test_a_reranker_without_a_model_is_sent_as_it_is():
    reranker = Shortest()
    assert pickle.loads(pickle.dumps(reranker)).score(ROWS) == reranker.score(ROWS)


@pytest.fixture
def correctors(models, tmp_path):
    """Return correctors of both kinds: one that chooses candidates, one that judges edits."""
    features = {**PLAIN, "lm": 1.0}
    judge = write_judge(tmp_path / "judge.json", features, PLAIN, rerankers=[f"lm:{models['lm']}"], intercept=-1.0)
    by_sentence = [f"contrast:{models['btr']}", "base"]
    return [
        # A random model writes runaways on any processor: if they were dropped, nothing might be corrected.
        partial(
            Corrector.from_pretrained, models["base"], by_sentence, candidates=3, threshold=0.1, drop_runaways=False
        ),
        partial(Corrector.from_pretrained, models["base"], judge=judge, cutoff=0.4, spelling=False),
    ]


@pytest.mark.parametrize("index", [0, 1])
def test_a_corrector_is_sent_by_its_names(correctors, index):
    """To a process that shares nothing with this one."""
    corrector = correctors[index](threads=1)
    assert len(pickle.dumps(corrector)) < 1500
    copied = pickle.loads(pickle.dumps(corrector))
    assert copied.engine is corrector.engine  # in the same process the models stay loaded
    assert (copied.signature, copied.settings) == (corrector.signature, corrector.settings)
    assert in_child(SPAWNED, partial(texts_of, corrector, TEXTS)) == correct(corrector) != TEXTS


@pytest.mark.parametrize("index", [0, 1])
@pytest.mark.parametrize("threads", [1, 2])
def test_a_forked_process_corrects_as_its_parent_does(correctors, index, threads):
    """Though the threads that its parent computes with are not in it."""
    corrector = correctors[index](threads=threads)
    expected = correct(corrector)
    torch.ones(2_000_000).exp().sum()  # starts OpenMP's threads, if there are two
    assert in_child(FORKED, lambda: correct(corrector)) == expected
    assert in_child(FORKED, lambda: correct(correctors[index](threads=threads))) == expected
    assert correct(corrector) == expected  # the parent's models are as they were


@pytest.mark.parametrize("name", ["btr:{btr}", "lm:{lm}"])
def test_a_forked_process_scores_as_its_parent_does(models, name):
    reranker = load_reranker(named(name, models), threads=2)
    expected = [score for scored in reranker.score(ROWS) for score in scored.scores[0]]
    torch.ones(2_000_000).exp().sum()
    scored = in_child(FORKED, lambda: reranker.score(ROWS))
    scores = [score for each in scored for score in each.scores[0]]
    assert scores == pytest.approx(expected, rel=1e-5)  # float32 sums depend on the number of threads


def test_what_has_threads_is_made_anew_after_a_fork():
    made = Threaded(lambda: multiprocessing.current_process().pid)
    here = multiprocessing.current_process().pid
    assert made.get() == made.get() == here
    there = in_child(FORKED, lambda: (made.get(), multiprocessing.current_process().pid, torch.get_num_threads()))
    assert there[0] == there[1] != here
    assert there[2] == 1
    assert made.get() == here


def test_a_model_that_differs_in_the_other_process_is_refused(models, tmp_path):
    folder = shutil.copytree(models["btr"], tmp_path / "btr")
    sent = pickle.dumps(load_reranker(f"btr:{folder}"))
    tiny.save_t5(folder, bidirectional=True, seed=9)
    with pytest.raises(
        InputError, match=r"another process sent model:btr#\w+, but this one has model:btr#\w+; give all"
    ):
        pickle.loads(sent)
    shutil.rmtree(folder)
    with pytest.raises(InputError, match=r"btr: no such folder\.$"):
        pickle.loads(sent)


def test_a_language_model_that_is_not_everywhere_is_refused(models, tmp_path):
    folder = shutil.copytree(models["lm"], tmp_path / "lm")
    judge = write_judge(tmp_path / "judge.json", {**PLAIN, "lm": 1.0}, PLAIN, rerankers=[f"lm:{folder}"])
    sent = pickle.dumps(Corrector.from_pretrained(models["base"], judge=judge))
    shutil.rmtree(folder)
    with pytest.raises(InputError, match=r"another process sent .*lm\|model:lm#\w+.*, but this one has .*no-reranker"):
        pickle.loads(sent)


def test_a_signature_with_less_is_described():
    loaded = Shortest()
    with pytest.raises(InputError, match=r"sent extra, but this one has nothing else;"):
        load_again(lambda: loaded, f"{loaded.signature}|extra")


def test_a_corrector_that_has_no_name_is_refused(correctors, tmp_path):
    with pytest.raises(InputError, match=r"make it with Corrector\.from_pretrained\.$"):
        pickle.dumps(Corrector(Scripted(), DecodingSettings(size=2)))
    corrector = correctors[1](threads=1)
    varied = vary(corrector, Options(cutoff=0.9))  # what a server makes for a request
    assert varied.engine is corrector.engine
    assert (varied.settings.cutoff, corrector.settings.cutoff) == (0.9, 0.4)
    for other in (varied, copy(corrector)):
        with pytest.raises(InputError, match="was not loaded by name"):
            pickle.dumps(other)
    pickle.dumps(corrector)


def test_results_that_datasets_caches_depend_on_the_models(models, tmp_path):
    """The key of a cached result is a hash of what pickle sends."""
    folder = shutil.copytree(models["base"], tmp_path / "base")
    first, again, other = (Corrector.from_pretrained(str(folder), "none", candidates=n) for n in (2, 2, 3))
    assert Hasher.hash(first) == Hasher.hash(again) != Hasher.hash(other)
    tiny.save_t5(folder, seed=9)
    assert Hasher.hash(Corrector.from_pretrained(str(folder), "none", candidates=2)) != Hasher.hash(first)


def test_threads_bound_all_that_computes(correctors, monkeypatch):
    counts = []
    monkeypatch.setattr("btr.correction.judging.extract_tables", lambda rows, processes: counts.append(processes) or [])
    for threads in (1, 3):
        chooser, judge = (make(threads=threads) for make in correctors)
        assert torch.get_num_threads() == threads
        assert chooser.engine is judge.engine
        assert chooser.engine.translator.get().num_translators == threads
        (language_model,) = judge.judge.members
        assert language_model.scorer.generator.get().num_generators == threads
        assert (chooser.threads, judge.judge.threads) == (threads, threads)
        judge.judge.decide([], judge.settings)
    assert counts == [1, 3]
    assert correctors[1]().judge.processes is None  # all cores


@pytest.mark.parametrize("threads", [0, -1, 1.5, "2"])
def test_bad_numbers_of_threads_are_refused(models, threads):
    for load in (Corrector.from_pretrained, partial(load_reranker, f"btr:{models['btr']}")):
        with pytest.raises(InputError, match="threads must be a whole number of at least 1"):
            load(threads=threads)


def test_a_worker_of_a_pool_starts_no_processes(correctors):
    """It may not. `parallel_map` would ask for two processes for so many items."""
    with SPAWNED.Pool(1) as pool:
        assert pool.apply(parallel_map, (abs, range(-9, 0)), {"processes": 2}) == list(range(9, 0, -1))


def test_the_judge_has_its_processes(tmp_path, models):
    judge, _ = EditJudge.from_file(write_judge(tmp_path / "judge.json", PLAIN), device=None, int8=False, processes=2)
    assert (judge.processes, judge.threads, json.loads((tmp_path / "judge.json").read_text())["rerankers"]) == (
        2,
        1,
        [],
    )
