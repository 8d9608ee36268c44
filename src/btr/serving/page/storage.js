// What only this browser stores: the draft, the settings and the dictionary. Each has a name of its own, so that a tab does
// not overwrite what another tab has changed. A tab has its own draft; a new tab begins with the draft that changed last.

const NAMES = { draft: "btr.draft", settings: "btr.settings", words: "btr.words" };
const EMPTY_DRAFT = { text: "", fileName: null, markdown: false, dismissed: [] };
const DEFAULT_SETTINGS = { isLive: true, profile: null, cutoff: null };

// Return what is stored; null if there is nothing, if the browser forbids it, or if another program wrote it.
function read(getStorage, name) {
  try {
    return JSON.parse(getStorage().getItem(name));
  } catch {
    return null;
  }
}

// Return whether the browser stores it: it may forbid it, or have no room.
function write(getStorage, name, value) {
  try {
    getStorage().setItem(name, JSON.stringify(value));
    return true;
  } catch {
    return false;
  }
}

const ofTab = () => sessionStorage;
const ofBrowser = () => localStorage;

export function loadDraft() {
  const found = read(ofTab, NAMES.draft) ?? read(ofBrowser, NAMES.draft);
  const isDraft = typeof found?.text === "string" && Array.isArray(found.dismissed);
  const stored = isDraft ? { ...EMPTY_DRAFT, ...found } : EMPTY_DRAFT;
  return { ...stored, dismissed: new Set(stored.dismissed), document: null, caret: 0 };
}

export function saveDraft({ text, fileName, markdown, dismissed }) {
  const stored = { text, fileName, markdown, dismissed: [...dismissed] };
  write(ofTab, NAMES.draft, stored);
  return write(ofBrowser, NAMES.draft, stored);
}

export const loadSettings = () => ({ ...DEFAULT_SETTINGS, ...read(ofBrowser, NAMES.settings) });
export const saveSettings = (settings) => write(ofBrowser, NAMES.settings, settings);

export function loadWords() {
  const words = read(ofBrowser, NAMES.words);
  return Array.isArray(words) ? words : [];
}

export const saveWords = (words) => write(ofBrowser, NAMES.words, words);

export function clearStorage() {
  for (const getStorage of [ofTab, ofBrowser]) {
    try {
      for (const name of Object.values(NAMES)) getStorage().removeItem(name);
    } catch { /* nothing is stored */ }
  }
}

// Call a function when another tab has changed the settings or the dictionary.
export function onChangeElsewhere(callback) {
  window.addEventListener("storage", ({ key }) => {
    if (key === null || key === NAMES.settings || key === NAMES.words) callback();
  });
}
