"""The command line as a user types it."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from btr.cli import main
from btr.corpus.named_sets import SETS

ROOT = Path(__file__).parents[1]
EVALUATE = ["evaluate", "examples/base.txt", "--gold", "examples/gold.m2"]


def btr(*arguments, **options):
    command = [sys.executable, "-m", "btr.cli", *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, **options)


def test_json_is_one_object_and_nothing_else():
    done = btr(*EVALUATE, "--json")
    result = json.loads(done.stdout)
    assert (done.returncode, done.stderr) == (0, "")
    assert list(result) == ["metric", "scores", "counts", "confidence", "signature"]
    assert list(result["scores"]) == ["precision", "recall", "f0.5"]
    assert result["scores"]["precision"] == 100 * result["counts"]["correct"] / result["counts"]["proposed"]


def test_table_fits_eighty_columns():
    done = btr(*EVALUATE, "--metric", "errant", "--by", "operation", env={**os.environ, "COLUMNS": "80"})
    assert "Replacement" in done.stdout
    *table, signature = done.stdout.splitlines()
    assert max(map(len, table)) <= 80
    assert signature.startswith("errant|gold:gold.m2#")


def test_groups_and_operations_are_legible(tmp_path):
    """The paper's Table 22: no label is lost and no number is cut at 80 columns."""
    (tmp_path / "labels").write_text("A\nB\n" * 10)
    options = ["--metric", "errant", "--by", "operation", "--by", "group", "--groups", tmp_path / "labels"]
    done = btr(*EVALUATE, *options, env={**os.environ, "COLUMNS": "80"})
    assert "…" not in done.stdout
    grid = done.stdout[done.stdout.index("F0.5 by operation") :].splitlines()
    assert grid[0].split()[-2:] == ["A", "B"]
    assert {line.split()[0] for line in grid[2:6]} == {"Replacement", "Unnecessary", "Missing", "all"}


def test_labels_are_no_markup(tmp_path):
    (tmp_path / "labels").write_text("[/A]\n" * 20)
    done = btr(*EVALUATE, "--by", "group", "--groups", tmp_path / "labels")
    assert "[/A]" in done.stdout


def test_output_is_utf8_everywhere(tmp_path):
    (tmp_path / "in.m2").write_text("S café 猫\n", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "btr.cli", "clean", tmp_path / "in.m2", "-o", "-"],
        capture_output=True, env={**os.environ, "PYTHONIOENCODING": "latin-1"}, cwd=ROOT,
    )  # fmt: skip
    assert done.stdout.decode() == "S café 猫\n\n"


def test_gzip_changes_nothing(tmp_path):
    import gzip

    for name in ("base.txt", "gold.m2"):
        (tmp_path / f"{name}.gz").write_bytes(gzip.compress((ROOT / "examples" / name).read_bytes()))
    packed = json.loads(btr("evaluate", tmp_path / "base.txt.gz", "--gold", tmp_path / "gold.m2.gz", "--json").stdout)
    plain = json.loads(btr(*EVALUATE, "--json").stdout)
    assert packed["scores"] == plain["scores"]
    assert packed["signature"].replace(".gz", "") == plain["signature"]


def test_standard_input_is_read_once():
    text = (ROOT / "examples" / "base.txt").read_text()
    done = btr("compare", "-", "-", "--gold", "examples/gold.m2", input=text)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "standard input (-) can be read once only" in done.stderr


def test_compare_json():
    done = btr("compare", "examples/base.txt", "examples/second.txt", "--gold", "examples/gold.m2", "--json")
    assert list(json.loads(done.stdout)) == ["metric", "a", "b", "difference", "sentences", "significance", "signature"]


