"""From a decision about a sentence's tokens to edits of the user's characters. Needs no model."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from btr.corpus.candidates import Candidates
from btr.corpus.edits import CandidateEdit
from btr.corpus.m2 import Edit
from btr.corpus.word_forms import inflection_type
from btr.correction.blocks import Block
from btr.correction.changes import applicable_edits, to_character_changes
from btr.correction.fixed import is_same_ordinal
from btr.correction.reasons import explanation_of, name_of
from btr.correction.records import (
    NOT_ENGLISH,
    TOO_LONG,
    CandidateView,
    CorrectedBlock,
    CorrectedSentence,
    EditSpan,
    Replacement,
    TokenEdit,
)
from btr.correction.segments import Segment
from btr.decisions import Choice, Decision
from btr.decisions.decide import is_usable
from btr.decisions.judge_edits import EditDecision
from btr.metrics.errant import extract_edits

SPELLING = "R:SPELL"
MIN_CONFIDENCE = 0.1  # of an edit that is shown as an alternative


@dataclass(frozen=True, slots=True)
class ExaminedSentence:
    """A sentence after the models' work: its candidates, and the choice among them."""

    segment: Segment
    is_english: bool
    candidates: Candidates
    choice: Choice


@dataclass(frozen=True, slots=True)
class ExaminedBlock:
    """A block of a text, and its sentences after the models' work."""

    block: Block
    sentences: tuple[ExaminedSentence, ...]


def describe(examined: ExaminedBlock, *, candidate_edits: bool = False) -> CorrectedBlock:
    """Return a block's corrections; with `candidate_edits`, also the edits that make each other candidate."""
    block = examined.block
    sentences = tuple(describe_sentence(block, sentence, candidate_edits) for sentence in examined.sentences)
    if block.too_long:  # it begins a sentence that is longer than a block
        sentences = (CorrectedSentence(block.start, block.start + len(block.text), "", skipped=TOO_LONG),)
    return CorrectedBlock(block.start, block.text, sentences)


def describe_sentence(block: Block, sentence: ExaminedSentence, candidate_edits: bool) -> CorrectedSentence:
    """Return a sentence's correction."""
    segment, candidates, choice = sentence.segment, sentence.candidates, sentence.choice
    start, end = block.start + segment.tokens[0].start, block.start + segment.tokens[-1].end
    if not sentence.is_english or candidates.is_flagged(0, TOO_LONG):
        reason = TOO_LONG if sentence.is_english else NOT_ENGLISH
        return CorrectedSentence(start, end, segment.source, skipped=reason)
    confidences: dict[Edit, float] = {}
    if isinstance(choice, EditDecision):
        confidences = {to_edit(edit): value for edit, value in zip(choice.table.edits, choice.confidences)}
        made = [to_edit(choice.table.edits[index]) for index in choice.chosen]
        chosen = applicable_edits(block.text, segment.tokens, made, segment.is_heading_or_item)
    else:
        chosen = token_edits(block, segment, choice.text)
    edits = to_spans(block, segment, chosen, confidences)
    tokens = tuple(
        TokenEdit(edit.start, edit.end, edit.type, edit.corrections[0], confidences.get(edit)) for edit in chosen
    )
    described = CorrectedSentence(start, end, segment.source, edits, tokens, verdict=choice.verdict, index=choice.index)
    if not isinstance(choice, Decision):
        return described
    views = []
    for index in range(len(candidates.texts)):
        shown = None
        if candidate_edits and index == choice.index:
            shown = edits
        elif candidate_edits:
            shown = to_spans(block, segment, edits_of_candidate(block, segment, choice, candidates, index))
        views.append(view_candidate(candidates, index, choice, shown))
    described = replace(described, candidates=tuple(views))
    if isinstance(choice, EditDecision):  # no reranker suggests a candidate
        alternatives = describe_alternatives(block, segment, chosen, confidences)
        made_edits = tuple(replace(edit, others=runners_up(edit, alternatives)) for edit in edits)
        return replace(described, edits=made_edits, alternatives=alternatives)
    return replace(described, suggestion=choice.suggestion, margin=choice.margin)


