"""Corrections of whole texts, by an engine whose candidates are known."""

import io
import json
import math
import re

import pytest
import tiny
import torch
from btr.correction.profiles import read_profile
from btr.rerankers.ensemble import Ensemble
from btr.rerankers.free import Base
from hypothesis import given, settings
from hypothesis import strategies as st
from scripted import Opposed, Scripted

import btr
import btr.correction.correct as correct_module
from btr.candidates.decoding import DecodingSettings
from btr.candidates.engine import Hypothesis
from btr.corpus.candidates import Candidates
from btr.corpus.m2 import read_m2
from btr.correction.blocks import cut_blocks
from btr.correction.correct import chunks, correct_file, correct_with
from btr.correction.corrector import Corrector
from btr.correction.language import is_english, words_for_language_detection
from btr.correction.render import FORMS, Renderer, write_m2, write_text
from btr.correction.segments import cut_segments
from btr.errors import InputError, Interrupted
from btr.rerankers.base import Rule
from btr.rerankers.score import load_reranker


def run(text, script=None, reranker=None, rule=None, markdown=False):
    corrector = Corrector(Scripted(script), DecodingSettings(size=2), reranker, rule)
    blocks = cut_blocks(io.StringIO(text, newline="\n"), markdown)
    return [record for chunk in chunks(blocks) for record in corrector.correct_blocks(chunk)]


def corrected(text, **options):
    return "".join(map(write_text, run(text, **options)))


MARKS = [*"|-> ", "\ufeff", "---\n", "...\n", "+++\n", "a: b\n", "```\n", "<pre>", "</pre>", "<code>", "===\n", "I "]


@settings(deadline=None)
@given(st.text() | st.lists(st.sampled_from(MARKS), max_size=14).map("".join), st.booleans())
def test_without_proposals_nothing_changes(text, markdown):
    assert corrected(text, script={}, markdown=markdown) == text


PIECES = [
    "I ",
    "has ",
    "the ",
    "go",
    "dog",
    ".",
    "!\n",
    "\n\n",
    " 😀 ",
    "`go`",
    "http://the.go ",
    "**very** ",
    "don't ",
    "\r\n",
    "(",
    "- ",
    "\ufeff",
    "> ```\n",
    "<code>go</code>",
    "[the](go) ",
    "na→ve ",
    "---\n",
]


@settings(deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=14).map("".join), st.booleans())
def test_with_proposals_only_their_spans_change(text, markdown):
    records = run(text, markdown=markdown)
    edits = [edit for record in records for sentence in record["sentences"] for edit in sentence["edits"]]
    result, done = [], 0
    for edit in edits:
        assert edit["start"] >= done
        assert text[edit["start"] : edit["end"]] == edit["original"]
        result += [text[done : edit["start"]], edit["replacement"]]
        done = edit["end"]
    assert "".join([*result, text[done:]]) == "".join(map(write_text, records))
    for kept in ("😀", "`go`", "http://the.go", "**", "na→ve", "<code>go</code>", "](go)", "\ufeff"):
        assert "".join(map(write_text, records)).count(kept) == text.count(kept)


def test_a_text_with_everything():
    text = "# My  dog\r\n\r\nI has\ta **dog** 😀, and  the\u00a0cat.\nHe don't `go dog`!\n\n```\nI has\n```\n- I has\n"
    assert corrected(text) == (
        "# My  dogs\r\n\r\nI have\ta **dogs** 😀, and  cat.\nHe don't `go dog`!\n\n```\nI has\n```\n- I have\n"
    )


def test_json_says_all_there_is_to_say():
    (record,) = run("Hi! I has it.\n")
    first, second = map(json.loads, Renderer("json").write(record).splitlines())
    assert (first["start"], first["end"], first["edits"]) == (0, 3, [])
    assert second == {
        "start": 4,
        "end": 13,
        "source": "I has it .",
        "edits": [{"start": 6, "end": 9, "original": "has", "replacement": "have", "type": "R:VERB:SVA"}],
        "tokens": [[1, 2, "R:VERB:SVA", "have"]],
        "decision": "equal",
        "margin": 0.0,
        "choice": 0,
        "candidates": [
            {"text": "I have it .", "f": pytest.approx(0.731059, abs=1e-6), "log_prob": -1.0},
            {"text": "I has it .", "f": pytest.approx(0.268941, abs=1e-6), "log_prob": -2.0},
        ],
    }


