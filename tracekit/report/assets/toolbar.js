// The bar at the top: filter, selection, zoom, theme, help.
import { make } from "./dom.js";
import { FILTER_KEYS } from "./filter.js";
import { KEY_NAMES, MOUSE_HELP, TIMELINE_KEYS } from "./keys.js";

const FILTER_PAUSE_MS = 120;

/** `actions` are the timeline's. The answer: { setSummary, focusFilter, showHelp }. */
export function createToolbar(container, store, actions) {
  const filter = make("input", {
    type: "search",
    value: store.state.filter,
    placeholder: "Filter samples: words, thread:, engine:, window:, binary:",
    "aria-label": "Filter samples",
  });
  let pause = 0;
  filter.addEventListener("input", () => {
    clearTimeout(pause);
    pause = setTimeout(() => store.set({ filter: filter.value }), FILTER_PAUSE_MS);
  });
  filter.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    filter.value = "";
    store.set({ filter: "" });
  });
  const summary = make("span", { className: "summary" });
  const clear = button("Clear selection", () => actions.clear());
  const theme = make("select", { "aria-label": "Theme", onchange: () => store.set({ theme: theme.value }) });
  for (const name of ["auto", "light", "dark"]) theme.append(make("option", { value: name }, `${name} theme`));
  theme.value = store.state.theme;
  const help = helpSheet();
  document.body.append(help);
  const showHelp = () => help.showModal();
  const wholeRun = button("Whole run", () => actions.fit());
  const zoomIn = button("Zoom to selection", () => actions.fitSelection());
  const question = button("?", showHelp);
  question.setAttribute("aria-label", "Keys and filter: help");
  container.setAttribute("role", "region");
  container.setAttribute("aria-label", "Selection and view");
  container.append(make("div", { className: "controls" }, filter, wholeRun, zoomIn, clear, theme, question, summary));
  const mark = () => {
    const { range, lanes } = store.state;
    zoomIn.disabled = !range;
    clear.disabled = !range && lanes.length === 0;
  };
  store.on(["range", "lanes"], mark);
  mark();
  return {
    setSummary: (text) => summary.replaceChildren(text),
    focusFilter: () => filter.focus(),
    showHelp,
  };
}

function button(text, run) {
  return make("button", { type: "button", onclick: run }, text);
}

function helpSheet() {
  const entry = (keys, text) => [make("dt", {}, ...keys.map((key) => make("kbd", {}, key))), make("dd", {}, text)];
  const list = make("dl");
  for (const { keys, help } of TIMELINE_KEYS) list.append(...entry(keys.map((key) => KEY_NAMES[key] ?? key), help));
  for (const [gesture, text] of MOUSE_HELP) list.append(make("dt", {}, gesture), make("dd", {}, text));
  const close = make("button", { type: "submit" }, "Close");
  return make(
    "dialog",
    { "aria-label": "Help" },
    make("h2", {}, "Keys, while the timeline has the focus"),
    list,
    make("h2", {}, "Filter"),
    make("p", { className: "note" }, FILTER_HELP),
    make("form", { method: "dialog" }, close),
  );
}

const FILTER_HELP =
  `Terms must all hold; -term means not; a comma means or; "quotes" keep words together. ` +
  `${FILTER_KEYS.map((key) => `${key}:`).join(" ")} look there only (window:3 or window:3-9 by number), other words at ` +
  "threads, functions and binaries. The filter drops samples; hiding system libraries keeps their weight with the caller.";
