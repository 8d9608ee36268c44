// What the page shows follows from the text, the decisions, the settings and the server's answers: `draw` shows it.

import { Checker } from "./checker.js";
import { drawCard, drawList, focusItem, title } from "./corrections.js";
import { drawSentences, drawTypes } from "./details.js";
import { $, count, percent } from "./dom.js";
import { drawMarks, scrollToCurrent } from "./editor.js";
import { History } from "./history.js";
import { applyEdits, carryOver, describeChange, followsRule, marksOf, sentencesAfter } from "./marks.js";
import { cutParagraphs } from "./paragraphs.js";
import { clearKept, keep, kept, loadModels, models, requestOptions, serverCutoff, threshold } from "./settings.js";

const TYPING_PAUSE = 700;  // milliseconds before the changed paragraphs are checked

let paragraphs = [];    // of the text
export let marks = [];  // that are shown
let current = null;     // the dismissal key and place of the current mark
let drawnText = kept.text;
let isSilent = false;   // whether the status shows a message that stays until something happens
let timer = null;       // of the next live check
export const history = new History({ text: kept.text, caret: 0, dismissed: new Set() });
export const checker = new Checker({
  wanted, texts: () => paragraphs.map(({ text }) => text), options: requestOptions,
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
  cutoff: kept.cutoff, threshold, atLeast: models?.at_least ?? false,
  dismissed: history.state.dismissed, dictionary: new Set(kept.words.map((word) => word.toLowerCase())),
});

export function draw() {
  const { text } = history.state;
  const old = carryOver(marks, drawnText, text);
  drawnText = text;
  paragraphs = cutParagraphs(text, kept.markdown);
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
  drawCard(found, found && /^\p{L}[\p{L}'’-]*$/u.test(found.original.trim()) && /SPELL|ORTH|NOUN$|OTHER|ADJ$/.test(found.type));
  drawTypes(fresh);
  drawSentences(sentencesShown(), seen);
  drawState(fresh);
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
  const next = isRunning || (kept.isLive && timer) ? "they are being checked again." : "press Check to check them again.";
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
  const cutoff = kept.cutoff ?? serverCutoff();
  $("cutoff").value = Math.round(100 * cutoff);
  const everything = { ...view(), cutoff: 0 };
  const all = paragraphs.flatMap((paragraph) => marksOf(paragraph, checker.result(paragraph.text)?.sentences || [], everything));
  const hidden = Math.max(0, all.length - fresh.length);
  const text = `At least ${percent(cutoff)} sure: ${fresh.length} shown${hidden ? `, ${hidden} less sure hidden` : ""}.`;
  $("cutoff-text").textContent = text;
  $("cutoff").setAttribute("aria-valuetext", `at least ${percent(cutoff)} sure`);
}

// Whether sentences are decided by the paper's rule, as a whole.
const usesRule = () => kept.profile === "paper" || sentencesShown().some(({ sentence }) => followsRule(sentence));

// Show a state of the history in the text area.
function show({ text, caret }) {
  $("text").value = text;
  $("text").setSelectionRange(caret, caret);
  keep({ text });
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
  announce(`${action === "accept" ? "Accepted" : "Dismissed"}: ${describeChange(made)}: ${title(mark)}.`);
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
  if (!kept.isLive) return;
  timer = setTimeout(() => {
    timer = null;
    check({ isLive: true });
  }, TYPING_PAUSE);
}

export async function check({ isLive }) {
  if (isLive && !paragraphs.some(({ text }) => checker.needs(text, true))) return;
  isSilent = false;
  $("problem").textContent = "";
  try {
    if (!models) await loadModels();
    await checker.check({ isLive });
  } catch (error) {
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

export function forgetAll() {
  checker.forget();
  clearKept();
  marks = [];
  drawnText = "";
  history.reset({ text: "", caret: 0, dismissed: new Set() });
  $("text").value = "";
  draw();
  announce("The draft, the settings and the dictionary are removed.");
}
