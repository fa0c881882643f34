// The help sheet with keys and gestures; Escape, its button or a click beside it closes it.
import { make } from "./shared/dom.js";
import { KEY_NAMES, MOUSE_HELP, TIMELINE_KEYS } from "./timeline/keys.js";

/** Returns a function that opens it. `scope` explains when keys apply, `more` follows them, keys in `without` are omitted. */
export function createHelpSheet({ scope, more = [], without = [] }) {
  const list = make("dl");
  for (const { keys, help } of TIMELINE_KEYS) {
    if (keys.some((key) => without.includes(key))) continue;
    list.append(make("dt", {}, ...keys.map((key) => make("kbd", {}, KEY_NAMES[key] ?? key))), make("dd", {}, help));
  }
  for (const [gesture, text] of MOUSE_HELP) list.append(make("dt", {}, gesture), make("dd", {}, text));
  const close = make("form", { method: "dialog" }, make("button", { type: "submit" }, "Close"));
  const heading = make("h2", { tabIndex: -1, autofocus: true }, "Keys and gestures"); // so that the sheet opens at its top
  const head = make("div", { className: "sheet-head" }, heading, close);
  const sheet = make("dialog", { "aria-label": "Help" }, head, make("p", { className: "note" }, scope), list, ...more);
  sheet.addEventListener("click", (event) => {
    if (event.target === sheet && !isInside(sheet.getBoundingClientRect(), event)) sheet.close();
  });
  document.body.append(sheet);
  return () => sheet.showModal();
}

function isInside({ left, right, top, bottom }, { clientX, clientY }) {
  return clientX >= left && clientX <= right && clientY >= top && clientY <= bottom;
}
