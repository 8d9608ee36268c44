"""Rerankers: one protocol, candidates → scores. A kind is found by its name, in this package or in another."""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from btr.decisions.settings import read_profiles
from btr.errors import InputError, needs_models
from btr.models.locate import fetch_folder
from btr.registry import Registry

if TYPE_CHECKING:
    from btr.rerankers.base import Reranker

SHIPPED_BTR = "btr-small"  # the shipped model of rerankers

RERANKERS: Registry["type[Reranker]"] = Registry(
    "btr.rerankers",
    {
        "btr": "btr.rerankers.btr:BTR",
        "edit-btr": "btr.rerankers.edit_btr:EditBTR",
        "contrast": "btr.rerankers.contrast:Contrast",
        "l2r": "btr.rerankers.left_to_right:LeftToRight",
        "r2l": "btr.rerankers.left_to_right:RightToLeft",
        "roberta": "btr.rerankers.encoders:RoBERTa",
        "bert": "btr.rerankers.encoders:BERT",
        "lm": "btr.rerankers.language_model:LanguageModel",
        "base": "btr.rerankers.model_free:Base",
        "mbr": "btr.rerankers.model_free:MBR",
        "vote": "btr.rerankers.model_free:Vote",
    },
)


def load_reranker(
    names: str | Sequence[str],
    *,
    dtype: str = "float32",
    device: str | None = None,
    int8: bool = False,
    budget: int | None = None,
    threads: int | None = None,
) -> "Reranker":
    """Load a reranker by its name, `kind:model` or `kind`; several names give one ensemble.

    `dtype`, `device`, `int8`, `budget` (tokens per batch) and `threads` (those of this process) are for the rerankers
    that have a model.
    """
    from btr.rerankers.base import Ensemble

    if not isinstance(names, str):
        if not names:
            raise InputError("name at least one reranker, e.g. btr:MODEL.")
        options = {"dtype": dtype, "device": device, "int8": int8, "budget": budget, "threads": threads}
        members = [load_reranker(name, **options) for name in names]  # type: ignore[arg-type]
        return members[0] if len(members) == 1 else Ensemble(members)
    reranker, model = parse_name(names)
    if model is None:
        loaded = reranker()
        if not hasattr(loaded, "signature"):
            raise InputError(f"the reranker {names} has no signature, which says what its scores depend on.")
        return loaded
    try:
        from btr.models.threads import set_threads

        set_threads(threads)
        loaded = reranker.from_pretrained(model, dtype=dtype, device=device, int8=int8, budget=budget)
    except ModuleNotFoundError as error:
        raise needs_models(names, error) from None
    loaded.loaded_by = partial(
        load_reranker, names, dtype=dtype, device=device, int8=int8, budget=budget, threads=threads
    )  # fmt: skip
    return loaded


def rerankers_of_profile(profile: str, others: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the names of the rerankers that a profile of the shipped BTR is for, e.g. contrast:btr-small and base.

    `others` are profiles that need no reranker; an unknown profile's message names them, too.
    """
    profiles = read_profiles(fetch_folder(SHIPPED_BTR))
    if profile not in profiles:
        known = ", ".join(sorted({*profiles, *others}))
        raise InputError(f"there is no profile {profile!r}; choose one of {known}, or name a reranker.")
    kinds = profiles[profile].rerankers
    return tuple(f"{kind}:{SHIPPED_BTR}" if RERANKERS[kind].needs_model else kind for kind in kinds)


def parse_name(name: str) -> "tuple[type[Reranker], str | None]":
    """Return the class and the model's name of a reranker's name, `kind:model` or `kind`."""
    kind, _, model = name.partition(":")
    if kind not in RERANKERS:
        raise InputError(
            f"{name!r} is no reranker; use KIND:MODEL or KIND, where KIND is one of {', '.join(RERANKERS.names())}."
        )
    try:
        reranker = RERANKERS[kind]
    except ModuleNotFoundError as error:
        raise needs_models(name, error) from None
    if reranker.kind != kind:
        raise InputError(f"the reranker {kind!r} calls its kind {reranker.kind!r}; both must be the same.")
    if reranker.needs_model and not model:
        raise InputError(f"{kind} needs a model: name it as {kind}:MODEL, with a folder, a shipped model or a hub id.")
    if model and not reranker.needs_model:
        raise InputError(f"{kind} needs no model; name it as {kind}.")
    return reranker, model or None
