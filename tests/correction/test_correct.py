"""Corrections of whole texts, by an engine whose candidates are known."""

import io
import json
import math
import re
import shutil
from functools import reduce

import pytest
import tiny
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scripted import Opposed, Scripted
from typer.testing import CliRunner

import btr
import btr.correction.correct as correct_module
from btr.candidates.decoding import DecodingSettings
from btr.candidates.engine import Hypothesis
from btr.cli import app
from btr.corpus.candidates import Candidates
from btr.corpus.m2 import read_m2
from btr.correction.blocks import batch_blocks, cut_blocks
from btr.correction.correct import correct_file
from btr.correction.corrector import Corrector
from btr.correction.given_candidates import score_candidates
from btr.correction.language import is_english, words_for_language_detection
from btr.correction.records import CorrectedBlock
from btr.correction.render import FORMS, Renderer, write_m2
from btr.correction.segments import cut_segments
from btr.correction.selection import in_threads
from btr.decisions import Settings, Verdict
from btr.errors import InputError, Interrupted
from btr.rerankers import load_reranker
from btr.rerankers.base import Ensemble
from btr.rerankers.model_free import Base

TWO = DecodingSettings(size=2)


def make(reranker=None, script=None, **options):
    return Corrector(Scripted(script), TWO, reranker, Settings(**options))


def run(text, script=None, reranker=None, markdown=False, **options):
    corrector = make(reranker, script, **options)
    blocks = cut_blocks(io.StringIO(text, newline="\n"), markdown)
    return [block for batch in batch_blocks(blocks) for block in corrector.correct_blocks(batch)]


def corrected(text, **options):
    return "".join(block.corrected for block in run(text, **options))


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
    blocks = run(text, markdown=markdown)
    edits = [edit for block in blocks for sentence in block.sentences for edit in sentence.edits]
    result, done = [], 0
    for edit in edits:
        assert edit.start >= done
        assert text[edit.start : edit.end] == edit.original
        result += [text[done : edit.start], edit.replacement]
        done = edit.end
    whole = "".join(block.corrected for block in blocks)
    assert "".join([*result, text[done:]]) == whole
    for unchanged in ("😀", "`go`", "http://the.go", "**", "na→ve", "<code>go</code>", "](go)", "\ufeff"):
        assert whole.count(unchanged) == text.count(unchanged)


def test_a_text_with_everything():
    text = "# My  dog\r\n\r\nI has\ta **dog** 😀, and  the\u00a0cat.\nHe don't `go dog`!\n\n```\nI has\n```\n- I has\n"
    assert corrected(text) == (
        "# My  dogs\r\n\r\nI have\ta **dogs** 😀, and  cat.\nHe don't `go dog`!\n\n```\nI has\n```\n- I have\n"
    )


def test_json_has_all_that_is_known():
    (block,) = run("Hi! I has it.\n")
    first, second = map(json.loads, Renderer("json").write(block).splitlines())
    assert (first["start"], first["end"], first["edits"]) == (0, 3, [])
    probabilities = pytest.approx(0.731059, abs=1e-6), pytest.approx(0.268941, abs=1e-6)
    assert second == {
        "start": 4,
        "end": 13,
        "source": "I has it .",
        "edits": [
            {
                "start": 6,
                "end": 9,
                "original": "has",
                "replacement": "have",
                "type": "R:VERB:SVA",
                "reason": "subject–verb agreement",
                "explanation": "The verb must agree with its subject: she has, they have.",
            }
        ],
        "tokens": [[1, 2, "R:VERB:SVA", "have", None]],
        "verdict": "equal",
        "index": 0,
        "suggestion": 0,
        "margin": 0.0,
        "candidates": [
            {"text": "I have it .", "probability": probabilities[0], "competes": True, "log_prob": -1.0},
            {"text": "I has it .", "probability": probabilities[1], "competes": True, "log_prob": -2.0},
        ],
    }


