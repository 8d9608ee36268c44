"""Each folder of the package imports only from those before it; what needs no torch runs without it."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "btr"
LAYERS = (
    "corpus", "metrics", "models", "decisions", "candidates", "rerankers", "correction", "training", "studies",
    "serving", "cli",
)  # fmt: skip
BESIDE = {path.stem for path in PACKAGE.glob("*.py")} - {"__init__"}  # modules that stand beside the folders
FRONT_DOOR = "btr"
WITHOUT_TORCH = "corpus", "metrics", "decisions", "registry"


def imported_modules(path):
    """Yield every module of the package that a file imports, inside functions and for type checkers too."""
    inside = ("btr", *path.relative_to(PACKAGE).with_suffix("").parts)
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parent = ".".join(inside[: -node.level]) if node.level else ""
            name = ".".join(filter(None, (parent, node.module)))
            yield from (f"{name}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            module, colon, attribute = node.value.partition(":")  # an entry of a registry, imported at the first lookup
            if colon and module.startswith("btr.") and attribute.isidentifier():
                yield module


def layer(module):
    """Return the folder, or the module beside the folders, that a name of the package belongs to.

    The package itself (`import btr`) is the front door, which gives all; its version is no layer.
    """
    first, _, rest = module.partition(".")
    return None if first != "btr" or rest == "__version__" else rest.partition(".")[0] or FRONT_DOOR


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_module_imports_only_from_layers_before_its_own(path):
    own = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    if own == "__init__":
        return  # the front door exports from all
    allowed = {"corpus", *BESIDE} if own in BESIDE else {*LAYERS[: LAYERS.index(own) + 1], *BESIDE}
    if own == "cli":  # commands call the verbs as users do
        allowed.add(FRONT_DOOR)
    assert {layer(module) for module in imported_modules(path)} - {None} <= allowed


def test_all_folders_are_layers():
    assert {path.parent.name for path in PACKAGE.glob("*/__init__.py")} == set(LAYERS)


def test_the_walk_reaches_imports_of_every_form():
    path = PACKAGE / "corpus" / "imagined.py"
    forms = {
        "import btr.cli.options": "cli",
        "from btr.cli import options": "cli",
        "def f():\n    from btr.serving.app import x": "serving",
        "if TYPE_CHECKING:\n    from btr.studies import plan": "studies",
        "from ..rerankers import base": "rerankers",
        "X = {'a': 'btr.training.train:train'}": "training",
        "from btr import pool": "pool",
        "import btr": FRONT_DOOR,
        "from btr import __version__": None,
    }

    class Imagined(type(path)):
        def read_text(self, encoding=None):
            return source

    for source, expected in forms.items():  # noqa: B007  (read by the class above)
        assert {layer(module) for module in imported_modules(Imagined(path))} == {expected}


def test_evaluation_and_decisions_need_no_torch():
    """All modules of these folders are imported where torch and transformers can't be."""
    names = [name for name in WITHOUT_TORCH if name in BESIDE]
    for folder in WITHOUT_TORCH:
        for path in sorted((PACKAGE / folder).glob("*.py")):
            names.append(f"{folder}.{path.stem}")
    assert len(names) > 20
    code = (
        "import sys; sys.modules.update(torch=None, transformers=None, ctranslate2=None)\n"
        "from importlib import import_module\n"
        "for name in sys.argv[1:]: import_module('btr.' + name)"
    )
    done = subprocess.run([sys.executable, "-c", code, *names], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
