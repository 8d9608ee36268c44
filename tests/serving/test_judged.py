"""A server whose corrector decides edit by edit gives each edit's confidence, and the edits that were not made."""

import json

import httpx
import pytest
import tiny
from judged import PLAIN, SURE, UNSURE, judged_corrector, make_judges
from served import served

from btr.corpus.candidates import Candidates
from btr.correction.given_candidates import score_candidates
from btr.correction.judging import EditJudge
from btr.correction.records import CorrectedSentence, EditSpan, Replacement
from btr.correction.variants import OfferedProfile
from btr.rerankers import load_reranker
from btr.serving.languagetool import (
    RuleFilter,
    find_language,
    find_picky_cutoff,
    read_text,
    with_picky_edits,
    write_answer,
)

TEXT = "I has a dog.\n\nHe is very nice. Die Hunde sind groß und sehr laut.\n\nThis is the cat.\n"


@pytest.fixture(scope="module")
def client():
    with served(judged_corrector()) as address, httpx.Client(base_url=address, timeout=60) as http:
        yield http


def correct(client, text):
    return client.post("/v1/correct", json={"text": text}).json()


def without_candidate_edits(answer):
    """Only the server gives the edits of each candidate."""
    for sentence in answer["sentences"]:
        for candidate in sentence.get("candidates", ()):
            del candidate["edits"]
    return answer


def test_answers_are_those_of_the_corrector(client):
    answer = correct(client, TEXT)
    offline = json.loads(json.dumps(judged_corrector().correct(TEXT).to_dict()))
    assert without_candidate_edits(answer) == offline
    assert answer["text"] == TEXT.replace("has", "have").replace("very", "very,").replace("the ", "")


def test_confidences_and_alternatives_by_hand(client):
    (sentence,) = correct(client, "I has a dog.")["sentences"]
    made = {"start": 2, "end": 5, "original": "has", "replacement": "have", "type": "R:VERB:SVA"}
    left = {"start": 8, "end": 11, "original": "dog", "replacement": "dogs", "type": "R:NOUN:NUM"}
    said = [(edit.pop("reason"), edit.pop("explanation")[:14]) for edit in sentence["edits"] + sentence["alternatives"]]
    assert said == [("subject–verb agreement", "The verb must "), ("singular or plural", "The number of ")]
    assert sentence["edits"] == [{**made, "confidence": pytest.approx(SURE)}]
    assert sentence["alternatives"] == [{**left, "confidence": pytest.approx(UNSURE)}]
    assert sentence["tokens"] == [[1, 2, "R:VERB:SVA", "have", pytest.approx(SURE)]]
    assert (sentence["index"], sentence["verdict"]) == (2, "accept")  # neither candidate: only one of the two edits
    assert [candidate["text"] for candidate in sentence["candidates"]] == [
        "I have a dogs .", "I has a dog .", "I have a dog .",
    ]  # fmt: skip
    originals = [[edit["original"] for edit in candidate["edits"]] for candidate in sentence["candidates"]]
    assert originals == [["has", "dog"], [], ["has"]]


def test_without_edits_there_are_no_alternatives(client):
    (sentence,) = correct(client, "All is well.")["sentences"]
    assert (sentence["edits"], sentence["alternatives"], sentence["verdict"]) == ([], [], "equal")


def test_the_models_are_described(client):
    described = client.get("/v1/models").json()
    assert (described["judge"], described["cutoff"]) == ("judge:by-hand|no-reranker", 0.5)
    assert described["signature"].endswith("|judge:by-hand|no-reranker|cutoff:0.5")


def test_scored_candidates_are_decided_edit_by_edit(client):
    """Without log-probabilities the scripted base model says -3 to all: the log-odds of an edit are 0 + 0.5."""
    row = {"source": "I has a dog .", "candidates": ["I have a dogs .", "I has a dog ."]}
    answer = client.post("/v1/score", json=row).json()
    assert (answer["text"], answer["verdict"], answer["index"]) == ("I have a dog .", "accept", 2)
    assert [each["score"] for each in answer["candidates"]] == [-3.0, -3.0, None]
    (offline,) = score_candidates(judged_corrector(), [Candidates(row["source"], tuple(row["candidates"]))])
    assert [each["probability"] for each in answer["candidates"]] == list(offline.decision.probabilities)
    assert answer["text"] == offline.decision.text


