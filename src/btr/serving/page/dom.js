// Elements of the page. Texts are only set as textContent, never as HTML.

export const $ = (id) => document.getElementById(id);

export function make(tag, options = {}, ...children) {
  const { text, className, data = {}, ...attributes } = options;
  const element = document.createElement(tag);
  if (text !== undefined) element.textContent = text;
  if (className) element.className = className;
  Object.assign(element.dataset, data);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

export const count = (number, noun) => `${number} ${noun}${number === 1 ? "" : "s"}`;
export const percent = (probability) => `${Math.round(100 * probability)} %`;
