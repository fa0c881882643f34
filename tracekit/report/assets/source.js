// Where the page gets its pictures and sums from. This source computes them from arrays in memory; another one may
// fetch them: it returns its best for what has not arrived and calls back when it has.
import { parseFilter, sampleMask } from "./filter.js";
import { capPixels, coverPixels, resamplePlane, samplesByLane } from "./occupancy.js";
import { indexIntervals, packRows } from "./intervals.js";
import { countSamples, selectedRows } from "./selection.js";

const MOST_WINDOW_ROWS = 4;
const SMALLEST_SPAN_NS = 1000;

/** What stands in the view of every recording, whatever the source of its samples. */
export function intervalsOf(view) {
  const windows = indexIntervals(view.windows.start, view.windows.end);
  return {
    view,
    windows,
    windowRows: packRows(windows, MOST_WINDOW_ROWS),
    spans: view.spans.map(indexOrNull),
    /** The target's own work: where a table has other processes' as well, that is left out. */
    ownSpans: view.spans.map(indexOwn),
    signposts: view.signposts.map(indexOrNull),
    /** The narrowest range worth showing: intervals are exact, also where samples are known to their bin only. */
    smallestSpan: Math.min(view.duration_ns, SMALLEST_SPAN_NS),
  };
}

export function memorySource(view) {
  const byLane = samplesByLane(view.samples.lane, view.lanes.length);
  const binNs = view.duration_ns / view.bins;
  const longest = view.lanes.map((_, lane) => longestSample(view, byLane, lane));
  const total = countSamples(view);
  return {
    ...intervalsOf(view),
    /** False where samples are known to their bin only. */
    isExact: view.exact,
    /**
     * Tells { picture(), sums(), problem(text, about), mended(about) } what came or went wrong, about the "picture" or
     * the "sums"; here everything is there at once.
     */
    listen() {},
    /** Asks once more for what could not be had. */
    retry() {},
    /** Says what is about to be drawn, and learns whether all of it is there. */
    prepare: () => true,
    /** What a filter's text lets through, for `occupancy` and `select`: null is everything. */
    mask: (text) => sampleMask(view, parseFilter(text)),
    /**
     * What is selected: `rows` of `view.samples` add up to it, `total` is the number of samples of the whole run. It
     * `isCurrent` unless what was asked for is still on its way, or `isRefused`: then it is the selection before.
     */
    select({ range, lanes }, mask) {
      const isWhole = !range && lanes.length === 0 && !mask;
      const rows = selectedRows(view, { range, lanes }, mask);
      return { selection: { view, rows, range, lanes, total, isWhole }, isCurrent: true };
    },
    /** Per engine of the lane one plane of `pixels` values; `mask` picks samples, null is all. */
    occupancy(lane, from, to, pixels, mask = null) {
      const narrow = view.exact && (to - from) / pixels < binNs;
      const engines = view.lanes[lane].engines;
      if (!mask && !narrow) return { engines, planes: fromBins(view.lanes[lane], binNs, from, to, pixels) };
      return { engines, planes: fromSamples(view, byLane, lane, longest[lane], from, to, pixels, mask) };
    },
    /** `which` is "occupancy", the target's own work, or "others", that of other processes: null if there is none. */
    spanOccupancy(span, from, to, pixels, which = "occupancy") {
      const plane = view.spans[span][which];
      if (!plane) return null;
      const out = new Float32Array(pixels);
      resamplePlane(plane, binNs, from, to, out);
      return out;
    },
  };
}

function indexOwn({ start, end, own }) {
  if (!start) return null;
  const isOwn = (_, row) => !own || own[row] === 1;
  return indexIntervals(start.filter(isOwn), end.filter(isOwn));
}

function indexOrNull({ start, end }) {
  return start ? indexIntervals(start, end) : null;
}

function fromBins(lane, binNs, from, to, pixels) {
  const planes = new Float32Array(lane.engines.length * pixels);
  const bins = lane.occupancy.length / lane.engines.length;
  lane.engines.forEach((_, index) => {
    const plane = lane.occupancy.subarray(index * bins, (index + 1) * bins);
    resamplePlane(plane, binNs, from, to, planes.subarray(index * pixels, (index + 1) * pixels));
  });
  return planes;
}

/** How long a sample stands for: its weight where that is time, else a period for each. */
export function sampleLength(view, row) {
  return view.unit === "ns" ? view.samples.weight[row] : view.samples.number[row] * view.period_ns;
}

function longestSample(view, { first, order }, lane) {
  if (!view.exact) return view.bin_ns;
  let longest = 0;
  for (let place = first[lane]; place < first[lane + 1]; place += 1) {
    longest = Math.max(longest, sampleLength(view, order[place]));
  }
  return longest;
}

function fromSamples(view, { first, order }, lane, longest, from, to, pixels, mask) {
  const { time, engine } = view.samples;
  const engines = view.lanes[lane].engines;
  const offsets = new Int32Array(view.engines.length).fill(-1);
  engines.forEach((each, index) => {
    offsets[each] = index * pixels;
  });
  const planes = new Float32Array(engines.length * pixels);
  const step = (to - from) / pixels;
  const begin = firstFrom(time, order, first[lane], first[lane + 1], from - longest);
  for (let place = begin; place < first[lane + 1]; place += 1) {
    const row = order[place];
    if (time[row] >= to) break;
    if ((mask && !mask[row]) || offsets[engine[row]] < 0) continue;
    const length = sampleLength(view, row);
    const drawn = view.exact ? length : view.samples.end[row] - time[row];
    coverPixels(planes, offsets[engine[row]], pixels, from, step, time[row], time[row] + drawn, length / drawn);
  }
  capPixels(planes, pixels);
  return planes;
}

function firstFrom(time, order, begin, end, value) {
  let low = begin;
  let high = end;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (time[order[middle]] < value) low = middle + 1;
    else high = middle;
  }
  return low;
}
