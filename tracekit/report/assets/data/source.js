// The source of a page's pictures and sums: the view's intervals, its samples, and what a filter or a selection makes of them.
import { callLanes } from "./call_lanes.js";
import { matcherOf, parseFilter, sampleFilter } from "./filter.js";
import { indexIntervals, packRows } from "./intervals.js";
import { laneOccupancy } from "./lane_occupancy.js";
import { coverPixels, resamplePlane } from "./occupancy.js";
import { listSamples } from "./sample_rows.js";
import { laneSamples } from "./samples.js";
import { upperBound } from "../shared/scale.js";
import { haveEdges, selectStacks } from "./selection.js";
import { rowsOfLane } from "./stack_rows.js";
import { describeSample } from "./described_samples.js";
import { countInCalls, findGap } from "./moments.js";

const SMALLEST_SPAN_NS = 1000;

/**
 * The source of a view (readView). The report's view has its samples. The dashboard's page receives them later: until then the
 * pictures are those of the view's planes, and nothing but the whole run can be selected.
 */
export function createSource(view) {
  const listeners = [];
  const occupancyOf = laneOccupancy(view);
  let samples = laneSamples(view);
  let unions = [];
  return {
    ...intervalsOf(view),
    /** False if samples are summed up in bins. */
    isExact: view.exact,
    hasSamples: () => samples !== null,
    /** Takes the samples of a block that the server has beside the view; throws if they are of another analysis. */
    receive(block) {
      if (block.digest !== view.samples.digest) throw new Error("this recording was analyzed again. Reload the page");
      samples = laneSamples(view, block.samples);
      unions = block.spans.map((span) => span.unions ?? null);
      for (const listener of listeners) listener();
    },
    /** Calls `listener()` when the samples have arrived. */
    listen: (listener) => listeners.push(listener),
    /** A filter for `select`, `occupancy` and `sampleAt`; null without terms, and as long as there are no samples. */
    mask: (text) => (samples ? sampleFilter(view, parseFilter(text)) : null),
    /** The stacks of the selection, see selectStacks; those of the whole run as long as there are no samples. */
    select: ({ range, lanes }, filter) => selectStacks(view, samples, samples ? { range, lanes } : { range: null, lanes: [] }, filter),
    /** True if sums over a range are exact. */
    isSharp: (range) => view.exact || !samples || haveEdges(samples, range),
    /** The next `count` samples of a selection in order of time, see listSamples. */
    listSamples: (selection, filter, after, count) => (samples ? listSamples(view, samples, selection, filter, after, count) : null),
    /** The samples of a lane in order of time, see rowsOfLane; undefined as long as there are none. */
    stacksIn: (lane, from, to, columns) => samples && rowsOfLane(view, samples, lane, from, to, columns),
    /** The pause of a lane at a time, { from, to }, between samples or the run's edges; null where a sample is, or bins hide pauses. */
    gapAt: (lane, time) => (samples?.isExact ? findGap(samples, lane, time, view.duration_ns) : null),
    /** The samples during each call whose stacks are marked; null as long as there are no samples. */
    callsWith: (isMarked) => samples && countInCalls(view, samples, isMarked),
    /** A plane of `pixels` values for each engine of the lane. */
    occupancy: (lane, from, to, pixels, filter = null) => occupancyOf(samples, lane, from, to, pixels, filter),
    /**
     * The sample of a filter nearest to `time` in a lane, at most `within` away unless it covers the time, or null:
     * { time_ns, lane, engine, phase, weight, number, leaf, binary, rule, stack }; `stack` as in stack_detail.js.
     */
    sampleAt({ lane, time, within }, filter = null) {
      const row = samples ? nearestRow(view, samples, { lane, time, within }, filter) : -1;
      return row < 0 ? null : describeSample(view, samples, row);
    },
    /** `which` is "own" (of the target) or "others" (of other processes); null without such intervals. */
    spanOccupancy(span, from, to, pixels, which = "own") {
      const plane = which === "own" ? view.spans[span].occupancy : view.spans[span].others;
      if (!plane) return null;
      const out = new Float32Array(pixels);
      const binNs = view.duration_ns / view.bins;
      if (unions[span] && (to - from) / pixels < binNs) coverUnion(out, unions[span], which, from, to);
      else resamplePlane(plane, binNs, from, to, out);
      return out;
    },
  };
}

function intervalsOf(view) {
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

/** Intervals of a lane with too many to list them: they ascend and do not overlap. */
function coverUnion(out, union, which, from, to) {
  const [start, end] = [union[`${which}_start`], union[`${which}_end`]];
  const step = (to - from) / out.length;
  for (let index = upperBound(end, from); index < start.length && start[index] < to; index += 1) {
    coverPixels(out, 0, out.length, from, step, start[index], end[index], 1);
  }
}

/** The row of the nearest sample, see sampleAt; -1 for none. */
function nearestRow(view, samples, { lane, time, within }, filter) {
  const { time: times, stack } = samples;
  const isMatch = matcherOf(filter, lane);
  if (!isMatch) return -1;
  const distanceOf = (row) => {
    if (time < times[row]) return times[row] - time;
    const end = samples.endOf(row);
    return time < end ? 0 : time - end;
  };
  let best = -1;
  let least = within;
  const end = samples.first[lane + 1];
  for (let row = samples.reachingFrom(lane, time - within); row < end && times[row] <= time + within; row += 1) {
    const distance = distanceOf(row);
    if (distance > least || !isMatch(stack[row], samples.momentOf(row))) continue;
    best = row; // of several that cover the time, the last that began
    least = distance;
  }
  return best;
}
