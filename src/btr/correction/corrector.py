"""A base model, a reranker and settings put together: text in, corrections with all that led to them out."""

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from itertools import chain
from pathlib import Path
from typing import Any
from unicodedata import normalize

import torch

from btr.by_reference import ByReference
from btr.candidates.decoding import DecodingSettings
from btr.candidates.engine import Engine
from btr.candidates.generate import generate_many
from btr.candidates.spelling import add_spellings, spelling_signature
from btr.corpus.candidates import Candidates
from btr.corpus.files import PathLike, check_text
from btr.correction import DEFAULT_MODEL, DEFAULT_PROFILE, NO_RERANKER
from btr.correction.blocks import Block, batch_blocks, cut_blocks
from btr.correction.describe import ExaminedBlock, ExaminedSentence, describe
from btr.correction.dictionary import NO_WORDS, Dictionary, read_personal_dictionary
from btr.correction.judging import EditJudge, find_judged_profile, refuse_options
from btr.correction.language import is_english, words_for_language_detection
from btr.correction.loading import decoding_settings, folder_state, load_engine_once, load_reranker_once
from btr.correction.names import keep_first_case, mark_names
from btr.correction.records import CorrectedBlock, Correction
from btr.correction.segments import cut_segments
from btr.correction.selection import (
    decide_candidates,
    decide_without_reranker,
)
from btr.decisions import Choice, Settings
from btr.decisions.judge_edits import with_decided_text
from btr.decisions.settings import find_profile, read_profiles
from btr.errors import InputError
from btr.models.device import choose_device
from btr.models.int8_layers import can_quantise
from btr.models.locate import fetch_folder
from btr.models.threads import set_threads
from btr.rerankers import parse_name, rerankers_of_profile
from btr.rerankers.base import Reranker

CACHED_WORDS = 100_000
MAX_CACHED_WORD = 40  # characters
DEFAULTS = Settings(drop_runaways=True)  # where no profile applies


