"""Where a model's files are: in a folder, among the shipped models, or on the hub. Nothing is loaded here."""

from pathlib import Path

from btr.errors import InputError

SHIPPED = Path(__file__).parent / "shipped"


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
