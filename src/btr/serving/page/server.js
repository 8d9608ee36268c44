// Requests to the server of this page.

let token = "";  // forgotten with the tab

export const setToken = (value) => { token = value; };

export class ServerError extends Error {
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

async function send(path, { signal, body, headers = {} } = {}) {
  if (token) headers.Authorization = `Bearer ${token}`;
  const options = body === undefined ? {} : { method: "POST", body };
  const response = await fetch(path, { ...options, signal, headers }).catch((error) => {
    throw error.name === "AbortError" ? error : new ServerError("The server can't be reached; is btr serve running?", 0);
  });
  if (!response.ok) {
    const answer = await response.json().catch(() => ({}));
    throw new ServerError(answer.detail || `The server answered ${response.status}.`, response.status);
  }
  return response;
}

export const describeModels = async () => (await send("v1/models")).json();

function formOf(file, fields) {
  const form = new FormData();
  form.append("file", file);
  for (const [name, value] of Object.entries(fields)) form.append(name, value);
  return form;
}

// Return the text of a Word document.
export const readDocument = async (file) => (await send("v1/document/text", { body: formOf(file, {}) })).json();

// Return a Word document with the words of a new text.
export const writeDocument = async (file, text) => (await send("v1/document/save", { body: formOf(file, { text }) })).blob();

// Yield the lines of the answer to a text as they arrive.
export async function* streamCorrections(body, signal) {
  const headers = { "Content-Type": "application/json" };
  const response = await send("v1/correct/stream", { signal, body: JSON.stringify(body), headers });
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  while (true) {
    const { value, done } = await reader.read().catch((error) => {
      throw error.name === "AbortError" ? error : new ServerError("The connection to the server broke.", 0);
    });
    const lines = (rest + (value || "")).split("\n");
    rest = done ? "" : lines.pop();
    for (const line of lines) if (line.trim()) yield JSON.parse(line);
    if (done) return;
  }
}
