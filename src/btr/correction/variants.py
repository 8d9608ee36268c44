"""The same models with other settings, for a server whose clients choose for each request."""

from copy import copy
from dataclasses import dataclass, replace
from pathlib import Path

from btr.correction.corrector import Corrector
from btr.decisions.settings import PAPER, read_profiles
from btr.errors import InputError
from btr.models.locate import fetch_folder, locate_model


@dataclass(frozen=True, slots=True)
class Options:
    """The settings that a request may choose; None: the server's."""

    profile: str | None = None
    cutoff: float | None = None
    candidates: int | None = None
    words: tuple[str, ...] = ()  # that no edit may change, beside those of the server's dictionary


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
    """Return a corrector with other settings. It shares the models, unless the profile needs others."""
    dictionary = corrector.dictionary.with_words(options.words)
    if options.profile is not None:
        corrector = with_profile(corrector, options.profile)
    if options.cutoff is not None and corrector.judge is None:
        raise InputError("a cut-off is for decisions edit by edit, which this profile or server does not make.")
    settings = corrector.settings.override(cutoff=options.cutoff, candidates=options.candidates)
    varied = copy(corrector)
    if options.candidates is not None:
        top = None if settings.top is None else min(settings.top, options.candidates)
        settings = replace(settings, top=top)
        varied.decoding = replace(corrector.decoding, size=options.candidates)
    varied.settings, varied.dictionary = settings, dictionary
    return varied


def with_profile(corrector: Corrector, profile: str) -> Corrector:
    """Return a corrector with the settings of a profile; the judge stays if it decides in the profile too."""
    settings = read_profiles(fetch_folder(corrector.model_name)).get(profile)
    if corrector.judge is None or settings is None or settings.cutoff is None:
        return Corrector.from_pretrained(corrector.model_name, profile=profile)
    varied = copy(corrector)
    varied.settings = settings
    varied.decoding = replace(corrector.decoding, size=settings.candidates)
    return varied
