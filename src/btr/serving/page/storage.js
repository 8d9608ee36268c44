// The draft, the settings and the dictionary, which only this browser keeps.

const NAME = "btr";
const EMPTY = { text: "", fileName: null, markdown: false, isLive: true, profile: null, cutoff: null, words: [] };

export function load() {
  try {
    return { ...EMPTY, ...JSON.parse(localStorage.getItem(NAME)) };
  } catch {  // the browser forbids it, or another program wrote it
    return { ...EMPTY };
  }
}

// Return whether the browser keeps it: it may forbid it, or have no room.
export function save(kept) {
  try {
    localStorage.setItem(NAME, JSON.stringify(kept));
    return true;
  } catch {
    return false;
  }
}

export function clear() {
  try {
    localStorage.removeItem(NAME);
  } catch { /* nothing is kept */ }
  return { ...EMPTY };
}
