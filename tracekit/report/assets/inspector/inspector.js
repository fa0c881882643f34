// The inspector: what was clicked, with all that is known about it. Every click of the page ends here.
import { make } from "../shared/dom.js";
import { pairDetails, pieceDetails } from "./budget_details.js";
import { functionDetails } from "./function_details.js";
import { callDetails, findingDetails, intervalDetails, sampleDetails, signpostDetails } from "./inspector_details.js";
import { gapDetails, rangeDetails } from "./range_details.js";

/** By the kind of `state.chosen`: a function (chosen, context) that returns, or promises, { title, nodes }, or null. */
const DETAILS = {
  call: callDetails,
  interval: intervalDetails,
  signpost: signpostDetails,
  sample: sampleDetails,
  finding: findingDetails,
  function: functionDetails,
  pair: pairDetails,
  piece: pieceDetails,
  gap: gapDetails,
  range: rangeDetails,
};
/** Kinds whose description has sums of the selection: they are described anew with it. */
const OF_SELECTION = ["call", "finding", "function", "range"];
const SELECTED_RANGE = { kind: "range" }; // what is shown of a selected range, where nothing else is chosen
const NOT_THERE = "The address names something that this recording does not have.";
const EMPTY_INSPECTOR = "Click a call, an interval, a sample in a thread's lane, or a finding: what is known about it appears here.";

/** Shows `state.chosen` in the element; `kinds` are those of further kinds. Returns { refresh() }, for a new selection. */
export function createInspector(element, { source, store, page, actions, kinds = {} }) {
  const all = { ...DETAILS, ...kinds };
  const heading = make("h2", { id: "inspector-heading" }, "Details");
  const close = make("button", { type: "button", className: "close", "aria-label": "Close the details" }, "✕");
  close.addEventListener("click", () => {
    dismissed = store.state.range;
    store.set({ chosen: null });
    follow();
  });
  const content = make("div", { className: "inspector-content", tabIndex: 0, role: "group", "aria-labelledby": "inspector-heading" });
  element.append(make("div", { className: "inspector-head" }, heading, close), content);
  const context = { source, view: source.view, store, page, actions };
  let latest = null;
  let dismissed = null; // a range whose description the reader closed
  let shown = null; // what the content describes: its place in it is kept while more of it becomes known

  /** What is to be shown: what was chosen, else the selected range, once it is. */
  function subject() {
    const { chosen, range } = store.state;
    const isRange = chosen === null && range !== null && range.isDone !== false && range !== dismissed;
    return isRange ? SELECTED_RANGE : chosen;
  }

  async function follow() {
    const chosen = subject();
    latest = chosen;
    close.hidden = chosen === null;
    element.classList.toggle("has-content", chosen !== null);
    if (chosen === null) return show(null);
    element.setAttribute("aria-busy", "true");
    try {
      const described = await all[chosen.kind]?.(chosen, context);
      if (latest === chosen) show(described ?? null);
    } catch (error) {
      if (latest === chosen) show({ title: "Details", nodes: [make("p", { className: "problem", role: "status" }, error.message)] });
    }
    return null;
  }

  function show(described) {
    element.setAttribute("aria-busy", "false");
    heading.textContent = described?.title ?? "Details";
    content.replaceChildren(...(described?.nodes ?? [make("p", { className: "note" }, latest === null ? EMPTY_INSPECTOR : NOT_THERE)]));
    if (shown !== latest) content.scrollTop = 0;
    shown = latest;
  }

  store.on(["chosen", "cursor"], follow);
  follow();
  return {
    /** Follows a new selection. */
    refresh() {
      const chosen = subject();
      if (chosen !== latest || OF_SELECTION.includes(chosen?.kind)) follow();
    },
  };
}