def describe_alternatives(
    block: Block, segment: Segment, chosen: Sequence[Edit], confidences: Mapping[Edit, float]
) -> tuple[EditSpan, ...]:  # fmt: skip
    """Return the edits that were not made and are not hopeless, the surest first."""
    others = [edit for edit, value in confidences.items() if edit not in chosen and value >= MIN_CONFIDENCE]
    others = applicable_edits(block.text, segment.tokens, others, segment.is_heading_or_item)
    others.sort(key=lambda edit: -confidences[edit])
    return tuple(span for edit in others for span in to_spans(block, segment, [edit], confidences))


def runners_up(edit: EditSpan, alternatives: Sequence[EditSpan]) -> tuple[Replacement, ...] | None:
    """Return the other replacements for the characters of an edit, the surest first; None if there are none."""
    return (
        tuple(
            Replacement(other.replacement, other.confidence)
            for other in alternatives
            if (other.start, other.end) == (edit.start, edit.end) and other.confidence is not None
        )
        or None
    )


def edits_of_candidate(
    block: Block, segment: Segment, decision: Decision, candidates: Candidates, index: int
) -> list[Edit]:  # fmt: skip
    """Return the edits that make a candidate of the text; none for one that can't be taken."""
    if not is_usable(candidates, index):
        return []
    if isinstance(decision, EditDecision) and index in decision.table.usable:
        made = [to_edit(edit) for edit in decision.table.edits if index in edit.candidates]
        return applicable_edits(block.text, segment.tokens, made, segment.is_heading_or_item)
    return token_edits(block, segment, candidates.texts[index])


def view_candidate(
    candidates: Candidates, index: int, decision: Decision, edits: tuple[EditSpan, ...] | None
) -> CandidateView:
    """Return a candidate as a reader sees it."""
    probability = decision.probabilities[index]
    log_prob = candidates.log_probs[index] if candidates.log_probs is not None else None
    flag = None
    if not is_usable(candidates, index):
        flag = "unfinished" if candidates.is_flagged(index, "unfinished") else "runaway"
    return CandidateView(candidates.texts[index], probability, probability > 0, log_prob, flag, edits)


def token_edits(block: Block, segment: Segment, text: str) -> list[Edit]:
    """Return the edits of tokens that make a text of the sentence, without those that can't be applied."""
    edits = extract_edits(segment.source, text)
    return applicable_edits(block.text, segment.tokens, edits, segment.is_heading_or_item)


def to_edit(edit: CandidateEdit) -> Edit:
    """Return an edit of a table as an edit of the source's tokens."""
    return Edit(edit.key.start, edit.key.end, edit.type, (edit.key.correction,))


def explained_type(segment: Segment, edit: Edit) -> str:
    """Return an edit's type; two forms of one lemma are no misspelling, though ERRANT's list of words lacks one.

    Another ending of an ordinal (21th, 21st) is one; for ERRANT it is another adjective or noun.
    """
    if edit.end - edit.start != 1:
        return edit.type
    word, correction = segment.tokens[edit.start].text, edit.corrections[0]
    if is_same_ordinal(word, correction):
        return SPELLING
    inflection = inflection_type(word, correction) if edit.type == SPELLING else None
    return edit.type if inflection is None else f"R:{inflection}"


def to_spans(
    block: Block, segment: Segment, edits: Sequence[Edit], confidences: Mapping[Edit, float] | None = None
) -> tuple[EditSpan, ...]:  # fmt: skip
    """Return edits of tokens as edits of the whole text's characters.

    Adjacent edits become one, which is as sure as the least sure of them.
    """
    spans, remaining = [], iter(edits)
    for change in to_character_changes(block.text, segment.tokens, edits):
        group = [next(remaining) for _ in change.types]
        known = [confidences[edit] for edit in group if edit in confidences] if confidences else []
        types = "+".join(explained_type(segment, edit) for edit in group)
        spans.append(
            EditSpan(
                block.start + change.start,
                block.start + change.end,
                block.text[change.start : change.end],
                change.replacement,
                types,
                min(known) if known else None,
                name_of(types),
                explanation_of(types),
            )
        )
    return tuple(spans)
