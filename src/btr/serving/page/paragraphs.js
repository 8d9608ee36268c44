// Cut a text into the paragraphs that are checked one by one. Joined, they are the text.

const LONG = 2000;  // characters, after which the end of a line that ends a sentence also ends a paragraph of plain text
const FENCE = /^\s*(`{3,}|~{3,})/;
const RAW_START = /^\s{0,3}<(?:(pre|script|style|textarea)\b|!--)/i;
const FRONT_MATTER_ENDS = { "---": /^(---|\.\.\.)\s*$/, "+++": /^\+\+\+\s*$/ };  // by its first line
const SENTENCE_END = /[.!?…]["'”’)\]]*\s*$/;

// Whether a paragraph would be front matter at the beginning of a text. The server decides it: it also looks at what follows.
export const startsLikeFrontMatter = (text) => /^(---|\+\+\+)[ \t\r]*(\n|$)/.test(text);

// Yield the lines with their ends, and whether a paragraph may begin at each.
function* labelLines(text, markdown) {
  const lines = text.match(/[^\n]*\n|[^\n]+/g) || [];
  const frontMatterEnd = startsLikeFrontMatter(text) ? FRONT_MATTER_ENDS[text.slice(0, 3)] : null;
  // The end of the code or front matter that is open:
  let end = frontMatterEnd && lines.slice(1).some((line) => frontMatterEnd.test(line)) ? frontMatterEnd : null;
  let isAfterBlank = true;
  for (const [k, line] of lines.entries()) {
    const isOpen = end !== null;
    yield { line, canBegin: !isOpen && isAfterBlank && line.trim() !== "" && !(markdown && /^[ \t]/.test(line)), isOpen };
    if (isOpen) {
      if (k > 0 && end.test(line)) end = null;
    } else {
      const fence = FENCE.exec(line);
      const raw = markdown && RAW_START.exec(line);
      if (fence && !(fence[1][0] === "`" && line.slice(fence[0].length).includes("`"))) {
        end = new RegExp(`^[\\s>]*${fence[1]}${fence[1][0]}*\\s*$`);
      } else if (raw) {
        const closing = raw[1] ? new RegExp(`</${raw[1]}`, "i") : /-->/;
        if (!closing.test(line)) end = closing;
      }
    }
    isAfterBlank = line.trim() === "";
  }
}

// Return the paragraphs with their offsets: `text` is without the space after it, `full` with it.
export function cutParagraphs(text, markdown) {
  const paragraphs = [];
  let start = 0;
  let position = 0;
  const add = () => {
    const full = text.slice(start, position);
    if (full) paragraphs.push({ start, full, text: full.trimEnd() });
    start = position;
  };
  let previous = "";
  for (const { line, canBegin, isOpen } of labelLines(text, markdown)) {
    const isLong = !markdown && !isOpen && position - start > LONG && SENTENCE_END.test(previous) && /^\s*[^\sa-z]/.test(line);
    if (canBegin || isLong) add();
    position += line.length;
    previous = line;
  }
  add();
  return paragraphs;
}
