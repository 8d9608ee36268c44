"""What is said of an edit: its type in words, what that means, and the runners-up."""

import pytest
from judged import PLAIN, judged_corrector, make_judges
from scripted import Scripted

from btr.candidates.engine import Hypothesis
from btr.correction.judging import EditJudge
from btr.correction.reasons import NAMES, explanation_of, name_of
from btr.correction.records import CorrectedSentence

ERRANT_TYPES = (  # of Bryant et al. (2017), table 2
    "ADJ ADJ:FORM ADV CONJ CONTR DET MORPH NOUN NOUN:INFL NOUN:NUM NOUN:POSS ORTH OTHER PART PREP PRON PUNCT SPELL "
    "VERB VERB:FORM VERB:INFL VERB:SVA VERB:TENSE WO"
)


def test_every_type_has_a_name_and_an_explanation_of_its_own():
    assert set(NAMES) == set(ERRANT_TYPES.split())
    assert len({name for name, _ in NAMES.values()}) == len(NAMES)
    assert all(explanation.endswith(".") for _, explanation in NAMES.values())


@pytest.mark.parametrize(
    ("types", "name"),
    [
        ("R:VERB:SVA", "subject–verb agreement"),
        ("M:PUNCT", "missing punctuation"),
        ("U:DET", "unnecessary article or determiner"),
        ("R:SPELL+R:NOUN:NUM", "spelling and singular or plural"),
        ("R:SPELL+R:SPELL", "spelling"),
        ("R:UNHEARD", "wording"),
        ("UNK", "wording"),
        ("U:VERB:TENSE", "unnecessary part of the verb"),
        ("M:VERB:FORM", "missing part of the verb"),
        ("R:VERB:TENSE", "tense of the verb"),
    ],
)
def test_names(types, name):
    assert name_of(types) == name


def test_explanations_are_joined():
    assert explanation_of("R:SPELL+M:SPELL") == "The word is spelt in another way."
    assert explanation_of("R:SPELL+R:WO") == "The word is spelt in another way. These words stand in another order."


class Two(Scripted):
    """Writes two corrections and the source."""

    def generate(self, sources, settings):
        texts = [[text.replace("has", "have"), text.replace("has", "had"), text] for text in self.decode(sources)]
        return [[Hypothesis(*self.encode([text]), -1.0 - k) for k, text in enumerate(each)] for each in texts]


def test_runners_up_are_those_for_the_same_place():
    corrector = judged_corrector(Two(), EditJudge(make_judges(PLAIN)))
    (sentence,) = corrector.correct("I  has it.").sentences
    (edit,) = sentence.edits
    assert (edit.original, edit.replacement, edit.reason) == ("has", "have", "subject–verb agreement")
    (other,) = edit.others
    assert other.text == "had"
    assert other.confidence < edit.confidence
    assert CorrectedSentence.from_dict(sentence.to_dict()) == sentence
    assert sentence.to_dict()["edits"][0]["others"] == [{"text": "had", "confidence": other.confidence}]


@pytest.mark.parametrize(
    ("text", "written", "reason"),
    [
        ("As children likes it, I go.", {"likes": "like"}, "subject–verb agreement"),
        ("Some childrens are here.", {"childrens": "children"}, "plural form"),
        ("I recieve it.", {"recieve": "receive"}, "spelling"),
        ("The 21th century is here.", {"21th": "21st"}, "spelling"),
    ],
)
def test_forms_of_one_lemma_are_no_misspellings_and_ordinals_are(text, written, reason):
    (edit,) = judged_corrector(Scripted(written), cutoff=0.1).correct(text).edits
    assert edit.reason == reason
