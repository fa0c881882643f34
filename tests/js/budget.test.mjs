import assert from "node:assert/strict";
import { test } from "node:test";

import { compareBudgets } from "../../tracekit/report/assets/data/budget.js";

/** Two calls of three parts each, one after the other. */
function viewOf(first, second) {
  const length = (parts) => parts.reduce((total, part) => total + part, 0);
  const starts = [0, length(first)];
  return {
    windows: { count: 2, start: starts, end: [starts[1], starts[1] + length(second)] },
    budget: { parts: [{ key: "ANE" }, { key: "idle" }, { key: "host" }], counts: [3, 3], part: [0, 1, 2, 0, 1, 2], length: [...first, ...second] },
  };
}

test("parts that differ are in order of the difference", () => {
  const view = viewOf([5_000, 3_000, 2_000], [5_000, 1_000, 2_500]);
  assert.deepEqual(compareBudgets(view, 1, 0), [{ part: 1, difference: -2_000 }, { part: 2, difference: 500 }]);
});

test("a part that differs by less than a hundredth of the longer call is equal", () => {
  const view = viewOf([5_000, 3_000, 2_000], [5_042, 2_901, 2_057]); // both calls take 10,000 ns
  assert.deepEqual(compareBudgets(view, 1, 0), []);
  const beyond = viewOf([5_000, 3_000, 2_000], [5_100, 2_901, 1_999]);
  assert.deepEqual(compareBudgets(beyond, 1, 0), [{ part: 0, difference: 100 }]);
});

test("calls without a length have no difference", () => {
  assert.deepEqual(compareBudgets(viewOf([0, 0, 0], [0, 0, 0]), 1, 0), []);
});
