"""A sentence is corrected the same, whatever is corrected beside it."""

import json
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
import tiny
from served import as_offline, served

from btr.correction.corrector import Corrector

SENTENCES = [
    "She have two dog.",
    "I look forward to see you.",
    "He don't likes the music which they plays on sundays in the city where he born.",
    "They was happy.",
    "Yesterday I have visited a museum which is near from my house.",
]


@pytest.fixture(scope="module")
def corrector():
    return Corrector.from_pretrained(reranker="mbr")


def alone_and_together(corrector, texts):
    return [corrector.correct(text) for text in texts], corrector.correct_many(texts)


def test_a_sentence_is_corrected_the_same_in_every_batch(corrector):
    alone, together = alone_and_together(corrector, SENTENCES)
    assert alone == together


@pytest.mark.parametrize("kind", ["btr", "contrast"])
def test_an_int8_reranker_scores_the_same_in_every_batch(tmp_path, kind):
    model = tiny.save_t5(tmp_path / "btr", bidirectional=True)
    reranked = Corrector.from_pretrained(reranker=f"{kind}:{model}", threshold=0.1, device="cpu")
    alone, together = alone_and_together(reranked, SENTENCES[:4])
    assert alone == together


def test_answers_over_http_equal_those_of_btr_correct(corrector):
    offline = [corrector.correct(text).to_dict()["sentences"] for text in SENTENCES]
    with served(corrector) as address, ThreadPoolExecutor(len(SENTENCES)) as pool:

        def request(text):
            answer = httpx.post(f"{address}/v1/correct", json={"text": text}, timeout=120)
            return as_offline(answer.json()["sentences"])

        assert list(pool.map(request, SENTENCES)) == json.loads(json.dumps(offline))
