// What the descriptions of the inspector are made of: facts, tables, and buttons that lead on.
import { callTitle } from "../data/calls.js";
import { make } from "../shared/dom.js";
import { cleanText } from "../shared/numbers.js";

const MOST_CALLS = 8;

/** Names and values; those without a value are left out. */
export function factList(facts) {
  const shown = facts.filter(([, value]) => value !== "");
  return make("dl", {}, ...shown.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]));
}

export function engineBadge(view, name) {
  const style = [...view.engines, "MIXED"].includes(name) ? name : "UNKNOWN";
  return make("span", {}, make("span", { className: `badge engine-${style}`, "aria-hidden": "true" }), cleanText(name, 40));
}

/** A table of rows, whose first cell is their head; null without a row. */
export function numberTable(heads, rows) {
  if (rows.length === 0) return null;
  const head = make("tr", {}, ...heads.map((text, place) => make(text ? "th" : "td", { scope: text ? "col" : null, className: place > 0 ? "number" : "" }, text)));
  const body = rows.map(([name, ...cells]) => make("tr", {}, make("th", { scope: "row" }, name), ...cells.map((cell) => make("td", { className: "number" }, cell))));
  return make("table", { className: "inspector-table" }, make("thead", {}, head), make("tbody", {}, ...body));
}

/** A heading and what is below it; nothing where that is null. */
export function titled(title, ...nodes) {
  const present = nodes.filter(Boolean);
  return present.length === 0 ? [] : [make("h3", {}, title), ...present];
}

/** Buttons that show a call each, in the timeline and in the inspector. */
export function callButtons(rows, { view, store }) {
  const { windows } = view;
  const buttons = rows.slice(0, MOST_CALLS).map((row) => {
    const range = { from: windows.start[row], to: windows.end[row], isDone: true };
    return linkButton(callTitle(view, row), () => store.set({ range, chosen: { kind: "call", index: row } }));
  });
  return rows.length > MOST_CALLS ? [...buttons, ` and ${rows.length - MOST_CALLS} more`] : buttons;
}

export function linkButton(text, onclick) {
  return make("button", { type: "button", onclick }, text);
}

/** Buttons in a line that wraps. */
export function buttonLine(...buttons) {
  return make("p", { className: "inspector-links" }, ...buttons);
}

export function placeButtons(range, { store, actions }) {
  const select = () => store.set({ range: { ...range, isDone: true } });
  return buttonLine(linkButton("Zoom to it", () => actions.zoomTo(range)), linkButton("Select its time", select));
}
