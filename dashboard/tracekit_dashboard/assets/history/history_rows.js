// One series of the history as a picture: dots with intervals, engine bars, changes and updates of the system.
import { makeSvg } from "/report-assets/shared/dom.js";
import { cleanText } from "/report-assets/shared/numbers.js";

export const HISTORY_ROW_HEIGHT = 150;
export const HISTORY_LEFT = 52;
const PLOT_TOP = 26;
const PLOT_BOTTOM = 112;
const BAR_TOP = 122;
const BAR_HEIGHT = 16;
const LEAST_STEP = 7;
const MOST_STEP = 60;
const ENGINE_ORDER = ["ANE", "GPU", "CPU"];
const LABEL_WIDTH = 6.6;

/** The builds that are shown, as numbers from `first`, and the place of each on the horizontal axis. */
export function buildScale(first, count, width) {
  const shown = Math.max(1, count - first);
  const step = Math.min(MOST_STEP, Math.max(LEAST_STEP, (width - HISTORY_LEFT - 8) / shown));
  return { first, last: count - 1, step, width: Math.max(width, HISTORY_LEFT + shown * step + 8), xOf: (build) => HISTORY_LEFT + (build - first + 0.5) * step };
}

/** The number of the build below a place on the horizontal axis. */
export function buildAt(scale, x) {
  const build = scale.first + Math.floor((x - HISTORY_LEFT) / scale.step);
  return Math.min(scale.last, Math.max(scale.first, build));
}

/** The values of a row by build: { metric, main, low, high, p90, level, runs, system, engines }, for the builds that have any. */
export function pointsByBuild(row) {
  const points = new Map();
  const of = (build) => points.get(build) ?? points.set(build, { engines: {} }).get(build);
  (row.main.build ?? []).forEach((build, index) => {
    const { ms, low, high, runs, system, level } = row.main;
    Object.assign(of(build), { metric: row.metric, main: ms[index], low: low[index], high: high[index], runs: runs[index], system: system[index], level: level[index] });
  });
  (row.p90.build ?? []).forEach((build, index) => (of(build).p90 = row.p90.ms[index]));
  for (const [engine, { build = [], low, high }] of Object.entries(row.engines)) {
    build.forEach((number, index) => (of(number).engines[engine] = [low[index], high[index]]));
  }
  return points;
}

/** The parts of an engine bar, as fractions that sum to 1: the certain shares, then what is unknown. */
export function engineParts(engines) {
  const certain = ENGINE_ORDER.map((engine) => [engine, engines[engine]?.[0] ?? 0]);
  const unknown = Math.max(0, ...ENGINE_ORDER.map((engine) => (engines[engine] ? engines[engine][1] - engines[engine][0] : 0)));
  const parts = [...certain, ["UNKNOWN", unknown]].filter(([, share]) => share > 0);
  const sum = Math.max(1, parts.reduce((total, [, share]) => total + share, 0));
  return parts.map(([engine, share]) => [engine, share / sum]);
}

/** The builds before which the system of the device changed: [build, system]. */
export function systemUpdates(points) {
  const updates = [];
  let before = null;
  for (const [build, { system }] of [...points].sort(([left], [right]) => left - right)) {
    if (!system) continue;
    if (before !== null && system !== before) updates.push([build, system]);
    before = system;
  }
  return updates;
}

/** Marks of one row, one for each build with changes: { first, changes }, lengths first, p90 last. */
export function marksOf(changes) {
  const marks = new Map();
  const order = (change) => (change.metric === "p90" ? 2 : change.isLength ? 0 : 1);
  for (const change of [...changes].sort((left, right) => order(left) - order(right))) {
    if (!marks.has(change.first)) marks.set(change.first, { first: change.first, changes: [] });
    marks.get(change.first).changes.push(change);
  }
  return [...marks.values()].sort((left, right) => left.first - right.first);
}

/** The words of a mark: its first change, and what else changed. */
export function markText({ changes }) {
  const [main, second] = changes.filter(({ metric }) => metric !== "p90" && !metric.endsWith("unknown share")).concat(changes);
  const sign = main.isLength ? (main.sign > 0 ? "▲ " : "▼ ") : "◆ ";
  return sign + main.label + (second && second !== main && !second.isLength && main.isLength ? `, ${second.label}` : "");
}

/** "worse" for longer calls and a loss of the Neural Engine, "better" for the reverse, "accepted", or "other". */
export function markKind({ changes }) {
  if (changes.every(({ accepted }) => accepted)) return "accepted";
  const lengths = changes.find(({ isLength }) => isLength);
  if (lengths) return lengths.sign > 0 ? "worse" : "better";
  const ane = changes.find(({ metric }) => metric === "ANE used share");
  return ane ? (ane.sign > 0 ? "better" : "worse") : "other";
}

