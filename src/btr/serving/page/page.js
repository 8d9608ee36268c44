// The page sends one request per text. Everything after that, λ included, happens here.
// Texts are only set as textContent, never as HTML.
"use strict";

const $ = (id) => document.getElementById(id);
const TYPE_NAMES = {
  ADJ: "adjective", ADV: "adverb", CONJ: "conjunction", CONTR: "contraction", DET: "article, determiner",
  MORPH: "word form", NOUN: "noun", ORTH: "case or spacing", OTHER: "wording", PART: "particle", PREP: "preposition",
  PRON: "pronoun", PUNCT: "punctuation", SPELL: "spelling", VERB: "verb", WO: "word order", UNK: "unknown",
  "ADJ:FORM": "comparison", "NOUN:INFL": "noun inflection", "NOUN:NUM": "singular, plural", "NOUN:POSS": "possessive",
  "VERB:FORM": "verb form", "VERB:INFL": "verb inflection", "VERB:SVA": "subject–verb agreement", "VERB:TENSE": "tense",
};
const OPERATION_NAMES = { M: "missing", U: "unnecessary", R: "" };

let characters = [];  // of the text: offsets in the API count code points, not UTF-16 units
let sentences = [];   // of the answer; `picked` is the index of a candidate that the user chose, or null
let states = {};      // "accepted" or "dismissed", by the key of an edit
let current = null;   // the key of the edit in focus
let hasReranker = false;
let atLeast = false;   // whether a margin equal to λ is enough
let sliderMoved = false;  // before that, the server's choices count: its λ may lie between two steps of the slider
let token = "";
let controller = null;  // aborts the running request

