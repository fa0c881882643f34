// A histogram of the lengths of calls, stacked by the engines that served them, with the percentiles marked.
import { make, makeSvg } from "../shared/dom.js";
import { cleanText, countOf, formatCount, formatDuration } from "../shared/numbers.js";
import { engineLetter } from "../shared/palette.js";
import { windowsInside } from "../data/selection.js";

const WIDTH = 760;
const HEIGHT = 198;
const LEFT = 34;
const RIGHT = 92; // room for the last percentile's name
const TOP = 42;
const BOTTOM = 26;
const LOGARITHMIC_FROM = 20;
const LETTER_WIDTH = 12;
const LETTER_HEIGHT = 14;

/** Bins between the shortest and the longest: equal steps, or equal ratios where the spread is large. */
export function histogramBins(values, firsts, kinds = [], most = 40) {
  let low = Infinity;
  let high = -Infinity;
  for (const value of values) {
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  const isLogarithmic = low > 0 && high / low >= LOGARITHMIC_FROM;
  if (high === low) [low, high] = [low * 0.9, high * 1.1 || 1];
  const count = Math.max(5, Math.min(most, Math.ceil(Math.sqrt(values.length) * 2)));
  const fractionOf = isLogarithmic
    ? (value) => Math.log(value / low) / Math.log(high / low)
    : (value) => (value - low) / (high - low);
  const warm = new Uint32Array(count);
  const first = new Uint32Array(count);
  const byKind = new Map();
  values.forEach((value, index) => {
    const bin = Math.min(count - 1, Math.max(0, Math.floor(fractionOf(value) * count)));
    (firsts[index] ? first : warm)[bin] += 1;
    if (!byKind.has(kinds[index])) byKind.set(kinds[index], new Uint32Array(count));
    byKind.get(kinds[index])[bin] += 1;
  });
  const edge = (part) => (isLogarithmic ? low * (high / low) ** part : low + (high - low) * part);
  return { low, high, isLogarithmic, fractionOf, edge, warm, first, byKind };
}

/** Draws into the container, with a choice of the model if there are several; `show(range)` draws the windows of a range. */
export function createLatency(container, view) {
  const { windows, strings, latency } = view;
  if (windows.count === 0 || latency.p50_ns === null) return { show() {} }; // a window that is the whole run has no latency
  const models = [...new Set(windows.model)];
  const order = [...view.engines, "MIXED"]; // the same in every bar
  const figure = make("figure");
  const choice = make("select", { "aria-label": "Model" }, make("option", { value: "" }, "All models"));
  for (const model of models) choice.append(make("option", { value: String(model) }, cleanText(strings[model], 80) || "no model named"));
  let selected = null;
  const draw = () => {
    const model = choice.value === "" ? null : Number(choice.value);
    const isInside = windowsInside(view, selected);
    const isShown = (row) => (model === null || windows.model[row] === model) && (!selected || isInside[row] === 1);
    const rows = [...windows.start.keys()].filter(isShown);
    if (rows.length === 0) {
      figure.replaceChildren(make("p", { className: "note" }, "No call in the selection."));
      return;
    }
    const values = rows.map((row) => windows.end[row] - windows.start[row]);
    const whole = model === null ? latency : (latency.models?.[strings[model]] ?? {});
    const marks = selected ? percentilesOf(values) : whole;
    const verdicts = rows.map((row) => strings[windows.verdict[row]]);
    const bins = histogramBins(values, rows.map((row) => windows.first[row]), verdicts.map((name) => (order.includes(name) ? name : "UNKNOWN")));
    bins.kinds = order.filter((name) => bins.byKind.has(name));
    const picture = make("div", { className: "histogram-scroll", tabIndex: 0, role: "group", "aria-label": "Histogram" }, drawHistogram(bins, marks));
    figure.replaceChildren(picture, make("figcaption", { className: "note" }, caption(bins, values), verdictList(bins)));
  };
  choice.addEventListener("change", draw);
  const controls = models.length > 1 ? make("div", { className: "controls" }, choice) : null;
  container.append(make("div", { className: "live-only" }, ...(controls ? [controls] : []), figure));
  return {
    show(range) {
      selected = range;
      draw();
    },
  };
}

/** The percentiles of a selection: the smallest length that so many are not longer than, as in the analysis. */
export function percentilesOf(values) {
  const sorted = Float64Array.from(values).sort();
  const percentile = (part) => sorted[Math.max(0, Math.ceil(part * sorted.length - 1e-9) - 1)];
  return { p50_ns: percentile(0.5), p90_ns: percentile(0.9), p99_ns: percentile(0.99) };
}

function caption(bins, values) {
  const scale = bins.isLogarithmic ? " (logarithmic scale)" : "";
  const firsts = bins.first.some((count) => count > 0) ? " ▼ marks the first call of a model." : "";
  return `Length of ${countOf(values.length, "call")}${scale}, by the engine that served each.${firsts}`;
}

/** The verdicts with their letters, colours and counts. */
function verdictList({ kinds, byKind }) {
  const items = kinds.map((name) => {
    const sum = byKind.get(name).reduce((total, count) => total + count, 0);
    const badge = make("span", { className: `badge engine-${name}`, "aria-hidden": "true" });
    return make("li", {}, badge, `${engineLetter(name)} ${name} ${formatCount(sum)}`);
  });
  return make("ul", { className: "legend" }, ...items);
}

function drawHistogram({ warm, first, byKind, kinds, fractionOf, edge, low, high }, marks) {
  const plot = { width: WIDTH - LEFT - RIGHT, height: HEIGHT - TOP - BOTTOM };
  const most = Math.max(1, ...warm.map((count, bin) => count + first[bin]));
  const svg = makeSvg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "histogram", role: "img" });
  svg.setAttribute("aria-label", `Histogram from ${formatDuration(low)} to ${formatDuration(high)}`);
  const step = plot.width / warm.length;
  const ground = TOP + plot.height;
  warm.forEach((_, bin) => {
    let top = ground;
    const x = LEFT + bin * step;
    for (const name of kinds) {
      const count = byKind.get(name)[bin];
      if (count === 0) continue;
      const height = Math.max(2, (count / most) * plot.height);
      top -= height;
      svg.append(makeSvg("rect", { class: `of-${name}`, x: x + 0.5, y: top, width: Math.max(1, step - 1), height }));
      if (step >= LETTER_WIDTH && height >= LETTER_HEIGHT) {
        svg.append(makeSvg("text", { class: "letter", x: x + step / 2, y: top + height / 2 + 4, "text-anchor": "middle" }, engineLetter(name)));
      }
    }
    if (first[bin] > 0) svg.append(makeSvg("path", { class: "first", d: `M${x + step / 2} ${top - 2}l-4 -7h8z` }));
  });
  svg.append(makeSvg("line", { class: "axis", x1: LEFT, x2: LEFT + plot.width, y1: ground, y2: ground }));
  svg.append(makeSvg("text", { x: LEFT - 5, y: TOP + 9, "text-anchor": "end" }, formatCount(most)));
  for (const part of [0, 0.25, 0.5, 0.75, 1]) {
    const anchor = part === 0 ? "start" : part === 1 ? "end" : "middle";
    const x = LEFT + part * plot.width;
    svg.append(makeSvg("text", { x, y: HEIGHT - 8, "text-anchor": anchor }, formatDuration(edge(part))));
  }
  markPercentiles(svg, marks, (value) => LEFT + Math.min(1, Math.max(0, fractionOf(value))) * plot.width, ground);
  return svg;
}

/** Marks percentiles. A larger one's name is lower, at the right of its line, so that no line crosses a name. */
function markPercentiles(svg, marks, xOf, ground) {
  const percentiles = [["p50", marks.p50_ns], ["p90", marks.p90_ns], ["p99", marks.p99_ns]];
  percentiles.forEach(([name, value], index) => {
    if (!Number.isFinite(value)) return;
    const x = xOf(value);
    const y = 10 + index * 14;
    svg.append(makeSvg("line", { class: "mark", x1: x, x2: x, y1: y + 2, y2: ground }));
    svg.append(makeSvg("text", { class: "mark-name", x: x + 4, y }, `${name} ${formatDuration(value)}`));
  });
}
