// The table of calls, as a picture or with all columns; choosing a row shows the call in the timeline.
import { callTitle } from "../data/calls.js";
import { make } from "../shared/dom.js";
import { indexIntervals } from "../data/intervals.js";
import { laneId } from "../timeline/lanes.js";
import { cleanText, formatCount, formatDuration, formatPercent } from "../shared/numbers.js";
import { windowsInside } from "../data/selection.js";
import { intervalRange, selectedWindow } from "../timeline/steps.js";
import { budgetLegend } from "./budget_bar.js";
import { pictureColumns, reasonList, verdictCell } from "./calls_table.js";
import { createTable } from "./table.js";

/** `choose(range, chosen)` gets the window that the reader picked. */
export function createWindowsTable(container, view, store, choose) {
  const { windows } = view;
  if (windows.count === 0) return { refresh() {} }; // the markup has a note instead
  const ordered = indexIntervals(windows.start, windows.end);
  const equalCounts = countEqual(windows);
  let inside = windowsInside(view, store.state.range);
  let selected = -1;
  const box = (label) => {
    const input = make("input", { type: "checkbox", onchange: () => follow() });
    return { input, label: make("label", {}, input, ` ${label}`) };
  };
  const [everything, folded, detailed] = [box("List all calls"), box("Fold equal calls"), box("All columns")];
  const note = make("span", { className: "note" });
  const controls = make("span", { className: "calls-scope" }, everything.label, folded.label, detailed.label, note);
  const isFolded = () => folded.input.checked;
  const isScoped = () => store.state.range !== null && selected < 0 && !everything.input.checked; // a call is seen among its neighbours
  const createOf = (columns) => createTable({
    caption: "List of calls",
    columns,
    rowCount: () => windows.count,
    isIncluded: (row) => (!isScoped() || inside[row] === 1) && (!isFolded() || windows.equal[row] === row),
    sort: { key: "start_ns", descending: false },
    onChoose: (row) => choose(intervalRange(ordered, laneId("windows", 0), ordered.row.indexOf(row)), { kind: "call", index: row }),
    chooseLabel: (row, text) => `${text}, ${callTitle(view, row)}: show it in the timeline`,
    marked: (row) => inside[row] === 1,
    current: () => selected,
    filterLabel: "Filter calls by text",
  });
  const picture = createOf(markedPicture(view, (row) => (isFolded() ? equalCounts[row] : 1)));
  const details = createOf(windowColumns(view));
  const tables = make("div", { className: "calls-table" });
  folded.label.hidden = equalCounts.every((count) => count < 2);
  container.append(tables, budgetLegend(view), reasonList(view), make("p", { className: "note" }, NOTE));
  const follow = () => {
    inside = windowsInside(view, store.state.range);
    selected = selectedWindow(ordered, store.state.range);
    const count = inside.reduce((sum, flag) => sum + flag, 0);
    const prefix = selected < 0 ? "" : `${callTitle(view, selected)} is selected: `;
    const summary = `${prefix}${formatCount(count)} of ${formatCount(windows.count)} in the selection.`;
    note.textContent = store.state.range ? summary : "";
    everything.label.hidden = store.state.range === null || selected >= 0;
    const table = detailed.input.checked ? details : picture;
    if (table.element.parentElement !== tables) {
      tables.replaceChildren(table.element);
      table.element.querySelector("input").after(controls);
    }
    table.refresh();
    if (selected < 0) return;
    table.reveal(selected);
    requestAnimationFrame(() => setTimeout(() => scrollToRow(container))); // once the page is laid out, which is not forced here
  };
  return { refresh: follow };
}

/** The number of equal calls that each call stands for, by the first of them. */
function countEqual({ count, equal }) {
  const counts = new Uint32Array(count);
  for (const first of equal) counts[first] += 1;
  return counts;
}

/** Brings the chosen row into sight in a pane of the dashboard; a report's page keeps its place. */
function scrollToRow(container) {
  const pane = container.closest(".panel");
  const row = container.querySelector("[aria-current]");
  if (pane && row) pane.scrollTop += overhang(row.getBoundingClientRect(), pane.getBoundingClientRect());
}

/** The way that a box must go up to be within another. */
function overhang(box, outer) {
  if (box.top < outer.top) return box.top - outer.top;
  return Math.max(0, Math.min(box.bottom - outer.bottom, box.top - outer.top));
}

const NOTE = "* marks the first call of a model; – means not measured. The typical call is the one that the differences are to.";

/** The columns of the picture, with the marks of the limits of their numbers. */
function markedPicture(view, countOf) {
  const marks = new Map(view.windows.columns.map((column) => [column.key, column.marks]));
  return pictureColumns(view, countOf).map((column) => withMarks(column, marks.get(column.key)));
}

/** The columns of the view, each drawn by its kind. */
function windowColumns(view) {
  return view.windows.columns.map((column) => withMarks({ key: column.key, title: column.head, note: column.note, ...cellsOf(view, column) }, column.marks));
}

function cellsOf(view, { kind, key, parts }) {
  const { windows, strings } = view;
  const values = windows.values[key];
  const text = (row) => cleanText(strings[values[row]] ?? "", 300);
  const numbers = (show) => ({ isNumber: true, value: (row) => values[row], show });
  switch (kind) {
    case "call": return numbers((row) => `${windows.first[row] ? "* " : ""}${values[row]}`);
    case "number": return numbers((row) => (Number.isNaN(values[row]) ? "–" : formatCount(values[row])));
    case "time":
    case "waiting": return numbers((row) => formatDuration(values[row]));
    case "busy": return numbers((row) => busyCell(values[row], windows.end[row] - windows.start[row]));
    case "part": return samplesCells(Object.entries(parts).map(([engine, name]) => [engine, windows.values[name]]));
    case "verdict": return { value: text, show: (row) => verdictCell(view, cleanText(text(row), 40)) };
    default: return { value: text, show: (row) => clipped(text(row)) };
  }
}

/** A column with the marks of its limits, at its head and in rows; the notes stand below the table. */
function withMarks(column, marks) {
  if (!marks) return column;
  const show = (row) => {
    const shown = column.show(row);
    const mark = marks.rows[row];
    if (mark === undefined) return shown;
    return typeof shown === "string" ? shown + mark : make("span", { className: "marked" }, shown, mark);
  };
  return { ...column, title: column.title + marks.head, show };
}

function busyCell(busy, length) {
  return Number.isNaN(busy) ? "–" : `${formatDuration(busy)} (${formatPercent(busy / length)})`;
}

/** Counts of samples by engine, as text and as a bar of their shares. */
function samplesCells(parts) {
  const value = (row) => parts.reduce((sum, [, counts]) => sum + counts[row], 0);
  return { isNumber: true, value, show: (row) => samplesCell(parts.map(([engine, counts]) => [engine, counts[row]]), value(row)) };
}

function samplesCell(entries, whole) {
  const bar = make("span", { className: "share", "aria-hidden": "true" });
  for (const [engine, count] of entries) {
    if (count === 0) continue;
    const part = make("span", { className: `engine-${engine}` });
    part.style.width = `${(count / whole) * 100}%`;
    bar.append(part);
  }
  const words = entries.filter(([, count]) => count > 0).map(([engine, count]) => `${engine} ${formatCount(count)}`);
  return make("span", {}, words.join(", ") || "0", whole > 0 ? bar : null);
}

function clipped(text) {
  return make("span", { className: "clip", title: text, dir: "auto" }, text);
}
