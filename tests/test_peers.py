"""Peers are measured fairly: text is written without the corpora's spaces, and comes back to their tokens."""

import json
import sys
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import parse_qs

import pytest
from hypothesis import given
from hypothesis import strategies as st
from served import scripted, served

sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))
import checkers
from checkers import LanguageToolServer, Quire, load_peers
from peers import Set, check, corrections, measure, print_rows
from plain_text import Finding, apply, as_text, correct, glue, make_tokeniser, matters

from btr.errors import InputError
from btr.metrics.gold import load_gold

TOKENISE = make_tokeniser()


class Fake:
    """Replaces words by others, wherever they stand."""

    name, version, style = "fake", "fake 1", frozenset({"Style"})

    def __init__(self, *replacements):
        self.replacements = replacements  # (old, new, kind)

    def find(self, text):
        return [
            Finding(text.index(old), text.index(old) + len(old), new, kind)
            for old, new, kind in self.replacements
            if old in text
        ]


def run(checker, source, without=frozenset(), hyphens=True):
    checked = check(checker, [source], hyphens)
    return corrections([source], checked.findings, hyphens, without)[0]


@pytest.mark.parametrize(
    ("tokens", "text"),
    [
        ("I do n't know , it 's late .", "I don't know, it's late."),
        ('He said " no way " ( twice ) !', 'He said "no way" (twice)!'),
        ("the students ' own ' odd ' idea", "the students' own 'odd' idea"),
        ("I ' m well - known", "I'm well-known"),
        ("I 'm gon na pay $ 5 , or 3 %", "I'm gonna pay $5, or 3%"),
        (". starts with a full stop", ". starts with a full stop"),
        ("- an item -", "- an item -"),
        ("", ""),
    ],
)
def test_text_is_written_without_the_spaces(tokens, text):
    assert as_text(glue(tokens.split())) == text


def test_hyphens_stand_alone_where_the_corpus_keeps_words_whole():
    assert as_text(glue(["well-known", "-", "or", "not"], hyphens=False)) == "well-known - or not"


SPECIAL = st.sampled_from(["'", '"', "-", "/", ".", ",", "(", "n't", "'s", "s", "gon", "na"])


@given(st.lists(SPECIAL | st.text(st.characters(exclude_categories=["Z", "C"]), min_size=1)))
def test_tokens_come_back_exactly_when_nothing_is_found(tokens):
    tokens = " ".join(tokens).split()
    for hyphens in (True, False):
        words = glue(tokens, hyphens)
        assert [token for word in words for token in word] == tokens
        assert correct(words, [], TOKENISE) == tokens


def test_an_unchanged_line_comes_back_with_its_spaces():
    assert run(Fake(), "it  is late . ") == "it  is late . "


@pytest.mark.parametrize(
    ("findings", "expected"),
    [
        ([Finding(0, 1, "A")], "Abc de"),
        ([Finding(0, 0, "So ")], "So abc de"),
        ([Finding(6, 6, " f")], "abc de f"),
        ([Finding(0, 3, "x"), Finding(2, 5, "y")], "x de"),
        ([Finding(4, 6, "y"), Finding(0, 3, "x")], "x y"),
        ([Finding(0, 3, "x"), Finding(3, 4, "-")], "x-de"),
        ([Finding(3, 3, "x"), Finding(3, 3, "y")], "abcx de"),
        ([Finding(0, 6, "")], ""),
    ],
)
def test_findings_are_applied_from_left_to_right(findings, expected):
    assert apply("abc de", findings) == expected


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("don't", "doesn't", "She does n't go , it 's late ."),
        ("go", "go home", "She do n't go home , it 's late ."),
        ("She", "Well, she", "Well , she do n't go , it 's late ."),
        ("late.", "late. Really.", "She do n't go , it 's late . Really ."),
        (",", ";", "She do n't go ; it 's late ."),
        (" it's", "", "She do n't go , late ."),
    ],
)
def test_only_changed_words_are_tokenised_anew(old, new, expected):
    assert run(Fake((old, new, "")), "She do n't go , it 's late .") == expected


def test_words_that_stay_keep_the_corpus_tokens():
    assert run(Fake(("liek", "like", "")), "You wont/can not liek i'l .") == "You wont/can not like i'l ."


def test_jfleg_keeps_hyphenated_words_and_cannot_whole():
    checker = Fake(("can not", "cannot", ""), ("well paid", "well-paid", ""))
    assert run(checker, "I can not find well paid work .", hyphens=False) == "I cannot find well-paid work ."
    assert run(checker, "I can not find well paid work .") == "I can not find well - paid work ."


