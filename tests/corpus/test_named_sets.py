"""Test sets by name: which files they are, and what is said where one is missing or another file."""

import hashlib
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

import btr
from btr.cli.reports import print_set_list
from btr.corpus import write_lines
from btr.corpus.m2 import read_m2
from btr.corpus.named_sets import SETS, NamedSet, SetFile, list_sets, locate_set
from btr.errors import InputError

EXAMPLES = Path(__file__).parents[2] / "examples"
GOLD = EXAMPLES / "gold.m2"
# Those of gec-datasets 0.2.0 that are for evaluation, with the number of sentences that its tests have
GEC_DATASETS = {
    "conll13": 1381, "conll14": 1312, "bea19-dev": 4384, "bea19-test": 4477, "fce-dev": 2191, "fce-test": 2695,
    "cweb-g-dev": 3867, "cweb-g-test": 3981, "cweb-s-dev": 2862, "cweb-s-test": 2864, "jfleg-dev": 754,
    "jfleg-test": 747,
}  # fmt: skip


@pytest.fixture
def folders(tmp_path, monkeypatch):
    """An empty $BTR_DATA, an empty cache, and two sets: `tiny` of a known hash, `loose` of an unknown one."""
    monkeypatch.setenv("BTR_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    sha256 = hashlib.sha256(GOLD.read_bytes()).hexdigest()
    tiny = SetFile("tiny/gold.m2", "m2/gold.m2 of tiny.tar.gz", sha256)
    sources = SetFile("loose/in.txt", "in.txt")
    references = tuple(SetFile(f"loose/ref{k}", f"ref{k}") for k in range(2))
    monkeypatch.setitem(SETS, "tiny", NamedSet("errant", 20, "https://tiny.example", gold=(tiny,)))
    loose = NamedSet("gleu", 20, "https://loose.example", source=sources, references=references)
    monkeypatch.setitem(SETS, "loose", loose)
    return tmp_path


def put(folder, path, text):
    target = folder / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text)
    return target


def test_the_names_are_those_of_gec_datasets():
    assert {name: SETS[name].sentences for name in GEC_DATASETS} == GEC_DATASETS
    assert set(SETS) - set(GEC_DATASETS) == {"wi-dev"}
    metrics = {name: named.metric for name, named in SETS.items()}
    assert {name for name, metric in metrics.items() if metric == "m2"} == {"conll13", "conll14"}
    assert {name for name, metric in metrics.items() if metric == "gleu"} == {"jfleg-dev", "jfleg-test"}
    assert set(metrics.values()) == {"m2", "errant", "gleu"}


def test_data_comes_before_the_cache(folders):
    with pytest.raises(InputError) as missing:
        locate_set("tiny")
    assert str(missing.value) == (
        "tiny: tiny/gold.m2 is missing; get it at https://tiny.example (m2/gold.m2 of tiny.tar.gz), and put it below "
        f"{folders}/data or {folders}/cache/btr/sets."
    )
    cached = put(folders, "cache/btr/sets/tiny/gold.m2", GOLD.read_text())
    assert locate_set("tiny").gold == (cached,)
    here = put(folders, "data/tiny/gold.m2", GOLD.read_text())
    assert locate_set("tiny").gold == (here,)


def test_several_missing_files_are_named_together(folders):
    where = r"jfleg/test\.ref2, jfleg/test\.ref3 are missing; get them at .*, and put them below "
    with pytest.raises(InputError, match=where):
        locate_set("jfleg-test")


def test_without_data_only_the_cache_is_named(folders, monkeypatch):
    monkeypatch.delenv("BTR_DATA")
    with pytest.raises(InputError, match=rf"put it below {folders}/cache/btr/sets\.$"):
        locate_set("conll14")


def test_another_file_is_refused(folders):
    path = put(folders, "data/tiny/gold.m2", GOLD.read_text() + "\n")
    with pytest.raises(InputError, match=rf"^{path}: is not m2/gold.m2 of tiny.tar.gz: its SHA-256 does not begin"):
        locate_set("tiny")


