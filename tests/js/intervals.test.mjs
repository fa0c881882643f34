import assert from "node:assert/strict";
import { test } from "node:test";
import { indexIntervals, intervalAt, MOST_ROWS, packRows, touching, unionLength } from "../../tracekit/report/assets/data/intervals.js";

const LONG_AND_SHORT = indexIntervals([0, 10, 20, 50], [40, 15, 30, 60]);

test("a long interval is found behind short ones that end before", () => {
  assert.deepEqual(touching(LONG_AND_SHORT, 35, 36), [0, 3]);
  assert.equal(intervalAt(LONG_AND_SHORT, 35), 0);
});

test("of nested intervals the shortest is meant", () => {
  assert.equal(intervalAt(LONG_AND_SHORT, 12), 1);
  assert.equal(intervalAt(LONG_AND_SHORT, 45), -1);
  assert.equal(intervalAt(LONG_AND_SHORT, 45, 6), 3);
});

test("intervals out of order are sorted and keep their row", () => {
  const index = indexIntervals([5, 1], [6, 2]);
  assert.deepEqual([...index.start, ...index.row], [1, 5, 1, 0]);
});

test("overlapping intervals get rows of their own; those beyond the limit are counted, and in none of the rows", () => {
  assert.deepEqual(packRows(LONG_AND_SHORT, 4), { rows: Uint8Array.of(0, 1, 1, 0), count: 2, left: 0 });
  assert.deepEqual(packRows(indexIntervals([0, 1, 2, 9], [9, 9, 9, 10]), 2), { rows: Uint8Array.of(0, 1, 2, 0), count: 2, left: 1 });
  assert.deepEqual(packRows(indexIntervals([], [])), { rows: new Uint8Array(0), count: 1, left: 0 });
  const many = packRows(indexIntervals(new Float64Array(300), new Float64Array(300).fill(9)));
  assert.deepEqual([many.count, many.left], [MOST_ROWS, 50]);
});

test("time that intervals share counts once", () => {
  assert.deepEqual(unionLength(LONG_AND_SHORT, 0, 100), { length: 50, count: 4 });
  assert.deepEqual(unionLength(LONG_AND_SHORT, 12, 55), { length: 33, count: 4 });
  assert.deepEqual(unionLength(LONG_AND_SHORT, 40, 50), { length: 0, count: 0 });
});
