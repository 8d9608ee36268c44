"""Corpora and golden figures, where they are at hand."""

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def data():
    """The folder of corpora that BTR_DATA names."""
    folder = os.environ.get("BTR_DATA")
    if not folder:
        pytest.skip("needs corpora: set BTR_DATA to the folder that holds conll13, jfleg-dev, wi, …")
    return Path(folder)


@pytest.fixture(scope="session")
def golden(data):
    """What the official scorers print on real data, beside the corpora."""
    folder = data.parent / "golden"
    if not folder.is_dir():
        pytest.skip(f"needs the golden figures, expected in {folder}")
    return folder
