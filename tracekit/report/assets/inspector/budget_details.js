// The time budget in the inspector: of a call, of a range, and what two calls differ by. A part leads to its time.
import { compareBudgets, hasBudget, listPieces, partClass, sumParts, sumPartsInRange } from "../data/budget.js";
import { callTitle } from "../data/calls.js";
import { make } from "../shared/dom.js";
import { cleanText, formatDuration, formatPercent } from "../shared/numbers.js";
import { budgetBar } from "../tables/budget_bar.js";
import { buttonLine, callButtons, factList, linkButton, numberTable, titled } from "./facts.js";
import { workDuring } from "./work_during.js";

const MOST_DIFFERENCES = 5;

/** The bar of a call and the list of its parts; each part shows its longest piece. */
export function callBudget(index, context) {
  const { view } = context;
  if (!hasBudget(view)) return [];
  const length = view.windows.end[index] - view.windows.start[index];
  const show = (part) => choosePiece(index, longestPiece(view, index, part), context);
  return [budgetBar(view, index, Math.max(1, length)), partTable(view, sumParts(view, [index]), show)];
}

/** The parts of the calls that run in a range, as far as they do. */
export function rangeBudget(calls, { from, to }, { view }) {
  return hasBudget(view) && calls.length > 0 ? [partTable(view, sumPartsInRange(view, calls, from, to))] : [];
}

/** How a call differs from the typical one of its model, part by part, and buttons that compare it with others. */
export function typicalDifference(index, context) {
  const { view } = context;
  const typical = hasBudget(view) ? view.budget.typical[index] : -1;
  if (typical < 0) return [];
  if (typical === index) return [make("p", { className: "note" }, "The typical call of its model."), compareButtons(index, -1, context)];
  const rows = compareBudgets(view, index, typical).slice(0, MOST_DIFFERENCES).map(({ part, difference }) => [partName(view, part), formatDifference(difference)]);
  const total = view.windows.end[index] - view.windows.start[index] - (view.windows.end[typical] - view.windows.start[typical]);
  const title = `Against the typical call: ${formatDifference(total)}`;
  const table = rows.length > 0
    ? numberTable([callTitle(view, typical), "difference"], rows)
    : make("p", { className: "note" }, "No part differs by 1 % or more.");
  return [...titled(title, table), compareButtons(index, typical, context)];
}

/** Two calls, part by part: `chosen` has their rows as `index` and `other`. */
export function pairDetails({ index, other }, context) {
  const { view } = context;
  const { windows } = view;
  if (index >= windows.count || other >= windows.count) return null;
  const length = (row) => windows.end[row] - windows.start[row];
  const rows = [["Length", formatDuration(length(index)), formatDuration(length(other)), formatDifference(length(other) - length(index))]];
  const verdict = (row) => cleanText(view.strings[windows.verdict[row]] ?? "", 40);
  rows.push(["Engine", verdict(index), verdict(other), ""]);
  const scale = Math.max(1, length(index), length(other));
  const bars = hasBudget(view) ? [budgetBar(view, index, scale), budgetBar(view, other, scale)] : [];
  if (hasBudget(view)) {
    const [sums, others] = [sumParts(view, [index]), sumParts(view, [other])];
    for (const { part, difference } of compareBudgets(view, other, index)) rows.push([partName(view, part), formatDuration(sums[part]), formatDuration(others[part]), formatDifference(difference)]);
  }
  for (const { kind, key, head } of windows.columns) {
    const [time, otherTime] = [windows.values[key]?.[index], windows.values[key]?.[other]];
    if (kind === "busy" && !(Number.isNaN(time) && Number.isNaN(otherTime))) rows.push([head, formatDuration(time), formatDuration(otherTime), formatDifference(otherTime - time)]);
  }
  const table = numberTable(["", callTitle(view, index), callTitle(view, other), "difference"], rows);
  return { title: "Two calls", nodes: [...bars, table, buttonLine(...callButtons([index, other], context)), make("p", { className: "note" }, "Parts that differ by less than 1 % of the longer call are left out.")] };
}

