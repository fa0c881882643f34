// Sums over the selection: a range of time, some lanes, a filter. Samples and measured time are never mixed.
import { NOTHING } from "./filter.js";
import { unionLength } from "./intervals.js";
import { lowerBound, upperBound } from "../shared/scale.js";

/**
 * The selection's stacks: `view` with the sums of each stack as `samples`, and `rows`, the stacks that have any. `samples` are
 * those of samples.js; a selection of the whole run needs none.
 */
export function selectStacks(view, samples, { range, lanes }, filter) {
  const isWhole = !range && lanes.length === 0 && !filter;
  const { stacks } = view;
  const sums = isWhole ? stacks : addUpSamples(view, samples, { range, lanes }, filter);
  const rows = Uint32Array.from(sums.number.keys()).filter((stack) => sums.number[stack] > 0);
  return { view: { ...view, samples: { ...stacks, weight: sums.weight, number: sums.number } }, rows, range, lanes, total: countSamples(view), isWhole };
}

function addUpSamples(view, samples, { range, lanes }, filter) {
  const count = view.stacks.node.length;
  const sums = { weight: new Float64Array(count), number: new Float64Array(count) };
  for (let lane = 0; lane < view.lanes.length; lane += 1) {
    if (lanes.length > 0 && !lanes.includes(lane)) continue;
    const table = filter ? filter.tableOf(lane) : null;
    if (table === NOTHING) continue;
    for (const [begin, end] of rowsOf(samples, lane, range, filter)) addRows(sums, samples, table, begin, end);
  }
  return sums;
}

/** The runs of a lane's rows in a range and in the times of a filter; all of them without. */
export function rowsOf(samples, lane, range, filter) {
  const { from, to } = range ?? { from: -Infinity, to: Infinity };
  if (!filter?.times) return [samples.between(lane, from, to)];
  const { start, end } = filter.times;
  const runs = [];
  for (let index = upperBound(end, from); index < start.length && start[index] < to; index += 1) {
    const [begin, last] = samples.between(lane, Math.max(from, start[index]), Math.min(to, end[index]));
    if (begin < last) runs.push([begin, last]);
  }
  return runs;
}

/** The one loop over the samples of a selection: 10 million take some hundredths of a second. */
function addRows(sums, { stack, weight, weightOf, number, numberOf }, table, begin, end) {
  if (begin >= end) return;
  const [sameWeight, sameNumber] = [weightOf(begin), numberOf(begin)];
  for (let row = begin; row < end; row += 1) {
    const index = stack[row];
    if (table && table[index] === 0) continue;
    sums.weight[index] += weight ? weight[row] : sameWeight;
    sums.number[index] += number ? number[row] : sameNumber;
  }
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

/** The number of samples in the run. */
export function countSamples(view) {
  return view.stacks.number.reduce((sum, number) => sum + number, 0);
}

/** True if sums over a range of binned samples are exact, because the range cuts no bin. */
export function haveEdges({ edges }, { from, to }) {
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