def test_without_a_hash_the_sentences_are_counted(folders):
    for name, example in {"in.txt": "source.txt", "ref0": "reference0.txt", "ref1": "reference1.txt"}.items():
        lines = (EXAMPLES / example).read_text().splitlines()
        put(folders, f"data/loose/{name}", "\n".join(lines[:-1]))
    write_lines(folders / "out.txt", lines[:-1])
    with pytest.raises(InputError, match=r"^loose: has 20 sentences, but .*/loose/in\.txt has 19; get the file"):
        btr.evaluate(folders / "out.txt", test_set="loose")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"test_set": "conll41"}, r"^conll41: no such set \(did you mean conll14\?\); the sets are conll13, conll14, "),
        ({"test_set": "nonsense"}, "^nonsense: no such set; the sets are conll13, conll14, "),
        ({"test_set": "bea19-test"}, "bea19-test: its gold is not public; 'btr export' packs"),
        ({"test_set": "tiny", "gold": GOLD}, "--set tiny has its own files; leave out --gold"),
        ({"test_set": "tiny", "source": GOLD}, "--set tiny has its own files; leave out --source"),
        ({"test_set": "tiny", "metric": "gleu"}, "the set tiny has no sources; its metric is errant"),
        ({"test_set": "tiny", "reference": GOLD}, "--reference is for gleu and for --oracle"),
    ],
)
def test_bad_input(folders, options, message):
    put(folders, "data/tiny/gold.m2", GOLD.read_text())
    with pytest.raises(InputError, match=message):
        btr.evaluate(EXAMPLES / "base.txt", **options)


def test_the_set_gives_gold_metric_and_signature(folders):
    put(folders, "data/tiny/gold.m2", GOLD.read_text())
    by_set = btr.evaluate(EXAMPLES / "base.txt", test_set="tiny", resamples=0)
    by_file = btr.evaluate(EXAMPLES / "base.txt", metric="errant", gold=GOLD, resamples=0)
    assert by_set.scores == by_file.scores
    assert by_set.signature == by_file.signature.replace("errant|", "errant|set:tiny|")
    m2 = btr.evaluate(EXAMPLES / "base.txt", test_set="tiny", metric="m2", resamples=0)
    assert m2.signature.startswith("m2|set:tiny|gold:gold.m2#")
    compared = btr.compare(EXAMPLES / "base.txt", EXAMPLES / "second.txt", test_set="tiny", resamples=10)
    assert compared.a.scores == by_file.scores
    assert compared.a.signature == by_set.signature


def test_the_oracle_may_have_references_beside_a_set(folders):
    put(folders, "data/tiny/gold.m2", GOLD.read_text())
    one = EXAMPLES / "reference0.txt"
    options = {"metric": "m2", "oracle": True, "reference": one, "resamples": 0}
    by_set = btr.evaluate(EXAMPLES / "candidates.jsonl", test_set="tiny", **options)
    assert by_set.scores == btr.evaluate(EXAMPLES / "candidates.jsonl", gold=GOLD, **options).scores


def test_the_list_says_what_is_here(folders):
    path = put(folders, "data/tiny/gold.m2", GOLD.read_text())
    listed = {one.name: one for one in list_sets()}
    assert list(listed) == list(SETS)
    assert [file.found for file in listed["tiny"].files] == [str(path)]
    assert listed["conll14"].to_dict() == {
        "name": "conll14",
        "metric": "m2",
        "sentences": 1312,
        "has_gold": True,
        "page": "https://www.comp.nus.edu.sg/~nlp/conll14st.html",
        "files": [
            {
                "path": "conll14/official-2014.combined.m2",
                "release": "noalt/official-2014.combined.m2 of conll14st-test-data.tar.gz",
            }
        ],
    }
    assert not listed["bea19-test"].has_gold


def problems(name):
    (listed,) = [one for one in list_sets() if one.name == name]
    return [file.problem for file in listed.files]


