// Intervals in order of their start, overlapping or not, and questions about them.
import { lowerBound } from "./scale.js";

/** `row` leads back to the place in the arrays given; `reach` is the latest end so far, which only grows. */
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

/** The first and the end of the places that may touch [from, to); those in between may still end before. */
export function touching(index, from, to) {
  return [lowerBound(index.reach, from), lowerBound(index.start, to)];
}

/** The place of the shortest interval at `time`, or within `slack` of it; -1 if there is none. */
export function intervalAt(index, time, slack = 0, lane = null, wanted = 0) {
  const [first, last] = touching(index, time - slack, time + slack + 1);
  let best = -1;
  for (let place = first; place < last; place += 1) {
    if (index.end[place] + slack < time || (lane && lane[place] !== wanted)) continue;
    const shorter = best < 0 || index.end[place] - index.start[place] < index.end[best] - index.start[best];
    if (shorter) best = place;
  }
  return best;
}

/** A row for each interval so that neighbours in one row do not overlap; what finds no room goes to the last. */
export function packRows(index, most) {
  const rows = new Uint8Array(index.start.length);
  const free = [];
  for (let place = 0; place < rows.length; place += 1) {
    let row = free.findIndex((until) => until <= index.start[place]);
    if (row < 0) row = Math.min(free.length, most - 1);
    free[row] = Math.max(free[row] ?? 0, index.end[place]);
    rows[place] = row;
  }
  return { rows, count: Math.max(1, free.length) };
}

/** How long at least one of the intervals lasted inside [from, to), and how many touch it. */
export function unionLength(index, from, to) {
  const [first, last] = touching(index, from, to);
  let length = 0;
  let count = 0;
  let until = from;
  for (let place = first; place < last; place += 1) {
    const end = Math.min(to, index.end[place]);
    if (index.end[place] <= from) continue;
    count += 1;
    length += Math.max(0, end - Math.max(until, index.start[place]));
    until = Math.max(until, end);
  }
  return { length, count };
}
