"""Where models are: a folder, one that is shipped, or the hub. Without loading anything."""

from pathlib import Path

from btr.errors import InputError

SHIPPED = Path(__file__).parent / "shipped"


def find(name: str) -> str:
    """A folder as it is, a shipped model by its name, and anything else as a hub id."""
    if Path(name).is_dir():
        return name
    if (SHIPPED / name).is_dir():
        return str(SHIPPED / name)
    if Path(name).exists():
        raise InputError(f"{name}: is a file; a model is a folder with config.json and model.safetensors.")
    folder = Path(name).parent  # of a hub id, name or owner/name, there is none
    if name.startswith((".", "/", "~")) or name.count("/") > 1 or ("/" in name and folder.is_dir()):
        raise InputError(f"{name}: no such folder.")
    return name
