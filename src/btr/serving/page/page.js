// The page for writers: what its controls do.

import { refusal } from "./dictionary.js";
import { $, count } from "./dom.js";
import { markAtCaret, scrollToCurrent } from "./editor.js";
import { openFile, saveFile } from "./files.js";
import { wholeWords } from "./marks.js";
import { setToken } from "./server.js";
import { changeSettings, drawSettings, loadModels, reloadSettings, setThreshold, words } from "./settings.js";
import { onChangeElsewhere } from "./storage.js";
import {
  addWord, announce, check, checker, checkIfLive, checkSoon, checkWithToken, currentMark, decide, decideCurrent, draw, forgetAll,
  freshMarks, goTo, history, makeEdits, marks, recordTyping, refresh, removeWord, sentencesShown, setCurrent, showProblem, step,
} from "./writer.js";

// Add a word to the dictionary, or say why not; return whether it was added.
function tryToAddWord(word) {
  const problem = refusal(word, words);
  $("word-problem").textContent = problem ?? "";
  if (problem) $("dictionary").open = true;
  else addWord(word);
  return !problem;
}

async function open(chosen) {
  try {
    decide(await openFile(chosen));
    checkIfLive();
    announce(`Opened ${chosen.name}.`);
  } catch (error) {
    showProblem(error);
  }
}

async function saveText() {
  try {
    announce(`Saved as ${await saveFile(history.state, $("format").value)}.`);
  } catch (error) {
    showProblem(error);
  }
}

async function copy() {
  try {
    await navigator.clipboard.writeText(history.state.text);
    announce("Copied.");
  } catch {
    announce("This browser does not let the page copy; use Save.");
  }
}

function setProfile(profile) {
  changeSettings({ profile, cutoff: null });
  drawSettings();
  refresh();
  checkIfLive();
}

$("text").addEventListener("input", (event) => {
  const isTyping = Math.abs($("text").value.length - history.state.text.length) <= 2;  // else a paste: a step of its own
  const kind = isTyping ? /^(insert|delete)/.exec(event.inputType || "")?.[1] ?? null : null;
  recordTyping(kind);
});
document.addEventListener("selectionchange", () => {
  if (document.activeElement !== $("text")) return;
  const mark = markAtCaret(marks);
  if (mark !== (currentMark() || null)) setCurrent(mark);
});
document.addEventListener("keydown", (event) => {
  const isCommand = event.ctrlKey || event.metaKey;
  const isOtherField = event.target.matches?.("input[type=text], input[type=password]");
  const key = event.key.toLowerCase();
  if (isCommand && !event.altKey && !isOtherField && (key === "z" || key === "y")) {
    event.preventDefault();
    step(key === "y" || event.shiftKey ? "redo" : "undo");
  } else if (isCommand && event.key === "Enter") {
    check({ isLive: false });
  } else if (event.key === "F8") {
    event.preventDefault();
    goTo(event.shiftKey ? -1 : 1);
  }
});
for (const id of ["list", "card"]) $(id).addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const key = event.key.toLowerCase();
  if (key === "a") decideCurrent("accept");
  if (key === "d") decideCurrent("dismiss");
  if (key === "escape") {
    const mark = currentMark();
    $("text").focus();
    if (mark) $("text").setSelectionRange(mark.start, mark.start);
  }
});
$("list").addEventListener("focusin", (event) => {
  const item = event.target.closest(".item");
  const mark = item && freshMarks()[item.dataset.number];
  if (!mark || mark.isCurrent) return;
  setCurrent(mark);
  scrollToCurrent();
});
$("others").addEventListener("click", (event) => {
  const button = event.target.closest(".other");
  const mark = currentMark();
  if (!button || !mark) return;
  const { text, confidence } = mark.others[button.dataset.other];
  decideCurrent("accept", { ...mark, replacement: text, confidence });
});
$("sentences").addEventListener("click", (event) => {
  const button = event.target.closest(".candidate");
  if (!button) return;
  const { paragraph, sentence } = sentencesShown()[button.dataset.number];
  const { edits } = sentence.candidates[button.dataset.candidate];
  if (edits.length) makeEdits(edits.map((edit) => ({ ...edit, start: edit.start + paragraph.start, end: edit.end + paragraph.start })));
});
$("accept").addEventListener("click", () => decideCurrent("accept"));
$("dismiss").addEventListener("click", () => decideCurrent("dismiss"));
$("add-word").addEventListener("click", () => tryToAddWord(wholeWords(currentMark()).original));
$("accept-all").addEventListener("click", () => {
  const fresh = freshMarks();
  makeEdits(fresh);
  announce(`Accepted ${count(fresh.length, "correction")}.`);
});
$("dismiss-all").addEventListener("click", () => {
  const fresh = freshMarks();
  decide({ dismissed: new Set([...history.state.dismissed, ...fresh.map((mark) => mark.dismissal)]) });
  announce(`Dismissed ${count(fresh.length, "correction")}.`);
});
$("check").addEventListener("click", () => check({ isLive: false }));
$("cancel").addEventListener("click", () => {
  checker.cancel();
  draw();
  const { done, total } = checker.progress();
  announce(`Cancelled: ${done} of ${count(total, "paragraph")} checked. Press Check to go on.`);
});
$("undo").addEventListener("click", () => step("undo"));
$("redo").addEventListener("click", () => step("redo"));
$("copy").addEventListener("click", copy);
$("save").addEventListener("click", saveText);
$("open").addEventListener("click", () => $("file").click());
$("file").addEventListener("change", () => {
  const [chosen] = $("file").files;
  $("file").value = "";
  if (chosen) open(chosen);
});
$("clear").addEventListener("click", () => $("clearing").showModal());
$("clearing").addEventListener("close", () => {
  if ($("clearing").returnValue !== "clear") return;
  forgetAll();
});
$("cutoff").addEventListener("input", () => {
  changeSettings({ cutoff: Number($("cutoff").value) / 100 });
  refresh();
});
$("threshold").addEventListener("input", () => {
  setThreshold(Number($("threshold").value));
  refresh();
});
$("profiles").addEventListener("change", (event) => setProfile(event.target.value));
$("paper").addEventListener("change", () => setProfile($("paper").checked ? "paper" : null));
$("live").addEventListener("change", () => {
  changeSettings({ isLive: $("live").checked });
  checkSoon();
});
$("markdown").addEventListener("change", () => decide({ markdown: $("markdown").checked }));
$("details").addEventListener("toggle", draw);
$("new-word").addEventListener("submit", (event) => {
  event.preventDefault();
  if (tryToAddWord($("word").value.trim())) $("word").value = "";
});
$("words").addEventListener("click", (event) => {
  const { word } = event.target.dataset;
  if (!word) return;
  removeWord(word);
  $("word").focus();
});
$("access").addEventListener("submit", (event) => {
  event.preventDefault();
  setToken($("token").value);
  $("access").hidden = true;
  $("problem").textContent = "";
  checkWithToken();
});
onChangeElsewhere(() => {
  reloadSettings();
  refresh();
  checkSoon();
});

$("text").value = history.state.text;
drawSettings();
draw();
loadModels().then(() => { draw(); checkIfLive(); }).catch(showProblem);
