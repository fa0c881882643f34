// The source of a page's pictures and sums. This one computes them from arrays in memory. The dashboard's fetches them
// (sources.js): it returns the best it has, and notifies the page when better data has arrived.
import { parseFilter, sampleMask } from "./filter.js";
import { callLanes } from "./call_lanes.js";
import { capPixels, coverPixels, resamplePlane, samplesByLane } from "./occupancy.js";
import { indexIntervals, packRows } from "./intervals.js";
import { memoryStacks } from "./stack_rows.js";
import { countSamples, selectedRows } from "./selection.js";
import { describeSample } from "./stacks.js";

const SMALLEST_SPAN_NS = 1000;

/** The parts of a source that are in every view, wherever its samples are. */
export function intervalsOf(view) {
  const { start, end } = view.windows;
  const calls = callLanes(view).map(({ rows }) => indexRows(rows, start, end));
  const spans = view.spans.map(indexOrNull);
  const signposts = view.signposts.map(indexOrNull);
  const packed = (indexes) => indexes.map((index) => index && packRows(index));
  return {
    view,
    windows: indexIntervals(start, end),
    /** The intervals of each lane of calls, and those of the measured lanes and of the signposts. */
    calls,
    spans,
    signposts,
    /** The rows of a lane's intervals (packRows), by the lane's kind and index; null for a lane without single ones. */
    packed: { windows: packed(calls), span: packed(spans), signposts: packed(signposts) },
    /** The target's intervals only, without those of other processes in the same table. */
    targetSpans: view.spans.map(indexTarget),
    /** The narrowest range that can be shown: intervals are exact, even if samples are binned. */
    smallestSpan: Math.min(view.duration_ns, SMALLEST_SPAN_NS),
  };
}

export function memorySource(view) {
  const byLane = samplesByLane(view.samples.lane, view.lanes.length);
  const binNs = view.duration_ns / view.bins;
  const longest = view.lanes.map((_, lane) => longestSample(view, byLane, lane));
  const total = countSamples(view);
  const firstAt = (lane, time) => lowerBoundOf(view.samples.time, byLane.order, byLane.first[lane], byLane.first[lane + 1], time);
  return {
    ...intervalsOf(view),
    /** False if samples are binned. */
    isExact: view.exact,
    /**
     * Registers a listener { picture(), sums(), problem(text, topic), resolved(topic) } for data that arrives later; a topic
     * is "picture" or "sums". This source has all data at once, so it never calls.
     */
    listen() {},
    /** Requests again what could not be fetched. */
    retry() {},
    /** Requests the data of the next picture; true if all of it is available. */
    prepare: () => true,
    /** A filter's mask for `occupancy` and `select`; null without a filter. */
    mask: (text) => sampleMask(view, parseFilter(text)),
    /**
     * The selection: its `rows` of `view.samples`, and `total`, the number of samples in the run. If not `isCurrent`, it is
     * the previous selection, because the new sums are on their way, or `isRefused`: they cannot be had.
     */
    select({ range, lanes }, mask) {
      const isWhole = !range && lanes.length === 0 && !mask;
      const rows = selectedRows(view, { range, lanes }, mask);
      return { selection: { view, rows, range, lanes, total, isWhole }, isCurrent: true };
    },
    /** The samples of a lane in order of time (stack_rows.js); the dashboard's notifies `stacks` when better ones have arrived. */
    stacksIn: memoryStacks(view, byLane.order, {
      firstAt,
      reachingFrom: (lane, time) => firstAt(lane, time - longest[lane]),
      lengthOf: (row) => sampleLength(view, row),
    }),
    /** A plane of `pixels` values for each engine of the lane; `mask` marks samples, null is all. */
    occupancy(lane, from, to, pixels, mask = null) {
      const narrow = view.exact && (to - from) / pixels < binNs;
      const engines = view.lanes[lane].engines;
      if (!mask && !narrow) return { engines, planes: fromBins(view.lanes[lane], binNs, from, to, pixels) };
      return { engines, planes: fromSamples(view, byLane, lane, longest[lane], from, to, pixels, mask) };
    },
    /**
     * Promises the sample (that a mask selects; the dashboard's takes the filter's text as well) nearest to `time` in a lane, at most `within` away unless it covers the time, or null:
     * { time_ns, lane, engine, phase, weight, number, leaf, binary, stack }; `stack` as in stack_detail.js.
     */
    sampleAt: async ({ lane, time, within }, mask = null) => {
      const row = nearestRow(view, byLane, lane, time, within, longest[lane], mask);
      return row < 0 ? null : describeSample(view, row);
    },
    /** `which` is "occupancy" (by the target) or "others" (by other processes); null without such intervals. */
    spanOccupancy(span, from, to, pixels, which = "occupancy") {
      const plane = view.spans[span][which];
      if (!plane) return null;
      const out = new Float32Array(pixels);
      resamplePlane(plane, binNs, from, to, out);
      return out;
    },
  };
}

