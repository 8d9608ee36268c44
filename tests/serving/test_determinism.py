"""The shipped model's answer to a sentence, whoever asks beside it."""

import json
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
import tiny
from served import as_offline, served

from btr.correction.blocks import cut_blocks
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
    return Corrector.load(reranker="mbr")


def alone_and_together(corrector, texts):
    alone = [next(corrector.choose([text])) for text in texts]
    return alone, list(corrector.choose(texts))


def test_a_sentence_is_corrected_the_same_in_any_company(corrector):
    alone, together = alone_and_together(corrector, SENTENCES)
    assert alone == together


def test_an_int8_reranker_scores_the_same_in_any_company(tmp_path):
    model = tiny.save_t5(tmp_path / "btr", bidirectional=True)
    for kind in ("btr", "contrast"):
        own = Corrector.load(reranker=f"{kind}:{model}", threshold=0.1, device="cpu")
        alone, together = alone_and_together(own, SENTENCES[:4])
        assert alone == together


def test_answers_over_http_are_the_offline_ones(corrector):
    offline = [next(corrector.correct_blocks(list(cut_blocks([text]))))["sentences"] for text in SENTENCES]
    with served(corrector, ("t5gec-small", "mbr")) as address, ThreadPoolExecutor(len(SENTENCES)) as pool:

        def ask(text):
            answer = httpx.post(f"{address}/v1/correct", json={"text": text}, timeout=120)
            return as_offline(answer.json()["sentences"])

        assert list(pool.map(ask, SENTENCES)) == json.loads(json.dumps(offline))