/** The pictures of a row: its scale, which stays in view, and its builds. `points` are those of pointsByBuild, `picked` builds. */
export function drawHistoryRow(points, marks, scale, picked) {
  const ticks = makeSvg("svg", { width: HISTORY_LEFT, height: HISTORY_ROW_HEIGHT, class: "history-picture", "aria-hidden": "true" });
  const svg = makeSvg("svg", { width: scale.width, height: HISTORY_ROW_HEIGHT, class: "history-picture", "aria-hidden": "true" });
  const shown = [...points].filter(([build]) => build >= scale.first);
  const yOf = historyDrawScale(svg, ticks, shown, scale);
  for (const build of picked) svg.append(makeSvg("rect", { class: "history-picked", x: scale.xOf(build) - scale.step / 2, y: 0, width: scale.step, height: HISTORY_ROW_HEIGHT }));
  for (const [build, point] of shown) {
    drawBar(svg, scale, build, point.engines);
    if (yOf) drawPoint(svg, scale, build, point, yOf);
  }
  for (const [build, system] of systemUpdates(points)) if (build > scale.first) drawUpdate(svg, scale, build, system);
  for (const mark of marks) if (mark.first >= scale.first) historyDrawMark(svg, scale, mark);
  return { ticks, svg };
}

function historyDrawScale(svg, ticks, shown, scale) {
  const values = shown.flatMap(([, { main, low, high, p90 }]) => [main, low, high, p90]).filter((value) => value > 0);
  if (values.length === 0) return null;
  const least = values.reduce((left, right) => Math.min(left, right));
  const most = values.reduce((left, right) => Math.max(left, right));
  const span = Math.max(most - least, most * 0.02);
  const yOf = (ms) => PLOT_BOTTOM - ((ms - least) / span) * (PLOT_BOTTOM - PLOT_TOP);
  for (const ms of [least, least + span]) {
    svg.append(makeSvg("line", { class: "grid", x1: HISTORY_LEFT, x2: scale.width, y1: yOf(ms), y2: yOf(ms) }));
    ticks.append(makeSvg("text", { x: HISTORY_LEFT - 6, y: yOf(ms) + 4, "text-anchor": "end" }, `${ms.toPrecision(3)} ms`));
  }
  return yOf;
}

function drawBar(svg, scale, build, engines) {
  const width = Math.max(2, scale.step - 2);
  let y = BAR_TOP;
  for (const [engine, share] of engineParts(engines)) {
    const height = share * BAR_HEIGHT;
    svg.append(makeSvg("rect", { class: `history-${engine.toLowerCase()}`, x: scale.xOf(build) - width / 2, y, width, height }));
    y += height;
  }
}

function drawPoint(svg, scale, build, { main, low, high, p90, level }, yOf) {
  const x = scale.xOf(build);
  if (level) svg.append(makeSvg("line", { class: "history-level", x1: x - scale.step / 2, x2: x + scale.step / 2, y1: yOf(level), y2: yOf(level) }));
  if (low !== null && high !== null && low !== undefined) svg.append(makeSvg("line", { class: "history-interval", x1: x, x2: x, y1: yOf(low), y2: yOf(high) }));
  if (main) svg.append(makeSvg("circle", { class: "history-main", cx: x, cy: yOf(main), r: 3 }));
  if (p90) svg.append(makeSvg("circle", { class: "history-p90", cx: x, cy: yOf(p90), r: 1.7 }));
}

function drawUpdate(svg, scale, build, system) {
  const x = scale.xOf(build) - scale.step / 2;
  const text = cleanText(system, 40);
  const isRight = x + text.length * LABEL_WIDTH > scale.width;
  svg.append(makeSvg("line", { class: "history-update", x1: x, x2: x, y1: 4, y2: HISTORY_ROW_HEIGHT - 10 }));
  svg.append(makeSvg("text", { x: isRight ? x - 4 : x + 4, y: HISTORY_ROW_HEIGHT - 1, "text-anchor": isRight ? "end" : "start" }, text));
}

function historyDrawMark(svg, scale, mark) {
  const x = scale.xOf(mark.first) - scale.step / 2;
  svg.append(makeSvg("line", { class: `history-mark ${markKind(mark)}`, x1: x, x2: x, y1: 4, y2: BAR_TOP + BAR_HEIGHT }));
}
