// From the server's answers to the marks in the text.

const TYPE_NAMES = {
  ADJ: "adjective", ADV: "adverb", CONJ: "conjunction", CONTR: "contraction", DET: "article, determiner",
  MORPH: "word form", NOUN: "noun", ORTH: "case or spacing", OTHER: "wording", PART: "particle", PREP: "preposition",
  PRON: "pronoun", PUNCT: "punctuation", SPELL: "spelling", VERB: "verb", WO: "word order", UNK: "unknown",
  "ADJ:FORM": "comparison", "NOUN:INFL": "noun inflection", "NOUN:NUM": "singular, plural", "NOUN:POSS": "possessive",
  "VERB:FORM": "verb form", "VERB:INFL": "verb inflection", "VERB:SVA": "subject–verb agreement", "VERB:TENSE": "tense",
};
const OPERATION_NAMES = { M: "missing", U: "unnecessary", R: "" };

export function nameType(type) {
  return type.split("+").map((one) => {
    const [operation, ...rest] = one.split(":");
    return `${OPERATION_NAMES[operation] || ""} ${TYPE_NAMES[rest.join(":")] || rest.join(":").toLowerCase()}`.trim();
  }).join(", ");
}

export function describeChange({ original, replacement }) {
  if (!original.trim()) return `put in “${replacement.trim()}”`;
  if (!replacement.trim()) return `take out “${original.trim()}”`;
  return `“${original.trim()}” to “${replacement.trim()}”`;
}

// Whether two edits can't both be made. An insertion also conflicts with an edit that it touches.
export function conflict(a, b) {
  const touches = a.start <= b.end && b.start <= a.end;
  return touches && (a.start === a.end || b.start === b.end || (a.start < b.end && b.start < a.end));
}

// Return the index of the candidate that the paper's rule chooses at a λ; null is the server's λ.
export function chosenIndex(sentence, { threshold, atLeast }) {
  if (threshold === null) return sentence.index;
  const isAccepted = sentence.margin > threshold || (atLeast && sentence.margin === threshold);
  return isAccepted ? sentence.suggestion : 0;
}

export const followsRule = (sentence) => sentence.margin !== null && sentence.margin !== undefined && sentence.candidates.length > 0;

// Return the edits of a sentence to show, and those that stand against them. The server's choices come first; edits that
// it did not make appear where the user wants to see more.
export function chooseEdits(sentence, view) {
  if (followsRule(sentence)) return { chosen: sentence.candidates[chosenIndex(sentence, view)].edits, others: [] };
  const isShown = (edit) => view.cutoff === null || edit.confidence === null || edit.confidence === undefined
    || edit.confidence >= view.cutoff;
  const chosen = sentence.edits.filter(isShown);
  if (view.cutoff !== null) {
    for (const edit of sentence.alternatives) {
      if (isShown(edit) && ![...sentence.edits, ...chosen].some((each) => conflict(each, edit))) chosen.push(edit);
    }
  }
  return { chosen: chosen.sort((a, b) => a.start - b.start || a.end - b.end), others: sentence.alternatives };
}

const lastWord = (text) => /\S*\s*$/.exec(text)[0].trim();
const firstWord = (text) => /^\s*\S*/.exec(text)[0].trim();
const wordsOf = (text) => text.toLowerCase().match(/\p{L}[\p{L}\p{M}'’-]*/gu) || [];

// What a dismissal is remembered by: the words that were to be changed, and their neighbours.
function dismissalKey(text, edit) {
  const before = lastWord(text.slice(Math.max(0, edit.start - 80), edit.start));
  const after = firstWord(text.slice(edit.end, edit.end + 80));
  return JSON.stringify([before, edit.original, edit.original ? "" : edit.replacement, after]);
}

function removesWord(edit, dictionary) {
  const kept = new Set(wordsOf(edit.replacement));
  return wordsOf(edit.original).some((word) => dictionary.has(word) && !kept.has(word));
}

// Return the runner-up replacements of an edit: edits that stand against it, the surest first.
function runnersUp(edit, others) {
  const seen = new Set([edit.replacement]);
  return others.filter((other) => conflict(edit, other) && !(other.start === edit.start && other.end === edit.end && seen.has(other.replacement)))
    .sort((a, b) => (b.confidence ?? 0) - (a.confidence ?? 0)).slice(0, 4);
}

// Return the marks of a paragraph that begins at `start`: edits with offsets in the whole text.
export function marksOf(paragraph, sentences, view) {
  const move = (edit) => ({ ...edit, start: edit.start + paragraph.start, end: edit.end + paragraph.start });
  return sentences.flatMap((sentence) => {
    const { chosen, others } = chooseEdits(sentence, view);
    return chosen.filter((edit) => !removesWord(edit, view.dictionary)).map((edit) => ({
      ...move(edit),
      dismissal: dismissalKey(paragraph.full, edit),
      others: runnersUp(edit, others).filter((other) => !removesWord(other, view.dictionary)).map(move),
      isOld: false,
    }));
  }).filter((mark) => !view.dismissed.has(mark.dismissal));
}

// Return the marks of an old text that lie outside of what has changed since, with their new offsets.
export function carryOver(marks, oldText, text) {
  const limit = Math.min(oldText.length, text.length);
  let head = 0;
  while (head < limit && oldText[head] === text[head]) head += 1;
  let tail = 0;
  while (tail < limit - head && oldText[oldText.length - 1 - tail] === text[text.length - 1 - tail]) tail += 1;
  const shift = text.length - oldText.length;
  return marks.flatMap((mark) => {
    if (mark.end <= head) return [{ ...mark, isOld: true }];
    if (mark.start < oldText.length - tail) return [];
    return [{ ...mark, start: mark.start + shift, end: mark.end + shift, isOld: true }];
  });
}

export function applyEdits(text, edits) {
  let result = text;
  for (const edit of [...edits].sort((a, b) => b.start - a.start || b.end - a.end)) {
    result = result.slice(0, edit.start) + edit.replacement + result.slice(edit.end);
  }
  return result;
}

// Return the sentences of a paragraph after an edit was made: its other edits stay. Nothing is known of the candidates.
export function sentencesAfter(sentences, edit, view) {
  const delta = edit.replacement.length - (edit.end - edit.start);
  const moved = (offset) => (offset >= edit.end ? offset + delta : offset);
  const move = (edits) => edits.filter((each) => !conflict(each, edit))
    .map((each) => ({ ...each, start: moved(each.start), end: moved(each.end) }));
  return sentences.map((sentence) => {
    const isChanged = sentence.start <= edit.end && edit.start <= sentence.end;
    if (!isChanged && sentence.end < edit.start) return sentence;
    const { margin, ...rest } = sentence;
    const edits = followsRule(sentence) ? chooseEdits(sentence, view).chosen : sentence.edits;
    const shifted = { ...rest, start: sentence.start >= edit.end ? sentence.start + delta : sentence.start,
      end: sentence.end + delta, edits: move(edits), alternatives: move(sentence.alternatives), candidates: [] };
    if (isChanged) return shifted;
    return { ...shifted, margin, candidates: sentence.candidates.map((each) => ({ ...each, edits: move(each.edits) })) };
  });
}
