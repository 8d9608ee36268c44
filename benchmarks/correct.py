"""How fast `btr correct` is with the shipped models, and what share of the time judging takes.

The default profile judges edit by edit: the time for that is printed beside the time for writing the candidates. The
profile `paper`, which scores whole candidates, gets the same candidates. It is compared with the plain way, by
tokens per second: `transformers.generate` for a sentence at a time, then each token of as many candidates masked in a
row of its own, in float32, as the paper's formula says; the plain way gets fewer sentences. The sentences are learners'
own, from all over CoNLL-13, if BTR_DATA says where that is; else some written for this purpose, which have more errors,
so that there is more to decide.

    BTR_DATA=../shared/data python benchmarks/correct.py [--json] [--sentences 256] [--plain 4]
"""

import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from common import Report

from btr.candidates.generate import generate_many
from btr.corpus.m2 import read_m2
from btr.correction import DEFAULT_MODEL
from btr.correction.blocks import Block, cut_blocks
from btr.correction.corrector import Corrector
from btr.decisions.settings import PAPER
from btr.models.config import start_token
from btr.models.load import load
from btr.rerankers import SHIPPED_BTR
from btr.rerankers.btr import mask_token

PEOPLE = "My brother", "The teacher", "Our neighbour", "A friend of mine", "The old man", "Her mother", "Nobody", "She"
DEEDS = "have went to", "are going at", "was looking", "want visiting", "did not liked", "have seen", "is agree with"
THINGS = "the museum", "a informations", "many beautiful place", "this kind of problems", "the city where he born"
ENDS = "yesterday", "because it was raining heavy", "and we enjoyed very much", "for to learn english", "last summer"


def make_text(count: int) -> str:
    """Learners' sentences of a dozen words, no two alike for a thousand."""
    parts = [
        (PEOPLE[k % 8], DEEDS[k % 7], THINGS[k % 5], ENDS[(k // 5) % 5], ENDS[(k // 7 + 2) % 5]) for k in range(count)
    ]
    return "\n".join(f"{who} {did} {what} {end}, and {more}." for who, did, what, end, more in parts) + "\n"


def real_text(folder: Path, count: int) -> str:
    """So many of CoNLL-13's sentences, evenly spread."""
    sources = [sentence.source for sentence in read_m2(folder / "conll13" / "cleaned.m2")]
    return "".join(sources[k * len(sources) // count] + "\n\n" for k in range(count))


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


@torch.inference_mode()
def plainly(base: Any, reranker: Any, sources: Sequence[str], beams: int, top: int | None) -> None:
    """A sentence at a time, and a row of the model for each masked token, encoder and all."""
    mask = mask_token(reranker.tokenizer, "plain")
    for source in sources:
        ids = torch.tensor([base.tokenizer(source)["input_ids"]])
        found = base.model.generate(ids, num_beams=beams, num_return_sequences=beams, max_new_tokens=128)
        for text in base.tokenizer.batch_decode(found, skip_special_tokens=True)[:top]:
            tokens = reranker.tokenizer(text)["input_ids"]
            for place in range(len(tokens)):
                row = [start_token(reranker.model.config), *tokens[:place], mask, *tokens[place + 1 :]]
                reranker.model(input_ids=ids, decoder_input_ids=torch.tensor([row]), use_cache=False)


def main() -> None:
    report = Report(__doc__ or "", sentences=256, plain=4)
    corrector, paper = Corrector.from_pretrained(), Corrector.from_pretrained(profile=PAPER)
    count, data = report.options["sentences"], os.environ.get("BTR_DATA")
    text = real_text(Path(data), count) if data else make_text(count)
    blocks: list[Block] = list(cut_blocks(text.splitlines(keepends=True)))
    for each in (corrector, paper):
        list(each.correct_blocks(blocks[:1]))  # warm up
    whole, corrected = timed(lambda: list(corrector.correct_blocks(blocks)))
    sources = [sentence.source for block in corrected for sentence in block.sentences]
    writing, candidates = timed(lambda: generate_many(corrector.engine, sources, corrector.decoding))
    judging, _ = timed(lambda: corrector.decide(candidates))
    ranking, _ = timed(lambda: paper.decide(candidates))
    plain_count = report.options["plain"]
    few = [sources[k * len(sources) // plain_count] for k in range(plain_count)]
    base, other = load("seq2seq", DEFAULT_MODEL), load("btr", SHIPPED_BTR)
    plain, _ = timed(lambda: plainly(base, other, few, paper.decoding.size, paper.settings.top))
    length = sum(len(source.split()) for source in sources) / len(sources)
    speed, paper_speed = len(sources) / whole, len(sources) / (writing + ranking)
    naive = sum(len(source.split()) for source in few) / length / plain
    kind = "sentences of CoNLL-13" if data else "made-up sentences"
    if corrector.note:
        report.say(corrector.note)
    report.say(f"{len(sources)} {kind}, of {length:.1f} tokens on average")
    report.say(f"btr correct: {speed:.1f} sentences/s")
    report.say(f"candidates {writing:.1f} s, judging {judging:.1f} s, the rest {whole - writing - judging:.1f} s")
    report.say(f"profile {PAPER}: {paper_speed:.1f} sentences/s; plainly: {naive:.2f} of that length")
    report.say(f"candidates {writing:.1f} s, reranking {ranking:.1f} s")
    report.ratio("judging_over_generation", judging / writing)
    report.ratio("paper_profile", paper_speed / naive)
    report.ratio("reranking_over_generation", ranking / writing)
    report.end()


if __name__ == "__main__":
    main()
