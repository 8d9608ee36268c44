"""The HTTP API."""

import io
import json
import logging
import re
import socket

import httpx
import pytest
from scripted import Opposed, Scripted
from served import as_offline, scripted, served

from btr import rerank, score
from btr.candidates.decoding import DecodingSettings
from btr.correction.changes import Change, apply_changes
from btr.correction.corrector import Corrector
from btr.errors import InputError
from btr.rerankers import load_reranker
from btr.rerankers.base import Ensemble
from btr.serving import log

TEXT = (
    "# My  dog\r\n\r\nI has\ta **dog** 😀, and  the\u00a0cat.\n\n```\nI has\n```\n"
    "He go. Die Hunde sind groß und sehr laut.\n"
)


@pytest.fixture(scope="module")
def client():
    with served(scripted()) as address, httpx.Client(base_url=address, timeout=60) as http:
        yield http


def correct(client, text, **options):
    return client.post("/v1/correct", json={"text": text, **options})


def test_answers_equal_those_of_btr_correct(client):
    offline = scripted().correct(TEXT).to_dict()
    answer = correct(client, TEXT).json()
    assert answer["text"] == TEXT.replace("dog", "dogs").replace("has\t", "have\t").replace("the\u00a0", "").replace(
        "He go", "He went away"
    )
    assert {**answer, "sentences": as_offline(answer["sentences"])} == json.loads(json.dumps(offline))
    assert answer["sentences"][-1]["skipped"] == "not_english"


def test_every_candidate_has_its_edits(client):
    text = "Hi 😀! I has it."
    (_, sentence) = correct(client, text).json()["sentences"]
    texts = [
        apply_changes(text, [Change(edit["start"], edit["end"], edit["replacement"]) for edit in candidate["edits"]])
        for candidate in sentence["candidates"]
    ]
    assert texts == ["Hi 😀! I have it.", text]
    assert (sentence["index"], sentence["suggestion"], sentence["verdict"]) == (0, 1, "reject")
    assert sentence["margin"] == pytest.approx(0.964028, abs=1e-6)


def test_markdown_is_an_option(client):
    text = "A.\n\n    I has code\n"
    assert correct(client, text).json()["text"] != text
    assert correct(client, text, markdown=True).json()["text"] == text


@pytest.mark.parametrize("text", ["", " \n\n", "```\nI has\n```\n", "😀"])
def test_texts_without_sentences_stay_as_they_are(client, text):
    assert correct(client, text).json()["text"] == text


def test_score(client):
    answer = client.post("/v1/score", json={"source": "I has it .", "candidates": ["I have it .", "I has it ."]}).json()
    assert [candidate["score"] for candidate in answer["candidates"]] == [-4.0, 0.0]
    assert [candidate["probability"] for candidate in answer["candidates"]] == pytest.approx(
        [0.017986, 0.982014], abs=1e-6
    )
    assert (answer["suggestion"], answer["index"], answer["verdict"]) == (1, 0, "reject")
    assert answer["text"] == "I have it ."


def test_without_a_reranker_the_base_model_scores_and_chooses():
    with served(Corrector(Scripted(), DecodingSettings(size=2))) as address:
        models = httpx.get(f"{address}/v1/models").json()
        pair = {"source": "I has it .", "candidates": ["I have it .", "so " * 300]}
        answer = httpx.post(f"{address}/v1/score", json=pair, timeout=60).json()
    assert models["reranker"] is None
    assert [candidate["score"] for candidate in answer["candidates"]] == [-3.0, None]
    assert (answer["index"], answer["verdict"]) == (0, "equal")


def test_the_base_model_computes_log_probabilities_that_the_reranker_needs():
    corrector = scripted(reranker=Ensemble([Opposed(), load_reranker("base")]))
    with served(corrector) as address:
        pair = {"source": "I has it .", "candidates": ["I have it .", "I has it ."]}
        answer = httpx.post(f"{address}/v1/score", json=pair, timeout=60).json()
        assert [candidate["score"] for candidate in answer["candidates"]] == [-4.0 - 3.0, 0.0 - 3.0]
        pair["candidates"][1] = "so " * 300  # longer than the base model reads
        answer = httpx.post(f"{address}/v1/score", json=pair, timeout=60).json()
        assert answer["candidates"][1]["score"] is None
        assert (answer["index"], answer["verdict"]) == (0, "equal")


