// From the server's answers to the marks in the text.

const MAX_OTHERS = 4;  // other replacements of a mark

// Return a change with whole words, as a reader expects it: dont → don't, not nt → n't.
export function wholeWords({ original, replacement, before = "", after = "" }) {
  return { original: (before + original + after).trim(), replacement: (before + replacement + after).trim() };
}

export function describeChange(edit) {
  const { original, replacement } = wholeWords(edit);
  if (!original) return `put in “${replacement}”`;
  if (!replacement) return `take out “${original}”`;
  return `“${original}” to “${replacement}”`;
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

// Return the edits of a sentence to show. The server's choices come first; edits that it did not make appear where the user
// wants to see more.
export function chooseEdits(sentence, view) {
  if (followsRule(sentence)) return sentence.candidates[chosenIndex(sentence, view)].edits;
  const isShown = (edit) => view.cutoff === null || edit.confidence === null || edit.confidence === undefined
    || edit.confidence >= view.cutoff;
  const chosen = sentence.edits.filter(isShown);
  if (view.cutoff !== null) {
    for (const edit of sentence.alternatives) {
      if (isShown(edit) && ![...sentence.edits, ...chosen].some((each) => conflict(each, edit))) chosen.push(edit);
    }
  }
  return chosen.sort((a, b) => a.start - b.start || a.end - b.end);
}

const lastWord = (text) => /\S*\s*$/.exec(text)[0].trim();
const firstWord = (text) => /^\s*\S*/.exec(text)[0].trim();

// Return the rest of the words of which an edit changes only a part.
function restOfWords(text, { start, end, original }) {
  const before = /^[\p{L}\p{M}]/u.test(original) ? /[\p{L}\p{M}'’]*$/u.exec(text.slice(Math.max(0, start - 80), start))[0] : "";
  const after = /[\p{L}\p{M}]$/u.test(original) ? /^[\p{L}\p{M}'’]*/u.exec(text.slice(end, end + 80))[0] : "";
  return { before, after: after.replace(/['’]+$/, "") };
}

// What a dismissal is remembered by: the words that were to be changed, and their neighbours.
function dismissalKey(text, edit) {
  const before = lastWord(text.slice(Math.max(0, edit.start - 80), edit.start));
  const after = firstWord(text.slice(edit.end, edit.end + 80));
  return JSON.stringify([before, edit.original, edit.original ? "" : edit.replacement, after]);
}

// Return the other replacements for the characters of an edit, the surest first. The server names them for the edits that it
// made; for one that only the user wants to see, they are among the other edits that it did not make.
function otherReplacements(edit, sentence) {
  const isAlternative = (each) => each !== edit && each.start === edit.start && each.end === edit.end;
  const others = sentence.edits.includes(edit) ? edit.others ?? []
    : sentence.alternatives.filter(isAlternative).map(({ replacement, confidence }) => ({ text: replacement, confidence }));
  return others.slice(0, MAX_OTHERS);
}

// Return the marks of a paragraph that begins at `start`: edits with offsets in the whole text.
export function marksOf(paragraph, sentences, view) {
  return sentences.flatMap((sentence) => chooseEdits(sentence, view).map((edit) => ({
    ...edit,
    ...restOfWords(paragraph.full, edit),
    start: edit.start + paragraph.start,
    end: edit.end + paragraph.start,
    dismissal: dismissalKey(paragraph.full, edit),
    others: otherReplacements(edit, sentence),
    isOld: false,
  }))).filter((mark) => !view.dismissed.has(mark.dismissal));
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
    const edits = followsRule(sentence) ? chooseEdits(sentence, view) : sentence.edits;
    const shifted = { ...rest, start: sentence.start >= edit.end ? sentence.start + delta : sentence.start,
      end: sentence.end + delta, edits: move(edits), alternatives: move(sentence.alternatives), candidates: [] };
    if (isChanged) return shifted;
    return { ...shifted, margin, candidates: sentence.candidates.map((each) => ({ ...each, edits: move(each.edits) })) };
  });
}
