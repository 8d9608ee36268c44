"""Models stay loaded between calls, and loading is reported."""

import logging

import pytest
from scripted import Scripted

import btr
from btr.correction import loading


@pytest.fixture
def loaded(monkeypatch):
    """Return the names of the base models that were loaded."""
    names = []

    def load(name, *_, **__):
        names.append(name)
        return Scripted()

    monkeypatch.setattr(loading, "load_engine", load)
    monkeypatch.setattr(loading, "is_t5", lambda name: True)
    return names


def test_correct_keeps_its_models_between_calls(loaded, tmp_path, caplog):
    caplog.set_level(logging.INFO, "btr.loading")
    (tmp_path / "weights").write_text("1")
    for _ in range(3):
        assert btr.correct("I has it.", model=str(tmp_path), reranker="none").text == "I have it."
    assert loaded == [str(tmp_path)]
    assert [record.fields for record in caplog.records if record.name == "btr.loading"] == [{"model": str(tmp_path)}]
    (tmp_path / "weights").write_text("other")  # a model that changed is loaded anew
    btr.correct("I has it.", model=str(tmp_path), reranker="none")
    assert len(loaded) == 2