def test_scores_equal_those_of_btr_score_and_btr_rerank(tmp_path):
    """With log-probabilities, scores, probabilities and decision are those of the verbs with the same settings."""
    texts = "It had it .", "I have it .", "I have it !", "I has it .", "We had them then .", "I have it .", "so " * 50
    rows = [
        {"source": "I has it .", "candidates": texts, "log_probs": [-1.0, -1.5, -2.0, -2.5, -9.0, -3.0, -3.5]},
        {"source": "She go .", "candidates": ["She go .", "She goes ."], "log_probs": [-1.0, -1.01]},
    ]
    path, scores = tmp_path / "candidates.jsonl", tmp_path / "scores.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    eligible = {"top": 6, "gap": 4.0, "drop_runaways": True}
    names, settings = ["mbr", "base"], {**eligible, "threshold": 0.05, "weights": {"mbr": 3.0}}
    score(path, names, scores, **eligible)
    decisions = rerank(scores, **settings).decisions
    scored = [json.loads(line) for line in scores.read_text().splitlines()[1:]]
    corrector = scripted(reranker=load_reranker(names), **settings)
    with served(corrector) as address:
        answers = [httpx.post(f"{address}/v1/score", json=row, timeout=60).json() for row in rows]
    for answer, decision, record, row in zip(answers, decisions, scored, rows):
        by_text = dict(zip(record["candidates"], zip(*record["scores"])))
        assert [candidate["text"] for candidate in answer["candidates"]] == list(row["candidates"])
        for candidate in answer["candidates"]:
            mbr, base = by_text.get(candidate["text"], (None, None))
            assert candidate["score"] == (None if mbr is None else 3.0 * mbr + base)
        probabilities = dict(zip(record["candidates"], decision.probabilities))
        assert [candidate["probability"] for candidate in answer["candidates"]] == pytest.approx(
            [probabilities.get(text, 0.0) for text in row["candidates"]], abs=1e-6
        )
        assert (answer["text"], answer["verdict"]) == (decision.text, decision.verdict)
        assert answer["margin"] == pytest.approx(decision.margin, abs=1e-6)
    assert [answer["verdict"] for answer in answers] == ["accept", "equal"]


@pytest.mark.parametrize(
    ("log_probs", "why"),
    [
        ([-1.0], "there are 2 candidates, but 1 log_probs"),
        ([-1.0, "a"], "log_probs.1: Input should be a valid number"),
        ([-1.0, float("nan")], "log_probs.1: Input should be a finite number"),
    ],
)
def test_log_probs_are_checked(client, log_probs, why):
    request = {"source": "I has it .", "candidates": ["I have it .", "I has it ."], "log_probs": log_probs}
    answer = client.post("/v1/score", content=json.dumps(request), headers={"Content-Type": "application/json"})
    assert answer.status_code == 422
    assert answer.json()["detail"] == f"{why}."


class Recording(Opposed):
    """Records the candidates that it scores."""

    def __init__(self):
        super().__init__()
        self.scored = []

    def scores(self, rows):
        self.scored += [row.texts for row in rows]
        return super().scores(rows)


def test_candidates_that_are_too_long_are_not_scored():
    recording = Recording()
    with served(scripted(reranker=Ensemble([recording, load_reranker("base")]))) as address:
        recording.scored.clear()
        texts = ["I have it .", "so " * 300, "I has it .", "I have it ."]
        for source in ("I has it .", "so " * 300):
            answer = httpx.post(f"{address}/v1/score", json={"source": source, "candidates": texts}, timeout=60).json()
            assert [candidate["text"] for candidate in answer["candidates"]] == texts
            has_score = [candidate["score"] is not None for candidate in answer["candidates"]]
            assert has_score == ([True, False, True, True] if source == "I has it ." else [False] * 4)
    assert recording.scored == [("I have it .", "I has it .", "I have it .")]


@pytest.mark.parametrize("log_probs", [{}, {"log_probs": [-1.0, -2.0, -3.0, -4.0]}])
def test_candidates_that_cost_too_much_are_refused(log_probs):
    recording = Recording()
    with served(scripted(reranker=recording)) as address:
        recording.scored.clear()

        def score(texts):
            request = {"source": "so " * 66, "candidates": texts, **log_probs}
            return httpx.post(f"{address}/v1/score", json=request, timeout=60)

        answer = score(["so " * 66 + str(k % 10) for k in range(4)])  # 200 characters each, and as many tokens
        assert answer.status_code == 413
        why = "the candidates' lengths in tokens, squared, add up to 160,000; this server accepts 100,000 at a time"
        assert why in answer.json()["detail"]
        assert recording.scored == []
        assert score(["so " * 66 + "1"] * 4).status_code == 200  # equal candidates cost as much as one


class Choosy(Opposed):
    """A reranker that refuses some candidates."""

    def scores(self, rows):
        if any("has" in row.source for row in rows):
            raise InputError("it is too much.")
        return super().scores(rows)


