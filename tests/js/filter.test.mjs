import assert from "node:assert/strict";
import { test } from "node:test";
import { matcherOf, parseFilter, sampleFilter } from "../../tracekit/report/assets/data/filter.js";
import { laneSamples } from "../../tracekit/report/assets/data/samples.js";
import { binned, smallView, STRINGS } from "./small_view.mjs";

/** The samples that a filter matches, numbered in order of time. */
function matchingRows(text, view = smallView()) {
  const filter = sampleFilter(view, parseFilter(text));
  const { time, stack, laneOf } = laneSamples(view);
  const isMatched = (row) => matcherOf(filter, laneOf(row))?.(stack[row], time[row]) === true;
  return filter ? [...stack.keys()].filter(isMatched).map((row) => stack[row]).sort() : "all";
}

for (const [text, rows] of [
  ["call:1 -window:1", [0, 1, 2]],
  ["-call:1", [3, 4, 5]],
  ["-call:1 -window:1", [5]],
  ["worker,draw", [2, 3, 5]],
  ["-worker", [0, 1, 3, 4]],
]) {
  test(`"${text}" keeps samples ${rows}`, () => assert.deepEqual(matchingRows(text), rows));
}

test("the number of a call is not looked for in names", () => {
  const view = smallView({ strings: STRINGS.with(8, "MobileNetV2") });
  assert.deepEqual(matchingRows("call:2", view), [3, 4]);
  assert.deepEqual(matchingRows("window:1-2", view), [3, 4]);
  assert.deepEqual(matchingRows("call:v2", view), [0, 1, 2, 3, 4]);
});

test("a binned row belongs to a range that holds the middle of its bin", () => {
  const view = binned(smallView({ exact: false, bin_ns: 1e6 }), ...Array.from({ length: 11 }, (_, index) => index * 1e6));
  const { between } = laneSamples(view);
  assert.deepEqual([between(0, 0.4e6, 2.6e6), between(1, 0.4e6, 2.6e6)], [[0, 2], [4, 5]]);
  assert.deepEqual([between(0, 0.6e6, 2.4e6), between(1, 0.6e6, 2.4e6)], [[1, 2], [4, 4]]);
});
