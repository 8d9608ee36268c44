// The text and the marks in it: a text area above a mirror of it, which has the marks and gives it its height.

import { $, make } from "./dom.js";

let drawn = [];  // per paragraph: what its element in the mirror shows

function drawParagraph(paragraph, marks, isUnchecked) {
  const element = make("span", { ...(isUnchecked && { className: "unchecked" }) });
  let position = 0;
  for (const mark of marks) {
    const start = mark.start - paragraph.start;
    const end = mark.end - paragraph.start;
    if (start < position) continue;
    const kind = start === end ? " added" : "";
    element.append(paragraph.full.slice(position, start),
      make("span", { className: `mark${kind}${mark.isOld ? " old" : ""}${mark.isCurrent ? " current" : ""}`, text: paragraph.full.slice(start, end) }));
    position = end;
  }
  element.append(paragraph.full.slice(position));
  return element;
}

// Draw the marks of all paragraphs, and those that are not checked in grey; elements that stay the same are not made anew.
export function drawMarks(paragraphs, marks, isUnchecked) {
  const mirror = $("mirror");
  if (mirror.lastChild?.nodeName !== "BR") mirror.append(make("br"));  // so that a last empty line has its height
  const next = paragraphs.map((paragraph) => {
    const end = paragraph.start + paragraph.full.length;
    const here = marks.filter((mark) => mark.start >= paragraph.start && mark.end <= end && (mark.start < end || end === paragraph.start));
    const key = JSON.stringify([paragraph.full, isUnchecked(paragraph), here.map((mark) => [mark.start - paragraph.start, mark.end - paragraph.start, mark.isOld, mark.isCurrent])]);
    return { key, paragraph, here };
  });
  next.forEach(({ key, paragraph, here }, k) => {
    if (drawn[k] === key) return;
    const element = drawParagraph(paragraph, here, isUnchecked(paragraph));
    if (k < drawn.length) mirror.replaceChild(element, mirror.childNodes[k]);
    else mirror.insertBefore(element, mirror.lastChild);
  });
  for (let k = drawn.length; k > next.length; k -= 1) mirror.childNodes[k - 1].remove();
  drawn = next.map(({ key }) => key);
}

// Return the mark at the caret, if there is one. An insertion counts at the word after it, too.
export function markAtCaret(marks) {
  const { selectionStart, selectionEnd, value } = $("text");
  if (selectionStart !== selectionEnd) return null;
  const contains = (mark) => {
    const end = mark.start === mark.end ? mark.end + /^\s?\S*/.exec(value.slice(mark.end, mark.end + 40))[0].length : mark.end;
    return mark.start <= selectionStart && selectionStart <= end;
  };
  return marks.find((mark) => !mark.isOld && contains(mark)) || null;
}

export function scrollToCurrent() {
  document.querySelector(".mark.current")?.scrollIntoView({ block: "center" });
}