def test_compare_and_report_several():
    files = [f"examples/{name}.txt" for name in ("base", "second", "reference0")]
    table = btr("compare", *files, "--gold", "examples/gold.m2", "--resamples", "50").stdout
    assert [line.split()[:3] for line in table.splitlines() if line.startswith(" B ")] == [["B", "83.87", "76.47"]]
    assert "A examples/base.txt" in table
    assert "adjusted for 2 comparisons (Holm)" in table
    report = btr("evaluate", files[0], "--metric", "all", "--gold", "examples/gold.m2", "--resamples", "50")
    for title in (" M2 ", " ERRANT ", " CLEME "):
        assert title in report.stdout
    assert report.stdout.count("|btr:") == 3
    done = btr("compare", *files, "--metric", "all", "--gold", "examples/gold.m2", "--resamples", "50", "--json")
    assert list(json.loads(done.stdout)) == ["systems", "signatures"]


def test_list_sets():
    done = btr("evaluate", "--list-sets")
    assert (done.returncode, done.stderr) == (0, "")
    assert "conll14/official-2014.combined.m2" in done.stdout
    assert "jfleg-dev, jfleg-test: https://github.com/keisks/jfleg" in done.stdout
    listed = json.loads(btr("evaluate", "--list-sets", "--json").stdout)
    assert [one["name"] for one in listed] == list(SETS)


