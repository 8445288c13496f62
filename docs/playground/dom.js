// What all views share: elements, numbers and tables as text, and the colours of the page.
"use strict";

const dom = {
  byId: (id) => document.getElementById(id),

  // An element with attributes, and texts or elements in it.
  make(name, attributes = {}, ...inside) {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
      element.setAttribute(key, value);
    }
    element.append(...inside);
    return element;
  },

  count: (number) => Math.round(number).toLocaleString("en-US"),
  percent: (part, digits = 1) => `${(100 * part).toFixed(digits)} %`,
  rounded: (number, digits) => number.toFixed(digits),
  bytes: (number) =>
    (number < 10240 ? `${dom.count(number)} bytes` : `${dom.count(number / 1024)} KB`),

  // Rows of cells, the first of each a heading.
  fill(body, rows) {
    body.replaceChildren(
      ...rows.map(([heading, ...cells]) =>
        dom.make(
          "tr",
          {},
          dom.make("th", { scope: "row" }, heading),
          ...cells.map((cell) =>
            dom.make("td", typeof cell === "string" ? { class: "number" } : {}, cell)),
        ),
      ),
    );
  },

  say(element, text, warning = false) {
    element.textContent = text;
    element.classList.toggle("warning", warning);
  },

  // What a person wrote, as UTF-8 can have it: without NUL and halves of characters.
  written: (id) => {
    const text = dom.byId(id).value.replaceAll("\0", "");
    return text.toWellFormed?.() ?? text;
  },

  // Of what was thrown; C++'s bad_alloc has none.
  reason: (error) => error.message || "out of memory",

  // Each in turn, whether or not one fails: that is said, and the view is told.
  attempt(view, ...actions) {
    for (const action of actions) {
      try {
        action();
      } catch (error) {
        view.failed?.();
        view.say(dom.reason(error), true);
      }
    }
  },

  colour: (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim(),

  // A canvas as wide as its place, sharp on every screen; the pen draws in CSS pixels.
  pen(canvas, width, height) {
    const scale = window.devicePixelRatio || 1;
    canvas.style.height = `${height}px`;
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
    const pen = canvas.getContext("2d");
    pen.scale(scale, scale);
    pen.clearRect(0, 0, width, height);
    return pen;
  },

  // Different numbers get different colours, as well as it can be done.
  hue: (number) => Math.round((number * 137.508) % 360),
};