def test_errors_of_the_reranker_are_answered():
    with served(scripted(reranker=Choosy())) as address:
        pair = {"source": "I has it .", "candidates": ["I have it .", "I has it ."]}
        answer = httpx.post(f"{address}/v1/score", json=pair, timeout=60)
        assert answer.status_code == 422
        assert "it is too much" in answer.json()["detail"]


@pytest.mark.parametrize("difference", [40.0, 4000.0])
def test_candidates_compete_though_their_probability_is_almost_zero(difference):
    with served(scripted(reranker=Opposed(difference))) as address:
        pair = {"source": "I has it .", "candidates": ["I have it .", "I has it .", " "]}
        scored = httpx.post(f"{address}/v1/score", json=pair, timeout=60).json()
        (sentence,) = httpx.post(f"{address}/v1/correct", json={"text": "I has it."}, timeout=60).json()["sentences"]
    for candidates, competes in ((scored["candidates"], [True, True, False]), (sentence["candidates"], [True, True])):
        assert [candidate["competes"] for candidate in candidates] == competes
        assert [candidate["probability"] for candidate in candidates] == pytest.approx([0.0, 1.0, 0.0][: len(competes)])


def test_models_health_and_metrics(client):
    assert client.get("/health").json() == {"status": "ok"}
    assert client.get("/v1/models").json() == {
        "model": "scripted", "reranker": "opposed", "candidates": 2, "threshold": 0.99, "at_least": False,
        "judge": None, "cutoff": None, "profiles": [], "profile": None, "max_characters": 50_000,
        "signature": "scripted|beam|size:2|max-length:200|opposed|threshold:0.99|drop-runaways",
    }  # fmt: skip
    before = client.get("/metrics").text
    correct(client, "I has it.")
    after = client.get("/metrics").text
    counts = [
        [float(re.search(rf"^{name} (\S+)$", text, re.MULTILINE)[1]) for text in (before, after)]
        for name in ("btr_sentences_total", "btr_edits_total", "btr_batch_items_count")
    ]
    assert [late - early for early, late in counts] == [1, 1, 1]
    assert "btr_requests_open 0.0" in after


@pytest.mark.parametrize(
    ("body", "status", "why"),
    [
        ('{"text": "a"', 422, "the body is not JSON"),
        ("[]", 422, "the body must be a JSON object"),
        ("{}", 422, "text: Field required"),
        ('{"text": 3}', 422, "text: Input should be a valid string"),
        ('{"text": "a", "txet": "b"}', 422, "txet: Extra inputs are not permitted"),
        ('{"text": "\\ud800"}', 422, "no unpaired surrogates"),
        ('{"text": "\\u0000"}', 422, "no zero bytes"),
        (json.dumps({"text": "a" * 50_001}), 413, "50,001 characters; this server accepts 50,000"),
        (b'{"text": "\xff"}', 400, "the body is not UTF-8"),
    ],
)
def test_errors_are_one_sentence(client, body, status, why):
    answer = client.post("/v1/correct", content=body, headers={"Content-Type": "application/json"})
    assert (answer.status_code, list(answer.json())) == (status, ["detail"])
    assert why in answer.json()["detail"]


def test_unknown_paths_and_methods(client):
    assert (client.get("/nothing").status_code, client.get("/v1/correct").status_code) == (404, 405)


def test_security_headers(client):
    for path in ("/", "/docs", "/v1/models", "/nothing"):
        headers = client.get(path).headers
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert "access-control-allow-origin" not in headers
        assert "server" not in headers


def test_pages_load_nothing_from_other_sites(client):
    for path in ("/", "/docs", "/page.css", "/page.js", "/docs.js"):
        text = client.get(path).text
        assert not re.search(r"https?:|[\"'(]//", text)
        assert "innerHTML" not in text
        assert not re.search(r"<script>|<style|style=|\son\w+=", text)


def test_the_api_is_described(client):
    description = client.get("/openapi.json").json()
    own = {"/v1/correct", "/v1/correct/stream", "/v1/score", "/v1/models", "/health"}
    documents = {"/v1/document", "/v1/document/text", "/v1/document/save"}
    names = "check", "languages", "healthcheck", "info", "maxtextlength", "words", "words/add", "words/delete"
    assert own | documents | {f"/v2/{name}" for name in names} == set(description["paths"])


def test_other_web_sites_are_refused_unless_allowed():
    request = {"json": {"text": "I has it."}, "timeout": 60}
    with served(scripted(), origins=("https://my.org",)) as address:
        for origin in ("https://my.org", address, "https://evil.org", "null", "http://["):
            answer = httpx.post(f"{address}/v1/correct", headers={"Origin": origin}, **request)
            assert answer.status_code == (200 if origin in ("https://my.org", address) else 403)
            allowed = answer.headers.get("access-control-allow-origin")
            assert allowed == ("https://my.org" if origin == "https://my.org" else None)
        for host, status in (("localhost:1", 200), ("[::1]:1", 200), ("my.org", 200), ("evil.org", 403), ("[", 403)):
            assert httpx.post(f"{address}/v1/correct", headers={"Host": host}, **request).status_code == status


