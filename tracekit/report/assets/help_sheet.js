// The sheet that names keys and gestures: opened at its top, closed by Escape, its button or a click beside it.
import { make } from "./dom.js";
import { KEY_NAMES, MOUSE_HELP, TIMELINE_KEYS } from "./keys.js";

/** The answer opens it; `where` says when the keys are heard, `more` follows them, keys `without` something are left out. */
export function createHelpSheet({ where, more = [], without = [] }) {
  const list = make("dl");
  for (const { keys, help } of TIMELINE_KEYS) {
    if (keys.some((key) => without.includes(key))) continue;
    list.append(make("dt", {}, ...keys.map((key) => make("kbd", {}, KEY_NAMES[key] ?? key))), make("dd", {}, help));
  }
  for (const [gesture, text] of MOUSE_HELP) list.append(make("dt", {}, gesture), make("dd", {}, text));
  const close = make("form", { method: "dialog" }, make("button", { type: "submit" }, "Close"));
  const heading = make("h2", { tabIndex: -1, autofocus: true }, "Keys and gestures"); // the focus stays at the top
  const head = make("div", { className: "sheet-head" }, heading, close);
  const sheet = make("dialog", { "aria-label": "Help" }, head, make("p", { className: "note" }, where), list, ...more);
  sheet.addEventListener("click", (event) => {
    if (event.target === sheet && !isInside(sheet.getBoundingClientRect(), event)) sheet.close();
  });
  document.body.append(sheet);
  return () => sheet.showModal();
}

function isInside({ left, right, top, bottom }, { clientX, clientY }) {
  return clientX >= left && clientX <= right && clientY >= top && clientY <= bottom;
}