/** As indexIntervals, of some rows of the arrays. */
function indexRows(rows, start, end) {
  const index = indexIntervals(rows.map((row) => start[row]), rows.map((row) => end[row]));
  return { ...index, row: index.row.map((position) => rows[position]) };
}

function indexTarget({ start, end, own }) {
  if (!start) return null;
  const isTarget = (_, row) => !own || own[row] === 1;
  return indexIntervals(start.filter(isTarget), end.filter(isTarget));
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

/** The time that a row of samples represents: its weight if that is time, else a period per sample. */
export function sampleLength(view, row) {
  return view.unit === "ns" ? view.samples.weight[row] : view.samples.number[row] * view.period_ns;
}

function longestSample(view, { first, order }, lane) {
  if (!view.exact) return view.bin_ns;
  let longest = 0;
  for (let index = first[lane]; index < first[lane + 1]; index += 1) {
    longest = Math.max(longest, sampleLength(view, order[index]));
  }
  return longest;
}

function fromSamples(view, { first, order }, lane, longest, from, to, pixels, mask) {
  const { time, engine } = view.samples;
  const engines = view.lanes[lane].engines;
  const offsets = new Int32Array(view.engines.length).fill(-1);
  engines.forEach((code, index) => {
    offsets[code] = index * pixels;
  });
  const planes = new Float32Array(engines.length * pixels);
  const step = (to - from) / pixels;
  // Samples are sorted by start; one that begins up to `longest` before the range may still reach into it.
  const begin = lowerBoundOf(time, order, first[lane], first[lane + 1], from - longest);
  for (let index = begin; index < first[lane + 1]; index += 1) {
    const row = order[index];
    if (time[row] >= to) break;
    if ((mask && !mask[row]) || offsets[engine[row]] < 0) continue;
    const length = sampleLength(view, row);
    // A binned row is spread over its bin, at the density that keeps its length.
    const drawn = view.exact ? length : view.samples.end[row] - time[row];
    coverPixels(planes, offsets[engine[row]], pixels, from, step, time[row], time[row] + drawn, length / drawn);
  }
  capPixels(planes, pixels);
  return planes;
}

/** The row of the nearest sample, see sampleAt; -1 for none. */
function nearestRow(view, { first, order }, lane, time, within, longest, mask) {
  const times = view.samples.time;
  const distanceOf = (row) => {
    const end = view.exact ? times[row] + sampleLength(view, row) : view.samples.end[row];
    if (time < times[row]) return times[row] - time;
    return time < end ? 0 : time - end;
  };
  let best = -1;
  let least = within;
  const begin = lowerBoundOf(times, order, first[lane], first[lane + 1], time - within - longest);
  for (let index = begin; index < first[lane + 1]; index += 1) {
    const row = order[index];
    if (times[row] > time + within) break;
    const distance = distanceOf(row);
    if ((mask && !mask[row]) || distance > least) continue;
    best = row; // of several that cover the time, the last that began
    least = distance;
  }
  return best;
}

/** The first index from `begin` to `end` whose sample starts at `value` or later. */
function lowerBoundOf(time, order, begin, end, value) {
  let low = begin;
  let high = end;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (time[order[middle]] < value) low = middle + 1;
    else high = middle;
  }
  return low;
}
