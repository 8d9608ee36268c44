"""Streams of paragraphs, answers that are not complete, and settings per request."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import httpx
import pytest
import tiny
from judged import judged_corrector
from scripted import Scripted
from served import scripted, served, wait_for

from btr.candidates.generate import load_engine
from btr.correction.corrector import Corrector
from btr.correction.dictionary import Dictionary
from btr.serving import service

TEXT = "\n# My  dog\r\n\r\nI has a 😀 dog.\n\n```\nI has\n```\nHe go. It is very nice.\n\n\nThe end\n"


def lines(address, text, **options):
    answer = httpx.post(f"{address}/v1/correct/stream", json={"text": text, **options}, timeout=60)
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("application/x-ndjson")
    assert answer.headers["x-accel-buffering"] == "no"
    return [json.loads(line) for line in answer.text.splitlines()]


@pytest.fixture(scope="module")
def address():
    with served(judged_corrector()) as url:
        yield url


@pytest.mark.parametrize("text", [TEXT, "", "\n\n", "```\nI has\n```\n", "I has it."])
def test_the_paragraphs_are_the_whole_text_and_have_the_answers_of_the_one_shot_call(address, text):
    first, *paragraphs, last = lines(address, text)
    assert (first, last) == ({"paragraphs": len(paragraphs)}, {"done": True})
    assert [each["paragraph"] for each in paragraphs] == list(range(len(paragraphs)))
    assert "".join(text[each["start"] : each["end"]] for each in paragraphs) == text
    whole = httpx.post(f"{address}/v1/correct", json={"text": text}, timeout=60).json()
    assert "".join(each["result"]["text"] for each in paragraphs) == whole["text"]
    for each in paragraphs:
        part = text[each["start"] : each["end"]]
        alone = httpx.post(f"{address}/v1/correct", json={"text": part}, timeout=60).json()
        assert each["result"] == alone


def test_a_paragraph_has_one_piece_of_prose(address):
    _, *paragraphs, _ = lines(address, TEXT)
    starts = [TEXT[each["start"] :][:4] for each in paragraphs]
    assert starts == ["\n# M", "I ha", "He g", "The "]


class Stepwise(Scripted):
    """An engine that waits for a permission before each batch after the first, which is the warm-up."""

    def __init__(self):
        super().__init__()
        self.batches = 0
        self.permissions = threading.Semaphore(1)

    def generate(self, sources, settings):
        assert self.permissions.acquire(timeout=60)
        self.batches += 1
        return super().generate(sources, settings)


@contextmanager
def stepwise(**limits):
    engine = Stepwise()
    with served(scripted(engine), **limits) as address:
        try:
            yield engine, address
        finally:
            engine.permissions.release(1000)


LONG = ("I has it. " * 60 + "\n\n") * 50  # paragraphs of some 600 characters


def test_paragraphs_come_one_at_a_time_and_a_closed_connection_stops_the_work():
    with stepwise() as (engine, address):
        with httpx.stream("POST", f"{address}/v1/correct/stream", json={"text": LONG}, timeout=60) as answer:
            received = answer.iter_lines()
            assert json.loads(next(received)) == {"paragraphs": 50}
            engine.permissions.release()
            assert json.loads(next(received))["paragraph"] == 0
        metrics = f"{address}/metrics"
        wait_for(lambda: "btr_requests_open 0.0" in httpx.get(metrics, timeout=60).text)
        engine.permissions.release(1000)
        again = httpx.post(f"{address}/v1/correct", json={"text": "I has it."}, timeout=60)
        assert again.json()["text"] == "I have it."
        assert engine.batches <= 5  # warm-up, the first paragraph, at most two that had begun, the last request


def test_a_stream_that_stops_ends_with_a_sentence():
    with stepwise(timeout=0.5) as (engine, address):
        engine.permissions.release()
        first, paragraph, last = lines(address, LONG)
        assert (first, paragraph["paragraph"]) == ({"paragraphs": 50}, 0)
        assert last == {"error": "this took longer than 0.5 seconds; send a shorter text."}


def test_errors_before_the_first_paragraph_have_their_status():
    with served(scripted(), max_characters=5) as address:
        answer = httpx.post(f"{address}/v1/correct/stream", json={"text": "I has it."}, timeout=60)
        assert (answer.status_code, list(answer.json())) == (413, ["detail"])


def test_a_defect_in_the_middle_is_a_line(caplog):
    class Broken(Scripted):
        def generate(self, sources, settings):
            if any("secret" in text for text in self.decode(sources)):
                raise ValueError(f"can't read {self.decode(sources)}")
            return super().generate(sources, settings)

    with served(scripted(Broken())) as address:
        _, first, last = lines(address, "I has it.\n\nA secret.\n\nI has it.")
    assert first["result"]["text"] == "I have it.\n\n"
    assert last == {"error": "something went wrong here; the server's log has the details."}


SHORT = "I has it.\n\n" * 5


def test_a_time_out_gives_what_is_done(monkeypatch):
    monkeypatch.setattr(service, "BATCH_CHARACTERS", 20)  # two paragraphs
    with stepwise(timeout=2) as (engine, address):
        engine.permissions.release()  # one batch
        answer = httpx.post(f"{address}/v1/correct", json={"text": SHORT}, timeout=60).json()
        done = answer["corrected_until"]
        assert answer["complete"] is False
        assert 20 <= done <= 22  # the blank line after the second paragraph may be in the next batch
        assert answer["text"] == SHORT[:done].replace("has", "have") + SHORT[done:]
        assert [sentence["end"] for sentence in answer["sentences"]] == [9, 20]


def test_languagetool_clients_are_told_that_results_are_incomplete(monkeypatch):
    monkeypatch.setattr(service, "BATCH_CHARACTERS", 20)
    with stepwise(timeout=2) as (engine, address):
        engine.permissions.release()
        answer = httpx.post(f"{address}/v2/check", data={"language": "en", "text": SHORT}, timeout=60).json()
        assert answer["warnings"] == {"incompleteResults": True}
        assert len(answer["matches"]) == 2


def test_a_complete_answer_says_nothing_of_it(address):
    answer = httpx.post(f"{address}/v1/correct", json={"text": "I has it."}, timeout=60).json()
    assert not {"complete", "corrected_until"} & set(answer)


def edits(answer):
    return [edit["original"] for sentence in answer["sentences"] for edit in sentence["edits"]]


def test_the_cutoff_and_candidates_are_chosen_per_request(address):
    def correct(**options):
        return httpx.post(f"{address}/v1/correct", json={"text": "I has a dog.", **options}, timeout=60).json()

    assert edits(correct()) == ["has"]
    assert edits(correct(cutoff=0.3)) == ["has", "dog"]  # its confidence is 0.38
    assert edits(correct(cutoff=1)) == []
    assert "size:7" in correct(candidates=7)["signature"]
    assert edits(correct()) == ["has"]
    assert edits(lines(address, "I has a dog.", cutoff=0.3)[1]["result"]) == ["has", "dog"]


PROFILES = '{"eager": {"cutoff": 0.2, "candidates": 3}}'


def profiled(folder):
    """Return a corrector whose base model has a profile."""
    (folder / "profiles.json").write_text(PROFILES)
    return judged_corrector(model_name=str(folder))


def test_the_profile_is_chosen_per_request(tmp_path):
    request = {"text": "I has a dog.", "profile": "eager"}
    with served(profiled(tmp_path)) as address:
        answer = httpx.post(f"{address}/v1/correct", json=request, timeout=60).json()
    assert edits(answer) == ["has", "dog"]
    assert "size:3" in answer["signature"]
    assert answer["signature"].endswith("cutoff:0.2")


def test_only_profiles_that_are_offered_are_loaded(tmp_path, monkeypatch):
    def load(*_, **__):
        raise AssertionError("a request made the server load models")

    corrector = profiled(tmp_path)
    reranked = scripted()
    reranked.model_name = corrector.model_name
    monkeypatch.setattr(Corrector, "from_pretrained", load)
    for each, profiles in ((corrector, ["cautious"]), (reranked, ["eager", "paper"])):
        with served(each) as address:
            for profile in profiles:
                request = {"text": "I has it.", "profile": profile}
                answer = httpx.post(f"{address}/v1/correct", json=request, timeout=60)
                assert answer.status_code == 422
                assert "a request can't choose this profile" in answer.json()["detail"]


def test_other_requests_do_not_wait_while_models_are_loaded(tmp_path, monkeypatch):
    begun, free = threading.Event(), threading.Event()

    def load(model, *, profile, device):
        assert (model, profile, device) == (str(tmp_path), "paper", "cpu")
        begun.set()
        assert free.wait(60)
        return scripted()

    monkeypatch.setattr(Corrector, "from_pretrained", load)
    corrector = profiled(tmp_path)
    corrector.engine.device = "cpu"  # as `btr serve --device cpu`
    corrector.dictionary = Dictionary(frozenset({"dog"}))
    with served(corrector) as address, ThreadPoolExecutor(1) as pool:

        def correct(**options):
            answer = httpx.post(f"{address}/v1/correct", json={"text": "I has a dog.", **options}, timeout=60)
            return answer.json()["text"]

        paper = pool.submit(correct, profile="paper")
        try:
            assert begun.wait(60)
            assert correct() == correct(cutoff=0.5) == "I have a dog."
        finally:
            free.set()
        assert paper.result() == "I have a dog."  # the dictionary of the server holds for the other models, too


@pytest.mark.parametrize(("name", "dtype"), [("ctranslate2", "int8"), ("transformers", "float32")])
def test_engines_know_the_device_that_was_asked_for(tmp_path, name, dtype):
    model = str(tiny.save_t5(tmp_path))
    assert [load_engine(model, name, dtype=dtype, device=device).device for device in ("cpu", None)] == ["cpu", None]


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"cutoff": 1.5}, "cutoff: Input should be less than or equal to 1"),
        ({"candidates": 21}, "candidates: Input should be less than or equal to 20"),
        ({"candidates": 0}, "candidates: Input should be greater than or equal to 1"),
    ],
)
def test_bad_options_are_refused(address, options, why):
    for path in ("/v1/correct", "/v1/correct/stream"):
        answer = httpx.post(f"{address}{path}", json={"text": "I has it.", **options}, timeout=60)
        assert (answer.status_code, answer.json()["detail"]) == (422, f"{why}.")


def test_a_cutoff_needs_a_judge():
    with served(scripted()) as address:
        for path in ("/v1/correct", "/v1/correct/stream"):
            answer = httpx.post(f"{address}{path}", json={"text": "I has it.", "cutoff": 0.3}, timeout=60)
            assert answer.status_code == 422
            assert "a cut-off is for decisions edit by edit" in answer.json()["detail"]
