// The bar at the top: filter, help, theme, and the tools of the view, which stand at the timeline where the page has room there.
import { make } from "./shared/dom.js";
import { FILTER_KEYS } from "./data/filter.js";
import { createFilterNote } from "./data/filter_advice.js";
import { createHelpSheet } from "./help_sheet.js";
import { stackKeys } from "./stacks/stack_actions.js";

const FILTER_PAUSE_MS = 120;

/** `actions` are the timeline's. Returns { setSummary, focusFilter, showHelp }. */
export function createToolbar(container, view, store, actions) {
  const filter = make("input", {
    type: "search",
    value: store.state.filter,
    placeholder: `Filter samples: words, ${FILTER_KEYS.map((key) => `${key}:`).join(", ")}`,
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
  const theme = make("select", { "aria-label": "Theme", title: "Theme", onchange: () => store.set({ theme: theme.value }) });
  for (const name of ["auto", "light", "dark"]) theme.append(make("option", { value: name }, `◐ ${name}`));
  theme.value = store.state.theme;
  const showHelp = createHelpSheet({
    scope: "Keys apply in the timeline, and wherever nothing else has the focus.",
    more: [make("h2", {}, "Call tree and flame graph"), stackKeys(), make("h2", {}, "Filter"), make("p", { className: "note" }, FILTER_HELP)],
  });
  const wholeRun = button("Whole run", () => actions.fit());
  const zoomIn = button("Zoom to selection", () => actions.fitSelection());
  const shown = button("Select what is shown", () => actions.selectShown());
  const question = button("?", showHelp);
  question.setAttribute("aria-label", "Keys and filter: help");
  container.setAttribute("role", "region");
  container.setAttribute("aria-label", "Selection and view");
  const viewTools = make("div", { className: "view-tools" }, ...(view.timeless ? [] : [wholeRun, shown, zoomIn, clear]), summary);
  container.append(make("div", { className: "controls" }, filter, question, theme, viewTools));
  container.firstChild.append(createFilterNote(filter, store, view));
  const mark = () => {
    const { range, lanes, cursor } = store.state;
    zoomIn.disabled = !range;
    clear.disabled = !range && lanes.length === 0 && !cursor;
  };
  store.on(["range", "lanes", "cursor"], mark);
  store.on(["filter"], ({ filter: text }) => {
    if (filter !== document.activeElement) filter.value = text; // Back brings an earlier filter
  });
  mark();
  return {
    setSummary(text) {
      summary.replaceChildren(text);
      summary.title = text;
    },
    focusFilter: () => filter.focus(),
    showHelp,
  };
}

function button(text, run) {
  return make("button", { type: "button", onclick: run }, text);
}

const FILTER_HELP =
  `All terms must match; -term means not; a comma means or; "quotes" keep words together. ` +
  `${FILTER_KEYS.map((key) => `${key}:`).join(" ")} search that field only (call:6 or call:3-9 by number in each model, call:"6 of SpeechEncoder" in one); other words ` +
  "search threads, functions and binaries. The filter drops samples; transforms of the call tree change their stacks.";
