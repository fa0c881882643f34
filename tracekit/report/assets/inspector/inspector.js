// The inspector: what was clicked, with all that is known about it. Every click of the page ends here.
import { make } from "../shared/dom.js";
import { callDetails, findingDetails, intervalDetails, sampleDetails, signpostDetails } from "./inspector_details.js";

/** By the kind of `state.chosen`: a function (chosen, context) that returns, or promises, { title, nodes }, or null. */
const DETAILS = {
  call: callDetails,
  interval: intervalDetails,
  signpost: signpostDetails,
  sample: sampleDetails,
  finding: findingDetails,
};
const NOT_THERE = "The address names something that this recording does not have.";
const EMPTY_INSPECTOR = "Click a call, an interval, a sample in a thread's lane, or a finding: what is known about it appears here.";

/** Shows `state.chosen` in the element; `kinds` are those of further kinds. Returns { refresh() }, for a new selection. */
export function createInspector(element, { source, store, page, actions, kinds = {} }) {
  const all = { ...DETAILS, ...kinds };
  const heading = make("h2", { id: "inspector-heading" }, "Details");
  const close = make("button", { type: "button", className: "close", "aria-label": "Close the details" }, "✕");
  close.addEventListener("click", () => store.set({ chosen: null }));
  const content = make("div", { className: "inspector-content", tabIndex: 0, role: "group", "aria-labelledby": "inspector-heading" });
  element.append(make("div", { className: "inspector-head" }, heading, close), content);
  const context = { source, view: source.view, store, page, actions };
  let latest = null;
  let shown = null; // what the content describes: its place in it is kept while more of it becomes known

  async function follow() {
    const { chosen } = store.state;
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
    /** Of what can be chosen, only a call is described with what is selected. */
    refresh() {
      if (store.state.chosen?.kind === "call") follow();
    },
  };
}
