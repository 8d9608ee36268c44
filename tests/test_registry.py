"""Registries: entries of this package, of this process, and of other distributions."""

import sys

import pytest

from btr.errors import InputError
from btr.registry import Registry


@pytest.fixture
def other_distribution(tmp_path, monkeypatch):
    """Another package that is installed: a module, and metadata with its entry points."""
    (tmp_path / "other_package.py").write_text("class Third:\n    pass\n")
    (tmp_path / "other-1.0.dist-info").mkdir()
    (tmp_path / "other-1.0.dist-info" / "METADATA").write_text("Name: other\nVersion: 1.0\n")
    (tmp_path / "other-1.0.dist-info" / "entry_points.txt").write_text(
        "[btr.things]\nthird = other_package:Third\nfirst = other_package:Third\nbroken = other_package:Missing\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    yield
    sys.modules.pop("other_package", None)


def test_entries_are_imported_at_the_first_lookup():
    things = Registry("btr.things", {"good": "collections:Counter", "missing": "no_such_module:Thing"})
    assert things.names() == ["good", "missing"]
    assert things["good"]("aab")["a"] == 2
    with pytest.raises(ImportError):  # a fault of this package, not of the user
        things["missing"]


def test_other_distributions_extend_but_do_not_replace(other_distribution):
    things = Registry("btr.things", {"first": "collections:Counter"})
    assert things.names() == ["first", "third", "broken"]
    assert things["third"].__module__ == "other_package"
    assert things["first"].__module__ == "collections"
    assert "third" in things
    with pytest.raises(InputError, match="the thing 'broken' of other cannot be imported"):
        things["broken"]


def test_an_unknown_name_lists_the_known(other_distribution):
    things = Registry("btr.things", {"first": "collections:Counter"})
    things.register("second", int)
    assert things["second"] is int
    with pytest.raises(InputError, match="thing must be one of first, second, third, broken, not 'fourth'"):
        things["fourth"]
