"""Corrections that a judge decides edit by edit: the forms in which they are shown, and unusual input."""

import io
import json
import math
import random

import pytest
import tiny
from judged import PLAIN, RANKS, SURE, UNSURE, judged_corrector, make_judges, write_judge
from scripted import Scripted
from typer.testing import CliRunner

import btr.correction.correct as correct_module
from btr.cli import app
from btr.corpus import read_lines, read_m2, write_lines
from btr.corpus.candidates import Candidates
from btr.correction.correct import correct_file
from btr.correction.corrector import Corrector
from btr.correction.judging import EditJudge
from btr.correction.render import Renderer
from btr.decisions import Settings
from btr.errors import InputError
from btr.metrics.gold import load_gold

TEXT = "I has a dog. All is well.\n\nThis is  the cat.\n"


@pytest.fixture
def text(tmp_path):
    (tmp_path / "text").write_text(TEXT)
    return tmp_path / "text"


@pytest.fixture
def correct(monkeypatch, text):
    """`btr correct` with the scripted base model and its judge; returns what it prints on standard output."""

    class Loaded:
        @staticmethod
        def from_pretrained(*_, cutoff, **__):
            return judged_corrector(cutoff=0.5 if cutoff is None else cutoff, note="A line.")

    def run(*options):
        monkeypatch.setattr(correct_module, "import_corrector", lambda: Loaded)
        done = CliRunner().invoke(app, ["correct", str(text), *map(str, options)], catch_exceptions=False)
        assert done.exit_code == 0
        assert done.stderr.splitlines()[0] == "A line."
        return done.stdout

    return run


def test_text(correct):
    assert correct() == "I have a dog. All is well.\n\nThis is  cat.\n"
    assert correct("--cutoff", 0.3) == "I have a dogs. All is well.\n\nThis is  cat.\n"
    assert correct("--cutoff", 0.9) == TEXT


def test_diff_has_the_confidence_in_brackets(correct):
    assert correct("--diff") == (
        "I [-has-]{+have+}(subject–verb agreement, 82 %) a dog. All is well.\n\n"
        "This is  [-the -](unnecessary article or determiner, 82 %)cat.\n"
    )


def test_alternatives(correct):
    """A sentence without edits is not shown; one that no edit was made of is."""
    assert correct("--alternatives") == (
        "I has a dog.\n  → 0.82  subject–verb agreement: has → have\n    0.38  singular or plural: dog → dogs\n\n"
        "This is the cat.\n  → 0.82  unnecessary article or determiner: delete the\n\n"
    )
    assert correct("--alternatives", "--cutoff", 0.9) == (
        "I has a dog.\n    0.82  subject–verb agreement: has → have\n    0.38  singular or plural: dog → dogs\n\n"
        "This is the cat.\n    0.82  unnecessary article or determiner: delete the\n\n"
    )


def test_json(correct):
    first, second, third = map(json.loads, correct("--json").splitlines())
    assert [(edit["replacement"], edit["confidence"]) for edit in first["edits"]] == [("have", pytest.approx(SURE))]
    assert [(edit["replacement"], edit["confidence"]) for edit in first["alternatives"]] == [
        ("dogs", pytest.approx(UNSURE))
    ]
    assert first["tokens"] == [[1, 2, "R:VERB:SVA", "have", pytest.approx(SURE)]]
    assert (first["verdict"], second["verdict"], third["verdict"]) == ("accept", "equal", "equal")
    assert (second["edits"], second["alternatives"], third["alternatives"]) == ([], [], [])


M2 = """\
S I has a dog .
A 1 2|||R:VERB:SVA|||have|||REQUIRED|||confidence=0.818|||0

S All is well .
A -1 -1|||noop|||-NONE-|||REQUIRED|||-NONE-|||0

S This is the cat .
A 2 3|||U:DET||||||REQUIRED|||confidence=0.818|||0

"""


def test_m2_has_the_confidence_where_scorers_ignore_it(correct, tmp_path):
    written = correct("--m2")
    assert written.replace("|||-NONE-|||REQUIRED|||confi", "||||||REQUIRED|||confi") == M2
    (tmp_path / "judged.m2").write_text(written)
    (tmp_path / "plain.m2").write_text(written.replace("confidence=0.818", "-NONE-"))
    judged, plain = list(read_m2(tmp_path / "judged.m2")), list(read_m2(tmp_path / "plain.m2"))
    assert [sentence.corrected() for sentence in judged] == ["I have a dog .", "All is well .", "This is cat ."]
    assert [sentence.corrected() for sentence in judged] == [sentence.corrected() for sentence in plain]
    hypotheses = ["I have a dogs .", "All is well .", "This is the cat ."]  # one of two edits is right, one is missed
    for metric in ("errant", "m2"):
        scores = [
            load_gold(metric, gold=tmp_path / name).metric.score(hypotheses) for name in ("judged.m2", "plain.m2")
        ]
        assert scores[0].counts == scores[1].counts == {"correct": 1, "proposed": 2, "gold": 2}


