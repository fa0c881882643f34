// Sums over the selection: a range of time, some lanes, a filter. Samples and measured time are never mixed.
import { rowsBetween } from "./filter.js";
import { unionLength } from "./intervals.js";
import { lowerBound } from "./scale.js";

/** The rows of `view.samples` in the selection, in order of time. */
export function selectedRows(view, { range, lanes }, mask) {
  const [first, last] = range ? rowsBetween(view, range.from, range.to) : [0, view.samples.time.length];
  const isSelectedLane = view.lanes.map((_, lane) => lanes.length === 0 || lanes.includes(lane));
  const rows = new Uint32Array(last - first);
  let count = 0;
  for (let row = first; row < last; row += 1) {
    if (!isSelectedLane[view.samples.lane[row]] || (mask && !mask[row])) continue;
    rows[count] = row;
    count += 1;
  }
  return rows.subarray(0, count);
}

/** { samples, weight, engines: [{ samples, weight }] } over the rows; engines by number. */
export function sumSamples(view, rows) {
  const engines = view.engines.map(() => ({ samples: 0, weight: 0 }));
  const { number, weight, engine } = view.samples;
  for (const row of rows) {
    const sum = engines[engine[row]];
    sum.samples += number[row];
    sum.weight += weight[row];
  }
  return {
    samples: engines.reduce((sum, { samples }) => sum + samples, 0),
    weight: engines.reduce((sum, entry) => sum + entry.weight, 0),
    engines,
  };
}

export function countSamples(view) {
  let samples = 0;
  for (const number of view.samples.number) samples += number;
  return samples;
}

/** True if sums over a range of binned samples are exact, because the range cuts no bin. */
export function haveEdges(view, { from, to }) {
  const { edges } = view.samples;
  const isEdge = (time) => time <= edges[0] || time >= edges.at(-1) || edges[lowerBound(edges, time)] === time;
  return edges?.length > 0 && isEdge(from) && isEdge(to);
}

/** The target's measured time in the range, per lane; rough (to the nearest bin) for a lane without its intervals. */
export function measuredTime(source, range) {
  const { view } = source;
  const { from, to } = range ?? { from: 0, to: view.duration_ns };
  return view.spans.map((span, index) => {
    const intervals = source.targetSpans[index];
    if (intervals) return { span, ...unionLength(intervals, from, to), isRough: false };
    const [level] = source.spanOccupancy(index, from, to, 1);
    return { span, length: (level / 255) * (to - from), count: null, isRough: true };
  });
}

/** 1 for each window of which at least half lies in the range. */
export function windowsInside(view, range) {
  const { start, end } = view.windows;
  return Uint8Array.from(start, (from, window) => {
    if (!range) return 0;
    const shared = Math.min(range.to, end[window]) - Math.max(range.from, from);
    return shared > 0 && shared >= (end[window] - from) / 2 ? 1 : 0;
  });
}