def test_the_reranker_decides_by_the_threshold():
    assert corrected("I has it.", reranker=Opposed(), rule=Rule(0.5)) == "I has it."
    assert corrected("I has it.", reranker=Opposed(), rule=Rule(0.99)) == "I have it."
    (record,) = run("I has it.", reranker=Opposed(), rule=Rule(0.5))
    (sentence,) = record["sentences"]
    assert (sentence["decision"], sentence["choice"]) == ("accept", 1)
    assert sentence["margin"] == pytest.approx((1 - 0.018316) / (1 + 0.018316), abs=1e-5)


@pytest.mark.parametrize(("name", "expected"), [("base", "I have it."), ("mbr", "I have it."), ("vote", "I has it.")])
def test_rerankers_without_a_model(name, expected):
    assert corrected("I has it.", reranker=load_reranker(name)) == expected


def test_forms(tmp_path):
    (record,) = run("I has one dog.\n")
    written = {form: Renderer(form).write(record) for form in FORMS}
    assert written["text"] == "I have one dogs.\n"
    assert written["diff"] == "I [-has-]{+have+} one [-dog-]{+dogs+}.\n"
    (tmp_path / "out.m2").write_text(written["m2"])
    (sentence,) = read_m2(tmp_path / "out.m2")
    assert sentence.corrected() == "I have one dogs ."
    assert "→ 0.73  I have one dogs ." in written["alternatives"]
    coloured = Renderer("diff", colour=True).write(record)
    assert "\033[31;9mhas\033[0m\033[32mhave\033[0m" in coloured


def test_sentences_too_long_or_foreign_are_left():
    records = run("I has " + "so " * 300 + "much. Der Hund ist groß und the dog läuft sehr schnell nach Hause.")
    assert [sentence["left"] for record in records for sentence in record["sentences"]] == ["too_long", "not_english"]
    assert not any(sentence["edits"] for record in records for sentence in record["sentences"])


@pytest.mark.parametrize(
    ("text", "english"),
    [
        ("Mój pies nie lubi kąpieli, ale lubi jeść.", False),
        ("Jag är från Göteborg och kör bil.", False),
        ("Příliš žluťoučký kůň úpěl ďábelské ódy.", False),
        ("He met Łukasz Wałęsa in Gdańsk.", True),
        ("She have two naïve friend at http://è.fr/où.", True),
    ],
)
def test_words_that_the_model_cannot_write_tell_the_language_unless_they_may_be_names(text, english):
    (block,) = cut_blocks([text])
    (segment,) = cut_segments(text, lambda word: word if word.isascii() else "")
    assert is_english(words_for_language_detection(block.text, segment)) == english


def test_the_base_models_own_scores_have_a_say_in_a_mixture():
    """It gives its first choice -1 and the source -2: weighed 5, that outdoes the other's -4."""
    mixed = Ensemble([Opposed(), Base()], weights=(1.0, 5.0))
    (sentence,) = run("I has it", reranker=mixed)[0]["sentences"]
    assert sentence["decision"] == "equal"
    assert sentence["candidates"][0]["f"] == pytest.approx(1 / (1 + math.exp(4.0 - 5 * 1.0)), abs=1e-6)
    assert corrected("I has it", reranker=mixed) != "I has it" == corrected("I has it", reranker=Opposed())
    assert mixed.signature.endswith("|weights:1,5")


def test_candidates_that_are_not_to_be_taken_have_no_part_in_f():
    """The reranker likes the source; but that is flagged, so that the base model's correction stays."""

    class Flagged(Scripted):
        def generate(self, sources, settings):
            return [
                [first, Hypothesis(second.tokens[:-1], second.log_prob)]
                for first, second in super().generate(sources, settings)
            ]

    corrector = Corrector(Flagged(), DecodingSettings(size=2), Opposed(), Rule(0.5))
    ((record, chosen),) = corrector.choose(["I has it ."])
    assert record["flags"]["unfinished"] == [1]
    assert (chosen.choice, chosen.f, chosen.decision) == (0, (1.0, 0.0), "equal")