@pytest.mark.parametrize("probabilities", [False, True])
def test_records_come_back_from_json(probabilities):
    corrector = make(Opposed(), threshold=0.5)
    text = "I has it. Der Hund ist groß und läuft sehr schnell nach Hause.\n"
    blocks = list(corrector.correct_blocks(list(cut_blocks([text])), probabilities=probabilities))
    assert [CorrectedBlock.from_dict(json.loads(json.dumps(block.to_dict()))) for block in blocks] == blocks
    assert [sentence.skipped for sentence in blocks[0].sentences] == [None, "not_english"]
    assert (blocks[0].sentences[0].candidates is not None) == probabilities


def test_the_reranker_decides_by_the_threshold():
    assert corrected("I has it.", reranker=Opposed(), threshold=0.5) == "I has it."
    assert corrected("I has it.", reranker=Opposed(), threshold=0.99) == "I have it."
    (block,) = run("I has it.", reranker=Opposed(), threshold=0.5)
    (sentence,) = block.sentences
    assert (sentence.verdict, sentence.index) == (Verdict.ACCEPT, 1)
    assert sentence.margin == pytest.approx((1 - 0.018316) / (1 + 0.018316), abs=1e-5)


@pytest.mark.parametrize("form", ["text", "alternatives"])
@pytest.mark.parametrize(("name", "expected"), [("base", "I have it."), ("mbr", "I have it."), ("vote", "I has it.")])
def test_rerankers_without_a_model(name, expected, form):
    """With and without probabilities, which text does not need."""
    corrector = make(load_reranker(name))
    (block,) = corrector.correct_blocks(list(cut_blocks(["I has it."])), probabilities=form != "text")
    assert block.corrected == expected


def test_a_text_that_vote_wrote_is_among_the_candidates():
    class Three(Scripted):
        def generate(self, sources, settings):
            texts = "I have two dogs on table", "I have two dog on tables", "I has two dogs on tables"
            return [[Hypothesis(*self.encode([text]), -1.0 - k) for k, text in enumerate(texts)] for _ in sources]

    corrector = Corrector(Three(), DecodingSettings(size=3), load_reranker("vote"))
    for probabilities in (True, False):
        (block,) = corrector.correct_blocks(list(cut_blocks(["I has two dog on table"])), probabilities=probabilities)
        assert block.corrected == "I have two dogs on tables"
        assert block.sentences[0].index == 3
    assert corrector.correct("I has two dog on table").sentences[0].candidates[3].text == "I have two dogs on tables"
    assert corrector.correct_sentences(["I has two dog on table"]) == ["I have two dogs on tables"]


def test_forms(tmp_path):
    (block,) = make().correct_blocks(list(cut_blocks(["I has one dog.\n"])), candidate_edits=True)
    written = {form: Renderer(form).write(block) for form in FORMS}
    assert written["text"] == "I have one dogs.\n"
    assert written["diff"] == "I [-has-]{+have+} one [-dog-]{+dogs+}.\n"
    (tmp_path / "out.m2").write_text(written["m2"])
    (sentence,) = read_m2(tmp_path / "out.m2")
    assert sentence.corrected() == "I have one dogs ."
    assert written["alternatives"] == "I has one dog.\n  → 0.73  I have one dogs.\n    0.27  I has one dog.\n\n"
    coloured = Renderer("diff", colour=True).write(block)
    assert "\033[31;9mhas\033[0m\033[32mhave\033[0m" in coloured


