// The words of the personal dictionary. The rules are the server's, which refuses a request with any other word.

const MAX_LENGTH = 100;  // characters of a word
const MAX_WORDS = 1000;

const isAlphanumeric = (character) => character !== undefined && /[\p{L}\p{N}]/u.test(character);

// Return what is wrong with a word; null if nothing is.
export function problemOf(word) {
  if (/\s/u.test(word)) return `“${word}” is more than one word: add its words one by one.`;
  if (word.startsWith("#")) return `“${word}” begins with #, which no word does.`;
  if (!word || /[\p{C}\p{Z}]/u.test(word)) return "This word has characters that can't be seen: type it anew.";
  if (Array.from(word).length > MAX_LENGTH) return `This word is too long: a word has at most ${MAX_LENGTH} characters.`;
  return null;
}

// Return why a word can't be added to the others; null if it can.
export function refusal(word, words) {
  const isFull = words.length >= MAX_WORDS && !words.includes(word);
  return problemOf(word) ?? (isFull ? "Your dictionary is full: it has 1,000 words. Remove one first." : null);
}

export const validWords = (words) => words.filter((word) => typeof word === "string" && !problemOf(word)).slice(0, MAX_WORDS);

// A word in small letters stands for itself with capitals, too.
const mayContain = (text, word) => text.includes(word) || text.toLowerCase().includes(word);

// Return the words that a text may have: only these can matter to its corrections.
export const wordsWithin = (text, words) => words.filter((word) => mayContain(text, word));

function hasWord(text, word) {
  for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + 1)) {
    if (!isAlphanumeric(text[at - 1]) && !isAlphanumeric(text[at + word.length])) return true;
  }
  return false;
}

// Return sentences without the edits that remove a word.
export function keepWord(sentences, word) {
  const contains = (text) => hasWord(text, word) || hasWord(text.toLowerCase(), word);
  const filter = (edits) => edits.filter((edit) => !contains(edit.original) || contains(edit.replacement));
  return sentences.map((sentence) => ({
    ...sentence,
    edits: filter(sentence.edits),
    alternatives: filter(sentence.alternatives),
    candidates: sentence.candidates.map((candidate) => ({ ...candidate, edits: filter(candidate.edits) })),
  }));
}