@pytest.mark.parametrize(
    ("top", "gap", "choice"),
    [(None, None, 1), (2, 1.5, 1), (1, None, 0), (None, 0.5, 0)],  # the second's log-probability is lower by 1
)
def test_who_takes_part(top, gap, choice):
    corrector = Corrector(Scripted(), DecodingSettings(size=2), Opposed(), Rule(0.5, top=top), gap=gap)
    ((_, chosen),) = corrector.choose(["I has it ."])
    assert chosen.choice == choice


def test_threads_score_as_one_does_and_leave_torch_as_it_was(tmp_path):
    reranker = load_reranker(f"contrast:{tiny.save_t5(tmp_path, bidirectional=True)}", int8=True)
    rows = [Candidates(f"he go {'on ' * n}", (f"he goes {n}", f"he went {n} on")) for n in range(7)]
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        for threads in (2, 3, 7, 8):
            corrector = Corrector(Scripted(), DecodingSettings(size=2), reranker, threads=threads)
            assert corrector.score(rows) == reranker.score_many(rows) == [reranker.score_many([row])[0] for row in rows]
            assert corrector.score([]) == []
            assert torch.get_num_threads() == 2
        corrector.reranker = None
        with pytest.raises(AssertionError):
            corrector.score(rows)
    finally:
        torch.set_num_threads(before)


def test_profiles(tmp_path):
    (tmp_path / "profiles.json").write_text(
        '{"minimal": {"candidates": 4, "top": 2, "threshold": 0.3, "gap": 2, "weight": 0.5}}'
    )
    assert read_profile(f"btr:{tmp_path}", "minimal") == (4, 2, 0.3, 2.0, 0.5)
    with pytest.raises(InputError, match="profile must be one of minimal, fluency, not 'nice'"):
        read_profile(str(tmp_path), "nice")
    with pytest.raises(InputError, match=r"profiles\.json: is no file of profiles"):
        read_profile(str(tmp_path), "fluency")


def scripted(options):
    return Corrector(Scripted(), DecodingSettings(size=2), options.get("reranker"))


def test_a_file_is_corrected_and_goes_on_after_a_stop(tmp_path, monkeypatch):
    text = tmp_path / "long.txt"
    text.write_bytes(b"I has one dog.\r\n\r\n" * 2_000)  # six chunks
    monkeypatch.setattr(correct_module, "load_corrector", scripted)
    told = correct_file(text, tmp_path / "whole.txt")
    assert (tmp_path / "whole.txt").read_bytes() == b"I have one dogs.\r\n\r\n" * 2_000
    assert (told["sentences"], told["changed"], told["edits"]) == (2_000, 2_000, 4_000)

    class Stopped(Corrector):
        done = 0

        def correct_blocks(self, blocks):
            self.done += 1
            if self.done > 3:
                raise KeyboardInterrupt
            return super().correct_blocks(blocks)

    monkeypatch.setattr(correct_module, "load_corrector", lambda _: Stopped(Scripted(), DecodingSettings(size=2)))
    with pytest.raises(Interrupted, match="the same command continues"):
        correct_file(text, tmp_path / "out.txt")
    assert not (tmp_path / "out.txt").exists()

    def full(*_):
        raise OSError("no space left")

    with monkeypatch.context() as broken:
        broken.setattr(correct_module, "render", full)
        with pytest.raises(OSError, match="no space"):
            correct_file(text, tmp_path / "out.txt")  # three more chunks, and no more
    again = correct_file(text, tmp_path / "out.txt")  # only written
    assert (tmp_path / "out.txt").read_bytes() == (tmp_path / "whole.txt").read_bytes()
    assert again == told
    assert sorted(path.name for path in tmp_path.iterdir()) == ["long.txt", "out.txt", "whole.txt"]


def test_standard_streams(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(correct_module, "load_corrector", scripted)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"I has it.\n")))
    correct_file("-", form="diff")
    assert capsys.readouterr().out == "I [-has-]{+have+} it.\n"