def test_edits_that_touch_are_as_sure_as_the_least_sure_of_them(tmp_path):
    """In M2 each has its own confidence."""
    (tmp_path / "text").write_text("I has dog.\n")
    shown = {}
    for form in ("diff", "m2"):
        correct_file(tmp_path / "text", tmp_path / form, judged_corrector(cutoff=0.3), form=form)
        shown[form] = (tmp_path / form).read_text()
    assert shown["diff"] == "I [-has dog-]{+have dogs+}(subject–verb agreement and singular or plural, 38 %).\n"
    (sentence,) = read_m2(tmp_path / "m2")
    assert [edit.comment for edit in sentence.edits(0)] == ["confidence=0.818", "confidence=0.378"]


def test_in_a_terminal_the_confidence_is_quiet():
    from btr.correction.blocks import cut_blocks

    (block,) = judged_corrector().correct_blocks(list(cut_blocks(io.StringIO("I has it."), False)))
    assert "\033[2m(subject–verb agreement, 82 %)\033[0m" in Renderer("diff", colour=True).write(block)


def test_a_file_says_what_is_printed(correct, text, tmp_path):
    """It is made of records on the disk, which hold the confidences too."""
    for form in ("diff", "alternatives", "json", "m2"):
        correct_file(text, tmp_path / form, judged_corrector(), form=form)
        assert (tmp_path / form).read_text() == correct(f"--{form}")


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """A tiny base model and a tiny language model."""
    folder = tmp_path_factory.mktemp("models")
    return tiny.save_t5(folder / "base", seed=3), tiny.save_language_model(folder / "lm")


@pytest.fixture(scope="module")
def sources():
    luck = random.Random(5)
    return [*(" ".join(luck.choices(tiny.WORDS, k=luck.randint(1, 9))) for _ in range(24)), "", "a " * 200, "unknown"]


def with_language_model(folder, models, cutoff=0.4):
    base, model = models
    judge = write_judge(folder / "judge.json", {**PLAIN, "lm": 1.0}, PLAIN, rerankers=[f"lm:{model}"], intercept=-1.0)
    return Corrector.from_pretrained(base, judge=judge, cutoff=cutoff)


@pytest.mark.parametrize("size", [1, 2, 5])
def test_tokenised_sentences_are_corrected_the_same_in_any_batch(tmp_path, monkeypatch, models, sources, size):
    corrector = with_language_model(tmp_path, models)
    together = corrector.correct_sentences(sources)
    batches = [sources[start : start + size] for start in range(0, len(sources), size)]
    assert [text for batch in batches for text in corrector.correct_sentences(batch)] == together
    write_lines(tmp_path / "sources", sources)
    monkeypatch.setattr(correct_module, "WINDOW", size)
    counts = correct_file(tmp_path / "sources", tmp_path / "out", corrector, tokenized=True)
    assert list(read_lines(tmp_path / "out")) == together
    assert counts.changed == sum(text.split() != source.split() for text, source in zip(together, sources))
    assert counts.changed > 5


def test_a_text_is_judged_the_same_alone_and_beside_others(tmp_path, models, sources):
    """Also the confidences and the alternatives."""
    corrector = with_language_model(tmp_path, models)
    together = corrector.correct_many(sources)
    assert [corrector.correct(text) for text in sources] == together
    assert corrector.correct_many(sources[::-1])[::-1] == together
    assert sum(len(sentence.alternatives or ()) for each in together for sentence in each.sentences) > 5


def test_the_language_model_counts(tmp_path, models, sources):
    """Else the tests above would say nothing about it."""
    with_it = with_language_model(tmp_path, models)
    judge = write_judge(tmp_path / "plain.json", PLAIN, intercept=-1.0)
    without = Corrector.from_pretrained(models[0], judge=judge, cutoff=0.4)
    assert with_it.correct_sentences(sources) != without.correct_sentences(sources)