@pytest.mark.parametrize("reranker", [None, Opposed()])
def test_whole_candidates_are_shown_in_the_users_own_words(tmp_path, reranker):
    """No tokens (do n't), no mask (X); candidates that differ only in a figure, which stays, are one."""

    class Four(Scripted):
        def generate(self, sources, settings):
            changes = [("has", "have")], [("has", "have"), ("5", "7")], [], [("has", "so " * 40)]
            return [
                [Hypothesis(*self.encode([swap(text, pairs)]), -1.0 - k) for k, pairs in enumerate(changes)]
                for text in self.decode(sources)
            ]

    def swap(text, pairs):
        return reduce(lambda text, pair: text.replace(*pair), pairs, text)

    (tmp_path / "text").write_text("I don't know who\nhas 5 of https://x.org dogs.\n")
    correct_file(
        tmp_path / "text", tmp_path / "out", Corrector(Four(), DecodingSettings(size=4), reranker), form="alternatives"
    )
    source, first, second, blank = (tmp_path / "out").read_text().split("\n")[:4]
    assert source == "I don't know who has 5 of https://x.org dogs."
    have = "I don't know who have 5 of https://x.org dogs."
    expected = [("→", have), (" ", source)] if reranker is None else [("→", source), (" ", have)]
    assert [(line[2], line[10:]) for line in (first, second)] == expected
    assert sum(float(line[4:8]) for line in (first, second)) == pytest.approx(1, abs=0.011)
    assert blank == ""


def test_sentences_too_long_or_foreign_are_skipped():
    blocks = run("I has " + "so " * 300 + "much. Der Hund ist groß und the dog läuft sehr schnell nach Hause.")
    sentences = [sentence for block in blocks for sentence in block.sentences]
    assert [sentence.skipped for sentence in sentences] == ["too_long", "not_english"]
    assert not any(sentence.edits for sentence in sentences)


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


def test_the_base_models_scores_count_by_their_weight():
    """It gives its first choice -1 and the source -2: weighed 5, that outdoes the other's -4."""
    options = {"reranker": Ensemble([Opposed(), Base()]), "weights": {"base": 5.0}}
    (sentence,) = run("I has it", **options)[0].sentences
    assert sentence.verdict == Verdict.EQUAL
    assert sentence.candidates[0].probability == pytest.approx(1 / (1 + math.exp(4.0 - 5 * 1.0)), abs=1e-6)
    assert corrected("I has it", **options) == "I have it"
    assert corrected("I has it", reranker=Opposed()) == "I has it"
    assert make(**options).signature.endswith("|weights:base=5")


class Unfinished(Scripted):
    """The second candidate has no end."""

    def generate(self, sources, settings):
        return [
            [first, Hypothesis(second.tokens[:-1], second.log_prob)]
            for first, second in super().generate(sources, settings)
        ]


def test_unfinished_candidates_do_not_compete():
    """The reranker prefers the source; but that is flagged, so that the base candidate stays."""
    corrector = Corrector(Unfinished(), TWO, Opposed(), Settings(threshold=0.5, drop_runaways=True))
    (sentence,) = corrector.correct("I has it.").sentences
    assert [candidate.flag for candidate in sentence.candidates] == [None, "unfinished"]
    assert (sentence.index, sentence.verdict) == (0, Verdict.EQUAL)
    assert [(each.probability, each.competes) for each in sentence.candidates] == [(1.0, True), (0.0, False)]


@pytest.mark.parametrize(
    ("top", "gap", "index"),
    [(None, None, 1), (2, 1.5, 1), (1, None, 0), (None, 0.5, 0)],  # the second's log-probability is lower by 1
)
def test_which_candidates_compete(top, gap, index):
    corrector = make(Opposed(), threshold=0.5, top=top, gap=gap)
    (sentence,) = corrector.correct("I has it.").sentences
    assert sentence.index == index
    assert [candidate.competes for candidate in sentence.candidates] == [True, index == 1]
    assert corrector.correct_sentences(["I has it ."]) == [["I have it .", "I has it ."][index]]


def test_threads_score_as_one_does_and_leave_torch_as_it_was(tmp_path):
    reranker = load_reranker(f"contrast:{tiny.save_t5(tmp_path, bidirectional=True)}", int8=True)
    rows = [Candidates(f"he go {'on ' * n}", (f"he goes {n}", f"he went {n} on")) for n in range(7)]
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        for threads in (2, 3, 7, 8):
            scored = in_threads(reranker.score, rows, threads)
            assert scored == reranker.score(rows) == [reranker.score([row])[0] for row in rows]
            assert in_threads(reranker.score, [], threads) == []
            assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


