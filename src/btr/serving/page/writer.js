// What the page shows follows from the text, the decisions, the settings and the server's answers: `draw` shows it.

import { Checker } from "./checker.js";
import { drawCard, drawList, focusItem } from "./corrections.js";
import { drawSentences, drawTypes } from "./details.js";
import { keepWord } from "./dictionary.js";
import { $, count, percent } from "./dom.js";
import { drawMarks, scrollToCurrent } from "./editor.js";
import { formatOf } from "./files.js";
import { History } from "./history.js";
import { applyEdits, carryOver, describeChange, followsRule, marksOf, sentencesAfter, wholeWords } from "./marks.js";
import { cutParagraphs } from "./paragraphs.js";
import {
  clearSettings, loadModels, models, requestOptions, settings, setWords, shownCutoff, showStored, threshold, words,
} from "./settings.js";
import { loadDraft, saveDraft } from "./storage.js";

const TYPING_PAUSE = 700;  // milliseconds before the changed paragraphs are checked

let paragraphs = [];    // of the text
export let marks = [];  // that are shown
let current = null;     // the dismissal key and place of the current mark
let isSilent = false;   // whether the status shows a message that stays until something happens
let timer = null;       // of the next live check
let isRefused = false;  // whether the server asked for a token when it was to check
export const history = new History(loadDraft());  // of drafts: text, caret, dismissed, markdown, fileName, document
let drawnText = history.state.text;
let drawnFile = {};     // the name and the document that the formats to save in were drawn for
export const checker = new Checker({
  wanted, texts: () => paragraphs.map(({ text }) => text), options: () => ({ markdown: history.state.markdown, ...requestOptions() }),
  maxCharacters: () => models?.max_characters ?? Infinity, changed: draw,
});

export const freshMarks = () => marks.filter((mark) => !mark.isOld);
export const currentMark = () => marks.find((mark) => mark.isCurrent);

// Return the paragraphs of the text, those at the caret first.
function wanted() {
  const caret = $("text").selectionStart;
  const distance = ({ start, full }) => (caret < start ? start - caret : Math.max(0, caret - start - full.length));
  return [...paragraphs].sort((a, b) => distance(a) - distance(b) || a.start - b.start).map(({ text }) => text);
}

const view = () => ({
  cutoff: settings.cutoff === null ? null : shownCutoff(), threshold, atLeast: models?.at_least ?? false,
  dismissed: history.state.dismissed,
});

