// For those who want to know more: the types, the candidates of each sentence, f and the paper's rule.

import { $, make } from "./dom.js";
import { chosenIndex, followsRule } from "./marks.js";

export function drawTypes(marks) {
  const counts = new Map();
  for (const { type, reason } of marks) counts.set(type, { reason, number: (counts.get(type)?.number || 0) + 1 });
  const highest = Math.max(...[...counts.values()].map(({ number }) => number));
  const rows = [...counts].sort((a, b) => b[1].number - a[1].number || a[0].localeCompare(b[0])).map(([type, { reason, number }]) => {
    const bar = make("span", { className: "bar", "aria-hidden": "true" });
    bar.style.width = `${100 * number / highest}%`;
    const name = make("span", { text: reason }, make("span", { className: "code", text: type }));
    return make("li", {}, name, make("span", { text: number }), bar);
  });
  $("types").replaceChildren(...(rows.length ? rows : [make("li", { className: "quiet", text: "None." })]));
}

// Draw the sentences of all paragraphs: each is { paragraph, sentence }.
export function drawSentences(shown, view) {
  if (!$("details").open) return;
  const open = new Set([...document.querySelectorAll("#sentences details[open]")].map((one) => one.dataset.number));
  const rows = shown.flatMap(({ paragraph, sentence }, number) => {
    const unique = new Set(sentence.candidates.map((one) => one.text));
    return unique.size > 1 ? [drawSentence(paragraph, sentence, String(number), view, open)] : [];
  });
  $("sentences").replaceChildren(...(rows.length ? rows : [make("p", { className: "quiet", text: "No sentence has alternatives." })]));
}

function drawSentence(paragraph, sentence, number, view, open) {
  const isRule = followsRule(sentence);
  const chosen = isRule ? chosenIndex(sentence, view) : sentence.index;
  const verdict = !(sentence.suggestion ?? sentence.index) ? "equal" : chosen ? "accepted" : "rejected";
  const summary = make("summary", { text: paragraph.full.slice(sentence.start, sentence.end) },
    make("span", { className: verdict === "accepted" ? "tag strong" : "tag", text: verdict }));
  const margin = isRule ? `margin ${sentence.margin.toFixed(3)}` : "f is the base model's probability";
  const list = make("ul", { className: "candidates" });
  sentence.candidates.forEach((candidate, k) => {
    if (sentence.candidates.findIndex((one) => one.text === candidate.text) === k) {
      list.append(make("li", {}, drawCandidate(sentence, number, candidate, k, chosen)));
    }
  });
  const details = make("details", { data: { number } }, summary, make("p", { className: "quiet", text: margin }), list);
  details.open = open.has(number);
  return details;
}

function drawCandidate(sentence, number, candidate, k, chosen) {
  const bar = make("span", { className: "bar" });
  bar.style.width = `${100 * candidate.probability}%`;
  const probability = candidate.competes ? `f ${candidate.probability.toFixed(3)}` : "does not compete";
  const numbers = make("span", { className: "numbers" }, make("span", { text: probability }));
  if (k === 0) numbers.append(make("span", { className: "tag", text: "base candidate" }));
  if (k === chosen) numbers.append(make("span", { className: "tag strong", text: "chosen" }));
  if (followsRule(sentence) && k === sentence.suggestion) numbers.append(make("span", { className: "tag strong", text: "reranker" }));
  if (candidate.flag) numbers.append(make("span", { className: "tag", text: candidate.flag }));
  return make("button",
    { type: "button", className: "candidate", data: { number, candidate: k }, title: "Put this into the text",
      ...(candidate.flag && { disabled: "" }) },
    make("span", { text: candidate.text }), make("span", { className: "track", "aria-hidden": "true" }, bar), numbers);
}
