"""The same models with other settings, for a server whose clients choose for each request."""

from copy import copy
from dataclasses import dataclass, replace
from pathlib import Path

from btr.correction.corrector import Corrector
from btr.correction.dictionary import Dictionary
from btr.decisions.settings import PAPER, read_profiles
from btr.errors import InputError
from btr.models.locate import fetch_folder, locate_model


@dataclass(frozen=True, slots=True)
class Options:
    """The settings that a request may choose; None: the server's."""

    profile: str | None = None
    cutoff: float | None = None
    candidates: int | None = None


@dataclass(frozen=True, slots=True)
class OfferedProfile:
    """A profile that a request may choose, and its cut-off; None if it does not decide edit by edit."""

    name: str
    cutoff: float | None


def offered_profiles(corrector: Corrector) -> list[OfferedProfile]:
    """Return the profiles that a request may choose, if a judge decides: those of its base model, and the paper's."""
    if corrector.judge is None or not Path(locate_model(corrector.model_name)).is_dir():
        return []
    profiles = read_profiles(fetch_folder(corrector.model_name))
    judged = [OfferedProfile(name, each.cutoff) for name, each in profiles.items() if each.cutoff is not None]
    return [*judged, OfferedProfile(PAPER, None)] if judged else []


def vary(corrector: Corrector, options: Options) -> Corrector:
    """Return a corrector with other settings. It shares the models, unless the profile is the paper's."""
    varied = copy(corrector) if options.profile is None else with_profile(corrector, options.profile)
    if options.cutoff is not None and varied.judge is None:
        raise InputError("a cut-off is for decisions edit by edit, which this profile or server does not make.")
    settings = varied.settings.override(cutoff=options.cutoff, candidates=options.candidates)
    if options.candidates is not None:
        top = None if settings.top is None else min(settings.top, options.candidates)
        settings = replace(settings, top=top)
        varied.decoding = replace(varied.decoding, size=options.candidates)
    varied.settings = settings
    return varied


def with_profile(corrector: Corrector, profile: str) -> Corrector:
    """Return a corrector with the settings of a profile that is offered; only the paper's loads other models."""
    names = [each.name for each in offered_profiles(corrector)]
    if profile not in names:
        choice = f"this server has {', '.join(names)}" if names else "this server has its own settings only"
        raise InputError(f"a request can't choose this profile: {choice}.")
    settings = read_profiles(fetch_folder(corrector.model_name)).get(profile)
    if settings is None or settings.cutoff is None:
        loaded = Corrector.from_pretrained(corrector.model_name, profile=profile, device=corrector.engine.device)
        loaded.dictionary = corrector.dictionary
        return loaded
    varied = copy(corrector)
    varied.settings = settings
    varied.decoding = replace(corrector.decoding, size=settings.candidates)
    return varied


def with_dictionary(corrector: Corrector, dictionary: Dictionary) -> Corrector:
    """Return a corrector with another dictionary. It shares the models."""
    varied = copy(corrector)
    varied.dictionary = dictionary
    return varied
