// Undo and redo of typing and decisions. A state is never changed: each step has its own.

const MAX_CHARACTERS = 20_000_000;  // of all states; the oldest are forgotten first
const MAX_STEP = 20;  // characters that are typed or deleted in one step
const PAUSE = 1000;  // milliseconds after which typing is a new step

export class History {
  constructor(state) {
    this.reset(state);
  }

  reset(state) {
    this.state = state;
    this.past = [];
    this.future = [];
    this.endStep();
  }

  endStep() {
    this.step = { kind: null, time: 0, size: 0, hasWord: false };
  }

  // Record a new state. Typing ("insert" or "delete") without pauses is one step, up to the end of a word.
  record(state, kind = null) {
    const time = Date.now();
    const size = Math.abs(state.text.length - this.state.text.length);
    const isSpace = kind === "insert" && /\s/.test(state.text[state.caret - 1] ?? "");
    const continues = kind !== null && kind === this.step.kind && time - this.step.time < PAUSE
      && this.step.size + size <= MAX_STEP && !(isSpace && this.step.hasWord);
    if (!continues) {
      this.past.push(this.state);
      this.endStep();
    }
    this.state = state;
    this.future = [];
    this.step = { kind, time, size: this.step.size + size, hasWord: this.step.hasWord || !isSpace };
    let characters = this.past.reduce((sum, each) => sum + each.text.length, 0);
    while (characters > MAX_CHARACTERS) characters -= this.past.shift().text.length;
  }

  // Move the present state to `to` and return the newest state of `from`; null if there is none.
  move(from, to) {
    if (!from.length) return null;
    to.push(this.state);
    this.state = from.pop();
    this.endStep();
    return this.state;
  }

  undo() {
    return this.move(this.past, this.future);
  }

  redo() {
    return this.move(this.future, this.past);
  }
}
