// The samples of a selection in order of time, some at a time.
import { NOTHING } from "./filter.js";
import { rowsOf } from "./selection.js";
import { describeSample } from "./described_samples.js";

/**
 * The first `count` samples after the sample `after` (null: from the start): { rows, next }, `rows` as describeSample and `next`
 * the `after` of the following ones, null at the end. Samples of one time are in order of their lanes.
 */
export function listSamples(view, samples, { range, lanes }, filter, after, count) {
  const candidates = [];
  for (let lane = 0; lane < view.lanes.length; lane += 1) {
    if (lanes.length > 0 && !lanes.includes(lane)) continue;
    // Any of the first `count` samples is among the first `count` of its lane.
    candidates.push(...firstRows(samples, lane, { range, filter, after, count: count + 1 }));
  }
  candidates.sort((left, right) => samples.time[left] - samples.time[right] || left - right);
  const rows = candidates.slice(0, count);
  return { rows: rows.map((row) => describeSample(view, samples, row)), next: candidates.length > count ? rows.at(-1) : null };
}

function firstRows(samples, lane, { range, filter, after, count }) {
  const table = filter ? filter.tableOf(lane) : null;
  if (table === NOTHING) return [];
  const rows = [];
  for (const [begin, end] of rowsOf(samples, lane, range, filter)) {
    for (let row = Math.max(begin, rowAfter(samples, lane, after)); row < end; row += 1) {
      if (table && table[samples.stack[row]] === 0) continue;
      rows.push(row);
      if (rows.length === count) return rows;
    }
  }
  return rows;
}

/** The first row of a lane that follows a row of any lane, by time, then by row. */
function rowAfter(samples, lane, after) {
  if (after === null) return 0;
  let row = samples.firstAt(lane, samples.time[after]);
  while (row < samples.first[lane + 1] && samples.time[row] === samples.time[after] && row <= after) row += 1;
  return row;
}
