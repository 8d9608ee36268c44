// The list of corrections, and the card of the current one with its reason, confidence and choices.

import { $, make, percent } from "./dom.js";
import { describeChange, wholeWords } from "./marks.js";

const sure = (edit) => (edit.confidence === null || edit.confidence === undefined ? "" : `${percent(edit.confidence)} sure`);

function showChange(edit) {
  const { original, replacement } = wholeWords(edit);
  const parts = [];
  if (original) parts.push(make("del", { text: original }));
  if (original && replacement) parts.push(make("span", { className: "arrow", text: " → " }));
  if (replacement) parts.push(make("ins", { text: replacement }));
  return parts;
}

export function drawCard(mark, canAddWord) {
  $("card").hidden = !mark;
  document.body.classList.toggle("has-card", Boolean(mark));
  if (!mark) return;
  $("card-type").textContent = mark.reason;
  $("card-change").replaceChildren(...showChange(mark));
  $("card-reason").textContent = mark.explanation || "";
  $("card-reason").hidden = !mark.explanation;
  $("card-confidence").textContent = sure(mark);
  $("add-word").hidden = !canAddWord;
  $("add-word").textContent = `Add “${wholeWords(mark).original}” to my dictionary`;
  $("others").replaceChildren(...mark.others.map((other, k) => {
    const { original, replacement } = wholeWords({ ...mark, replacement: other.text });
    const change = replacement ? `“${replacement}”` : `take out “${original}”`;
    return make("button", { type: "button", className: "other", data: { other: k }, text: `Or ${change}` },
      make("span", { className: "quiet", text: ` ${sure(other)}` }));
  }));
}

export function drawList(marks) {
  const items = marks.map((mark, k) => make("li", {}, make("button", {
    type: "button", className: "item", data: { number: k }, "aria-keyshortcuts": "A D",
    "aria-label": `${describeChange(mark)}: ${[mark.reason, sure(mark)].filter(Boolean).join(", ")}`,
    ...(mark.isCurrent && { "aria-current": "true" }),
  }, make("span", { className: "change" }, ...showChange(mark)), make("span", { className: "quiet", text: [mark.reason, sure(mark)].filter(Boolean).join(" · ") }))));
  $("list").replaceChildren(...items);
  $("accept-all").disabled = $("dismiss-all").disabled = !marks.length;
}

export const focusItem = (number) => document.querySelector(`.item[data-number="${number}"]`)?.focus();
