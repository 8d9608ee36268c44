import zipfile

import pytest

import btr
from btr.errors import InputError


def test_the_archive_holds_one_text(tmp_path):
    (tmp_path / "a.txt").write_text("He goes .\n")
    (tmp_path / "b.txt").write_text("She sleeps .")
    archives = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        output = tmp_path / name / "submission.zip"
        result = btr.export([tmp_path / "a.txt", tmp_path / "b.txt"], output, sentences=2)
        assert (result.file, result.sentences) == ("submission.txt", 2)
        archives.append(output.read_bytes())
    assert archives[0] == archives[1]
    with zipfile.ZipFile(output) as archive:
        assert archive.namelist() == ["submission.txt"]
        assert archive.read("submission.txt") == b"He goes .\nShe sleeps .\n"


@pytest.mark.parametrize(
    ("text", "output", "message"),
    [
        ("He goes .\n", "x.zip", "has 1 sentence, but the set has 4,477"),
        ("a\n" * 4476 + "\n", "x.zip", "sentence 4,477 of the output is empty"),
        ("a\n" * 4477, "x.tgz", "the archive's name must end in .zip"),
    ],
)
def test_what_the_competition_would_refuse(tmp_path, text, output, message):
    (tmp_path / "out.txt").write_text(text)
    with pytest.raises(InputError, match=message.replace(".", r"\.")):
        btr.export([tmp_path / "out.txt"], tmp_path / output)
    assert not (tmp_path / output).exists()


def test_a_single_path_may_be_a_string(tmp_path):
    (tmp_path / "out.txt").write_text("He goes .\n")
    result = btr.export(str(tmp_path / "out.txt"), str(tmp_path / "x.zip"), sentences=1)
    assert result.to_dict() == {"archive": str(tmp_path / "x.zip"), "file": "x.txt", "sentences": 1}
