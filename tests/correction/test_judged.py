"""Corrections of a judge, by an engine whose candidates are known."""

import json

import pytest
import tiny
from judged import PLAIN, RANKS, make_judges, write_judge
from scripted import Scripted

from btr.candidates.decoding import DecodingSettings
from btr.correction.corrector import Corrector
from btr.correction.judging import EditJudge
from btr.decisions import Settings
from btr.errors import InputError


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    return tiny.save_t5(tmp_path_factory.mktemp("models") / "base", seed=3)


@pytest.mark.parametrize(
    ("options", "name"),
    [({"drop_runaways": False}, "drop-runaways"), ({"drop_runaways": True}, "drop-runaways"), ({"top": 2}, "top")],
)
def test_options_for_whole_candidates_are_refused(base, tmp_path, options, name):
    judge = write_judge(tmp_path / "judge.json", PLAIN)
    with pytest.raises(InputError, match=f"^{name} is for choosing among whole candidates"):
        Corrector.from_pretrained(base, judge=judge, **options)