def write_profile(folder, **options):
    profile = {"candidates": 4, "top": 2, "threshold": 0.3, "gap": 9, "drop_runaways": True, **options}
    (folder / "profiles.json").write_text(json.dumps({"minimal": profile}))


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """A tiny base model and a tiny BTR; a test may write its profiles beside the latter."""
    folder = tmp_path_factory.mktemp("models")
    return tiny.save_t5(folder / "base"), tiny.save_t5(folder / "btr", bidirectional=True)


@pytest.fixture
def tuned(models, tmp_path):
    """The same BTR with a profile for contrast + base."""
    folder = shutil.copytree(models[1], tmp_path / "tuned")
    write_profile(folder, weights={"contrast": 2.0}, rerankers=["contrast", "base"])
    return folder


def test_a_profile_gives_the_settings(models, tuned):
    corrector = Corrector.from_pretrained(models[0], [f"contrast:{tuned}", "base"])
    chosen = corrector.settings
    assert (corrector.decoding.size, chosen.top, chosen.threshold, chosen.gap) == (4, 2, 0.3, 9)
    assert (chosen.weights, corrector.note) == ({"contrast": 2.0}, None)
    other = Corrector.from_pretrained(
        models[0], [f"contrast:{tuned}", "base"], candidates=1, threshold=0.5, weights={"base": 3.0}
    )
    assert (other.decoding.size, other.settings.top, other.settings.threshold) == (1, 1, 0.5)
    assert other.settings.weights == {"contrast": 2.0, "base": 3.0}
    with pytest.raises(InputError, match="there is no profile 'nice'; these models have minimal"):
        Corrector.from_pretrained(models[0], [f"contrast:{tuned}", "base"], profile="nice")
    with pytest.raises(InputError, match="5 candidates can't compete if only 4 are written"):
        Corrector.from_pretrained(models[0], [f"contrast:{tuned}", "base"], top=5)
    with pytest.raises(InputError, match="there is a weight for btr, but the scores are of contrast, base"):
        Corrector.from_pretrained(models[0], [f"contrast:{tuned}", "base"], weights={"btr": 3.0})


@pytest.mark.parametrize("kinds", [["btr"], ["contrast"], ["btr", "base"], ["contrast", "base", "mbr"]])
def test_a_profile_does_not_apply_to_other_rerankers(models, tuned, kinds):
    names = [kind if kind in ("base", "mbr") else f"{kind}:{tuned}" for kind in kinds]
    corrector = Corrector.from_pretrained(models[0], names)
    assert corrector.settings == Settings(drop_runaways=True)
    assert corrector.note == (
        f"profile minimal does not apply to {' + '.join(kinds)} (it was tuned for contrast + base); "
        "the default settings are used: threshold 0, and all candidates compete."
    )


def test_the_shipped_profile_does_not_apply_to_btr(tmp_path):
    """It was tuned for contrast + base: its gap left one candidate, whose probability was always 1.00."""
    (tmp_path / "text").write_text("She have two dog.\nHe go to school yesterday.\n")
    command = ["correct", tmp_path / "text", "--reranker", "btr:btr-small", "--top", 5, "--threshold", 0]
    done = CliRunner().invoke(app, [*map(str, command), "--alternatives"], catch_exceptions=False)
    assert "profile minimal does not apply to btr (it was tuned for contrast + base)" in done.stderr
    shown = [float(number) for number in re.findall(r"^  . (\d\.\d\d)  ", done.stdout, re.MULTILINE)]
    assert len(shown) >= 6
    assert sum(0 < probability < 1 for probability in shown) >= 6
    assert max(shown) < 1
    corrector = Corrector.from_pretrained(reranker="btr:btr-small")
    assert corrector.settings == Settings(drop_runaways=True)
    assert corrector.note.startswith("profile minimal does not apply to btr")


