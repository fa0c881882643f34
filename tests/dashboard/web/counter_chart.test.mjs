import assert from "node:assert/strict";
import { test } from "node:test";
import "./report_assets.mjs";

const { columnRanges, spreadHeights } = await import("../../../dashboard/tracekit_dashboard/assets/recording/counter_chart.js");

test("a column has the smallest and the largest value of its calls; zero and nothing are gaps", () => {
  assert.deepEqual(columnRanges([5, null, 0, 7], 10), [[5, 5], null, null, [7, 7]]);
  assert.deepEqual(columnRanges([5, 3, null, 7, 1, 9], 2), [[3, 5], [1, 9]]);
  assert.deepEqual(columnRanges([], 10), []);
});

test("names keep a distance, in the order of their lines", () => {
  assert.deepEqual(spreadHeights([50, 10, 12, 14], 13), [50, 10, 23, 36]);
  assert.deepEqual(spreadHeights([20, 20], 13), [20, 33]);
});
