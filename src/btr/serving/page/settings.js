// The settings, the dictionary, and what the server says of itself.

import { validWords } from "./dictionary.js";
import { $, make, percent } from "./dom.js";
import { describeModels } from "./server.js";
import { clearStorage, loadSettings, loadWords, saveSettings, saveWords } from "./storage.js";

const PROFILE_NAMES = { cautious: "Cautious", minimal: "Normal", fluency: "Fluent" };
const HIGHEST_CUTOFF = 0.85;  // the judge is hardly ever surer of an edit

export let settings = loadSettings();
export let words = validWords(loadWords());  // of the dictionary
export let models = null;      // the models and settings of the server
export let threshold = null;   // λ, once the user has moved it

const profiles = () => models?.profiles || [];

// Return the cut-off of the server at the chosen profile.
const serverCutoff = () => profiles().find((each) => each.name === settings.profile)?.cutoff ?? models.cutoff ?? 0.5;

// Return the right end of the slider: no profile lies beyond it.
export const highestCutoff = () => Math.max(HIGHEST_CUTOFF, models?.cutoff ?? 0, ...profiles().map(({ cutoff }) => cutoff ?? 0));

// Return the cut-off that the slider shows.
export const shownCutoff = () => Math.min(settings.cutoff ?? serverCutoff(), highestCutoff());

// Return what the settings add to a request.
export function requestOptions() {
  const chosen = profiles().some((each) => each.name === settings.profile) ? { profile: settings.profile } : {};
  return words.length ? { ...chosen, words } : chosen;
}

export async function loadModels() {
  models = await describeModels();
  $("access").hidden = true;
  drawSettings();
}

export function setThreshold(value) {
  threshold = value;
  $("threshold-value").textContent = value.toFixed(2);
}

// Read the settings and the dictionary again, after another tab has changed them.
export function reloadSettings() {
  settings = loadSettings();
  words = validWords(loadWords());
  drawSettings();
}

// Remove everything that the browser stores.
export function clearSettings() {
  clearStorage();
  threshold = null;
  reloadSettings();
}

function drawModels() {
  const how = models.judge ? `edits of at least ${percent(models.cutoff)} confidence`
    : models.reranker ? `reranked by ${models.reranker}` : "without a reranker";
  $("models").textContent = `${models.model}, ${how}`;
  const offered = profiles().filter(({ name }) => PROFILE_NAMES[name]);
  if (settings.profile !== null && !profiles().some(({ name }) => name === settings.profile)) settings.profile = null;
  const chosen = settings.profile ?? models.profile;
  $("profiles").hidden = offered.length < 2;
  $("profiles").replaceChildren(make("legend", { className: "hidden", text: "How much to correct" }), ...offered.map(({ name }) =>
    make("label", {}, make("input", { type: "radio", name: "profile", value: name, ...(name === chosen && { checked: "" }) }), PROFILE_NAMES[name])));
  $("by-rule").hidden = !profiles().some(({ name }) => name === "paper");
  $("paper").checked = chosen === "paper";
  $("rule").hidden = !models.reranker && chosen !== "paper";
  if (threshold === null) {
    $("threshold").value = models.threshold;
    $("threshold-value").textContent = models.threshold;
  }
  $("threshold-help").textContent = `The reranker's suggestion is chosen if its f exceeds that of the base candidate by ${
    models.at_least ? "at least" : "more than"} λ.`;
  $("cutoff").max = Math.round(100 * highestCutoff());
  $("cutoff-end").textContent = `The slider ends at ${percent(highestCutoff())}: hardly any correction is surer than that.`;
}

function drawWords() {
  $("words-count").textContent = words.length;
  $("words").replaceChildren(...words.map((word) => make("li", {}, make("span", { text: word }),
    make("button", { type: "button", className: "link", data: { word }, text: "Remove", "aria-label": `Remove “${word}”` }))));
}

export function drawSettings() {
  $("live").checked = settings.isLive;
  drawWords();
  if (models) drawModels();
}

// Say whether the browser stores what was to be saved.
export function showStored(isStored) {
  $("storage").textContent = isStored ? "The draft, the settings and your dictionary are stored in this browser only."
    : "This browser does not store the draft: save it before you leave.";
}

export function changeSettings(changes) {
  settings = { ...settings, ...changes };
  showStored(saveSettings(settings));
}

export function setWords(list) {
  words = [...list].sort((a, b) => a.localeCompare(b));
  showStored(saveWords(words));
  drawWords();
}