def test_the_profile_chooses_the_judge_or_the_rerankers_if_none_is_named():
    judged = Corrector.from_pretrained(profile="minimal")
    assert (judged.reranker, judged.settings.cutoff, judged.model_name) == (None, 0.4, "t5gec-small")
    assert judged.judge is not None
    assert "|judge:judge.json#" in judged.signature
    assert "|cutoff:0.4|spelling:" in judged.signature
    assert Corrector.from_pretrained(profile="fluency").settings.cutoff < 0.4
    assert Corrector.from_pretrained(profile="cautious").settings.cutoff > 0.4
    assert Corrector.from_pretrained(profile="cautious", cutoff=0.8).settings.cutoff == 0.8
    named = Corrector.from_pretrained(reranker=["contrast:btr-small", "base"])
    assert (named.judge, named.settings.weights, named.note) == (None, {"contrast": 2.0, "base": 1.0}, None)
    assert named.reranker_name == "contrast:btr-small + base"
    paper = Corrector.from_pretrained(profile="paper")
    assert (paper.judge, paper.settings.rerankers, paper.note) == (None, ("btr",), None)
    assert paper.reranker_name == "btr:btr-small"
    with pytest.raises(
        InputError,
        match="'nice'; choose one of cautious, fluency, minimal, paper, or name",
    ):
        Corrector.from_pretrained(profile="nice")


def test_the_papers_profile_is_the_plain_method():
    """Five candidates of beam 5 compete; no gap, no other scores, no candidate is dropped, and "more than" λ."""
    corrector = Corrector.from_pretrained(profile="paper")
    assert (corrector.decoding.method, corrector.decoding.size) == ("beam", 5)
    tuned = corrector.settings
    assert tuned == Settings(candidates=5, top=5, threshold=tuned.threshold, rerankers=("btr",))


def test_the_papers_profile_applies_to_every_btr(models, tuned):
    """Also to several, and to a model whose folder has other profiles."""
    for names in ([f"btr:{models[1]}"], [f"btr:{models[1]}", f"btr:{tuned}"], [f"btr:{tuned}"]):
        corrector = Corrector.from_pretrained(models[0], names, profile="paper")
        assert corrector.settings == Settings(candidates=5, top=5, threshold=0.4, rerankers=("btr",))
        assert corrector.note == (
            "profile paper: the threshold is the paper's, 0.4, and was not tuned for this model; "
            "btr tune finds the best one."
        )
    other = Corrector.from_pretrained(models[0], [f"contrast:{tuned}"], profile="paper")
    assert other.settings == Settings(drop_runaways=True)
    assert other.note.startswith("profile paper does not apply to contrast (it was tuned for btr); the default")


def test_every_setting_of_a_profile_can_be_changed(models, tuned):
    changed = Corrector.from_pretrained(
        models[0], [f"contrast:{tuned}", "base"], candidates=6, top=3, threshold=0.1, at_least=True, gap=1.0,
        drop_runaways=False, average="f", weights={"base": 3.0},
    )  # fmt: skip
    kinds = "contrast", "base"
    assert changed.settings == Settings(6, 3, 0.1, True, 1.0, False, "f", {"contrast": 2.0, "base": 3.0}, kinds)


def test_models_are_loaded_once_per_process(models, tmp_path):
    names = [f"contrast:{models[1]}", "base"]
    first, second = (Corrector.from_pretrained(models[0], names, threshold=t) for t in (0.1, 0.2))
    assert first.engine is second.engine
    assert first.reranker is second.reranker
    assert (first.settings.threshold, second.settings.threshold) == (0.1, 0.2)
    other = shutil.copytree(models[0], tmp_path / "other")
    before = Corrector.from_pretrained(str(other), names)
    text = "I has two cat ."
    signature = btr.correct(text, model=str(other), reranker=names).signature
    assert before.engine is Corrector.from_pretrained(str(other), names).engine
    tiny.save_t5(other, seed=7)  # another model in the same folder
    after = Corrector.from_pretrained(str(other), names)
    assert after.engine is not before.engine
    assert after.reranker is before.reranker
    assert btr.correct(text, model=str(other), reranker=names).signature == after.signature != signature