def test_the_list_says_which_files_are_refused(folders, monkeypatch):
    """By the hash where it is known, else by the number of sentences; `--set` would refuse the same files."""
    files = {name: (EXAMPLES / name).read_text() for name in ("source.txt", "reference0.txt", "reference1.txt")}
    source, first, second = files.values()
    put(folders, "data/tiny/gold.m2", GOLD.read_text() + "\n")
    assert problems("tiny") == ["other version"]
    put(folders, "data/tiny/gold.m2", GOLD.read_text())
    assert problems("tiny") == [None]
    put(folders, "data/loose/in.txt", source)
    put(folders, "data/loose/ref0", first)
    assert problems("loose") == [None, None, None]  # one is missing, and nothing is wrong with the others
    put(folders, "data/loose/ref0", first + "One more .\n")
    assert problems("loose") == [None, "other version", None]
    put(folders, "data/loose/ref0", first)
    put(folders, "data/loose/ref1", second + "One more .\n")
    assert problems("loose") == [None, None, "other version"]
    (folders / "data/loose/ref1").write_bytes(b"\xff\xfe\n")
    assert problems("loose") == [None, None, "unreadable"]
    parts = tuple(SetFile(f"parts/{k}.m2", f"{k}.m2") for k in range(2))
    monkeypatch.setitem(SETS, "parts", NamedSet("errant", 40, "https://parts.example", gold=parts))
    for k in range(2):
        put(folders, f"data/parts/{k}.m2", GOLD.read_text())
    assert problems("parts") == [None, None]  # together they have the set's sentences
    put(folders, "data/parts/1.m2", "S One .\n")
    assert problems("parts") == ["other version"] * 2
    put(folders, "data/parts/1.m2", "no M2\n")
    assert problems("parts") == [None, "unreadable"]


def test_a_refused_file_is_no_yes_in_the_table(folders):
    put(folders, "data/tiny/gold.m2", GOLD.read_text() + "\n")
    printed = StringIO()
    print_set_list([one for one in list_sets() if one.name in ("tiny", "loose")], Console(file=printed, width=120))
    (row,) = [line for line in printed.getvalue().splitlines() if "tiny/gold.m2" in line]
    assert row.endswith(" other version ")
    assert not row.count("yes")


@pytest.mark.parametrize("name", ["conll13", "wi-dev", "cweb-g-dev", "cweb-s-dev", "jfleg-dev"])
def test_the_corpora_are_those_that_the_names_stand_for(data, name, tmp_path, monkeypatch):
    monkeypatch.setenv("BTR_DATA", str(data))
    located = locate_set(name)  # checks every hash
    assert all(file.sha256 for file in SETS[name].files)
    if located.gold:
        sources = [sentence.source for path in located.gold for sentence in read_m2(path)]
    else:
        sources = located.source.read_text().splitlines()
    write_lines(tmp_path / "out.txt", sources)
    result = btr.evaluate(tmp_path / "out.txt", test_set=name, resamples=0)
    assert len(sources) == located.sentences
    assert result.signature.startswith(f"{located.metric}|set:{name}|")
    if located.gold:
        assert result.counts["correct"] == result.counts["proposed"] == 0 < result.counts["gold"]


def test_figures_on_fce_dev_say_that_it_is_another_file_than_the_set(data):
    sentences = sum(1 for _ in read_m2(data / "fce" / "fce.dev.m2"))
    assert sentences != SETS["fce-dev"].sentences
    root = EXAMPLES.parent
    readme = (root / "README.md").read_text()
    assert f"`fce/fce.dev.m2` of `BTR_DATA`, {sentences:,} sentences" in readme
    assert f"not the named set `fce-dev` ({SETS['fce-dev'].sentences:,}\nsentences" in readme
    assert f"`fce/fce.dev.m2`, {sentences:,} sentences" in (root / "results" / "judge.md").read_text()
    assert f"`fce/fce.dev.m2`, {sentences:,} sentences" in (root / "docs" / "evaluate.md").read_text()


def test_the_docs_say_where_each_corpus_is_offered():
    page = (EXAMPLES.parent / "docs" / "reproduce.md").read_text()
    rows = [line.split("|") for line in page.partition("licence and registration")[2].split("\n\n")[0].splitlines()[2:]]
    assert all(len(row) == 5 and "https://" in row[2] and row[3].strip() for row in rows)
    corpora = " ".join(row[1] for row in rows)
    for corpus in ("W&I+LOCNESS", "FCE", "NUCLE", "CoNLL-13", "CoNLL-14", "JFLEG", "CWEB", "C4-200M", "Lang-8"):
        assert corpus in corpora
    for named in SETS.values():
        assert any(named.page in row[2] for row in rows)


def test_the_levels_of_wi_dev_are_groups(data, tmp_path, monkeypatch):
    monkeypatch.setenv("BTR_DATA", str(data))
    sources = [sentence.source for path in locate_set("wi-dev").gold for sentence in read_m2(path)]
    write_lines(tmp_path / "out.txt", sources)
    groups = btr.evaluate(tmp_path / "out.txt", test_set="wi-dev", by="group", resamples=0).by["group"]
    assert {label: part.sentences for label, part in groups.items()} == {"A": 1037, "B": 1290, "C": 1069}
