"""The paper's decoding methods: beam search, diverse beam search, top-k sampling and nucleus sampling."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from btr.candidates.decoding import DecodingMethod, DecodingSettings
from btr.candidates.engine import Hypothesis, Tokens
from btr.errors import InputError

if TYPE_CHECKING:  # settings are checked without torch
    from btr.candidates.transformers_engine import TransformersEngine


class BeamSearch(DecodingMethod):
    """Beam search with as many beams as candidates."""

    def signature(self, settings: DecodingSettings) -> str:
        penalty = "" if settings.length_penalty == 1 else f"|length-penalty:{settings.length_penalty:g}"
        return f"{penalty}|early-stopping" if settings.early_stopping else penalty

    def generate(
        self, engine: "TransformersEngine", sources: Sequence[Tokens], settings: DecodingSettings
    ) -> list[list[Hypothesis]]:
        return engine.run_generate(
            sources,
            settings,
            num_beams=settings.size,
            early_stopping=settings.early_stopping,
            length_penalty=settings.length_penalty,
        )


class DiverseBeamSearch(BeamSearch):
    """Diverse beam search (Vijayakumar et al., 2018), which `transformers` no longer has."""

    def check(self, settings: DecodingSettings) -> None:
        if settings.size % settings.groups:
            raise InputError(f"{settings.size} candidates can't be divided evenly among {settings.groups} groups.")

    def signature(self, settings: DecodingSettings) -> str:
        return f"|groups:{settings.groups}|penalty:{settings.penalty:g}{super().signature(settings)}"

    def generate(
        self, engine: "TransformersEngine", sources: Sequence[Tokens], settings: DecodingSettings
    ) -> list[list[Hypothesis]]:
        from btr.candidates.diverse import diverse_beam_search

        step = engine.start_decoding(sources, settings.size)
        beams = diverse_beam_search(step, len(sources), engine.ends, engine.start, settings)
        return [[Hypothesis(tokens) for tokens in candidates] for candidates in beams]


class TopKSampling(DecodingMethod):
    """Sampling among the `top_k` most probable tokens."""

    def signature(self, settings: DecodingSettings) -> str:
        return f"|k:{settings.top_k}|seed:{settings.seed}"

    def generate(
        self, engine: "TransformersEngine", sources: Sequence[Tokens], settings: DecodingSettings
    ) -> list[list[Hypothesis]]:
        return engine.run_generate(sources, settings, do_sample=True, top_k=settings.top_k)


class NucleusSampling(DecodingMethod):
    """Sampling among the most probable tokens that together have the probability `top_p`."""

    def signature(self, settings: DecodingSettings) -> str:
        return f"|p:{settings.top_p:g}|seed:{settings.seed}"

    def generate(
        self, engine: "TransformersEngine", sources: Sequence[Tokens], settings: DecodingSettings
    ) -> list[list[Hypothesis]]:
        return engine.run_generate(sources, settings, do_sample=True, top_k=0, top_p=settings.top_p)
