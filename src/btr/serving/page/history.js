// Undo and redo of typing and decisions. A state is never changed: each step has its own.

const MAX_CHARACTERS = 20_000_000;  // of all states; the oldest are forgotten first
const PAUSE = 1000;  // milliseconds after which typing is a new step

export class History {
  constructor(state) {
    this.reset(state);
  }

  reset(state) {
    this.state = state;
    this.past = [];
    this.future = [];
    this.lastKind = null;
    this.lastTime = 0;
  }

  // Record a new state. Steps of the same kind of typing that follow each other quickly are one step.
  record(state, kind = null) {
    const now = Date.now();
    const continues = kind !== null && kind === this.lastKind && now - this.lastTime < PAUSE;
    if (!continues) this.past.push(this.state);
    this.state = state;
    this.future = [];
    this.lastKind = kind;
    this.lastTime = now;
    let size = this.past.reduce((sum, each) => sum + each.text.length, 0);
    while (size > MAX_CHARACTERS) size -= this.past.shift().text.length;
  }

  // Move the present state to `to` and return the newest state of `from`; null if there is none.
  move(from, to) {
    if (!from.length) return null;
    to.push(this.state);
    this.state = from.pop();
    this.lastKind = null;
    return this.state;
  }

  undo() {
    return this.move(this.past, this.future);
  }

  redo() {
    return this.move(this.future, this.past);
  }
}
