// The settings, the dictionary, and what the server says of itself.

import { $, make, percent } from "./dom.js";
import { describeApi, describeModels } from "./server.js";
import { clear, load, save } from "./storage.js";

const PROFILE_NAMES = { cautious: "Cautious", minimal: "Normal", fluency: "Fluent" };

export let kept = load();      // the draft, the settings and the dictionary
export let models = null;      // the models and settings of the server
export let threshold = null;   // λ, once the user has moved it
export let api = { words: false };  // what requests may have

const profiles = () => models?.profiles || [];

// Return the cut-off of the server at the chosen profile.
export const serverCutoff = () => profiles().find((each) => each.name === kept.profile)?.cutoff ?? models.cutoff ?? 0.5;

// Return what a request has beside the text.
export function requestOptions() {
  const chosen = profiles().some((each) => each.name === kept.profile) ? { profile: kept.profile } : {};
  const words = api.words && kept.words.length ? { words: kept.words } : {};
  return { markdown: kept.markdown, ...chosen, ...words };
}

export async function loadModels() {
  [models, api] = await Promise.all([describeModels(), describeApi()]);
  $("access").hidden = true;
  drawSettings();
}

export function setThreshold(value) {
  threshold = value;
  $("threshold-value").textContent = value.toFixed(2);
}

// Remove everything that the browser keeps.
export function clearKept() {
  kept = clear();
  threshold = null;
  drawSettings();
}

function drawModels() {
  const how = models.judge ? `edits of at least ${percent(models.cutoff)} confidence`
    : models.reranker ? `reranked by ${models.reranker}` : "without a reranker";
  $("models").textContent = `${models.model}, ${how}`;
  const offered = profiles().filter(({ name }) => PROFILE_NAMES[name]);
  if (kept.profile !== null && !profiles().some(({ name }) => name === kept.profile)) kept.profile = null;
  const chosen = kept.profile ?? models.profile;
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
}

export function drawWords() {
  $("words-count").textContent = kept.words.length;
  $("words").replaceChildren(...kept.words.map((word) => make("li", {}, make("span", { text: word }),
    make("button", { type: "button", className: "link", data: { word }, text: "Remove", "aria-label": `Remove “${word}”` }))));
}

export function drawSettings() {
  $("live").checked = kept.isLive;
  $("markdown").checked = kept.markdown;
  drawWords();
  if (models) drawModels();
}

export function keep(changes) {
  kept = { ...kept, ...changes };
  const isKept = save(kept);
  $("kept").textContent = isKept ? "The draft, the settings and your dictionary are kept in this browser only."
    : "This browser does not keep the draft: save it before you leave.";
}
