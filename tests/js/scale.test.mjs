import assert from "node:assert/strict";
import { test } from "node:test";
import { clampRange, lowerBound, niceTicks, panRange, zoomRange } from "../../tracekit/report/assets/shared/scale.js";

test("zooming keeps the time under the pointer where it is", () => {
  const zoomed = zoomRange({ from: 100, to: 200 }, 0.5, 125, 1000, 1);
  assert.deepEqual(zoomed, { from: 112.5, to: 162.5 });
  assert.equal((125 - zoomed.from) / 50, 0.25);
});

test("zooming stops at the whole run and at the smallest span", () => {
  assert.deepEqual(zoomRange({ from: 0, to: 900 }, 4, 800, 1000, 1), { from: 0, to: 1000 });
  const { from, to } = zoomRange({ from: 100, to: 110 }, 0.01, 105, 1000, 5);
  assert.equal(to - from, 5);
});

test("panning stops at the ends", () => {
  assert.deepEqual(panRange({ from: 10, to: 20 }, -50, 100), { from: 0, to: 10 });
  assert.deepEqual(panRange({ from: 10, to: 20 }, 500, 100), { from: 90, to: 100 });
});

test("a range is brought inside the run around its middle", () => {
  assert.deepEqual(clampRange({ from: 95, to: 115 }, 100, 1), { from: 80, to: 100 });
  assert.deepEqual(clampRange({ from: 50, to: 50 }, 100, 10), { from: 45, to: 55 });
});

test("ticks are round and inside", () => {
  assert.deepEqual(niceTicks(3, 98, 5), { step: 20, times: [20, 40, 60, 80] });
  assert.deepEqual(niceTicks(0, 1e6, 4).step, 5e5);
});

test("the lower bound is the first value that is not less", () => {
  assert.deepEqual([0, 1, 2, 3, 9].map((value) => lowerBound([1, 2, 2, 5], value)), [0, 0, 1, 3, 4]);
});