def test_a_changed_reranker_is_loaded_anew(models, tmp_path):
    folder = shutil.copytree(models[1], tmp_path / "btr")
    before = Corrector.from_pretrained(models[0], f"btr:{folder}")
    tiny.save_t5(folder, bidirectional=True, seed=7)
    after = Corrector.from_pretrained(models[0], f"btr:{folder}")
    assert after.reranker.signature != before.reranker.signature


def test_a_file_is_corrected_and_goes_on_after_a_stop(tmp_path, monkeypatch):
    text = tmp_path / "long.txt"
    text.write_bytes(b"I has one dog.\r\n\r\n" * 2_000)  # six batches
    counts = correct_file(text, tmp_path / "whole.txt", make())
    assert (tmp_path / "whole.txt").read_bytes() == b"I have one dogs.\r\n\r\n" * 2_000
    assert (counts.sentences, counts.changed, counts.edits) == (2_000, 2_000, 4_000)

    class Stopped(Corrector):
        done = 0

        def correct_blocks(self, blocks, **options):
            self.done += 1
            if self.done > 3:
                raise KeyboardInterrupt
            return super().correct_blocks(blocks, **options)

    def load():
        return Stopped(Scripted(), TWO)

    with pytest.raises(Interrupted, match="the same command continues"):
        correct_file(text, tmp_path / "out.txt", load)
    assert not (tmp_path / "out.txt").exists()

    def full(*_):
        raise OSError("no space left")

    with monkeypatch.context() as broken:
        broken.setattr(correct_module, "render", full)
        with pytest.raises(OSError, match="no space"):
            correct_file(text, tmp_path / "out.txt", load)  # three more batches, and no more
    again = correct_file(text, tmp_path / "out.txt", load)  # only written
    assert (tmp_path / "out.txt").read_bytes() == (tmp_path / "whole.txt").read_bytes()
    assert again == counts
    assert sorted(path.name for path in tmp_path.iterdir()) == ["long.txt", "out.txt", "whole.txt"]


def test_standard_streams(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"I has it.\n")))
    correct_file("-", "-", make(), form="diff")
    assert capsys.readouterr().out == "I [-has-]{+have+} it.\n"


