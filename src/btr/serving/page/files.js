// Open and save files: plain text and Markdown in the browser, Word documents by the server, which keeps their formatting.

import { make } from "./dom.js";
import { readDocument, writeDocument } from "./server.js";

const TYPES = { txt: "text/plain;charset=utf-8", md: "text/markdown;charset=utf-8" };

const isWord = (name) => /\.docx$/i.test(name);
const isMarkdown = (name) => /\.(md|markdown)$/i.test(name);

// Return the format in which a draft is saved if the user chooses no other.
export const formatOf = ({ fileName, document }) => (document ? "docx" : isMarkdown(fileName ?? "") ? "md" : "txt");

// Return the draft that a file gives. Of a Word document it has the file, whose formatting is that of the one that is saved.
export async function openFile(file) {
  const draft = { fileName: file.name, markdown: isMarkdown(file.name), dismissed: new Set(), document: null, caret: 0 };
  if (isWord(file.name)) {
    const { text } = await readDocument(file);
    return { ...draft, text, document: file };
  }
  const bytes = await file.arrayBuffer();
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes).replaceAll("\r\n", "\n");
    if (text.includes("\0")) throw new TypeError("not text");
    return { ...draft, text };
  } catch {
    throw new Error(`${file.name} is no text in UTF-8: save it as UTF-8, and open it again.`);
  }
}

// Download a draft under the name of the file it came from; return the name.
export async function saveFile({ text, fileName, document }, format) {
  const name = `${(fileName || "text").replace(/\.[^.]*$/, "")}.${format}`;
  const content = format === "docx" ? await writeDocument(document, text) : new Blob([text], { type: TYPES[format] });
  const address = URL.createObjectURL(content);
  make("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
  return name;
}