def test_an_empty_text_stays_empty(tmp_path, monkeypatch):
    monkeypatch.setattr(correct_module, "load_corrector", scripted)
    (tmp_path / "empty.txt").write_text("")
    told = correct_file(tmp_path / "empty.txt", tmp_path / "out.txt")
    assert told == {"signature": "scripted|beam|size:2|max-length:200"}
    assert (tmp_path / "out.txt").read_text() == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("missing.txt",), "missing.txt: no such file"),
        (("t.txt", "t.txt"), "t.txt: is an input, too"),
        (("t.txt", "nowhere/out.txt"), "cannot be written"),
    ],
)
def test_wrong_paths_are_told_before_any_model_is_loaded(tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.txt").write_text("I has it.")
    with pytest.raises(InputError, match=message):
        correct_file(*arguments, model="no-such-model")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("She have \ud800 dog.", "a text has no unpaired surrogates; take out character 10."),
        ("She\0have", "a text has no zero bytes; take out character 4."),
    ],
)
def test_what_is_no_text_is_told_before_any_model_is_loaded(text, message):
    with pytest.raises(InputError, match=re.escape(message)):
        btr.correct(text, model="no-such-model")
    with pytest.raises(InputError, match=re.escape(message)):
        correct_with(Corrector(Scripted(), DecodingSettings(size=2)), text)


def test_only_words_of_common_lengths_are_remembered():
    corrector = Corrector(Scripted(), DecodingSettings(size=2))
    assert [corrector.see(word) for word in ("dog", "x-" * 20, "x-" * 21)] == ["dog", "x-" * 20, "x-" * 21]
    assert corrector.see_known.cache_info().currsize == 2


def test_a_line_of_ten_thousand_words(monkeypatch):
    text = "I has one dog. " * 2_500
    assert corrected(text) == "I have one dogs. " * 2_500


def test_tiny_models_of_all_kinds_work_together(tmp_path):
    """Random weights propose nonsense; still only spans of edits change, and the reranker's f adds up."""
    base, other = tiny.save_t5(tmp_path / "base"), tiny.save_t5(tmp_path / "btr", bidirectional=True)
    text = "I has two cat .\n\nhe go\n"
    result = btr.correct(text, model=base, reranker=f"contrast:{other}", candidates=3)
    for sentence in result.sentences:
        if "candidates" in sentence:
            unique = {own["text"]: own["f"] for own in sentence["candidates"]}
            assert sum(unique.values()) == pytest.approx(1, abs=1e-4)
        for edit in sentence["edits"]:
            assert text[edit["start"] : edit["end"]] == edit["original"]
    assert "contrast|model:" in result.signature


def test_several_rerankers_are_one_with_the_profile_of_the_first_that_has_any(tmp_path):
    base, other = tiny.save_t5(tmp_path / "base"), tiny.save_t5(tmp_path / "btr", bidirectional=True)
    profile = {"candidates": 4, "top": 2, "threshold": 0.3, "gap": 9, "weight": 0.5}
    (tmp_path / "btr" / "profiles.json").write_text(json.dumps({"minimal": profile}))
    corrector = Corrector.load(base, ["base", f"l2r:{base}", f"contrast:{other}"])
    assert corrector.reranker.kind == "base+l2r+contrast"
    assert (corrector.search.size, corrector.rule.top, corrector.rule.threshold, corrector.gap) == (4, 2, 0.3, 9)
    assert re.search(r"\|base\|btr:.*\+l2r\|model:.*\+contrast\|.*\|weights:1,0.5,0.5\|top:2", corrector.signature)
    row = Candidates("he go", ("he goes", "go"), (-1.0, -3.0))
    (scored,) = corrector.score([row])
    parts = [own.score_many([row])[0].means for own in corrector.reranker.rerankers]
    assert scored.means == pytest.approx([one + (two + three) / 2 for one, two, three in zip(*parts)])
    assert parts[0] == (-1.0, -3.0)


@pytest.mark.parametrize("threshold", [-0.1, 7, float("nan")])
def test_a_threshold_is_from_0_to_1(threshold):
    with pytest.raises(InputError, match="the threshold is a difference of probabilities, from 0 to 1, not"):
        Corrector(Scripted(), DecodingSettings(size=2), Opposed(), Rule(threshold))


def test_a_sentence_longer_than_a_block_is_counted():
    text = f"I has it. {'word ' * 4_000}\n\nI has it.\n"
    result = correct_with(Corrector(Scripted(), DecodingSettings(size=2), Opposed(), Rule(0.5)), text)
    assert [sentence.get("left") for sentence in result.sentences].count("too_long") == 1
    assert "".join(write_m2({"sentences": [own]}) for own in result.sentences if not own["source"]) == ""


@pytest.mark.parametrize("reranker", [[], ["none", "base"], ["mbr", "none"]])
def test_none_stands_by_itself(reranker):
    with pytest.raises(InputError, match="or none by itself"):
        Corrector.load(reranker=reranker)
