// The sums of hardware counters over each call, a line per event. Cycles and cache misses differ by factors of thousands,
// so the scale is logarithmic.
import { make, makeSvg } from "/report-assets/shared/dom.js";
import { cleanText, countOf, formatCount } from "/report-assets/shared/numbers.js";
import { fetchResult } from "../shared/requests.js";

const PLOT = { left: 44, top: 10, width: 560, height: 190 };
const NAMES_WIDTH = 220;
const LINE_HEIGHT = 13;
const LONGEST_EVENT = 34;
const PATTERNS = ["", "6 3", "2 2", "8 2 2 2", "10 4", "1 3", "4 1", "12 2 2 2 2 2"];

/** Adds the picture to the section of the counters, if the recording has any. */
export async function showCounters(section, address) {
  if (!section?.querySelector("table")) return;
  try {
    const { names, values } = await fetchResult(`${address}/counters`, (response) => response.json());
    if (names.length > 0) section.append(counterFigure(names, values));
  } catch (error) {
    section.append(make("p", { className: "problem" }, error.message));
  }
}

function counterFigure(names, values) {
  const caption = `Sums over ${countOf(values[0].length, "call")}, by number (logarithmic scale).`;
  const scroll = { className: "histogram-scroll", tabIndex: 0, role: "group", "aria-label": "Counters of each call" };
  const picture = make("div", scroll, drawCounters(names, values));
  return make("figure", { id: "counters-live" }, picture, make("figcaption", { className: "note" }, caption));
}

/** The smallest and the largest value of each column, null for a column without a positive one. */
export function columnRanges(values, most) {
  const count = Math.min(values.length, most);
  const ranges = new Array(count).fill(null);
  values.forEach((value, call) => {
    if (!(value > 0)) return;
    const column = Math.floor((call * count) / values.length);
    const [low, high] = ranges[column] ?? [value, value];
    ranges[column] = [Math.min(low, value), Math.max(high, value)];
  });
  return ranges;
}

/** Places for the names: each at its own height, moved down where it would cover the one above. */
export function spreadHeights(heights, step) {
  const order = heights.map((_, index) => index).sort((left, right) => heights[left] - heights[right]);
  const places = new Array(heights.length);
  let above = -Infinity;
  for (const index of order) {
    above = Math.max(heights[index], above + step);
    places[index] = above;
  }
  return places;
}

function drawCounters(names, values) {
  const lines = values.map((row) => columnRanges(row, PLOT.width));
  const all = lines.flatMap((ranges) => ranges.flatMap((range) => range ?? []));
  const low = Math.floor(Math.log10(all.reduce((left, right) => Math.min(left, right), Infinity)));
  const high = Math.max(low + 1, Math.ceil(Math.log10(all.reduce((left, right) => Math.max(left, right), 1))));
  const yOf = (value) => PLOT.top + ((high - Math.log10(value)) / (high - low)) * PLOT.height;
  const right = PLOT.left + PLOT.width;
  const ends = spreadHeights(lines.map((ranges) => yOf(ranges.findLast((range) => range)?.[1] ?? 10 ** low)), LINE_HEIGHT);
  const height = Math.max(PLOT.top + PLOT.height + 26, ...ends.map((end) => end + LINE_HEIGHT));
  const svg = makeSvg("svg", { viewBox: `0 0 ${right + NAMES_WIDTH} ${height}`, class: "histogram counters-chart", role: "img" });
  svg.setAttribute("aria-label", `Sums of ${names.map((name) => cleanText(name, LONGEST_EVENT)).join(", ")} over each call`);
  for (let power = low; power <= high; power += Math.ceil((high - low) / 6)) {
    const y = yOf(10 ** power);
    svg.append(makeSvg("line", { class: "grid", x1: PLOT.left, x2: right, y1: y, y2: y }));
    svg.append(makeSvg("text", { x: PLOT.left - 5, y: y + 4, "text-anchor": "end" }, `1e${power}`));
  }
  svg.append(makeSvg("text", { x: PLOT.left, y: PLOT.top + PLOT.height + 18 }, "0"));
  svg.append(makeSvg("text", { x: right, y: PLOT.top + PLOT.height + 18, "text-anchor": "end" }, formatCount(values[0].length - 1)));
  names.forEach((name, index) => {
    svg.append(makeSvg("path", { class: "counter", d: pathOf(lines[index], yOf), "stroke-dasharray": PATTERNS[index % PATTERNS.length] }));
    svg.append(makeSvg("text", { x: right + 6, y: ends[index] + 4 }, cleanText(name, LONGEST_EVENT)));
  });
  return svg;
}

/** A line through the columns, as high as the values in each; a call without the event is a gap. */
function pathOf(ranges, yOf) {
  const step = PLOT.width / Math.max(1, ranges.length - 1);
  let isOpen = false;
  return ranges.map((range, column) => {
    const command = isOpen ? "L" : "M";
    isOpen = range !== null;
    if (!range) return "";
    const [least, most] = range.map((value) => yOf(value).toFixed(1));
    const x = (PLOT.left + column * step).toFixed(1);
    return `${command}${x} ${least}V${most === least ? Number(most) + 0.1 : most}`;
  }).join("");
}
