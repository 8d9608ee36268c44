// Open and save files: plain text and Markdown in the browser, Word documents by the server, which keeps their formatting.

import { make } from "./dom.js";
import { readDocument, writeDocument } from "./server.js";

const TYPES = { txt: "text/plain;charset=utf-8", md: "text/markdown;charset=utf-8" };

let wordDocument = null;  // the .docx file that was opened last: its formatting is that of the one that is saved

const formatOf = (name) => /\.docx$/i.test(name) ? "docx" : /\.(md|markdown)$/i.test(name) ? "md" : "txt";

export const hasDocument = () => wordDocument !== null;

// Return the text of a file and its format.
export async function openFile(file) {
  const format = formatOf(file.name);
  if (format === "docx") {
    const { text } = await readDocument(file);
    wordDocument = file;
    return { text, format };
  }
  const bytes = await file.arrayBuffer();
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes).replaceAll("\r\n", "\n");
    if (text.includes("\0")) throw new TypeError("not text");
    wordDocument = null;
    return { text, format };
  } catch {
    throw new Error(`${file.name} is no text in UTF-8: save it as UTF-8, and open it again.`);
  }
}

// Download the text under the name of the file it came from; return the name.
export async function saveFile(text, format, fileName) {
  const name = `${(fileName || "text").replace(/\.[^.]*$/, "")}.${format}`;
  const content = format === "docx" ? await writeDocument(wordDocument, text) : new Blob([text], { type: TYPES[format] });
  const address = URL.createObjectURL(content);
  make("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
  return name;
}