@pytest.mark.parametrize("token", [None, "sesame"])
def test_without_a_token_host_names_that_a_web_site_could_have_are_refused(token, monkeypatch):
    monkeypatch.setattr(socket, "gethostname", lambda: "box.my.org")
    local = "192.168.1.5:81", "[fe80::1]:81", "localhost:81", "box:81", "Box.local:81", "box.my.org", "btr.my.org:81"
    with served(scripted(), is_loopback=False, token=token, origins=("http://btr.my.org:81",)) as address:
        for host in (*local, "evil.org:81", "evil.org", "btr.my.org.evil.org:81"):
            headers = {"Host": host, "Origin": f"http://{host}", "Authorization": f"Bearer {token}"}
            answer = httpx.post(f"{address}/v1/correct", headers=headers, json={"text": "I has it."}, timeout=60)
            assert (host, answer.status_code) == (host, 200 if token or host in local else 403)
    why = "this server answers to its address or this machine's name only; see --allow-origin."
    assert answer.json().get("detail") == (None if token else why)


def test_all_origins_can_be_allowed():
    with served(scripted(), origins=("*",)) as address:
        headers = {"Host": "evil.org", "Origin": "https://good.org"}
        answer = httpx.post(f"{address}/v1/correct", headers=headers, json={"text": "I has it."}, timeout=60)
        assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (200, "*")


def test_a_token_is_required():
    with served(scripted(), token="sesame") as address, httpx.Client(base_url=address, timeout=60) as client:
        token = {"Authorization": "Bearer sesame"}
        for path in ("/", "/health", "/docs", "/page.js", "/v2/languages"):
            assert client.get(path).status_code == 200
        for path in ("/v1/models", "/metrics"):
            assert client.get(path).status_code == 401
            wrong = client.get(path, headers={"Authorization": "Bearer wrong"})
            assert (wrong.status_code, wrong.json()["detail"]) == (401, "this token is not the server's.")
            assert client.get(path, headers=token).status_code == 200
        assert correct(client, "I has it.").status_code == 401
        form = {"language": "en", "text": "I has it.", "username": "me"}
        assert client.post("/v2/check", data=form).status_code == 401
        assert client.post("/v2/check", data={**form, "apiKey": "sesame"}).status_code == 200
        assert client.post("/v2/check", data=form, headers=token).status_code == 200
        assert client.post(f"{address}//v2/check", data=form).status_code == 401
        assert client.post(f"{address}//v1/models").status_code == 401
        assert client.post(f"{address}//v2/check", data=form, headers=token).status_code == 200


def test_messages_of_asyncio_are_in_the_log(monkeypatch, capsys):
    for name in (log.logger.name, "uvicorn", "asyncio"):
        monkeypatch.setattr(logging.getLogger(name), "handlers", [])
        monkeypatch.setattr(logging.getLogger(name), "propagate", True)
    log.configure()
    logging.getLogger("asyncio").error("Task exception was never retrieved\nfuture: ValueError('a secret')")
    line = json.loads(capsys.readouterr().err)
    assert (line["level"], line["event"]) == ("error", "Task exception was never retrieved")


def test_the_log_has_no_word_of_a_text(monkeypatch):
    class Broken(Scripted):
        def generate(self, sources, settings):
            if any("secret" in text for text in self.decode(sources)):
                raise ValueError(f"can't read {self.decode(sources)}")
            return super().generate(sources, settings)

    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(log.JsonFormatter())
    monkeypatch.setattr(log.logger, "handlers", [handler])
    monkeypatch.setattr(log.logger, "propagate", False)
    log.logger.setLevel(logging.INFO)
    with served(scripted(Broken())) as address, httpx.Client(base_url=address, timeout=60) as client:
        assert correct(client, "I has a secret.").status_code == 500
        assert correct(client, "I has a treasure.").status_code == 200
        assert client.get("/I/has/treasure?secret=1").status_code == 404
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert [line["event"] for line in lines] == ["failure", "request", "request", "request"]
    assert (lines[0]["error"], lines[0]["where"].partition(":")[0]) == ("ValueError", "test_api.py")
    assert [line["status"] for line in lines[1:]] == [500, 200, 404]
    assert (lines[2]["characters"], lines[2]["sentences"], lines[2]["edits"]) == (17, 1, 1)
    assert not re.search("secret|treasure", stream.getvalue())