@pytest.mark.parametrize(("old", "new"), [('"', "“"), ("...", "…"), ("'s", "’s"), (", ", ","), ("...", " ...")])
def test_spaces_and_the_shape_of_quotes_do_not_matter(old, new):
    source = 'Well , it \'s " odd " ...'
    assert run(Fake((old, new, "")), source) == source


def test_spaces_between_words_matter():
    words = glue(["alot", "of"])
    assert matters(words, Finding(0, 4, "a lot"), TOKENISE)


def test_kinds_are_left_out():
    checker = Fake(("go", "proceed", "Style"), ("a", "an", "Grammar"))
    assert run(checker, "go to a end") == "proceed to an end"
    assert run(checker, "go to a end", without=checker.style) == "go to an end"


@contextmanager
def answering(answer, code=200):
    """A server that gives an answer to every text, and notes the forms that it gets."""
    forms = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            forms.append((self.path, parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())))
            self.send_response(code)
            self.end_headers()
            self.wfile.write(answer if isinstance(answer, bytes) else json.dumps(answer).encode())

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", forms
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def match(offset, length, *values, category="GRAMMAR"):
    replacements = [{"value": value} for value in values]
    return {"offset": offset, "length": length, "replacements": replacements, "rule": {"category": {"id": category}}}


@pytest.mark.parametrize("ending", ["", "/", "/v2", "/v2/"])
def test_a_languagetool_server_is_a_peer(ending):
    """Offsets are units of UTF-16, of which 😀 has two; the first suggestion counts, and findings without one don't."""
    matches = [match(3, 4, "like", "lick"), match(8, 2), match(8, 2, "that", category="STYLE")]
    answer = {"software": {"name": "LanguageTool", "version": "6.5"}, "matches": matches}
    with answering(answer) as (address, forms):
        peer = LanguageToolServer(address + ending, "British")
        assert (peer.name, peer.version) == (
            "LanguageTool (server), British",
            f"LanguageTool 6.5 at {address}{ending}",
        )
        assert peer.find("😀 liek it") == [Finding(2, 6, "like", "GRAMMAR"), Finding(7, 9, "that", "STYLE")]
        assert forms[-1] == ("/v2/check", {"text": ["😀 liek it"], "language": ["en-GB"]})
        assert peer.find(" ") == []
        assert len(forms) == 2
        assert run(peer, "😀 liek it") == "😀 like that"
        assert run(peer, "😀 liek it", without=peer.style) == "😀 like it"


def test_btr_serve_is_a_peer():
    with served(scripted(threshold=0.0)) as address:
        peer = LanguageToolServer(address, "American")
        assert peer.name == "btr (server), American"
        assert run(peer, "I has it .") == "I has it ."  # its reranker prefers the source
    with served(scripted()) as address:
        assert run(LanguageToolServer(address, "American"), "I has it .") == "I have it ."


@pytest.mark.parametrize(
    ("answer", "code", "message"),
    [
        ({"detail": "text is too long"}, 413, r"/v2/check: answers 413 \(.*too long.*\)\."),
        (b"", 500, r"/v2/check: answers 500 \(Internal Server Error\)\."),
        (b"<html>", 200, r"/v2/check: no server of LanguageTool's protocol answers"),
        ({"languages": []}, 200, r"/v2/check: answers without matches"),
        ([], 200, r"/v2/check: answers without matches"),
    ],
)
def test_a_server_that_is_none_is_one_sentence(answer, code, message):
    with answering(answer, code) as (address, _), pytest.raises(InputError, match=message):
        LanguageToolServer(address, "American")


def test_no_server_is_one_sentence():
    with answering({}) as (address, _):
        pass
    with pytest.raises(InputError, match="no server of LanguageTool's protocol answers"):
        load_peers(address)
    with pytest.raises(InputError, match="no server of LanguageTool's protocol answers"):
        LanguageToolServer("nonsense", "American")


