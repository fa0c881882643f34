// The legend of colours, hatchings and letters.
import { hasBudget, partClass } from "../data/budget.js";
import { make } from "../shared/dom.js";
import { engineLetter } from "../shared/palette.js";

const MEANINGS = {
  ANE: "ANE",
  GPU: "GPU",
  CPU: "CPU (machine learning)",
  RUNTIME: "runtime, engine not visible",
  GRAPHICS: "graphics, or GPU work without an ML mark",
  OTHER: "other work",
  UNKNOWN: "unknown: no symbols, or no engine visible",
  MIXED: "mixed (calls)",
};

export function createLegend(view) {
  const used = new Set(view.lanes.flatMap((lane) => lane.engines.map((engine) => view.engines[engine])));
  for (const span of view.spans) used.add(view.engines[span.engine]);
  for (const verdict of view.windows.verdict) used.add(view.strings[verdict]);
  const list = make("ul", { className: "legend" });
  for (const name of [...view.engines, "MIXED"]) {
    if (!used.has(name)) continue;
    const sample = make("span", { className: `badge engine-${name}`, "aria-hidden": "true" });
    list.append(make("li", {}, sample, `${engineLetter(name)} ${MEANINGS[name] ?? name}`));
  }
  if (view.spans.some(({ others }) => others)) {
    list.append(make("li", {}, make("span", { className: "badge hollow", "aria-hidden": "true" }), "another process's work"));
  }
  if (view.spans.some(({ owner }) => owner?.includes(view.owners.indexOf("contested")))) {
    list.append(make("li", {}, make("span", { className: "badge hollow contested", "aria-hidden": "true" }), "? contested: of this app's calls or of another owner"));
  }
  if (hasBudget(view)) for (const [part, { name, engine }] of view.budget.parts.entries()) {
    if (engine === null || engine === undefined) list.append(make("li", {}, make("span", { className: `badge ${partClass(view, part)}`, "aria-hidden": "true" }), `${name} (in calls)`));
  }
  return list;
}

/** Hides a legend, and returns the button that shows it. */
export function foldLegend(list) {
  list.hidden = true;
  const button = make("button", { type: "button", "aria-expanded": "false" }, "Legend");
  button.addEventListener("click", () => {
    list.hidden = !list.hidden;
    button.setAttribute("aria-expanded", String(!list.hidden));
  });
  return button;
}
