"""The sets that judges are fitted on and measured with, and their edit tables, which are kept in a work folder.

A set's files in the folder are its gold (`conll13.m2`; of JFLEG `jfleg.src` and `jfleg.ref0` to `jfleg.ref3`), its
candidates (`conll13.candidates.jsonl`) and its edit tables (`conll13.edits.jsonl`). What is there is not made again.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import btr
from btr.corpus.edits import EditTable, read_edit_tables
from btr.corpus.files import read_lines, write_lines
from btr.correction import DEFAULT_MODEL
from btr.correction.loading import LENGTH_PENALTY, MAX_LENGTH
from btr.decisions.tune_edits import GoldSet, load_edit_gold, read_set
from btr.metrics.gold import Gold, load_gold

LANGUAGE_MODEL = "lm:smollm2-135m"
JUDGING_BTR = "edit-btr:edit-btr-small"
SHIPPED = JUDGING_BTR, LANGUAGE_MODEL  # what the shipped judge asks …
SETTLED = 0.25, 0.6  # … the last one about these only: so it takes no longer than writing the candidates
PAPER = "paper"  # the paper's own T5GEC candidates of CoNLL-13
FITTED_ON = "conll13", "wi", "fce"
JFLEG = "jfleg"
NAMES = {
    "conll13": "CoNLL-13",
    "wi": "W&I dev",
    "fce": "FCE dev",
    "jfleg": "JFLEG dev",
    "paper": "the paper's candidates of CoNLL-13",
}
CORPORA = {
    "conll13": ["conll13/cleaned.m2"],
    "wi": [f"wi/{level}.dev.gold.bea19.m2" for level in "ABC"],
    "fce": ["fce/fce.dev.m2"],
}
REFERENCES = 4  # of JFLEG


def file_name(reranker: str) -> str:
    """Return a reranker's name as part of a file's name."""
    return reranker.replace(":", "-").replace("/", "-")


@dataclass(frozen=True)
class Workshop:
    """The corpora, the work folder, and how many sentences of each set are used (None: all)."""

    data: Path
    work: Path
    sentences: int | None = None

    def path(self, name: str, kind: str) -> Path:
        """Return the path of one of a set's files."""
        return self.work / f"{name}.{kind}"

    def spread(self, items: Iterable[str]) -> list[str]:
        """Return as many of a set's sentences as are used, evenly spread."""
        every = list(items)
        count = min(self.sentences or len(every), len(every))
        return [every[k * len(every) // count] for k in range(count)]

    def sources(self, name: str) -> Path:
        """Write a set's gold to the work folder; return the file that has its sources."""
        self.work.mkdir(parents=True, exist_ok=True)
        if name == JFLEG:
            folder = self.data / "jfleg-dev"
            kinds = {"src": "dev.src", **{f"ref{k}": f"dev.ref{k}" for k in range(REFERENCES)}}
            for kind, file in kinds.items():
                if not self.path(name, kind).exists():
                    write_lines(self.path(name, kind), self.spread(read_lines(folder / file)))
            return self.path(name, "src")
        path, groups = self.path(name, "m2"), self.path(name, "groups")
        if not path.exists() or not groups.exists():
            blocks, labels = [], []
            for file in CORPORA[name]:
                every = (self.data / file).read_text(encoding="utf-8").strip().split("\n\n")
                blocks += every
                labels += [Path(file).name.partition(".")[0]] * len(every)
            write_lines(groups, self.spread(labels))
            write_lines(path, (f"{block}\n" for block in self.spread(blocks)))
        return path

    def gold(self, name: str) -> Gold:
        """Load a set's gold: M2 for CoNLL-13, ERRANT for W&I (by level) and FCE, GLEU for JFLEG."""
        path = self.sources("conll13" if name == PAPER else name)
        if name == "wi":
            return load_gold("errant", gold=path, groups=self.path(name, "groups"))
        if name != JFLEG:
            return load_edit_gold(path)
        references = [self.path(name, f"ref{k}") for k in range(REFERENCES)]
        return load_gold("gleu", source=path, reference=references)

    def candidates(self, name: str) -> Path:
        """Return a set's candidates, as `btr correct` writes them; the paper's are given."""
        path = self.path(name, "candidates.jsonl")
        if path.exists():
            return path
        if name == PAPER:
            given = self.data / "conll13" / "t5gec-candidates.jsonl"
            self.work.mkdir(parents=True, exist_ok=True)
            write_lines(path, self.spread(read_lines(given)))
        else:
            btr.generate(
                self.sources(name), DEFAULT_MODEL, path, engine="ctranslate2", dtype="int8", max_length=MAX_LENGTH,
                length_penalty=LENGTH_PENALTY, spelling=True,
            )  # fmt: skip
        return path

    def tables(self, name: str, reranker: str = LANGUAGE_MODEL) -> Path:
        """Return a set's edit tables with a reranker's log-odds."""
        kind = "edits.jsonl" if reranker == LANGUAGE_MODEL else f"{file_name(reranker)}.edits.jsonl"
        path = self.path(name, kind)
        if not path.exists():
            needs_model = ":" in reranker
            btr.score(self.candidates(name), reranker, path, edits=True, int8=needs_model)
        return path

    def read(self, name: str, rerankers: Sequence[str] = SHIPPED) -> GoldSet:
        """Read a set's edit tables, and label them by its gold."""
        return self.with_rerankers(read_set(self.tables(name), self.gold(name)), rerankers)

    def with_rerankers(self, each: GoldSet, rerankers: Sequence[str]) -> GoldSet:
        """Return a set with the log-odds of these rerankers and no others."""
        columns: list[list[list[float | None]]] = []
        names: list[str] = []
        kinds: list[str] = []
        for reranker in rerankers:
            header, stream = read_edit_tables(self.tables(each.labelled.name, reranker))
            columns.append([[edit.log_odds[0] for edit in table.edits] for table in stream])
            names += [str(name) for name in header.rerankers]
            kinds += header.kinds
        tables: list[EditTable] = [
            table.with_log_odds([column[number] for column in columns])
            for number, table in enumerate(each.labelled.tables)
        ]
        labelled = replace(each.labelled, tables=tables, rerankers=tuple(kinds), reranker_names=tuple(names))
        return replace(each, labelled=labelled)