def test_an_empty_text_stays_empty(tmp_path):
    (tmp_path / "empty.txt").write_text("")
    counts = correct_file(tmp_path / "empty.txt", tmp_path / "out.txt", make())
    assert (counts.sentences, counts.signature) == (0, "scripted|beam|size:2|max-length:200")
    assert (tmp_path / "out.txt").read_text() == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("missing.txt", "-"), "missing.txt: no such file"),
        (("t.txt", "t.txt"), "t.txt: is an input, too"),
        (("t.txt", "nowhere/out.txt"), "cannot be written"),
    ],
)
def test_wrong_paths_are_refused_before_any_model_is_loaded(tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.txt").write_text("I has it.")
    with pytest.raises(InputError, match=message):
        correct_file(*arguments, lambda: Corrector.from_pretrained("no-such-model"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("She have \ud800 dog.", "a text has no unpaired surrogates; take out character 10."),
        ("She\0have", "a text has no zero bytes; take out character 4."),
    ],
)
def test_what_is_no_text_is_refused_before_any_model_is_loaded(text, message):
    with pytest.raises(InputError, match=re.escape(message)):
        btr.correct(text, model="no-such-model")
    with pytest.raises(InputError, match=re.escape(message)):
        make().correct(text)


def test_only_words_of_common_lengths_are_cached():
    class Counting(Scripted):
        encoded = 0

        def encode(self, texts):
            self.encoded += 1
            return super().encode(texts)

    corrector = Corrector(Counting(), TWO)
    for word, calls in (("x-" * 20, 1), ("x-" * 21, 2)):
        before = corrector.engine.encoded
        assert [corrector.round_trip(word) for _ in range(2)] == [word, word]
        assert corrector.engine.encoded == before + calls
    corrector.forget_words()
    before = corrector.engine.encoded
    corrector.round_trip("x-" * 20)
    assert corrector.engine.encoded == before + 1


def test_a_line_of_ten_thousand_words():
    text = "I has one dog. " * 2_500
    assert corrected(text) == "I have one dogs. " * 2_500


def test_tiny_models_of_all_kinds_work_together(models):
    """Random weights propose nonsense; still only spans of edits change, and the probabilities add up."""
    base, other = models
    text = "I has two cat .\n\nhe go\n"
    result = btr.correct(text, model=base, reranker=f"contrast:{other}", candidates=3)
    assert result.sentences
    for sentence in result.sentences:
        unique = {candidate.text: candidate.probability for candidate in sentence.candidates or ()}
        if unique:
            assert sum(unique.values()) == pytest.approx(1, abs=1e-4)
        for edit in sentence.edits:
            assert text[edit.start : edit.end] == edit.original
    assert "contrast|model:" in result.signature


def test_several_rerankers_are_one(models, tmp_path):
    """A weight counts for its kind only, whichever of the models has the profile."""
    base, other = models[0], shutil.copytree(models[1], tmp_path / "btr")
    write_profile(other, weights={"l2r": 0.5, "contrast": 0.25}, rerankers=["base", "l2r", "contrast"])
    corrector = Corrector.from_pretrained(base, ["base", f"l2r:{base}", f"contrast:{other}"])
    assert corrector.reranker.kinds == ("base", "l2r", "contrast")
    assert re.search(
        r"\|base\|btr:.*\+l2r\|model:.*\+contrast\|.*\|threshold:0\.3\|top:2\|.*\|weights:contrast=0\.25,l2r=0\.5",
        corrector.signature,
    )
    row = Candidates("he go", ("he goes", "go"), (-1.0, -3.0))
    (scored,) = score_candidates(corrector, [row])
    parts = [member.scores([row])[0] for member in corrector.reranker.members]
    assert scored.scores == pytest.approx([one + two / 2 + three / 4 for one, two, three in zip(*parts)])
    assert parts[0] == (-1.0, -3.0)


@pytest.mark.parametrize("threshold", [-0.1, 7, float("nan")])
def test_a_threshold_is_from_0_to_1(threshold):
    with pytest.raises(InputError, match=r"a difference of probabilities, from 0 to 1, not|threshold can't be nan"):
        make(Opposed(), threshold=threshold)


def test_a_sentence_longer_than_a_block_is_counted():
    text = f"I has it. {'word ' * 4_000}\n\nI has it.\n"
    result = make(Opposed(), threshold=0.5).correct(text)
    assert [sentence.skipped for sentence in result.sentences].count("too_long") == 1
    long = tuple(sentence for sentence in result.sentences if not sentence.source)
    assert long
    assert write_m2(CorrectedBlock(0, text, long)) == ""


@pytest.mark.parametrize("reranker", [[], ["none", "base"], ["mbr", "none"]])
def test_none_stands_by_itself(reranker):
    with pytest.raises(InputError, match="or none by itself"):
        Corrector.from_pretrained(reranker=reranker)


def test_without_a_reranker_the_base_candidate_stays(models):
    corrector = Corrector.from_pretrained(models[0], "none", candidates=3)
    for sentence in corrector.correct("I has two cat .\n\nhe go\n").sentences:
        assert (sentence.index, sentence.verdict, sentence.margin) == (0, Verdict.EQUAL, 0.0)


def test_several_texts_are_corrected_as_each_alone():
    corrector = make(Opposed(), threshold=0.99)
    texts = ["I has it.", "", "The dog go.\n\nI has.", "Hi!"]
    assert corrector.correct_many(texts) == [corrector.correct(text) for text in texts]


def test_one_text_is_no_list_of_texts():
    corrector = Corrector(Scripted(), DecodingSettings(size=2))
    for method in (corrector.correct_many, corrector.correct_sentences):
        with pytest.raises(InputError, match="expected a list of texts, not one text"):
            method("I has it .")
        with pytest.raises(InputError, match="expected a text, not NoneType"):
            method(["I has it .", None])


def test_bad_settings_are_refused_before_any_model_is_loaded():
    with pytest.raises(InputError, match="the threshold is a difference of probabilities"):
        Corrector.from_pretrained("no-such-model", threshold=7)