def test_peers_that_are_not_installed_are_left_out(monkeypatch, capsys):
    for name in ("harper", "lt_py", "quire_grammar"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(InputError, match="no peer is installed: pip install"):
        load_peers()
    said = capsys.readouterr().err.splitlines()
    assert [line.partition(":")[2].split()[0] for line in said] == ["Harper", "LingoTweaker", "Quire"]
    assert all("is left out: pip install 'btr-gec[peers]'" in line for line in said)
    with answering({"matches": []}) as (address, _):
        assert [peer.name for peer in load_peers(address)] == [
            "LanguageTool (server), American",
            "LanguageTool (server), British",
        ]


def test_quire_without_its_model_is_left_out(monkeypatch, capsys):
    """Its rules alone would say little about it."""
    monkeypatch.setitem(sys.modules, "quire_grammar", SimpleNamespace(check=None))
    monkeypatch.setitem(sys.modules, "quire_grammar.model", SimpleNamespace(is_available=lambda: False))
    for name in ("Harper", "LingoTweaker"):
        monkeypatch.setattr(checkers, name, lambda english: Fake())
    assert len(load_peers()) == 4
    assert capsys.readouterr().err == (
        "peers: Quire is left out: pip install 'btr-gec[peers]' "
        "(quire-grammar has no model, so only its rules would be measured).\n"
    )


def test_quire_with_its_model():
    pytest.importorskip("quire_grammar", reason="needs Quire: pip install 'btr-gec[peers]'")
    pytest.importorskip("quire_grammar_model", reason="needs Quire's model: pip install 'btr-gec[peers]'")
    peer = Quire()
    assert peer.find("This is an test.") == [Finding(8, 10, "a", "mechanics")]
    assert run(peer, "She have two dogs .") == "She has two dogs ."
    assert run(peer, "That is fine , its a nice day .") == "That is fine , it 's a nice day ."


def test_names_are_not_folded_in_the_table(capsys):
    groups = {"by": {"group": {level: {"scores": {"f0.5": 1.0}} for level in "ABC"}}}
    score = {"scores": {"f0.5": 1.0}, "signature": "m2|…"}
    row = {
        "name": "LingoTweaker, American, no style",
        "scores": {"conll13": score, "wi": score | groups, "jfleg": score},
    }
    print_rows([row | {"sentences_per_second": 151.0}])
    (line,) = [line for line in capsys.readouterr().out.splitlines() if "LingoTweaker, American, no style" in line]
    assert line.split()[-8:] == ["1.00"] * 6 + ["151", "–"]


def test_the_readme_has_the_best_row_of_each_peer():
    """The page has what peers.py printed; the README takes one row per peer from it."""
    root = Path(__file__).parents[1]
    page, readme = ((root / name).read_text() for name in ("results/peers.md", "README.md"))
    assert "python benchmarks/peers.py" in page
    for peer in ("Harper", "LingoTweaker", "Quire"):
        (row,) = [line.split("|") for line in readme.splitlines() if line.startswith(f"| {peer}")]
        printed = [line.split()[-8:] for line in page.splitlines() if line.startswith(f" {peer}")]
        assert [cell.strip() for cell in (row[2], row[3], row[5])] in [[each[0], each[4], each[5]] for each in printed]
        assert all(float(speed) > 0 for each in printed for speed in each[-2:])


def last_score(row):
    """Return F, which comes after precision and recall."""
    return [*row["scores"]["conll13"]["scores"].values()][-1]


def test_a_peers_rows_have_scores_and_speeds(tmp_path):
    """Two rows each. One of two edits is right with style: F0.5 is that of precision 1/2 and recall 1."""
    gold = tmp_path / "gold.m2"
    gold.write_text("S go to a end\nA 2 3|||R:DET|||an|||REQUIRED|||-NONE-|||0\n\n")
    sets = [Set("conll13", load_gold("m2", gold=gold, processes=1))]
    every, no_style = measure(Fake(("go", "proceed", "Style"), ("a", "an", "Grammar")), sets)
    assert (every["name"], no_style["name"]) == ("fake", "fake, no style")
    assert last_score(every) == pytest.approx(100 * 1.25 * 0.5 / (0.25 * 0.5 + 1))
    assert last_score(no_style) == pytest.approx(100)
    assert (every["changed"], no_style["changed"]) == ({"conll13": 1}, {"conll13": 1})
    assert every["sentences_per_second"] > 0
    assert every["sentences_per_cpu_second"] > 0
    matches = [match(6, 1, "an")]
    with answering({"matches": matches}) as (address, _):
        row, _ = measure(LanguageToolServer(address, "American"), sets)
    assert last_score(row) == pytest.approx(100)
    assert row["sentences_per_second"] > 0
    assert "sentences_per_cpu_second" not in row  # that of the server is not known
