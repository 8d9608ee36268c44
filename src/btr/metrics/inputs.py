"""The files and options that metrics are built from."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from btr.corpus.files import PathLike, check_is_file, check_same_length, file_signature, read_text
from btr.corpus.m2 import Sentence, read_m2
from btr.corpus.named_sets import LocatedSet
from btr.corpus.parallel import read_references
from btr.errors import InputError
from btr.wording import count_of

# The kinds of files that a metric may need: what they hold, and how messages ask for them.
CONTENT = {"gold": "gold", "source": "sources", "reference": "references"}
OPTION = {"gold": "--gold, an M2 file", "source": "--source", "reference": "at least one --reference"}


@dataclass(frozen=True)
class MetricFiles:
    """The files that hypotheses are scored against, each read when it is first needed."""

    gold: Sequence[PathLike] = ()
    source: PathLike | None = None
    reference: Sequence[PathLike] = ()
    test_set: LocatedSet | None = None  # whose files these are, if they were named by their set

    def paths(self, kind: str) -> list[PathLike]:
        """Return the files of one kind: gold, source or reference."""
        return {
            "gold": list(self.gold),
            "source": [] if self.source is None else [self.source],
            "reference": list(self.reference),
        }[kind]

    def signature(self, *kinds: str) -> str:
        """Return the names and hashes of all files of these kinds, for a metric's signature."""
        return "+".join(file_signature(path, CONTENT[kind]) for kind in kinds for path in self.paths(kind))

    def check(self, metric: str, needs: Sequence[str]) -> None:
        """Refuse files that can't be read twice, and a lack of files that the metric needs."""
        for kind, content in CONTENT.items():
            for path in self.paths(kind):
                check_is_file(path, content)
        missing = [kind for kind in needs if not self.paths(kind)]
        if missing and self.test_set:
            name, usual = self.test_set.name, self.test_set.metric
            raise InputError(
                f"{metric} needs {' and '.join(OPTION[kind] for kind in needs)}, and the set {name} has no "
                f"{CONTENT[missing[0]]}; its metric is {usual}."
            )
        if missing:
            raise InputError(f"{metric} needs {' and '.join(OPTION[kind] for kind in needs)}.")

    @cached_property
    def gold_parts(self) -> list[list[Sentence]]:
        """The sentences of each M2 file."""
        return [list(read_m2(path)) for path in self.gold]

    @cached_property
    def sentences(self) -> list[Sentence]:
        """The sentences of all M2 files, as one corpus."""
        return [sentence for part in self.gold_parts for sentence in part]

    @cached_property
    def sources(self) -> list[str]:
        """The lines of the source file."""
        return [] if self.source is None else read_text(self.source)

    @cached_property
    def references(self) -> list[tuple[str, ...]]:
        """The references of each sentence, from all reference files."""
        files = [read_references(path) for path in self.reference]
        check_same_length([(str(path), len(rows)) for path, rows in zip(self.reference, files)])
        for path, rows in zip(self.reference, files):
            for number, row in enumerate(rows, 1):
                if len(row) != len(rows[0]) or not row:
                    raise InputError(
                        f"{path}, line {number}: has {count_of(len(row), 'reference')}, but line 1 has {len(rows[0])}; "
                        "every sentence needs the same number, at least one."
                    )
        return [tuple(reference for row in rows for reference in row) for rows in zip(*files)]


@dataclass(frozen=True)
class MetricOptions:
    """The options of metrics; one that is None has the metric's default."""

    beta: float | None = None
    mode: str | None = None

    def check(self, metric: str, options: Sequence[str]) -> None:
        """Refuse an option that the metric does not have."""
        for name, value in vars(self).items():
            if value is not None and name not in options:
                raise InputError(f"--{name} is no option of {metric}.")
