"""Candidates for words that no list has: the base model's best text, with such a word replaced by a similar one.

The base model often copies a misspelt word or leaves it out. Its best text is therefore composed anew, once with each
suggestion, and the base model itself says how probable the composed texts are: from there on they are candidates like
others, about whose edits the judge decides.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version

from rapidfuzz.distance import Levenshtein

from btr.candidates.engine import Engine
from btr.candidates.generate import BUDGET, DIGITS
from btr.corpus.candidates import PROPOSED, Candidates, is_runaway
from btr.corpus.words import is_known, suggest
from btr.metrics.errant import SPACY_LOCK, load_annotator
from btr.models.batches import make_batches

MIN_LETTERS = 4  # of a word that is looked up
MAX_UNKNOWN = 8  # words per sentence; a sentence with more of them is no English prose
MAX_COMPOSED = 10  # texts per sentence with one suggestion each, which the base model must read
EVIDENCE = 4.0  # log-odds that a word in no list, which resembles a common one, is misspelt: what the base model misses
WORD = re.compile("[A-Za-z][a-z]+")

IsWord = Callable[[str], bool]  # whether a word is right, though no list has it: e.g. one of a personal dictionary
NO_WORD: IsWord = frozenset[str]().__contains__


@dataclass(frozen=True, slots=True)
class Misspelling:
    """A word of a source that no list has, by its index, and what it may stand for."""

    index: int
    suggestions: tuple[str, ...]


def spelling_signature() -> str:
    """Return what the further candidates depend on."""
    return f"spelling:symspellpy-{version('symspellpy')}|evidence:{EVIDENCE:g}"


def add_spellings(
    engine: Engine, rows: Sequence[Candidates], max_length: int, is_word: IsWord = NO_WORD
) -> list[Candidates]:  # fmt: skip
    """Return the rows; those with unknown words have further candidates, which are flagged as proposed.

    The log-probability of a candidate, new or not, rises by the evidence for each unknown word that it corrects.
    """
    found = {k: each for k, row in enumerate(rows) if (each := find_misspellings(row, is_word))}
    missed = {k: [m for m in each if not is_corrected(rows[k], rows[k].texts[0], m)] for k, each in found.items()}
    singles = {
        k: {
            (m.index, suggestion): compose(rows[k], {m.index: suggestion}) for m in each for suggestion in m.suggestions
        }
        for k, each in missed.items()
    }
    scores = score(engine, rows, {k: list(texts.values()) for k, texts in singles.items()}, max_length)
    joint = {k: compose(rows[k], best_of_each(singles[k], scores[k])) for k, each in missed.items() if len(each) > 1}
    joint_scores = score(engine, rows, {k: [text] for k, text in joint.items()}, max_length)
    results = list(rows)
    for k, misspellings in found.items():
        results[k] = add_evidence(append(rows[k], {**scores[k], **joint_scores.get(k, {})}), misspellings)
    return results


def find_misspellings(row: Candidates, is_word: IsWord) -> list[Misspelling]:
    """Return the unknown words of a source for which there are suggestions."""
    if row.log_probs is None:  # it was not read
        return []
    words = row.source.split()
    unknown = [k for k in range(len(words)) if is_unknown(words, k) and not is_word(words[k])]
    if len(unknown) > MAX_UNKNOWN:
        return []
    found = []
    for index in unknown:
        word = words[index]
        suggestions = suggest(word.lower())[: max(1, MAX_COMPOSED // len(unknown))]
        if word[0].isupper():
            suggestions = tuple(suggestion[0].upper() + suggestion[1:] for suggestion in suggestions)
        if suggestions and not (word[0].isupper() and is_name(words, index)):
            found.append(Misspelling(index, suggestions))
    return found


def is_unknown(words: Sequence[str], index: int) -> bool:
    """Return whether no list has a word. Names are left alone: capitals count only where a sentence begins."""
    word = words[index]
    if len(word) < MIN_LETTERS or not WORD.fullmatch(word) or is_known(word):
        return False
    return word.islower() or not any(char.isalnum() for before in words[:index] for char in before)


def is_name(words: Sequence[str], index: int) -> bool:
    """Return whether spaCy takes a word for a name even if it begins with a small letter."""
    text = " ".join([*words[:index], words[index].lower(), *words[index + 1 :]])
    nlp = load_annotator().nlp
    with SPACY_LOCK, nlp.memory_zone():
        tokens = nlp(text)
        return any(token.tag_ in ("NNP", "NNPS") for token in tokens if token.text == words[index].lower())


def is_corrected(row: Candidates, text: str, misspelling: Misspelling) -> bool:
    """Return whether a text has a suggestion in the place of a misspelt word."""
    others = text.split()
    _, _, start, end = block_around(row.source.split(), others, misspelling.index)
    corrected = f" {' '.join(others[start:end])} ".lower()
    return any(f" {suggestion.lower()} " in corrected for suggestion in misspelling.suggestions)


def add_evidence(row: Candidates, misspellings: Sequence[Misspelling]) -> Candidates:
    """Raise the log-probability of each candidate by the evidence for the misspelt words that it corrects."""
    counts = [sum(is_corrected(row, text, misspelling) for misspelling in misspellings) for text in row.texts]
    log_probs = tuple(
        None if value is None else round(value + EVIDENCE * count, DIGITS)
        for value, count in zip(row.log_probs or (), counts)
    )
    return replace(row, log_probs=log_probs)


def block_around(words: Sequence[str], others: Sequence[str], index: int) -> tuple[int, int, int, int]:
    """Return the span of words that a word was changed in, and the span of the other text that replaces it.

    Changes that touch are one span, unless they replace as many words as they are: then it is the word alone.
    """
    blocks = [block for block in Levenshtein.opcodes(words, others) if block.tag != "equal"]
    spans: list[list[int]] = []
    for block in blocks:
        if spans and spans[-1][1] == block.src_start and spans[-1][3] == block.dest_start:
            spans[-1][1], spans[-1][3] = block.src_end, block.dest_end
        else:
            spans.append([block.src_start, block.src_end, block.dest_start, block.dest_end])
    shift = 0
    for start, end, other_start, other_end in spans:
        if start <= index < end and end - start != other_end - other_start:
            return start, end, other_start, other_end
        if end <= index:
            shift = other_end - end
        elif start <= index:
            shift = other_start - start
    return index, index + 1, index + shift, index + 1 + shift


def compose(row: Candidates, replaced: Mapping[int, str]) -> str:
    """Return the base candidate with words of the source replaced; where it left such a word out, it comes back."""
    words, text = row.source.split(), row.texts[0].split()
    if is_runaway(row.source, row.texts[0]):
        text = list(words)
    spans: dict[tuple[int, int], list[str]] = {}
    for index, suggestion in replaced.items():
        start, end, other_start, other_end = block_around(words, text, index)
        block = spans.setdefault((other_start, other_end), words[start:end])
        block[index - start] = suggestion
    for (start, end), block in sorted(spans.items(), reverse=True):
        text[start:end] = block
    return " ".join(text)


def best_of_each(texts: Mapping[tuple[int, str], str], scores: Mapping[str, float]) -> dict[int, str]:
    """Return the best suggestion for each word."""
    best: dict[int, str] = {}
    for (index, suggestion), _ in sorted(texts.items(), key=lambda each: scores.get(each[1], float("-inf"))):
        best[index] = suggestion
    return best


def score(
    engine: Engine, rows: Sequence[Candidates], texts: Mapping[int, Sequence[str]], max_length: int
) -> dict[int, dict[str, float]]:
    """Return the base model's log-probability of texts, by their row; without those that it can't read."""
    pairs = [(k, text) for k, each in texts.items() for text in dict.fromkeys(each)]
    sources = dict(zip(texts, engine.encode([rows[k].source for k in texts])))
    targets = engine.encode([text for _, text in pairs])
    kept = [number for number, target in enumerate(targets) if len(target) <= max_length]
    scores: dict[int, dict[str, float]] = {k: {} for k in texts}
    for batch in make_batches([max(len(sources[pairs[n][0]]), len(targets[n])) for n in kept], BUDGET):
        chosen = [kept[position] for position in batch]
        values = engine.log_probs([sources[pairs[n][0]] for n in chosen], [targets[n] for n in chosen])
        for n, value in zip(chosen, values):
            scores[pairs[n][0]][pairs[n][1]] = value
    return scores


def append(row: Candidates, scores: Mapping[str, float]) -> Candidates:
    """Add candidates that are not there yet, with their log-probabilities."""
    new = {text: round(value, DIGITS) for text, value in scores.items() if text not in row.texts}
    if not new:
        return row
    proposed = tuple(range(len(row.texts), len(row.texts) + len(new)))
    flags = {**row.flags, PROPOSED: (*row.flags.get(PROPOSED, ()), *proposed)}
    return replace(row, texts=(*row.texts, *new), log_probs=(*(row.log_probs or ()), *new.values()), flags=flags)