class Corrector(ByReference):
    """Corrects text: the engine writes candidates, the reranker scores them, and the settings decide.

    Without a reranker the base candidate stays, and probabilities are the base model's own. One that was loaded by
    name can be sent to other processes, which load it again.
    """

    def __init__(
        self,
        engine: Engine,
        decoding: DecodingSettings,
        reranker: Reranker | None = None,
        settings: Settings | None = None,
        *,
        judge: EditJudge | None = None,
        threads: int = 1,
        model_name: str | None = None,
        note: str | None = None,
        spelling: bool = False,
        dictionary: Dictionary = NO_WORDS,
        loaded_by: "Callable[[], Corrector] | None" = None,
    ) -> None:
        self.engine, self.decoding, self.reranker = engine, decoding, reranker
        self.settings, self.judge = settings or DEFAULTS, judge
        self.threads, self.note = threads, note
        self.spelling, self.dictionary = spelling, dictionary
        self.loaded_by = loaded_by
        self.model_name = model_name or engine.signature
        self._round_trip = lru_cache(CACHED_WORDS)(self._encode_and_decode)

    @classmethod
    def from_pretrained(
        cls,
        model: str = DEFAULT_MODEL,
        reranker: str | Sequence[str] | None = None,
        *,
        profile: str = DEFAULT_PROFILE,
        candidates: int | None = None,
        top: int | None = None,
        threshold: float | None = None,
        at_least: bool | None = None,
        gap: float | None = None,
        drop_runaways: bool | None = None,
        average: str | None = None,
        weights: Mapping[str, float] | None = None,
        judge: PathLike | None = None,
        cutoff: float | None = None,
        base_edits_only: bool | None = None,
        spelling: bool | None = None,
        dictionary: PathLike | None = None,
        device: str | None = None,
        threads: int | None = None,
    ) -> "Corrector":
        """Load models by name; rerankers and settings that are not given are the profile's.

        If the base model has a judge for the profile, or `judge` names one, it decides edit by edit; `cutoff` is how
        sure it must be of an edit. Else a reranker chooses among whole candidates.

        Edit by edit, `spelling` offers similar words for unknown ones; by default it does. No edit changes the words of
        `dictionary`, a file with one word per line; by default words.txt in the user's folder of settings, if it is
        there.

        Several rerankers are one ensemble. On a CPU all computes in int8, and what becomes of a sentence does not
        depend on the sentences beside it. Models stay loaded: a second call with the same names takes no time.

        `threads` bounds the cores that are used: the threads of this process, torch's and CTranslate2's, and the
        processes that align edits. By default these are torch's number of threads, and all cores.
        """
        set_threads(threads)
        loaded_by = partial(
            cls.from_pretrained, model, reranker, profile=profile, candidates=candidates, top=top, threshold=threshold,
            at_least=at_least, gap=gap, drop_runaways=drop_runaways, average=average, weights=weights, judge=judge,
            cutoff=cutoff, base_edits_only=base_edits_only, spelling=spelling, dictionary=dictionary, device=device,
            threads=threads,
        )  # fmt: skip
        sentence_options = {"top": top, "threshold": threshold, "at_least": at_least, "gap": gap,
                            "drop_runaways": drop_runaways, "average": average, "weights": weights}  # fmt: skip
        Settings().override(**sentence_options, candidates=candidates, cutoff=cutoff)  # refuse bad values at once
        words = read_personal_dictionary(dictionary)
        judged = None if reranker is not None else find_judged_profile(model, profile, judge)
        if judged is not None:
            refuse_options(sentence_options, profile)
            path, settings = judged
            settings = settings.override(candidates=candidates, cutoff=cutoff, base_edits_only=base_edits_only)
            return cls._with_judge(model, path, settings, device, spelling is not False, words, threads, loaded_by)
        if spelling:
            raise InputError(
                "spelling is for decisions edit by edit, which neither the profile paper nor a named reranker makes; "
                "leave one of them out."
            )
        if judge is not None or cutoff is not None or base_edits_only is not None:
            raise InputError(
                "a cut-off and a judge are for decisions edit by edit, which neither the profile paper nor a named "
                "reranker makes; leave one of them out."
            )
        if reranker is None:
            reranker = rerankers_of_profile(profile, read_profiles(fetch_folder(model)))
        names = [reranker] if isinstance(reranker, str) else list(reranker)
        if not names or (NO_RERANKER in names and len(names) > 1):
            raise InputError("name one or more rerankers, or none by itself.")
        parsed = [] if names == [NO_RERANKER] else [parse_name(name) for name in names]
        models = [name for _, name in parsed if name is not None]
        found, note = None, None
        kinds = [kind.kind for kind, _ in parsed]
        if parsed:
            found, note = find_profile(profile, [fetch_folder(name) for name in models], kinds)
        settings = (found or DEFAULTS).override(candidates=candidates, **sentence_options)
        settings.check_weights(kinds)
        if top is None and settings.top is not None:
            settings = replace(settings, top=min(settings.top, settings.candidates))
        if settings.top is not None and settings.top > settings.candidates:
            raise InputError(f"{settings.top} candidates can't compete if only {settings.candidates} are written.")
        is_cpu = choose_device(device).type == "cpu"
        threads = torch.get_num_threads()
        engine = load_engine_once(model, folder_state(model), device, threads)
        decoding = decoding_settings(engine, settings)
        if not parsed:
            return cls(engine, decoding, None, settings, model_name=model, dictionary=words, loaded_by=loaded_by)
        int8 = bool(models) and is_cpu and can_quantise()
        state = tuple(map(folder_state, models))
        loaded = load_reranker_once(tuple(names), state, device, int8, threads)
        return cls(
            engine, decoding, loaded, settings, threads=threads if int8 else 1, model_name=model, note=note,
            dictionary=words, loaded_by=loaded_by,
        )  # fmt: skip

    @classmethod
    def _with_judge(
        cls,
        model: str,
        path: Path,
        settings: Settings,
        device: str | None,
        spelling: bool,
        dictionary: Dictionary,
        processes: int | None,
        loaded_by: "Callable[[], Corrector]",
    ) -> "Corrector":
        engine = load_engine_once(model, folder_state(model), device, torch.get_num_threads())
        int8 = choose_device(device).type == "cpu" and can_quantise()
        judge, note = EditJudge.from_file(path, device=device, int8=int8, processes=processes)
        decoding = decoding_settings(engine, settings)
        return cls(
            engine, decoding, None, settings, judge=judge, model_name=model, note=note,
            spelling=spelling, dictionary=dictionary, loaded_by=loaded_by,
        )  # fmt: skip

    def __reduce_ex__(self, protocol: Any) -> Any:
        if self.loaded_by is None:
            raise InputError(
                "this Corrector was not loaded by name, so it can't be sent to another process; "
                "make it with Corrector.from_pretrained."
            )
        return super().__reduce_ex__(protocol)

    @property
    def reranker_name(self) -> str | None:
        """Return the names of the rerankers, e.g. contrast:btr-small + base; None if there is none."""
        return " + ".join(str(name) for name in self.reranker.names) if self.reranker else None

    @property
    def signature(self) -> str:
        """Return what the corrections depend on."""
        parts = [self.engine.signature, self.decoding.signature()]
        if self.judge:
            parts += [self.judge.signature, self.settings.signature()]
        if self.reranker:
            parts += [self.reranker.signature, self.settings.signature()]
        if self.spelling:
            parts.append(spelling_signature())
        if self.dictionary.words:
            parts.append(self.dictionary.signature)
        return "|".join(parts)

    def correct(self, text: str, *, markdown: bool = False, words: Sequence[str] = ()) -> Correction:
        """Correct a text; everything that is not corrected stays as it is.

        No edit changes `words`, nor those of the personal dictionary.
        """
        return self.correct_many([text], markdown=markdown, words=words)[0]

    def correct_many(
        self, texts: Sequence[str], *, markdown: bool = False, words: Sequence[str] = ()
    ) -> list[Correction]:
        """Correct several texts; their sentences are batched together."""
        check_list(texts)
        blocks = [list(cut_blocks(io.StringIO(text, newline="\n"), markdown)) for text in texts]
        corrected = (
            block
            for chunk in batch_blocks(chain.from_iterable(blocks))
            for block in self.correct_blocks(chunk, words=words)
        )
        return [Correction.join([next(corrected) for _ in each], self.signature) for each in blocks]

    def correct_sentences(self, sentences: Sequence[str]) -> list[str]:
        """Correct tokenised sentences, as benchmark files have them; return one tokenised sentence for each.

        What becomes of a sentence is what `generate`, `score` and `rerank` make of it: the personal dictionary has no
        part in it, and nothing is protected.
        """
        check_list(sentences)
        rows = generate_many(self.engine, sentences, self.decoding)
        if self.spelling:
            rows = add_spellings(self.engine, rows, self.decoding.max_length)
        return [choice.text for _, choice in self.decide(rows, probabilities=False)]

    def correct_blocks(
        self,
        blocks: Sequence[Block],
        *,
        probabilities: bool = True,
        candidate_edits: bool = False,
        words: Sequence[str] = (),
    ) -> Iterator[CorrectedBlock]:
        """Correct the blocks of a text, whose sentences are batched together."""
        for examined in self.examine(blocks, probabilities=probabilities, words=words):
            yield describe(examined, candidate_edits=candidate_edits)

    def examine(
        self, blocks: Sequence[Block], *, probabilities: bool = True, words: Sequence[str] = ()
    ) -> list[ExaminedBlock]:
        """Do the models' part of the work for the sentences of all blocks; `describe` does the rest."""
        dictionary = self.dictionary.with_words(words)
        segments = [
            mark_names([dictionary.mark(block.text, each) for each in cut_segments(block.text, self.round_trip)])
            if block.prose
            else []
            for block in blocks
        ]
        pairs = [(block, segment) for block, each in zip(blocks, segments) for segment in each]
        english = [is_english(words_for_language_detection(block.text, segment)) for block, segment in pairs]
        sources = [segment.source if known else "" for (_, segment), known in zip(pairs, english)]
        rows = generate_many(self.engine, sources, self.decoding)
        if self.spelling:
            rows = add_spellings(self.engine, rows, self.decoding.max_length, dictionary.__contains__)
        rows = [keep_first_case(row, segment) for row, (_, segment) in zip(rows, pairs)]
        decided = self.decide(rows, probabilities=probabilities)
        examined = iter(
            ExaminedSentence(segment, known, *result) for (_, segment), known, result in zip(pairs, english, decided)
        )
        return [
            ExaminedBlock(block, tuple(next(examined) for _ in each)) for block, each in zip(blocks, segments)
        ]  # fmt: skip

    def decide(
        self, rows: Sequence[Candidates], *, probabilities: bool = True
    ) -> list[tuple[Candidates, Choice]]:  # fmt: skip
        """Choose among the candidates of many sources.

        Return for each its candidates, with those that a reranker proposed, and the choice; if probabilities are
        wanted, it is a `Decision`.
        """
        if self.judge is not None:
            return [(with_decided_text(each), each) for each in self.judge.decide(rows, self.settings)]
        if self.reranker is None:
            return [(row, decide_without_reranker(row, self.settings)) for row in rows]
        return decide_candidates(self.reranker, rows, self.settings, self.threads, probabilities)

    def round_trip(self, word: str) -> str:
        """Encode and decode a word; empty if the model does not know all its characters."""
        return self._round_trip(word) if len(word) <= MAX_CACHED_WORD else self._encode_and_decode(word)

    def _encode_and_decode(self, word: str) -> str:
        if word.isascii() and word.isalnum():
            return word
        (text,) = self.engine.decode(self.engine.encode([word]))
        return text if text == normalize("NFKC", word) and len(text.split()) == 1 else ""

    def forget_words(self) -> None:
        """Forget all words of earlier texts."""
        self._round_trip.cache_clear()


def check_list(texts: Sequence[str]) -> None:
    """Refuse what is no list of texts; a text by itself would be taken for a list of characters."""
    if isinstance(texts, str):
        raise InputError("expected a list of texts, not one text.")
    if not isinstance(texts, Sequence):
        raise InputError(f"expected a list of texts, not {type(texts).__name__}.")
    for text in texts:
        check_text(text)
