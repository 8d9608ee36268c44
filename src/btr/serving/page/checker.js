// Checks paragraphs: asks the server for those that it has not answered yet, a few at a time, and keeps its answers.

import { wordsWithin } from "./dictionary.js";
import { startsLikeFrontMatter } from "./paragraphs.js";
import { ServerError, streamCorrections } from "./server.js";

const MAX_REQUEST = 6000;  // characters of a request, if it has more than one paragraph: what the server batches
const SEPARATOR = "\n\n";   // between the paragraphs of a request
const MAX_RESULTS = 5000;  // paragraphs; the oldest are forgotten first

// Return a function from offsets in code points, as the API counts, to offsets in UTF-16 units, as a string does.
export function unitOffsets(text) {
  const characters = Array.from(text);
  if (characters.length === text.length) return (offset) => offset;
  const offsets = [0];
  for (const character of characters) offsets.push(offsets.at(-1) + character.length);
  return (offset) => offsets[offset];
}

const moveSpan = (span, move) => ({ ...span, start: move(span.start), end: move(span.end) });

function moveSentence(sentence, move) {
  const moveAll = (edits) => (edits || []).map((edit) => moveSpan(edit, move));
  return {
    ...moveSpan(sentence, move),
    edits: moveAll(sentence.edits),
    alternatives: moveAll(sentence.alternatives),
    candidates: (sentence.candidates || []).map((candidate) => ({ ...candidate, edits: moveAll(candidate.edits) })),
  };
}

export class Checker {
  constructor({ wanted, texts, options, maxCharacters, changed }) {
    this.wanted = wanted;    // returns the paragraphs of the present text, the most urgent first
    this.texts = texts;      // returns them in their order
    this.options = options;  // returns what a request has beside the text
    this.maxCharacters = maxCharacters;  // returns how many characters the server accepts at a time
    this.changed = changed;  // is called when there is something new to show
    this.forget();
  }

  forget() {
    this.cancel();
    this.results = new Map();  // by key: { sentences, isDone, isDerived }
    this.paused = new Set();   // the keys that were cancelled
    this.controller = null;
    this.dictionary = null;        // the words at which `withinTexts` was made
    this.withinTexts = new Map();  // by paragraph: the words that matter to it
  }

  key(text) {
    const { profile = null, markdown, words = [] } = this.options();
    return JSON.stringify([profile, markdown, this.wordsWithin(text, words), startsLikeFrontMatter(text) && this.isFirst(text), text]);
  }

  // Return the words of the dictionary that matter to a paragraph. They are remembered while the dictionary stays the same.
  wordsWithin(text, words) {
    if (!words.length) return words;
    if (words !== this.dictionary || this.withinTexts.size > MAX_RESULTS) {
      this.dictionary = words;
      this.withinTexts = new Map();
    }
    if (!this.withinTexts.has(text)) this.withinTexts.set(text, wordsWithin(text, words));
    return this.withinTexts.get(text);
  }

  isFirst(text) {
    return text === this.texts()[0];
  }

  // Whether the server would refuse a paragraph for its length, which it counts in code points.
  isTooLong(text) {
    const limit = this.maxCharacters();
    return text.length > limit && Array.from(text).length > limit;
  }

  // Return what is known of a paragraph, perhaps only a part; undefined if nothing is.
  result(text) {
    return this.results.get(this.key(text));
  }

  // Keep what follows for a paragraph after an accepted edit, so that the other marks stay.
  setDerived(text, sentences) {
    const key = this.key(text);
    if (!this.results.get(key)?.isDone) this.results.set(key, { sentences, isDone: true, isDerived: true });
  }

  needs(text, isLive) {
    if (!/\p{L}/u.test(text) || this.isTooLong(text)) return false;
    const key = this.key(text);
    return !this.results.get(key)?.isDone && !(isLive && this.paused.has(key));
  }

  get isRunning() {
    return this.controller !== null;
  }

  progress() {
    const texts = this.texts().filter((text) => !this.isTooLong(text));
    return { done: texts.filter((text) => !this.needs(text, false)).length, total: texts.length };
  }

  cancel() {
    if (!this.controller) return;
    for (const text of this.wanted()) if (this.needs(text, false)) this.paused.add(this.key(text));
    this.controller.abort();
    this.controller = null;
  }

  // Check everything that needs it. Live checks leave alone what the user cancelled.
  async check({ isLive }) {
    if (!isLive) {
      this.paused.clear();
      for (const text of this.wanted()) if (this.result(text)?.isDerived) this.results.delete(this.key(text));
    }
    if (this.controller) return;
    const mine = this.controller = new AbortController();
    try {
      this.changed();
      while (mine === this.controller) {
        const batch = this.nextBatch();
        if (!batch.length) break;
        await this.request(batch, mine.signal);
      }
    } catch (error) {
      if (error.name !== "AbortError") throw error;
    } finally {
      if (mine === this.controller) this.controller = null;
      this.changed();
    }
  }

  // Return the most urgent paragraphs, in the order of the text: front matter is only at its beginning, and code whose
  // end is missing goes on to its end.
  nextBatch() {
    const batch = new Set();
    const limit = Math.min(MAX_REQUEST, this.maxCharacters());
    let size = 0;
    for (const text of this.wanted()) {
      if (batch.has(text) || !this.needs(text, true)) continue;
      if (batch.size && size + SEPARATOR.length + text.length > limit) continue;
      batch.add(text);
      size += SEPARATOR.length + text.length;
    }
    return [...new Set(this.texts())].filter((text) => batch.has(text));
  }

  async request(texts, signal) {
    let text = startsLikeFrontMatter(texts[0]) && !this.isFirst(texts[0]) ? "\n" : "";  // after an empty line it is none
    const parts = texts.map((paragraph, k) => {
      const start = text.length + (k ? SEPARATOR.length : 0);
      text += (k ? SEPARATOR : "") + paragraph;
      return { start, end: text.length, key: this.key(paragraph), covered: 0, sentences: [] };
    });
    const units = unitOffsets(text);
    let problem = "The connection to the server broke.";
    for await (const line of streamCorrections({ text, ...this.options() }, signal)) {
      if (line.done) {
        for (const part of parts) this.store(part, true);
        problem = null;
      } else if (line.error) {
        problem = line.error;
      } else if (line.result) {
        this.receive(line, parts, units);
      }
      this.changed();
    }
    const isAnyDone = parts.some((part) => this.results.get(part.key)?.isDone);
    if (problem && !isAnyDone) throw new ServerError(problem, 200);  // else the rest is asked for again
  }

  // Store a line of the answer. It may be about several of the parts: the server joins code to the prose beside it.
  receive({ start, end, result }, parts, units) {
    for (const part of parts) {
      const overlap = Math.min(units(end), part.end) - Math.max(units(start), part.start);
      if (overlap <= 0) continue;
      for (const sentence of result.sentences) {
        const first = units(start + sentence.start);
        if (first < part.start || first >= part.end) continue;
        part.sentences.push(moveSentence(sentence, (offset) => units(start + offset) - part.start));
      }
      part.covered += overlap;
      this.store(part, part.covered >= part.end - part.start);
    }
  }

  store({ key, sentences }, isDone) {
    this.results.delete(key);
    this.results.set(key, { sentences: [...sentences], isDone, isDerived: false });
    if (this.results.size > MAX_RESULTS) this.results.delete(this.results.keys().next().value);
  }
}