/** A piece of a call: what its part means, and what ran meanwhile. */
export function pieceDetails({ index, piece }, context) {
  const { view } = context;
  const pieces = index < view.windows.count && hasBudget(view) ? listPieces(view, index) : [];
  if (piece >= pieces.length) return null;
  const { part, start, end } = pieces[piece];
  const { basis, meaning } = view.budget.parts[part];
  const places = [...pieces.keys()].filter((place) => pieces[place].part === part);
  const rank = places.indexOf(piece);
  const step = (by) => choosePiece(index, places[(rank + by + places.length) % places.length], context);
  const facts = [
    ["Call", callTitle(view, index)],
    ["Length", `${formatDuration(end - start)}${basis ? `, ${basis}` : ""}`],
    ["Begins", `${formatDuration(start - view.windows.start[index])} after the call's start`],
    ["Piece", places.length > 1 ? `${rank + 1} of ${places.length} of this part` : ""],
  ];
  const steps = places.length > 1 ? [linkButton("Previous piece", () => step(-1)), linkButton("Next piece", () => step(1))] : [];
  const about = meaning ? make("p", { className: "note" }, meaning) : null;
  return { title: view.budget.parts[part].name, nodes: [factList(facts), about, buttonLine(...callButtons([index], context), ...steps), ...workDuring({ from: start, to: end }, context)].filter(Boolean) };
}

function compareButtons(index, typical, { view, store }) {
  const { group } = view.windows;
  const before = group.lastIndexOf(group[index], index - 1);
  const pair = (other) => store.set({ chosen: { kind: "pair", index: other, other: index } });
  const buttons = [
    typical >= 0 && linkButton("Compare with the typical call", () => pair(typical)),
    index > 0 && before >= 0 && linkButton("with the call before", () => pair(before)),
  ].filter(Boolean);
  return buttons.length > 0 ? buttonLine(...buttons) : null;
}

/** `show(part)` is called for a part that is chosen. */
function partTable(view, sums, show = null) {
  const length = sums.reduce((total, sum) => total + sum, 0);
  const rows = [...sums.keys()].filter((part) => sums[part] > 0).map((part) => [
    partName(view, part, show),
    formatDuration(sums[part]),
    formatPercent(sums[part] / length),
    make("span", { className: "note" }, view.budget.parts[part].basis ?? ""),
  ]);
  const table = numberTable(["Part of the time", "", "", ""], [...rows, [make("b", {}, "Sum"), make("b", {}, formatDuration(length)), "", ""]]);
  table.classList.add("budget-table");
  return table;
}

function partName(view, part, show = null) {
  const { name, meaning } = view.budget.parts[part];
  const swatch = make("span", { className: `${partClass(view, part)} swatch`, "aria-hidden": "true" });
  const text = show ? make("button", { type: "button", className: "plain", onclick: () => show(part) }, name) : name;
  return make("span", { title: meaning ?? "" }, swatch, text);
}

function choosePiece(index, piece, { view, store }) {
  const { start, end } = listPieces(view, index)[piece];
  store.set({ range: { from: start, to: Math.max(end, start + 1), isDone: true }, chosen: { kind: "piece", index, piece } });
}

function longestPiece(view, index, part) {
  const pieces = listPieces(view, index);
  const length = (place) => (pieces[place].part === part ? pieces[place].end - pieces[place].start : -1);
  return [...pieces.keys()].reduce((best, place) => (length(place) > length(best) ? place : best), 0);
}

function formatDifference(difference) {
  if (Number.isNaN(difference)) return "–";
  const sign = difference > 0 ? "+" : difference < 0 ? "−" : "±";
  return `${sign}${formatDuration(Math.abs(difference))}`;
}
