"""Where a model's files are: in a folder, among the shipped models, or on the hub. Nothing is loaded here."""

from pathlib import Path

from btr.errors import InputError, needs_models

PYTORCH_WEIGHTS = "pytorch_model*.bin"
SHIPPED = Path(__file__).parent / "shipped"
TOKENIZER_FILES = "tokenizer.json", "spiece.model", "sentencepiece.bpe.model", "vocab.json", "vocab.txt"
MODEL_FILES = (
    "model*.safetensors",
    "config.json",
    "generation_config.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "merges.txt",
    "profiles.json",
    *TOKENIZER_FILES,
)


def locate_model(name: str) -> str:
    """Return the path of a folder or of a shipped model; any other name is returned as a hub id."""
    if Path(name).is_dir():
        return name
    if (SHIPPED / name).is_dir():
        return str(SHIPPED / name)
    if Path(name).exists():
        raise InputError(f"{name}: is a file; a model is a folder with config.json and model.safetensors.")
    parent = Path(name).parent  # a hub id is name or owner/name, and no such folder exists
    if name.startswith((".", "/", "~")) or name.count("/") > 1 or ("/" in name and parent.is_dir()):
        raise InputError(f"{name}: no such folder.")
    return name


def fetch_folder(name: str) -> Path:
    """Return a model's folder; a model on the hub is downloaded if it is not in the hub's cache."""
    folder = locate_model(name)
    if Path(folder).is_dir():
        return Path(folder)
    try:
        from huggingface_hub import snapshot_download
    except ModuleNotFoundError as error:
        raise needs_models("a model on the hub", error) from None
    try:
        fetched = Path(snapshot_download(folder, allow_patterns=list(MODEL_FILES)))
        if not weight_files(fetched):
            fetched = Path(snapshot_download(folder, allow_patterns=[PYTORCH_WEIGHTS]))
        return fetched
    except (OSError, ValueError) as error:
        raise InputError(f"{name}: can't be fetched from the hub ({first_line(error)}).") from None


def weight_files(folder: Path) -> list[Path]:
    """Return the files that hold a model's weights: those of safetensors if there are any, else PyTorch's."""
    for pattern in ("model.safetensors", "model-*.safetensors", PYTORCH_WEIGHTS):
        if files := sorted(folder.glob(pattern)):
            return files
    return []


def first_line(error: Exception) -> str:
    """Return the first line of a library's message, without its full stop."""
    return str(error).strip().split("\n")[0].rstrip(".")
