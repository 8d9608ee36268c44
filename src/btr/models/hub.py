"""Uploading a model folder with its card to the Hugging Face hub, from where every verb loads it by its id."""

import re
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from btr.corpus.files import PathLike
from btr.errors import InputError, needs_models
from btr.models.locate import MODEL_FILES, PYTORCH_WEIGHTS, first_line, locate_model, weight_files
from btr.records import Record

CARD = "README.md"
UPLOADED = (*MODEL_FILES, PYTORCH_WEIGHTS, CARD, "recipe.yaml")  # no conversions, no checkpoints
REPO_ID = re.compile(r"[\w.-]+/[\w.-]+")


@dataclass(frozen=True)
class Pushed(Record):
    """Where a model was uploaded to, and its files."""

    repo_id: str
    url: str
    files: list[str]


def push_to_hub(folder: PathLike, repo_id: str, *, private: bool = False) -> Pushed:
    """Upload a model's folder, or a shipped model, with its card to the hub in one commit.

    The repository is made if it is missing (a private one with `private`). The token is the one that `hf auth login` or
    HF_TOKEN gives.
    """
    if not REPO_ID.fullmatch(repo_id):
        raise InputError(f"{repo_id}: is no id of the hub; it has the form OWNER/NAME.")
    files = files_to_push(Path(locate_model(str(folder))), folder)
    try:
        from huggingface_hub import HfApi
        from huggingface_hub.errors import HfHubHTTPError
    except ModuleNotFoundError as error:
        raise needs_models("the hub", error) from None
    api = HfApi(library_name="btr-gec")
    try:
        url = api.create_repo(repo_id, private=private or None, exist_ok=True)  # None: the owner's default
        api.upload_folder(
            repo_id=repo_id,
            folder_path=files[0].parent,
            allow_patterns=[file.name for file in files],
            commit_message="Upload by btr push-to-hub",
        )
    except (OSError, ValueError) as error:
        raise InputError(
            f"{repo_id}: can't be uploaded to ({first_line(error)}); 'hf auth login' stores a token that may write."
        ) from None
    except http_errors(HfHubHTTPError) as error:
        raise InputError(f"{repo_id}: the hub can't be reached ({first_line(error)}); is there a network?") from None
    return Pushed(repo_id, str(url), [file.name for file in files])


def http_errors(known: type[Exception]) -> tuple[type[Exception], ...]:
    """Return the errors of the HTTP library that the hub's own errors belong to, whichever library that is."""
    return tuple(each for each in known.__mro__ if each.__name__ == "HTTPError")


def files_to_push(folder: Path, name: PathLike) -> list[Path]:
    """Return the files of a model's folder that belong on the hub; a folder without weights or card is refused."""
    if not folder.is_dir():
        raise InputError(f"{name}: no such folder.")
    if not (folder / "config.json").is_file() or not weight_files(folder):
        raise InputError(f"{name}: is no model; its folder needs config.json and model.safetensors.")
    if not (folder / CARD).is_file():
        raise InputError(f"{name}: has no card; write {CARD}, which says what the model is and what it was trained on.")
    return sorted(
        path for path in folder.iterdir() if path.is_file() and any(fnmatch(path.name, name) for name in UPLOADED)
    )
