// The table of inference windows; choosing a row shows the window in the timeline.
import { callName, callTitle, isRange } from "../data/calls.js";
import { make } from "../shared/dom.js";
import { indexIntervals } from "../data/intervals.js";
import { laneId } from "../timeline/lanes.js";
import { cleanText, formatCount, formatDuration, formatPercent } from "../shared/numbers.js";
import { windowsInside } from "../data/selection.js";
import { intervalRange, selectedWindow } from "../timeline/steps.js";
import { createTable } from "./table.js";

/** `choose(range, chosen)` gets the window that the reader picked. */
export function createWindowsTable(container, view, store, choose) {
  const { windows } = view;
  if (windows.count === 0) return { refresh() {} }; // the markup has a note instead
  const ordered = indexIntervals(windows.start, windows.end);
  let inside = windowsInside(view, store.state.range);
  let selected = -1;
  const table = createTable({
    caption: "List of calls",
    columns: windowColumns(view),
    rowCount: () => windows.count,
    isIncluded: (row) => !isScoped() || inside[row] === 1,
    sort: { key: "start", descending: false },
    onChoose: (row) => choose(intervalRange(ordered, laneId("windows", 0), ordered.row.indexOf(row)), { kind: "call", index: row }),
    chooseLabel: (row) => `${callTitle(view, row)}: show it in the timeline`,
    marked: (row) => inside[row] === 1,
    current: () => selected,
    filterLabel: "Filter calls by text",
  });
  const note = make("span");
  const everything = make("input", { type: "checkbox", onchange: () => follow() });
  const scope = make("label", { hidden: true }, everything, " List all calls");
  const isScoped = () => store.state.range !== null && selected < 0 && !everything.checked; // a call is seen among its neighbours
  container.append(make("p", { className: "note calls-scope" }, note, " ", scope), table.element);
  const follow = () => {
    inside = windowsInside(view, store.state.range);
    selected = selectedWindow(ordered, store.state.range);
    const count = inside.reduce((sum, flag) => sum + flag, 0);
    const prefix = selected < 0 ? "" : `${callTitle(view, selected)} is selected: `;
    const summary = `${prefix}${formatCount(count)} of ${formatCount(windows.count)} in the selection.`;
    note.textContent = store.state.range ? summary : NOTE;
    scope.hidden = store.state.range === null || selected >= 0;
    table.refresh();
    if (selected < 0) return;
    table.reveal(selected);
    requestAnimationFrame(() => setTimeout(() => scrollToRow(container))); // once the page is laid out, which is not forced here
  };
  return { refresh: follow };
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

const NOTE = "* marks the first call of a model. Choose a row to see it in the timeline. – means not measured.";

function windowColumns(view) {
  const { windows, strings } = view;
  const text = (column) => (row) => cleanText(strings[windows[column][row]] ?? "", 300);
  const length = (row) => windows.end[row] - windows.start[row];
  const time = (key, title, value) => ({ key, title, isNumber: true, value, show: (row) => formatDuration(value(row)) });
  const name = (row) => callName(view, row);
  const hasModels = windows.model.every((model) => strings[model] !== "");
  const hasLabels = windows.label.some((label, row) => strings[windows.model[row]] !== "" && strings[label] !== strings[windows.model[row]]);
  return [
    {
      key: "number",
      title: isRange(windows) ? "Range" : "Call",
      isNumber: true,
      value: (row) => windows.call[row],
      show: (row) => `${windows.first[row] ? "* " : ""}${windows.call[row]}`,
    },
    textColumn("model", hasModels ? "Model" : "Name", name),
    time("start", "Start", (row) => windows.start[row]),
    time("length", "Length", length),
    { key: "verdict", title: "Verdict", value: text("verdict"), show: (row) => verdictCell(view, row) },
    ...Object.entries(windows.busy).map(([engine, values]) => busyColumn(engine, values, length)),
    ...Object.entries(windows.waiting).map(([engine, values]) => ({
      ...time(`waiting ${engine}`, `Waiting for ${engine}`, (row) => values[row]),
      note: windows.waiting_basis,
    })),
    ...(Object.keys(windows.samples).length > 0 ? [samplesColumn(windows)] : []),
    ...(hasLabels ? [textColumn("label", "Label", text("label"))] : []),
    textColumn("why", "Why", text("why")),
  ].map((column) => withMarks(column, windows.marks?.[column.key]));
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

function textColumn(key, title, text) {
  return { key, title, value: text, show: (row) => clipped(text(row)) };
}

function busyColumn(engine, values, length) {
  return {
    key: `busy ${engine}`,
    title: `${engine} busy`,
    note: "measured",
    isNumber: true,
    value: (row) => values[row],
    show: (row) =>
      Number.isNaN(values[row]) ? "–" : `${formatDuration(values[row])} (${formatPercent(values[row] / length(row))})`,
  };
}

function samplesColumn(windows) {
  const value = (row) => samplesOf(windows, row);
  return { key: "samples", title: "Host samples", isNumber: true, value, show: (row) => samplesCell(windows, row) };
}

function samplesOf({ samples }, row) {
  return Object.values(samples).reduce((sum, values) => sum + values[row], 0);
}

/** The sample counts as text and as a bar of their shares. */
function samplesCell({ samples }, row) {
  const entries = Object.entries(samples).map(([engine, values]) => [engine, values[row]]);
  const whole = entries.reduce((sum, [, count]) => sum + count, 0);
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

function verdictCell({ windows, strings, engines }, row) {
  const verdict = strings[windows.verdict[row]];
  const style = [...engines, "MIXED"].includes(verdict) ? verdict : "UNKNOWN";
  const badge = make("span", { className: `badge engine-${style}`, "aria-hidden": "true" });
  return make("span", { className: "verdict" }, badge, cleanText(verdict, 40));
}

function clipped(text) {
  return make("span", { className: "clip", title: text, dir: "auto" }, text);
}
