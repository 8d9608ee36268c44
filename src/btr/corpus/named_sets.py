"""Test sets by name, as sacrebleu has them: which files a name stands for, and where these are.

No file is part of this package, and none is downloaded: licence holders offer them, some on request. A file is looked
for below $BTR_DATA, then below the folder `btr/sets` of the user's cache. The names are those of the package
`gec-datasets`; `wi-dev` is added. A hash is given only where the file was at hand; where it is not known, the number
of sentences (which that package's tests give) tells whether it is the right file.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from btr.corpus.files import file_sha256, read_text, user_cache
from btr.corpus.m2 import read_m2
from btr.errors import InputError
from btr.records import Record
from btr.wording import count_of, did_you_mean

NUS13 = "https://www.comp.nus.edu.sg/~nlp/conll13st.html"
NUS14 = "https://www.comp.nus.edu.sg/~nlp/conll14st.html"
BEA = "https://www.cl.cam.ac.uk/research/nl/bea2019st/"
JFLEG = "https://github.com/keisks/jfleg"
CWEB = "https://github.com/SimonHFL/CWEB"
OTHER_VERSION, UNREADABLE = "other version", "unreadable"  # what the list says of files that `--set` refuses


@dataclass(frozen=True, slots=True)
class SetFile:
    """A file of a set: its place below $BTR_DATA, its name in the release that it comes from, and its hash if known."""

    path: str
    release: str
    sha256: str | None = None


@dataclass(frozen=True, slots=True)
class NamedSet:
    """The files that a name stands for, the metric by which results on them are published, and who offers them."""

    metric: str
    sentences: int
    page: str  # where the licence holder offers the files
    gold: tuple[SetFile, ...] = ()
    source: SetFile | None = None
    references: tuple[SetFile, ...] = ()

    @property
    def files(self) -> tuple[SetFile, ...]:
        """All files of the set."""
        return (*self.gold, *([self.source] if self.source else []), *self.references)


def _wi(level: str, sha256: str | None) -> SetFile:
    name = f"{level}.dev.gold.bea19.m2"
    return SetFile(f"wi/{name}", f"wi+locness/m2/{name} of wi+locness_v2.1.bea19.tar.gz", sha256)


def _fce(part: str) -> NamedSet:
    name = f"fce.{part}.gold.bea19.m2"
    file = SetFile(f"fce/{name}", f"fce/m2/{name} of fce_v2.1.bea19.tar.gz")
    return NamedSet("errant", {"dev": 2191, "test": 2695}[part], BEA, gold=(file,))


def _cweb(domain: str, part: str, sentences: int, sha256: str | None = None) -> NamedSet:
    name = f"CWEB-{domain}.{part}.m2"
    return NamedSet("errant", sentences, CWEB, gold=(SetFile(f"cweb-{part}/{name}", f"data/m2/{name}", sha256),))


def _jfleg(folder: str, part: str, sentences: int, hashes: Sequence[str | None]) -> NamedSet:
    names = [f"{part}.src", *(f"{part}.ref{k}" for k in range(4))]
    source, *references = (SetFile(f"{folder}/{name}", f"{part}/{name}", sha) for name, sha in zip(names, hashes))
    return NamedSet("gleu", sentences, JFLEG, source=source, references=tuple(references))


WI_DEV = (
    _wi("A", "ddd7d1e98a1ccc3961660cc66ae44e254d52d10590a458e34b5b4c0adbf9866d"),
    _wi("B", "3e7fef76d66b0de73c6cd26b3108b84287e51fc80f5c2ae477e50e5ac1acaada"),
    _wi("C", "f9a1984ed01de882e1bc1a9a48df6011ae117fbc28c78efe12bc7183d63fae97"),
)
JFLEG_DEV = (
    "4a0e8b86d18a1058460ff0a592dac1ba68986d135256efbd27e997ac43f295f8",
    "adea6287c6e2240b7777e63cd56f8e228e742bbfb42c5152bc0bd2bc91f4e53e",
    "d40d56ec7468ddab03fdcca97065ab3f9d391d749dbc7097b7c777a19ce4242e",
    "b070691d633e0c4143d96ba21299ae71cb126086517d2970df47420842067793",
    "9187fd834693fa77d07957991282d32d61ff84a207c25cbfab318c871bacdbc4",
)
CONLL13 = SetFile(
    "conll13/official-preprocessed.m2",
    "official-preprocessed.m2 of release2.3.1.tar.gz",
    "39e427cca008f791cadbf9ca9333f2eb2e93a93df6db4f3b05837032cfb20d9f",
)
CONLL14 = SetFile("conll14/official-2014.combined.m2", "noalt/official-2014.combined.m2 of conll14st-test-data.tar.gz")
BEA_TEST = SetFile("bea/ABCN.test.bea19.orig", "wi+locness/test/ABCN.test.bea19.orig of wi+locness_v2.1.bea19.tar.gz")

SETS = {
    "conll13": NamedSet("m2", 1381, NUS13, gold=(CONLL13,)),
    "conll14": NamedSet("m2", 1312, NUS14, gold=(CONLL14,)),
    "bea19-dev": NamedSet("errant", 4384, BEA, gold=(*WI_DEV, _wi("N", None))),
    "bea19-test": NamedSet("errant", 4477, BEA, source=BEA_TEST),  # its gold is not public
    "wi-dev": NamedSet("errant", 3396, BEA, gold=WI_DEV),  # bea19-dev without the native writers of LOCNESS
    "fce-dev": _fce("dev"),
    "fce-test": _fce("test"),
    "cweb-g-dev": _cweb("G", "dev", 3867, "76ca55795a76c32916d84bb13174d4701031d78fa1c88989bddf1d8aee8b6592"),
    "cweb-g-test": _cweb("G", "test", 3981),
    "cweb-s-dev": _cweb("S", "dev", 2862, "aaf1bdeeb0271675ae75804fcdd73058e4069de36c7870fd384f9b40aefcc50d"),
    "cweb-s-test": _cweb("S", "test", 2864),
    "jfleg-dev": _jfleg("jfleg-dev", "dev", 754, JFLEG_DEV),
    "jfleg-test": _jfleg("jfleg", "test", 747, [None] * 5),
}


@dataclass(frozen=True, slots=True)
class LocatedSet:
    """A set whose files are on this machine."""

    name: str
    metric: str
    sentences: int
    gold: tuple[Path, ...]
    source: Path | None
    references: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class ListedFile(Record):
    """A file of a set: its place below $BTR_DATA, where it is on this machine, and its hash; None if not known."""

    path: str
    release: str
    found: str | None = None
    sha256: str | None = None
    problem: str | None = None  # why `--set` refuses the file, in a word or two


@dataclass(frozen=True, slots=True)
class ListedSet(Record):
    """What `btr evaluate --list-sets` says of a set."""

    name: str
    metric: str
    sentences: int
    has_gold: bool
    page: str
    files: tuple[ListedFile, ...]


def list_sets() -> list[ListedSet]:
    """Return all named test sets: their metric, files and hashes, who offers them, and which files are here."""
    return [
        ListedSet(
            name,
            named.metric,
            named.sentences,
            bool(named.gold or named.references),
            named.page,
            _list_files(named),
        )
        for name, named in SETS.items()
    ]


def _list_files(named: NamedSet) -> tuple[ListedFile, ...]:
    """Return the files of a set, each with where it is and why `--set` refuses it."""
    paths = [find_file(file) for file in named.files]
    problems = [_problem(path, file, named) for path, file in zip(paths, named.files)]
    is_hashed = all(file.sha256 for file in named.files)
    if named.gold and not is_hashed and all(paths) and not any(problems):  # several M2 files form one corpus
        total = sum(_count_sentences(path) for path in paths if path)
        if total != named.sentences:
            problems = [None if file.sha256 else OTHER_VERSION for file in named.files]
    return tuple(
        ListedFile(file.path, file.release, str(path) if path else None, file.sha256, problem)
        for path, file, problem in zip(paths, named.files, problems)
    )


def _problem(path: Path | None, file: SetFile, named: NamedSet) -> str | None:
    """Return what is wrong with a file by itself; None if nothing is, or the file is missing."""
    if path is None:
        return None
    try:
        if file.sha256:
            is_right = file_sha256(path) == file.sha256
        else:
            is_right = _count_sentences(path) == named.sentences or bool(named.gold)
    except (InputError, OSError):
        return UNREADABLE
    return None if is_right else OTHER_VERSION


def _count_sentences(path: Path) -> int:
    """Return how many sentences an M2 or a text file has."""
    return sum(1 for _ in (read_m2(path) if path.suffix == ".m2" else read_text(path)))


def set_folders() -> list[Path]:
    """Return the folders below which files of sets are looked for."""
    data = os.environ.get("BTR_DATA")
    return [*([Path(data)] if data else []), user_cache() / "sets"]


def find_file(file: SetFile) -> Path | None:
    """Return where a file of a set is, or None."""
    return next((folder / file.path for folder in set_folders() if (folder / file.path).is_file()), None)


def locate_set(name: str) -> LocatedSet:
    """Return the files of a set; refuse if one is missing, or is not the one that the name stands for."""
    if name not in SETS:
        raise InputError(f"{name}: no such set{did_you_mean(name, SETS)}; the sets are {', '.join(SETS)}.")
    named = SETS[name]
    if not named.gold and not named.references:
        raise InputError(
            f"{name}: its gold is not public; 'btr export' packs an output for the competition at {named.page}."
        )
    if missing := [file for file in named.files if find_file(file) is None]:
        verb, them = ("is", "it") if len(missing) == 1 else ("are", "them")
        raise InputError(
            f"{name}: {', '.join(file.path for file in missing)} {verb} missing; get {them} at {named.page} "
            f"({', '.join(file.release for file in missing)}), and put {them} below "
            f"{' or '.join(map(str, set_folders()))}."
        )
    gold, references = (tuple(map(_checked, files)) for files in (named.gold, named.references))
    source = _checked(named.source) if named.source else None
    return LocatedSet(name, named.metric, named.sentences, gold, source, references)


def _checked(file: SetFile) -> Path:
    """Return where a file is, once its hash is right."""
    path = find_file(file)
    assert path is not None
    if file.sha256 and file_sha256(path) != file.sha256:
        raise InputError(
            f"{path}: is not {file.release}: its SHA-256 does not begin with {file.sha256[:8]}; get that file, or "
            "score against this one without --set."
        )
    return path


def check_sentences(located: LocatedSet, sentences: int) -> None:
    """Refuse files with another number of sentences than the set has."""
    if sentences != located.sentences:
        raise InputError(
            f"{located.name}: has {count_of(located.sentences, 'sentence')}, but "
            f"{' + '.join(map(str, located.gold or [located.source]))} has {sentences:,}; get the file that the name "
            "stands for ('btr evaluate --list-sets'), or score against this one without --set."
        )