export function draw() {
  const { text, markdown } = history.state;
  const old = carryOver(marks, drawnText, text);
  drawnText = text;
  paragraphs = cutParagraphs(text, markdown);
  const seen = view();
  marks = paragraphs.flatMap((paragraph) => {
    const result = checker.result(paragraph.text);
    if (result) return marksOf(paragraph, result.sentences, seen);
    const end = paragraph.start + paragraph.full.length;
    return old.filter((mark) => mark.start >= paragraph.start && mark.end <= end && !seen.dismissed.has(mark.dismissal));
  });
  const fresh = freshMarks();
  const isSame = (mark) => current && mark.dismissal === current.dismissal;
  const found = fresh.filter(isSame).sort((a, b) => Math.abs(a.start - current.start) - Math.abs(b.start - current.start))[0];
  for (const mark of marks) mark.isCurrent = mark === found;
  drawMarks(paragraphs, marks, (paragraph) => checker.isTooLong(paragraph.text));
  const focused = document.activeElement?.closest?.(".item");
  drawList(fresh);
  if (focused) focusItem(Math.min(Number(focused.dataset.number), fresh.length - 1));
  drawCard(found, found && /^\p{L}[\p{L}'’-]*$/u.test(wholeWords(found).original) && /SPELL|ORTH|NOUN$|OTHER|ADJ$/.test(found.type));
  drawTypes(fresh);
  drawSentences(sentencesShown(), seen);
  drawState(fresh);
  drawFile();
}

// Offer the formats that the draft can be saved in. The user's choice stays until another file is there.
function drawFile() {
  const { fileName, document, markdown } = history.state;
  $("markdown").checked = markdown;
  if (drawnFile.fileName === fileName && drawnFile.document === document) return;
  drawnFile = { fileName, document };
  $("as-docx").hidden = $("as-docx").disabled = !document;
  $("format").value = formatOf(history.state);
}

export const sentencesShown = () => paragraphs.flatMap((paragraph) =>
  (checker.result(paragraph.text)?.sentences || []).map((sentence) => ({ paragraph, sentence })));

function drawState(fresh) {
  $("undo").disabled = !history.past.length;
  $("redo").disabled = !history.future.length;
  const { done, total } = checker.progress();
  const isRunning = checker.isRunning;
  $("cancel").hidden = $("progress").hidden = !isRunning;
  $("progress").max = total || 1;
  $("progress").value = done;
  $("progress-text").textContent = isRunning ? `${done} of ${count(total, "paragraph")} checked` : "";
  const isTooLong = paragraphs.some((paragraph) => checker.isTooLong(paragraph.text));
  $("too-long").hidden = !isTooLong;
  if (isTooLong) $("too-long").textContent = `The paragraphs in grey are too long to be checked: this server accepts ${
    models.max_characters.toLocaleString("en")} characters at a time. Divide them with blank lines.`;
  const isOld = marks.some((mark) => mark.isOld);
  $("old").hidden = !isOld;
  const next = isRunning || (settings.isLive && timer) ? "they are being checked again." : "press Check to check them again.";
  $("old").textContent = `Greyed marks are from before your last change of the text or the settings: ${next}`;
  drawCutoff(fresh);
  if (isRunning || isSilent) return;
  const skipped = sentencesShown().filter(({ sentence }) => sentence.skipped).length;
  const left = total - done;
  $("status").textContent = [
    total && done ? (fresh.length ? `${count(fresh.length, "correction")}.` : "No corrections.") : "",
    skipped ? `${count(skipped, "sentence")} not checked: too long, or not English.` : "",
    left && done ? `${count(left, "paragraph")} not checked yet.` : "",
  ].filter(Boolean).join(" ");
}

// Show the present state, with its summary in place of the last message.
export function refresh() {
  isSilent = false;
  draw();
}

export function announce(message) {
  $("status").textContent = message;
  isSilent = true;
}

function drawCutoff(fresh) {
  const isJudged = models?.judge && !usesRule();
  $("sureness").hidden = !isJudged;
  if (!isJudged) return;
  const cutoff = shownCutoff();
  $("cutoff").value = Math.round(100 * cutoff);
  const everything = { ...view(), cutoff: 0 };
  const all = paragraphs.flatMap((paragraph) => marksOf(paragraph, checker.result(paragraph.text)?.sentences || [], everything));
  const hidden = Math.max(0, all.length - fresh.length);
  const text = `At least ${percent(cutoff)} sure: ${fresh.length} shown${hidden ? `, ${hidden} less sure hidden` : ""}.`;
  $("cutoff-text").textContent = text;
  $("cutoff").setAttribute("aria-valuetext", `at least ${percent(cutoff)} sure`);
}

// Whether sentences are decided by the paper's rule, as a whole.
const usesRule = () => settings.profile === "paper" || sentencesShown().some(({ sentence }) => followsRule(sentence));

// Show a state of the history in the text area.
function show({ text, caret }) {
  $("text").value = text;
  $("text").setSelectionRange(caret, caret);
  storeDraft();
  refresh();
}

const storeDraft = () => showStored(saveDraft(history.state));

// Record what the user has typed.
export function recordTyping(kind) {
  history.record({ ...history.state, text: $("text").value, caret: $("text").selectionStart }, kind);
  storeDraft();
  checkSoon();
  refresh();
}

// Make a decision that can be undone.
export function decide(changes) {
  const caret = changes.caret ?? $("text").selectionStart;
  history.record({ ...history.state, caret: Math.min(caret, (changes.text ?? history.state.text).length), ...changes });
  show(history.state);
  checkSoon();
}

// Make edits, given with their offsets in the whole text. Marks elsewhere in the same paragraphs stay.
export function makeEdits(edits) {
  const seen = view();
  const { text } = history.state;
  for (const paragraph of paragraphs) {
    const end = paragraph.start + paragraph.full.length;
    const here = edits.filter((edit) => edit.start >= paragraph.start && edit.end <= end)
      .map((edit) => ({ ...edit, start: edit.start - paragraph.start, end: edit.end - paragraph.start }));
    const result = checker.result(paragraph.text);
    if (!here.length || !result?.isDone) continue;
    const after = here.sort((a, b) => b.start - a.start).reduce((sentences, edit) => sentencesAfter(sentences, edit, seen), result.sentences);
    checker.setDerived(applyEdits(paragraph.full, here).trimEnd(), after);
  }
  const last = edits.reduce((a, b) => (b.start > a.start ? b : a));
  decide({ text: applyEdits(text, edits), caret: last.start + last.replacement.length });
}

// Accept or dismiss the current correction, and go to the next one.
export function decideCurrent(action, edit = null) {
  const fresh = freshMarks();
  const index = fresh.findIndex((mark) => mark.isCurrent);
  if (index < 0) return;
  const mark = fresh[index];
  const next = fresh[index + 1] || fresh[0];
  const made = edit || mark;
  const shift = action === "accept" && next.start > mark.start ? made.replacement.length - (made.end - made.start) : 0;
  current = next === mark ? null : { dismissal: next.dismissal, start: next.start + shift };
  if (action === "accept") makeEdits([made]);
  else decide({ dismissed: new Set([...history.state.dismissed, mark.dismissal]) });
  followNeighbour(next.start + shift);
  announce(`${action === "accept" ? "Accepted" : "Dismissed"}: ${describeChange(made)}: ${mark.reason}.`);
}

// An accepted neighbour changes what a mark is remembered by: find it by its place.
function followNeighbour(start) {
  const mark = marks.find((each) => !each.isOld && each.start === start);
  if (mark) setCurrent(mark);
}

export function setCurrent(mark) {
  current = mark && { dismissal: mark.dismissal, start: mark.start };
  draw();
}

export function goTo(step) {
  const fresh = freshMarks();
  if (!fresh.length) return;
  const index = fresh.findIndex((mark) => mark.isCurrent);
  const caret = $("text").selectionStart;
  const from = index >= 0 ? index : fresh.findIndex((mark) => mark.start >= caret) - (step > 0 ? 1 : 0);
  const number = ((index < 0 && from < -1 ? -1 : from) + step + fresh.length) % fresh.length;
  setCurrent(fresh[number]);
  focusItem(number);
  scrollToCurrent();
}

export function checkSoon() {
  clearTimeout(timer);
  timer = null;
  if (!settings.isLive) return;
  timer = setTimeout(() => {
    timer = null;
    check({ isLive: true });
  }, TYPING_PAUSE);
}

export function checkIfLive() {
  if (settings.isLive) check({ isLive: true });
}

// Go on, now that there is a token: a check that was refused without one is made.
export async function checkWithToken() {
  try {
    if (!models) await loadModels();
    refresh();
    if (isRefused || settings.isLive) check({ isLive: true });
  } catch (error) {
    showProblem(error);
  }
}

export async function check({ isLive }) {
  if (isLive && !paragraphs.some(({ text }) => checker.needs(text, true))) return;
  isSilent = isRefused = false;
  $("problem").textContent = "";
  try {
    if (!models) await loadModels();
    await checker.check({ isLive });
  } catch (error) {
    isRefused = error.status === 401;
    showProblem(error);
  }
}

export function showProblem(error) {
  $("access").hidden = error.status !== 401;
  $("problem").textContent = error.message;
}

export function step(direction) {
  const state = direction === "undo" ? history.undo() : history.redo();
  if (!state) return;
  show(state);
  checkSoon();
  announce(direction === "undo" ? "Undone." : "Redone.");
}

// Add a word to the dictionary. The other corrections of the paragraphs that have it stay.
export function addWord(word) {
  const results = paragraphs.map(({ text }) => ({ text, result: checker.result(text) }));
  setWords([...new Set([...words, word])]);
  for (const { text, result } of results) if (result?.isDone) checker.setDerived(text, keepWord(result.sentences, word));
  refresh();
  checkSoon();
}

export function removeWord(word) {
  setWords(words.filter((each) => each !== word));
  refresh();
  checkSoon();
}

export function forgetAll() {
  checker.forget();
  clearSettings();
  marks = [];
  drawnText = "";
  history.reset(loadDraft());
  $("text").value = "";
  draw();
  announce("The draft, the settings and the dictionary are removed.");
}
