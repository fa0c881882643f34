// The calls as a picture: a row each, its budget as a bar on one scale, and how it differs from the typical call.
import { callName } from "../data/calls.js";
import { make } from "../shared/dom.js";
import { cleanText, formatCount, formatDuration } from "../shared/numbers.js";
import { barScale, budgetBar } from "./budget_bar.js";

/** The columns of the picture; a row stands for `countOf(row)` equal calls. */
export function pictureColumns(view, countOf) {
  const { windows, strings } = view;
  const scale = barScale(windows);
  const letters = reasonLetters(view);
  const length = (row) => windows.end[row] - windows.start[row];
  const verdict = (row) => cleanText(strings[windows.verdict[row]], 40);
  return [
    { key: "call", title: "Call", value: (row) => `${callName(view, row)} ${windows.call[row]}`, show: (row) => callLabel(view, row, countOf(row)) },
    { key: "start_ns", title: "Start", isNumber: true, value: (row) => windows.start[row], show: (row) => formatDuration(windows.start[row]) },
    { key: "budget", title: "Time budget, one scale", isNumber: true, isPicture: true, value: length, show: (row) => budgetBar(view, row, scale) },
    { key: "length_ns", title: "Length", isNumber: true, value: length, show: (row) => formatDuration(length(row)) },
    { key: "difference", title: "Against the typical call", isNumber: true, isText: true, value: (row) => differenceOf(view, row), show: (row) => differenceCell(view, row) },
    { key: "verdict", title: "Engine", value: (row) => `${verdict(row)} ${strings[windows.reason[row]]}`, show: (row) => verdictCell(view, verdict(row), letters.get(windows.reason[row])) },
  ];
}

/** A letter for each reason of a verdict, in order of time. */
export function reasonLetters({ windows }) {
  const letters = new Map();
  for (const reason of windows.reason) if (!letters.has(reason)) letters.set(reason, letterOf(letters.size));
  return letters;
}

function letterOf(number) {
  return (number >= 26 ? letterOf(Math.floor(number / 26) - 1) : "") + String.fromCharCode(97 + (number % 26));
}

/** The reasons with their letters, once for all rows. */
export function reasonList(view) {
  const entries = [...reasonLetters(view)].map(([reason, letter]) =>
    make("li", {}, make("b", {}, letter), " ", cleanText(view.strings[reason] ?? "", 600)));
  return make("ul", { className: "call-reasons" }, ...entries);
}

export function verdictCell({ engines }, verdict, letter = "") {
  const style = [...engines, "MIXED"].includes(verdict) ? verdict : "UNKNOWN";
  const badge = make("span", { className: `badge engine-${style}`, "aria-hidden": "true" });
  return make("span", { className: "verdict" }, badge, verdict, letter ? make("span", { className: "note" }, ` ${letter}`) : null);
}

/** `Segmenter 4`, `Segmenter 1–3` for equal calls, a star for the first call of a model. */
function callLabel(view, row, count) {
  const number = view.windows.call[row];
  const last = count > 1 ? ` and ${formatCount(count - 1)} equal` : "";
  return `${callName(view, row)} ${formatCount(number)}${view.windows.first[row] ? "*" : ""}${last}`;
}

function differenceCell(view, row) {
  const { windows, strings, budget } = view;
  const typical = budget.typical[row];
  if (typical < 0) return "";
  const text = strings[windows.difference[row]];
  if (!text) return make("span", { className: "note" }, typical === row ? "the typical call" : "±");
  const difference = differenceOf(view, row);
  const sign = difference > 0 ? "+" : difference < 0 ? "−" : "±";
  return make("span", {}, make("b", { className: difference > 0 ? "more" : "less" }, `${sign}${formatDuration(Math.abs(difference))}`), ` ${cleanText(text, 120)}`);
}

/** The length of a call less that of the typical call of its model; NaN where there is none. */
function differenceOf({ windows, budget }, row) {
  const typical = budget.typical[row];
  if (typical < 0) return NaN;
  return windows.end[row] - windows.start[row] - (windows.end[typical] - windows.start[typical]);
}