def test_where_the_language_model_is_absent_the_judge_without_it_decides(tmp_path, monkeypatch, models, sources):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    name = "lm:smollm2-135m"
    both = write_judge(tmp_path / "both.json", {**PLAIN, "lm": 9.0}, PLAIN, rerankers=[name])
    alone = write_judge(tmp_path / "alone.json", PLAIN)
    absent, expected = (Corrector.from_pretrained(models[0], judge=path, cutoff=0.6) for path in (both, alone))
    assert absent.note == (
        "smollm2-135m: is not on this machine yet; fetch it with 'btr fetch smollm2-135m'. "
        "Until then a judge without lm decides."
    )
    assert expected.note is None
    assert absent.correct_sentences(sources) == expected.correct_sentences(sources) != sources
    one, other = (corrector.correct("I has two dog. He go.") for corrector in (absent, expected))
    assert (one.text, one.sentences) == (other.text, other.sentences)
    assert "|no-reranker|" in absent.signature
    only = write_judge(tmp_path / "only.json", {**PLAIN, "lm": 9.0}, rerankers=[name])
    with pytest.raises(InputError, match=r"fetch it with 'btr fetch smollm2-135m'\.$"):
        Corrector.from_pretrained(models[0], judge=only)


def test_the_command_line_says_that_the_language_model_is_absent(tmp_path, monkeypatch, models):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    judge = write_judge(tmp_path / "judge.json", {**PLAIN, "lm": 9.0}, PLAIN, rerankers=["lm:smollm2-135m"])
    (tmp_path / "text").write_text("I has two dog.\n")
    command = ["correct", tmp_path / "text", "--model", models[0], "--judge", judge, "-o", tmp_path / "out"]
    done = CliRunner().invoke(app, [*map(str, command)], catch_exceptions=False)
    notes = [line for line in done.stderr.splitlines() if "btr fetch smollm2-135m" in line]
    assert (done.exit_code, len(notes)) == (0, 1)
    assert notes[0].endswith("Until then a judge without lm decides.")


def decide(*rows, judges=None, cutoff=0.5):
    judge = EditJudge(judges or make_judges(PLAIN, RANKS))
    return [(each.text, each.confidences) for each in judge.decide(rows, Settings(cutoff=cutoff))]


def test_candidates_without_log_probabilities_are_judged_by_their_ranks():
    """Rank 1 has the weight 1, rank 2 has 2 ** -1.5: the odds are 2 ** 1.5, times e ** 0.5 for the base candidate."""
    row = Candidates("He go .", ("He goes .", "He go ."))
    ((text, (confidence,)),) = decide(row)
    odds = 2**1.5 * math.e**0.5
    assert (text, confidence) == ("He goes .", pytest.approx(odds / (1 + odds)))
    with pytest.raises(InputError, match="no judge can do without log_ratio; fit one with 'btr tune --edits'"):
        decide(row, judges=make_judges(PLAIN))


def test_one_candidate_only():
    """No candidate is without its edits: the log-ratio is the bound, 3."""
    ((text, (confidence,)),) = decide(Candidates("He go .", ("He goes .",), (-7.0,)))
    assert (text, confidence) == ("He goes .", pytest.approx(1 / (1 + math.e**-3.5)))
    assert decide(Candidates("He go .", ("He go .",), (-7.0,)), Candidates("He go .", ("He go .",))) == [
        ("He go .", ()), ("He go .", ()),
    ]  # fmt: skip


def test_nothing_that_can_be_used_leaves_the_source():
    rows = [
        Candidates("", ("",)),
        Candidates("He go .", ("", " "), (-1.0, -2.0)),
        Candidates("He go .", ("He goes",), (-1.0,), {"unfinished": (0,)}),
    ]
    assert decide(*rows) == [("", ()), ("He go .", ()), ("He go .", ())]


class Counting(Scripted):
    """Counts the sources that it reads."""

    count = 0

    def generate(self, sources, settings):
        self.count += len(sources)
        return super().generate(sources, settings)


def test_another_language_and_texts_without_words_are_left_alone():
    engine = Counting({"Hunde": "Hund", "sind": "ist", "has": "have"})
    corrector = judged_corrector(engine)
    text = "Die Hunde sind groß und sehr laut."
    correction = corrector.correct(text)
    (sentence,) = correction.sentences
    assert (correction.text, sentence.skipped, sentence.edits, sentence.alternatives) == (text, "not_english", (), None)
    for blank in ("", " \n\n", "😀"):
        assert corrector.correct(blank).text == blank
    assert engine.count == 0
    assert corrector.correct("I has it.").text == "I have it."
    assert engine.count == 1


def test_tokenised_sentences_may_be_empty():
    assert judged_corrector().correct_sentences(["", "I has it .", ""]) == ["", "I have it .", ""]
    assert judged_corrector().correct_sentences([]) == []