def check(client, text):
    return client.post("/v2/check", data={"language": "en-US", "text": text}).json()["matches"]


def test_messages_of_languagetool_have_the_confidence(client):
    (match,) = check(client, "I has a dog.")
    agreement = "Subject–verb agreement. The verb must agree with its subject: she has, they have."
    assert match["message"] == f"{agreement} Confidence: 82 %."
    assert match["replacements"] == [{"value": "have"}]
    assert match["rule"]["description"] == agreement  # the same for all of a rule
    (match,) = check(client, "This is the cat.")  # a deletion takes a word along
    assert match["message"].startswith("Unnecessary article or determiner. ")
    assert match["replacements"] == [{"value": "cat"}]


def test_a_picky_client_gets_edits_that_are_less_sure(client):
    form = {"language": "en-US", "text": "I has a dog.", "level": "picky"}
    matches = client.post("/v2/check", data=form).json()["matches"]
    assert [match["replacements"] for match in matches] == [[{"value": "have"}], [{"value": "dogs"}]]
    assert matches[1]["message"].endswith(" Confidence: 38 %.")


def test_the_cutoff_of_a_picky_client_is_that_of_the_profile_fluency():
    profiles = [OfferedProfile("minimal", 0.5), OfferedProfile("fluency", 0.3), OfferedProfile("paper", None)]
    assert (find_picky_cutoff(profiles), find_picky_cutoff([])) == (0.3, 0.2)
    sentence = CorrectedSentence(0, 3, "has", (), alternatives=(EditSpan(0, 3, "has", "have", "R:VERB:SVA", 0.25),))
    assert [len(with_picky_edits(sentence, cutoff).edits) for cutoff in (0.3, 0.2)] == [0, 1]


def test_a_match_has_the_runners_up():
    edit = EditSpan(2, 5, "has", "have", "R:VERB:SVA", 0.6, others=(Replacement("had", 0.3),))
    sentence = CorrectedSentence(0, 9, "I has it.", (edit,))
    answer = write_answer(read_text("I has it.", None), find_language("en"), [sentence], RuleFilter())
    assert answer["matches"][0]["replacements"] == [{"value": "have"}, {"value": "had"}]


def test_a_match_of_several_edits_is_as_sure_as_the_least_sure():
    """Two insertions around one word are one match."""
    text = "I saw dog"
    edits = EditSpan(6, 6, "", "a ", "M:DET", 0.9), EditSpan(9, 9, "", ".", "M:PUNCT", 0.416)
    answer = write_answer(
        read_text(text, None), find_language("en"), [CorrectedSentence(0, 9, text, edits)], RuleFilter()
    )  # fmt: skip
    (match,) = answer["matches"]
    assert match["message"].endswith(" Confidence: 42 %.")


def test_with_a_language_model(tmp_path):
    """In a server's thread the judge asks the language model as it does elsewhere."""
    judges = make_judges({**PLAIN, "lm": 0.1}, PLAIN, rerankers=["lm:tiny"], intercept=-1.5)
    reranker = load_reranker(f"lm:{tiny.save_language_model(tmp_path)}", int8=True)
    corrector, without = (
        judged_corrector(judge=EditJudge(judges, each, threads=2), cutoff=0.4) for each in ([reranker], [])
    )
    assert [edit.confidence for edit in corrector.correct(TEXT).edits] != [
        edit.confidence for edit in without.correct(TEXT).edits
    ]
    with served(corrector) as address, httpx.Client(base_url=address, timeout=60) as http:
        answer = correct(http, TEXT)
    assert without_candidate_edits(answer) == json.loads(json.dumps(corrector.correct(TEXT).to_dict()))
