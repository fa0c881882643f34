// The chain of transforms above a call tree or a flame graph: switches, a chip for each step, and what is dropped.
import { make } from "../shared/dom.js";
import { hasJoined } from "./joined.js";
import { cleanText, countOf, formatCount } from "../shared/numbers.js";
import { TRANSFORMS, chainWith, chainWithout, parseChain } from "./transforms.js";

const SWITCHES = [
  ["system", "Hide system libraries"],
  ["flat", "Collapse direct recursion"],
];
const namesOfSteps = new Map(); // chips have their names also while an answer is on its way

/** `show(tree)` fits it to a tree (stack_model.js); `more` are further controls. */
export function createTransformBar(view, store, ...more) {
  const invert = make("button", { type: "button", onclick: () => store.set({ invert: !store.state.invert }) }, "Invert");
  const switches = SWITCHES.map(([kind, text]) => [kind, make("button", { type: "button", onclick: () => toggle(kind) }, text)]);
  const join = make("button", { type: "button", onclick: () => store.set({ joined: !store.state.joined }), hidden: !hasJoined(view) }, "Join workers to calls");
  join.title = "Work on a worker thread is shown below the prediction call that it served (inferred)";
  const clear = make("button", { type: "button", onclick: () => store.set({ transforms: "" }) }, "Remove all");
  const chips = make("div", { className: "chips", role: "group", "aria-label": "Transforms of the stacks" });
  const controls = make("div", { className: "controls" }, invert, ...switches.map(([, button]) => button), join, ...more);
  let shown = null;

  function toggle(kind) {
    const { transforms } = store.state;
    const index = kindsOf(transforms).indexOf(kind);
    store.set({ transforms: index < 0 ? chainWith(transforms, kind) : chainWithout(transforms, index) });
  }

  function mark() {
    invert.setAttribute("aria-pressed", String(store.state.invert));
    join.setAttribute("aria-pressed", String(store.state.joined));
    const kinds = kindsOf(store.state.transforms);
    for (const [kind, button] of switches) button.setAttribute("aria-pressed", String(kinds.includes(kind)));
  }

  function show(tree) {
    mark();
    for (const { text, name } of tree.steps) namesOfSteps.set(text, name);
    const { transforms } = store.state;
    const { samples, dropped } = tree;
    const text = dropped.samples > 0 ? `${formatCount(samples)} of ${countOf(samples + dropped.samples, "sample")}` : "";
    if (`${transforms} ${text}` === shown) return;
    shown = `${transforms} ${text}`;
    const steps = parseChain(transforms) ?? [];
    chips.hidden = steps.length === 0;
    const all = steps.map((step, index) => chipOf(step, () => store.set({ transforms: chainWithout(transforms, index) })));
    chips.replaceChildren(...all, ...(steps.length > 1 ? [clear] : []), make("span", { className: "note" }, text));
  }

  return { element: make("div", { className: "transforms" }, controls, chips), show };
}

const kindsOf = (transforms) => transforms.split("~").map((step) => step.split(":")[0]);

function chipOf(step, remove) {
  const { title } = TRANSFORMS[step.kind];
  const name = step.key === null ? "" : namesOfSteps.get(step.text);
  const label = name === null ? "not in this recording, so without effect" : cleanText(name ?? "…", 80);
  const text = step.key === null ? title : `${title}: ${label}`;
  const button = make("button", { type: "button", onclick: remove, "aria-label": `Remove: ${text}` }, "✕");
  return make("span", { className: "chip", title: cleanText(name ?? "", 400) }, make("span", {}, text), button);
}