def test_standard_input():
    text = (ROOT / "examples" / "base.txt").read_text()
    piped = btr("evaluate", "-", "--gold", "examples/gold.m2", "--json", input=text)
    assert json.loads(piped.stdout) == json.loads(btr(*EVALUATE, "--json").stdout)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["evaluate"], "Missing argument 'HYP'; see 'btr evaluate --help'."),
        ([*EVALUATE, "--nope"], "No such option: --nope"),
        ([*EVALUATE, "--rank", "0"], "Invalid value for '--rank'"),
        (["evaluate", "nothing.txt", "--gold", "examples/gold.m2"], "nothing.txt: no such file"),
        (["evaluate", "examples/base.txt", "--gold", "examples/base.txt"], "line 1: expected 'S …', 'A …'"),
        (["evaluate", "examples", "--gold", "examples/gold.m2"], "examples: is a folder"),
        (["clean", "examples/gold.m2", "-o", "no/where.m2"], "no/where.m2: cannot be written"),
        (["unknown"], "No such command 'unknown'; see 'btr --help'."),
        (
            ["evaluate", "examples/base.txt", "--set", "conll41"],
            "conll41: no such set (did you mean conll14?); the sets",
        ),
        ([*EVALUATE, "--metric", "foo"], "--metric must be one of m2, errant, cleme, gleu, unchanged, all, not 'foo'."),
        (
            ["compare", "examples/base.txt", "examples/second.txt", "--metric", "Erant"],
            "unchanged, all, not 'Erant' (did you mean errant?).",
        ),
        ([*EVALUATE, "--metric", "all", "--oracle"], "--oracle is for a single metric"),
        ([*EVALUATE, "--clean", "examples/base.txt"], "--clean is for a report; add --metric all"),
        ([*EVALUATE, "examples/base.txt", "--metric", "all"], "'btr compare' takes those of several systems"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(arguments, message):
    done = btr(*arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("btr: ")
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


def test_help_has_examples():
    assert "Commands:" in btr().stdout
    for verb in (
        "evaluate",
        "compare",
        "score",
        "rerank",
        "combine",
        "clean",
        "compact",
        "import",
        "study",
        "export",
        "serve",
    ):
        assert f"  btr {verb} " in btr(verb, "--help").stdout


def test_version():
    import btr as package

    assert btr("--version").stdout == f"btr {package.__version__}\n"


def test_clean(tmp_path):
    (tmp_path / "in.m2").write_text("S A well-known fact.It is .\n")
    done = btr("clean", tmp_path / "in.m2", "-o", tmp_path / "out.m2.gz")
    assert (done.returncode, done.stdout) == (0, "")
    assert "2 sentences written" in done.stderr
    assert btr("clean", tmp_path / "in.m2", "-o", "-").stdout == "S A well - known fact .\n\nS It is .\n\n"


def test_texts_on_standard_output_are_alone_there(tmp_path):
    scores = tmp_path / "scores.jsonl"
    btr("score", "examples/candidates.jsonl", "--reranker", "mbr", "-o", scores)
    done = btr("rerank", scores, "-o", "-", "--threshold", 1)
    assert done.stdout == (ROOT / "examples" / "base.txt").read_text()
    assert "share (%)" in done.stderr
    refused = btr("rerank", scores, "-o", "-", "--json")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "--json has the chosen texts already" in refused.stderr


def test_unscored_sentences_are_counted(tmp_path):
    header = {"rerankers": [{"kind": "btr", "model": None, "signature": "s"}]}
    for score, is_shown in ((None, True), (-1.0, False)):
        row = {"source": "a", "candidates": ["b"], "scores": [[score]]}
        (tmp_path / "scores.jsonl").write_text(f"{json.dumps(header)}\n{json.dumps(row)}\n")
        done = btr("rerank", tmp_path / "scores.jsonl")
        assert ("1 of the equal have no score" in done.stdout) == is_shown


def test_weights_are_named_by_kind(tmp_path):
    scores = tmp_path / "scores.jsonl"
    btr("score", "examples/candidates.jsonl", "--reranker", "mbr", "--reranker", "vote", "-o", scores)
    done = btr("rerank", scores, "--weight", "mbr=2", "--json")
    assert json.loads(done.stdout)["settings"]["weights"] == {"mbr": 2.0}
    for weight, message in (
        ("2", "--weight takes KIND=WEIGHT, e.g. --weight contrast=2, not '2'"),
        ("mbr=x", "--weight takes KIND=WEIGHT, e.g. --weight contrast=2, not 'mbr=x'"),
        ("contrast=2", "there is a weight for contrast, but the scores are of mbr, vote"),
    ):
        refused = btr("rerank", scores, "--weight", weight)
        assert (refused.returncode, refused.stdout) == (2, "")
        assert message in refused.stderr


@pytest.mark.parametrize("device", ["/dev/stdin", "pipe"])
def test_candidates_from_a_pipe_are_refused_as_candidates(device, tmp_path):
    """Not as gold or references: they are read twice, which a pipe can't be."""
    if device == "pipe":
        os.mkfifo(tmp_path / "pipe")
        device = tmp_path / "pipe"
    text = (ROOT / "examples" / "candidates.jsonl").read_text()
    done = btr("score", device, "--reranker", "mbr", "-o", tmp_path / "scores.jsonl", input=text)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert f"{device} (candidates): is read twice" in done.stderr
    assert "gold" not in done.stderr
    piped = btr("score", "-", "--reranker", "mbr", "-o", tmp_path / "scores.jsonl", input=text)
    assert piped.returncode == 0


def test_what_the_system_refuses_is_named(tmp_path):
    (tmp_path / "scores.jsonl.part").mkdir()
    done = btr("score", "examples/candidates.jsonl", "--reranker", "mbr", "-o", tmp_path / "scores.jsonl")
    assert done.returncode == 2
    part = tmp_path / "scores.jsonl.part"
    assert done.stderr.splitlines()[-1] == f"btr: {part}: cannot be written (Is a directory)."


def children(pid):
    """How many processes a process has started that still run; the options of `ps` are those of macOS, too."""
    parents = subprocess.run(["ps", "-A", "-o", "ppid="], capture_output=True, text=True).stdout
    return parents.split().count(str(pid))


def test_ctrl_c_ends_at_once_and_leaves_nothing(tmp_path):
    """A corpus that takes a while, interrupted: one sentence, exit code 130, no output, no process left over."""
    sentence = "S " + " ".join(f"w{k}" for k in range(150)) + "\n\n"
    (tmp_path / "gold.m2").write_text(sentence * 4000)
    (tmp_path / "out.txt").write_text("".join(" ".join(f"v{k}" for k in range(180)) + f" {n}\n" for n in range(4000)))
    command = [sys.executable, "-m", "btr.cli", "evaluate", tmp_path / "out.txt", "--gold", tmp_path / "gold.m2"]
    process = subprocess.Popen(
        [*command, "--processes", "2"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a job in a shell's background ignores it
    )
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and children(process.pid) < 2:  # until both workers have started
        time.sleep(0.05)
    time.sleep(1)
    assert children(process.pid) >= 2  # where workers are spawned, Python starts a third process
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert (process.returncode, out, err) == (130, "", "btr: interrupted.\n")


def test_output_into_a_closed_pipe():
    done = subprocess.run(
        f"{shlex.quote(sys.executable)} -m btr.cli clean examples/gold.m2 -o - | head -1",
        cwd=ROOT, shell=True, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.stdout.startswith("S ")
    assert "Traceback" not in done.stderr


def test_evaluation_needs_no_torch(tmp_path):
    """The light part runs where torch and transformers can't be imported."""
    code = (
        "import sys; sys.modules.update(torch=None, transformers=None); "
        "from btr.cli import main; sys.argv = ['btr', *sys.argv[1:]]; main()"
    )

    def run(*arguments):
        command = [sys.executable, "-c", code, *map(str, arguments)]
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)

    for metric in ("m2", "errant"):
        assert json.loads(run(*EVALUATE, "--metric", metric, "--json").stdout)["metric"] == metric
    scores = tmp_path / "scores.jsonl"
    assert run("score", "examples/candidates.jsonl", "--reranker", "mbr", "-o", scores).returncode == 0
    assert len(json.loads(run("rerank", scores, "--json").stdout)["decisions"]) == 20
    systems = "examples/base.txt", "examples/second.txt", "examples/third.txt"
    combined = run("combine", *systems, "--source", "examples/source.txt", "-o", tmp_path / "out.txt", "--json")
    assert json.loads(combined.stdout)["sentences"] == 20
    refused = run("score", "examples/candidates.jsonl", "--reranker", "btr:x", "-o", scores)
    assert refused.returncode == 2
    assert "needs what the extra 'models' installs" in refused.stderr


def commands(path):
    """The `btr` commands in a page's shell blocks, each on one line."""
    blocks = re.findall(r"```(?:sh|bash)\n(.*?)```", path.read_text(), re.DOTALL)
    lines = "\n".join(blocks).replace("\\\n", " ").splitlines()
    return [line for line in lines if re.match(r"(\.venv/bin/)?btr ", line)]


PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.fixture
def run_here(monkeypatch, capsys):
    """Return a function that runs a command in this process, where models stay loaded; it returns what went wrong."""
    monkeypatch.chdir(ROOT)
    handler = signal.getsignal(signal.SIGTERM)

    def run_words(words):
        monkeypatch.setattr(sys, "argv", words)
        try:
            main()
        except SystemExit as end:
            return capsys.readouterr().err if end.code else ""
        return ""

    yield run_words
    signal.signal(signal.SIGTERM, handler)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_in_the_docs_run(page, run_here, tmp_path):
    """Every `btr` command shown to users runs as shown, in order, on the files of this repository or of BTR_DATA."""
    made, skipped = set(), []
    for shown in commands(page):
        if "$BTR_DATA" in shown and not os.environ.get("BTR_DATA"):
            skipped.append(shown)
            continue
        made |= set(re.findall(r"(?:-o|--plot|--candidates) (\S+)", shown))
        words = shlex.split(os.path.expandvars(shown))
        wrong = run_here(["btr", *(str(tmp_path / Path(word).name) if word in made else word for word in words[1:])])
        assert not wrong, f"{shown}: {wrong}"
    if skipped:
        pytest.skip(f"all ran but {len(skipped)} that need corpora: set BTR_DATA")
