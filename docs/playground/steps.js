// What a change did, one move at a time: a view makes a list of frames of it, and shows one for
// each press of its step button. A frame is {text, …}, with whatever the view draws of it; the last
// one is what the structure holds now.
"use strict";

class Steps {
  #waiting = [];

  // Shows the first of these frames, and keeps the others. Returns the first.
  begin(frames) {
    this.#waiting = [...frames];
    return this.next();
  }

  // Returns the next frame, undefined if none waits.
  next() {
    return this.#waiting.shift();
  }

  // Returns the last frame, undefined if none waits.
  finish() {
    return this.#waiting.splice(0).at(-1);
  }

  get left() {
    return this.#waiting.length;
  }

  // For the end of a frame's text.
  leftText() {
    if (this.left === 0) {
      return "";
    }
    return this.left === 1 ? " One step is left." : ` ${this.left} steps are left.`;
  }
}
