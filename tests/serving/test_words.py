"""The personal dictionary over HTTP: words of a request, and those of the server as LanguageTool clients change it."""

import httpx
import pytest
from judged import judged_corrector
from served import served

from btr.correction.dictionary import Dictionary, read_dictionary
from btr.correction.variants import OfferedProfile, offered_profiles

TEXT = "I has one dog ."


def corrected(address, path="/v1/correct", **fields):
    answer = httpx.post(f"{address}{path}", json={"text": TEXT, **fields}, timeout=60)
    return answer.json()["text"] if answer.status_code == 200 else (answer.status_code, answer.json()["detail"])


@pytest.fixture
def dictionary(tmp_path):
    return tmp_path / "btr" / "words.txt"


@pytest.fixture
def server(dictionary):
    with served(judged_corrector(dictionary=Dictionary(path=dictionary))) as address:
        yield address


def test_words_of_a_request_are_not_changed(server):
    assert corrected(server) == "I have one dog ."
    assert corrected(server, words=["has"]) == TEXT
    assert corrected(server) == "I have one dog ."
    status, message = corrected(server, words=["two words"])
    assert status == 422
    assert "'two words' is no word of a dictionary" in message


def test_words_of_the_server(server, dictionary):
    def words(path, method="POST", **data):
        return httpx.request(method, f"{server}/v2/words{path}", data=data, timeout=60)

    assert httpx.get(f"{server}/v2/words").json() == {"words": []}
    assert words("/add", word="has").json() == {"added": True}
    assert words("/add", word="has").json() == {"added": False}
    assert words("/add", word="Zoe").json() == {"added": True}
    assert read_dictionary(dictionary).words == {"has", "Zoe"}
    assert httpx.get(f"{server}/v2/words", params={"offset": 1}).json() == {"words": ["Zoe"]}
    assert corrected(server) == TEXT
    assert words("/delete", word="has").json() == {"deleted": True}
    assert corrected(server) == "I have one dog ."
    assert words("/add").status_code == 422
    assert words("/add", word="a b").status_code == 422


def test_strangers_neither_read_nor_change_the_dictionary(dictionary):
    corrector = judged_corrector(dictionary=Dictionary(frozenset({"Zoe"}), dictionary))
    with served(corrector, is_loopback=False) as address:
        assert httpx.post(f"{address}/v2/words/add", data={"word": "has"}).status_code == 403
        answer = httpx.get(f"{address}/v2/words")
        assert (answer.status_code, "Zoe" in answer.text) == (403, False)
    with served(corrector, token="secret", is_loopback=False) as address:
        assert httpx.get(f"{address}/v2/words").status_code == 401
        assert httpx.get(f"{address}/v2/words", params={"apiKey": "secret"}).json() == {"words": ["Zoe"]}
        assert httpx.post(f"{address}/v2/words/add", data={"word": "has"}).status_code == 401
        answer = httpx.post(f"{address}/v2/words/add", data={"word": "has", "apiKey": "secret"})
        assert answer.json() == {"added": True}


def test_without_a_file_no_word_is_added():
    with served(judged_corrector()) as address:
        assert httpx.post(f"{address}/v2/words/add", data={"word": "has"}).status_code == 404


def test_profiles_that_a_request_may_choose(tmp_path):
    (tmp_path / "profiles.json").write_text('{"cautious": {"cutoff": 0.9}, "minimal": {"cutoff": 0.5}}')
    corrector = judged_corrector(model_name=str(tmp_path))
    expected = [OfferedProfile("cautious", 0.9), OfferedProfile("minimal", 0.5), OfferedProfile("paper", None)]
    assert offered_profiles(corrector) == expected
    with served(corrector) as address:
        models = httpx.get(f"{address}/v1/models").json()
        assert [each["name"] for each in models["profiles"]] == ["cautious", "minimal", "paper"]
        assert models["profile"] == "minimal"
        assert corrected(address, profile="cautious") == TEXT  # the judge is 82 % sure
    assert offered_profiles(judged_corrector()) == []
