"""Models go to the hub with their cards, and come back by their id, against a stand-in at this machine."""

import json
import os
import subprocess
import sys
from types import SimpleNamespace

import pytest
import tiny
from local_hub import TOKEN, local_hub

from btr.errors import InputError
from btr.models.hub import push_to_hub

RELOAD = """
import json, sys
from pathlib import Path
from btr import BTR
from btr.models.locate import fetch_folder

scores = {name: BTR.from_pretrained(name).predict([("a b", "a b"), ("a b", "a c")]).tolist() for name in sys.argv[1:]}
print(json.dumps([scores, sorted(path.name for path in fetch_folder(sys.argv[2]).iterdir())]))
"""


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A tiny BTR with a card, profiles and a judge; and a conversion and notes, which stay at home."""
    folder = tmp_path_factory.mktemp("model") / "tiny"
    tiny.save_t5(folder, bidirectional=True, seed=3)
    (folder / "README.md").write_text("# tiny\n\nA model of a test.\n")
    (folder / "profiles.json").write_text("{}")
    (folder / "judge.json").write_text("{}")
    (folder / "notes.txt").write_text("mine")
    (folder / "ctranslate2-int8").mkdir()
    (folder / "ctranslate2-int8" / "config.json").write_text("{}")
    return folder


@pytest.fixture
def hub():
    with local_hub() as started:
        yield started


def run(hub, folder, *arguments, token=TOKEN):
    """Run Python in a process that knows only the stand-in: the library reads its address when it is imported."""
    environment = {**os.environ, "HF_ENDPOINT": hub.address, "HF_HOME": str(folder), "HF_HUB_DISABLE_XET": "1"}
    environment |= {"HF_TOKEN": token, "HF_HUB_OFFLINE": "0", "HF_HUB_DISABLE_TELEMETRY": "1"}
    return subprocess.run(
        [sys.executable, *map(str, arguments)], env=environment, capture_output=True, text=True, timeout=300
    )


def test_a_model_goes_to_the_hub_and_comes_back_by_its_id(hub, model, tmp_path):
    done = run(hub, tmp_path, "-m", "btr.cli", "push-to-hub", model, "me/tiny", "--private", "--json")
    assert done.returncode == 0, done.stderr
    pushed = json.loads(done.stdout)
    files = hub.repositories["me/tiny"]
    assert (pushed["repo_id"], pushed["url"]) == ("me/tiny", f"{hub.address}/me/tiny")
    assert sorted(pushed["files"]) == sorted(files)
    assert {"README.md", "config.json", "model.safetensors", "tokenizer.json", "profiles.json", "judge.json"} <= set(
        files
    )
    assert not {name for name in files if name == "notes.txt" or "ctranslate2" in name}
    assert files["model.safetensors"] == (model / "model.safetensors").read_bytes()
    assert hub.private == {"me/tiny"}

    done = run(hub, tmp_path, "-c", RELOAD, model, "me/tiny")
    assert done.returncode == 0, done.stderr
    scores, fetched = json.loads(done.stdout.splitlines()[-1])
    assert scores["me/tiny"] == scores[str(model)]
    assert {"profiles.json", "judge.json"} <= set(fetched)


def test_a_wrong_token_is_one_sentence(hub, model, tmp_path):
    done = run(hub, tmp_path, "-m", "btr.cli", "push-to-hub", model, "me/tiny", token="hf_wrong")
    assert done.returncode == 2
    assert "me/tiny: can't be uploaded to" in done.stderr
    assert "hf auth login" in done.stderr
    assert "Traceback" not in done.stderr
    assert not hub.repositories


def test_a_hub_that_cannot_be_reached_is_one_sentence(model, tmp_path):
    nobody = SimpleNamespace(address="http://127.0.0.1:9")
    done = run(nobody, tmp_path, "-m", "btr.cli", "push-to-hub", model, "me/tiny")
    assert done.returncode == 2
    assert "me/tiny: the hub can't be reached" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("repo_id", ["tiny", "me/", "a/b/c", "me/my model"])
def test_an_id_has_an_owner_and_a_name(model, repo_id):
    with pytest.raises(InputError, match="has the form OWNER/NAME"):
        push_to_hub(model, repo_id)


@pytest.mark.parametrize(
    ("missing", "message"),
    [("README.md", "has no card"), ("model.safetensors", "is no model"), ("config.json", "is no model")],
)
def test_a_folder_that_lacks_something_is_refused(tmp_path, missing, message):
    for name in {"README.md", "model.safetensors", "config.json"} - {missing}:
        (tmp_path / name).write_text("{}")
    with pytest.raises(InputError, match=message):
        push_to_hub(tmp_path, "me/tiny")


def test_what_is_only_on_the_hub_is_no_folder():
    with pytest.raises(InputError, match="no such folder"):
        push_to_hub("someone/model", "me/tiny")