function make(tag, options = {}, ...children) {
  const { text, className, data = {}, ...attributes } = options;
  const element = document.createElement(tag);
  if (text !== undefined) element.textContent = text;
  if (className) element.className = className;
  Object.assign(element.dataset, data);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

async function request(path, body) {
  const headers = { "Content-Type": "application/json" };
  if (token) headers.Authorization = `Bearer ${token}`;
  const options = body ? { method: "POST", body: JSON.stringify(body), signal: controller.signal } : {};
  const response = await fetch(path, { ...options, headers }).catch((error) => {
    throw error.name === "AbortError" ? error : new Error("The server can't be reached; is btr serve running?");
  });
  const answer = await response.json().catch(() => ({}));
  $("access").hidden = response.status !== 401;
  if (!response.ok) throw new Error(answer.detail || `The server answered ${response.status}.`);
  return answer;
}

async function showModels() {
  const models = await request("v1/models");
  hasReranker = models.reranker !== null;
  atLeast = models.at_least;
  const how = models.judge ? `edits of at least ${Math.round(100 * models.cutoff)} % confidence`
    : hasReranker ? `reranked by ${models.reranker}` : "without a reranker";
  $("models").textContent = `${models.model}, ${how}`;
  $("threshold").disabled = !hasReranker;
  if (!sliderMoved) {
    $("threshold").value = models.threshold;
    $("threshold-value").textContent = models.threshold;
  }
  $("threshold-help").textContent = hasReranker
    ? `The reranker's suggestion is chosen if its f exceeds that of the base candidate by ${atLeast ? "at least" : "more than"} λ.`
    : models.judge ? "A judge decides edit by edit: λ does not apply."
    : "Without a reranker, the base candidate is chosen whatever λ is.";
}

async function correct() {
  const text = $("text").value;
  if (!text.trim()) return;
  if (controller) controller.abort();
  const mine = controller = new AbortController();
  $("correct").disabled = true;
  $("problem").textContent = "";
  $("status").textContent = "Correcting …";
  try {
    const modelsShown = $("models").textContent || showModels();
    const [answer] = await Promise.all([request("v1/correct", { text }), modelsShown]);
    characters = Array.from(text);
    sentences = answer.sentences.map((sentence) => ({ ...sentence, picked: null }));
    states = {};
    current = null;
    document.querySelector(".read").hidden = document.querySelector("aside").hidden = false;
    $("result").classList.toggle("stale", $("text").value !== text);
    show(true);
  } catch (error) {
    if (mine === controller) {
      $("status").textContent = "";
      $("problem").textContent = error.message;
    }
  } finally {
    if (mine === controller) $("correct").disabled = false;
  }
}

// Return the index of the chosen candidate at the present λ. f does not depend on λ: only the decision does.
function chosenIndex(sentence) {
  if (!sentence.candidates) return 0;
  if (sentence.picked !== null) return sentence.picked;
  if (!sliderMoved) return sentence.index;
  const threshold = Number($("threshold").value);
  const isAccepted = sentence.margin > threshold || (atLeast && sentence.margin === threshold);
  return isAccepted ? sentence.suggestion : 0;
}

function editsOf(sentence) {
  const edits = sentence.candidates ? sentence.candidates[chosenIndex(sentence)].edits : sentence.edits;
  return edits.map((edit) => ({ ...edit, key: `${edit.start}-${edit.end}-${edit.replacement}` }));
}

const allEdits = () => sentences.flatMap(editsOf);
const slice = (start, end) => characters.slice(start, end).join("");

function correctedText() {
  let position = 0;
  let text = "";
  for (const edit of allEdits()) {
    const shown = states[edit.key] === "dismissed" ? edit.original : edit.replacement;
    text += slice(position, edit.start) + shown;
    position = edit.end;
  }
  return text + slice(position);
}

function nameType(type) {
  return type.split("+").map((one) => {
    const [operation, ...rest] = one.split(":");
    return `${OPERATION_NAMES[operation] || ""} ${TYPE_NAMES[rest.join(":")] || rest.join(":").toLowerCase()}`.trim();
  }).join(", ");
}

function describe(edit) {
  const change = !edit.original.trim() ? `put in “${edit.replacement.trim()}”`
    : !edit.replacement.trim() ? `take out “${edit.original.trim()}”`
    : `“${edit.original.trim()}” to “${edit.replacement.trim()}”`;
  return `${change}: ${nameType(edit.type)}`;
}

function show(announce = false) {
  showResult();
  showAbout();
  showTypes();
  showSentences();
  if (announce) {
    const edits = allEdits();
    const changed = sentences.filter((sentence) => editsOf(sentence).length).length;
    const skipped = sentences.filter((sentence) => sentence.skipped).length;
    $("status").textContent = `${edits.length} ${edits.length === 1 ? "correction" : "corrections"} in ${changed} of `
      + `${sentences.length} ${sentences.length === 1 ? "sentence" : "sentences"}`
      + (skipped ? `; ${skipped} not corrected: too long, or not English.` : ".");
  }
}

function showResult() {
  const parts = [];
  let position = 0;
  for (const edit of allEdits()) {
    parts.push(slice(position, edit.start));
    const state = states[edit.key] || "open";
    const kind = !edit.original ? " added" : !edit.replacement ? " gone" : "";
    const mark = make("button", {
      type: "button", className: `mark${kind}${edit.key === current ? " current" : ""}`, data: { key: edit.key, state },
      "aria-label": `${describe(edit)}; ${state}`, "aria-keyshortcuts": "A D",
    });
    if (edit.original) mark.append(make("del", { text: edit.original }));
    if (edit.replacement) mark.append(make("ins", { text: edit.replacement }));
    parts.push(mark);
    position = edit.end;
  }
  parts.push(slice(position));
  $("result").replaceChildren(...parts);
}

function showAbout() {
  const edit = allEdits().find((one) => one.key === current);
  $("about").hidden = !edit;
  if (edit) $("about-what").textContent = describe(edit);
}

function showTypes() {
  const counts = new Map();
  for (const edit of allEdits()) {
    if (states[edit.key] === "dismissed") continue;
    for (const type of edit.type.split("+")) counts.set(type, (counts.get(type) || 0) + 1);
  }
  const highest = Math.max(...counts.values());
  const rows = [...counts].sort((a, b) => b[1] - a[1] || a[0].localeCompare(b[0])).map(([type, count]) => {
    const bar = make("span", { className: "bar", "aria-hidden": "true" });
    bar.style.width = `${100 * count / highest}%`;
    const name = make("span", { text: nameType(type) }, make("span", { className: "code", text: type }));
    return make("li", {}, name, make("span", { text: count }), bar);
  });
  $("types").replaceChildren(...(rows.length ? rows : [make("li", { className: "quiet", text: "None." })]));
}

function showSentences() {
  const open = new Set([...document.querySelectorAll("#sentences details[open]")].map((one) => one.dataset.number));
  const shown = sentences.flatMap((sentence, number) => {
    const unique = (sentence.candidates || []).filter((one, k, all) => all.findIndex((o) => o.text === one.text) === k);
    return unique.length > 1 ? [showSentence(sentence, String(number), open)] : [];
  });
  $("sentences").replaceChildren(
    ...(shown.length ? shown : [make("p", { className: "quiet", text: "No sentence has alternatives." })]));
}

function showSentence(sentence, number, open) {
  const chosen = chosenIndex(sentence);
  const verdict = sentence.picked !== null ? "your choice"
    : !(sentence.suggestion ?? sentence.index) ? "equal" : chosen ? "accepted" : "rejected";  // a judge suggests none
  const summary = make("summary", { text: slice(sentence.start, sentence.end) },
    make("span", { className: verdict === "accepted" ? "tag strong" : "tag", text: verdict }));
  const margin = hasReranker ? `margin ${sentence.margin.toFixed(3)}` : "f is the base model's probability";
  const list = make("ul", { className: "candidates" });
  sentence.candidates.forEach((candidate, k) => {
    if (sentence.candidates.findIndex((one) => one.text === candidate.text) === k) {
      list.append(make("li", {}, showCandidate(sentence, number, candidate, k, chosen)));
    }
  });
  const details = make("details", { data: { number } }, summary, make("p", { className: "quiet", text: margin }), list);
  details.open = open.has(number);
  return details;
}

function showCandidate(sentence, number, candidate, k, chosen) {
  const bar = make("span", { className: "bar" });
  bar.style.width = `${100 * candidate.probability}%`;
  const probability = candidate.competes ? `f ${candidate.probability.toFixed(3)}` : "does not compete";
  const numbers = make("span", { className: "numbers" }, make("span", { text: probability }));
  if (k === 0) numbers.append(make("span", { className: "tag", text: "base candidate" }));
  if (hasReranker && k === sentence.suggestion) numbers.append(make("span", { className: "tag strong", text: "reranker" }));
  if (candidate.flag) numbers.append(make("span", { className: "tag", text: candidate.flag }));
  return make("button",
    { type: "button", className: "candidate", data: { number, candidate: k }, "aria-pressed": String(k === chosen),
      ...(candidate.flag && { disabled: "" }) },
    make("span", { text: candidate.text }),
    make("span", { className: "track", "aria-hidden": "true" }, bar), numbers);
}

function setStates(keys, state) {
  for (const key of keys) states[key] = state;
  showResult();
  showAbout();
  showTypes();
}

// Accept or dismiss the edit in focus, and move to the next one that is open.
function decideCurrent(state) {
  const edits = allEdits();
  const index = edits.findIndex((edit) => edit.key === current);
  if (index < 0) return;
  setStates([current], state);
  const open = [...edits.slice(index + 1), ...edits.slice(0, index)].find((edit) => !states[edit.key]);
  $("status").textContent = `${state === "accepted" ? "Accepted" : "Dismissed"}: ${describe(edits[index])}.`;
  focusMark(open ? open.key : current);
}

function focusMark(key) {
  const mark = [...document.querySelectorAll(".mark")].find((one) => one.dataset.key === key);
  if (mark) mark.focus();
}

function decideAll(state) {
  const edits = allEdits();
  setStates(edits.map((edit) => edit.key), state);
  $("status").textContent = `${state === "accepted" ? "Accepted" : "Dismissed"} all ${edits.length}.`;
}

async function copy() {
  try {
    await navigator.clipboard.writeText(correctedText());
    $("status").textContent = "Copied.";
  } catch {
    $("status").textContent = "This browser does not let the page copy; use Download.";
  }
}

function download() {
  const address = URL.createObjectURL(new Blob([correctedText()], { type: "text/plain;charset=utf-8" }));
  make("a", { href: address, download: "corrected.txt" }).click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
  $("status").textContent = "Downloaded as corrected.txt.";
}

$("correct").addEventListener("click", correct);
$("text").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) correct();
});
$("text").addEventListener("input", () => $("result").classList.add("stale"));
$("access").addEventListener("submit", async (event) => {
  event.preventDefault();
  token = $("token").value;
  $("problem").textContent = "";
  await showModels().then(correct).catch((error) => { $("problem").textContent = error.message; });
});
$("threshold").addEventListener("input", () => {
  sliderMoved = true;
  $("threshold-value").textContent = Number($("threshold").value).toFixed(2);
  for (const sentence of sentences) sentence.picked = null;
  show(true);
});
$("result").addEventListener("focusin", (event) => {
  const mark = event.target.closest(".mark");
  if (!mark) return;
  current = mark.dataset.key;
  for (const one of document.querySelectorAll(".mark.current")) one.classList.remove("current");
  mark.classList.add("current");
  showAbout();
});
$("result").addEventListener("click", (event) => {
  const mark = event.target.closest(".mark");
  if (!mark) return;
  mark.focus();
  if (!event.detail) $("accept").focus();  // by Enter or Space: Tab would go to the next mark
});
for (const id of ["result", "about"]) $(id).addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const key = event.key.toLowerCase();
  if (key === "a") decideCurrent("accepted");
  if (key === "d") decideCurrent("dismissed");
  if (key === "escape" && id === "about") document.querySelector(".mark.current")?.focus();
});
$("sentences").addEventListener("click", (event) => {
  const button = event.target.closest(".candidate");
  if (!button) return;
  const { number, candidate } = button.dataset;
  sentences[number].picked = Number(candidate);
  show(true);
  document.querySelector(`.candidate[data-number="${number}"][data-candidate="${candidate}"]`).focus();
});
$("accept").addEventListener("click", () => decideCurrent("accepted"));
$("dismiss").addEventListener("click", () => decideCurrent("dismissed"));
$("accept-all").addEventListener("click", () => decideAll("accepted"));
$("dismiss-all").addEventListener("click", () => decideAll("dismissed"));
$("copy").addEventListener("click", copy);
$("download").addEventListener("click", download);
showModels().catch((error) => { $("problem").textContent = error.message; });
