// Intervals sorted by start, which may overlap, and searches in them. A position is an index into that order.
import { lowerBound } from "../shared/scale.js";

/**
 * Sorts intervals by start; `row` is the index of each in the arrays given. `reach` is the latest end up to each position:
 * ends are not sorted, but `reach` is, so that a binary search can skip intervals that have ended.
 */
export function indexIntervals(start, end) {
  const row = Uint32Array.from(start, (_, index) => index);
  if (!isSorted(start)) row.sort((left, right) => start[left] - start[right] || left - right);
  const starts = Float64Array.from(row, (index) => start[index]);
  const ends = Float64Array.from(row, (index) => end[index]);
  const reach = new Float64Array(ends.length);
  let latest = -Infinity;
  for (let index = 0; index < ends.length; index += 1) {
    latest = Math.max(latest, ends[index]);
    reach[index] = latest;
  }
  return { start: starts, end: ends, row, reach };
}

function isSorted(values) {
  for (let index = 1; index < values.length; index += 1) if (values[index] < values[index - 1]) return false;
  return true;
}

/** The first and the end of the positions that may touch [from, to); some in between may end before `from`. */
export function touching(index, from, to) {
  return [lowerBound(index.reach, from), lowerBound(index.start, to)];
}

/** The position of the shortest interval within `slack` of `time`, -1 for none; only line `line` of `lines`, if given. */
export function intervalAt(index, time, slack = 0, lines = null, line = 0) {
  const [first, last] = touching(index, time - slack, time + slack + 1);
  let best = -1;
  for (let position = first; position < last; position += 1) {
    if (index.end[position] + slack < time || (lines && lines[position] !== line)) continue;
    const shorter = best < 0 || index.end[position] - index.start[position] < index.end[best] - index.start[best];
    if (shorter) best = position;
  }
  return best;
}

/** The most rows of one lane; `packRows` assigns this number to intervals that need a further row. */
export const MOST_ROWS = 250;

/**
 * Assigns each interval to the first row in which it overlaps no other. Returns { rows, count, left }: `left` intervals
 * find no room in `most` rows, and `rows` has `most` for them.
 */
export function packRows(index, most = MOST_ROWS) {
  const rows = new Uint8Array(index.start.length);
  const free = []; // when each row becomes free
  let left = 0;
  for (let position = 0; position < rows.length; position += 1) {
    let row = 0;
    while (row < free.length && free[row] > index.start[position]) row += 1;
    rows[position] = row;
    if (row < most) free[row] = index.end[position];
    else left += 1;
  }
  return { rows, count: Math.max(1, free.length), left };
}

/** The length of the intervals' union inside [from, to), and the number of intervals in it. */
export function unionLength(index, from, to) {
  const [first, last] = touching(index, from, to);
  let length = 0;
  let count = 0;
  let until = from;
  for (let position = first; position < last; position += 1) {
    const end = Math.min(to, index.end[position]);
    if (index.end[position] <= from) continue;
    count += 1;
    length += Math.max(0, end - Math.max(until, index.start[position]));
    until = Math.max(until, end);
  }
  return { length, count };
}
