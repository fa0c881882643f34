import assert from "node:assert/strict";
import { test } from "node:test";
import { countSamples, haveEdges, measuredTime, selectedRows, sumSamples, windowsInside } from "../../tracekit/report/assets/selection.js";
import { memorySource } from "../../tracekit/report/assets/source.js";
import { heaviestLeaves, framesOf } from "../../tracekit/report/assets/stacks.js";
import { smallView } from "./small_view.mjs";

const WHOLE = { range: null, lanes: [] };

test("without a selection every sample counts", () => {
  assert.deepEqual([...selectedRows(smallView(), WHOLE, null)], [0, 1, 2, 3, 4, 5]);
});

test("range, lanes and filter all narrow the selection; the range's end is outside", () => {
  const view = smallView();
  assert.deepEqual([...selectedRows(view, { range: { from: 1e6, to: 5e6 }, lanes: [] }, null)], [1, 2, 3]);
  assert.deepEqual([...selectedRows(view, { range: { from: 1e6, to: 5e6 }, lanes: [0] }, null)], [1, 3]);
  assert.deepEqual([...selectedRows(view, { ...WHOLE, lanes: [1] }, Uint8Array.of(0, 0, 0, 0, 0, 1))], [5]);
});

test("sums keep every sample and every weight", () => {
  const view = smallView();
  view.samples.number[0] = 5;
  const sums = sumSamples(view, selectedRows(view, WHOLE, null));
  assert.equal(sums.samples, 10);
  assert.equal(sums.weight, 6e6);
  assert.deepEqual(sums.engines[2], { samples: 6, weight: 2e6 });
  assert.equal(countSamples(view), 10);
});

test("a window is inside with half of its length or more", () => {
  const view = smallView();
  assert.deepEqual([...windowsInside(view, { from: 1.5e6, to: 4.9e6 })], [1, 0]);
  assert.deepEqual([...windowsInside(view, null)], [0, 0]);
});

test("sums of bins are exact where the selection cuts none: at their edges and at the run's ends", () => {
  const view = { samples: { edges: Float64Array.of(0, 10, 15, 20) } };
  const exact = ([from, to]) => haveEdges(view, { from, to });
  assert.deepEqual([[10, 15], [0, 20], [-1, 99], [15, 20]].map(exact), [true, true, true, true]);
  assert.deepEqual([[10, 16], [9, 15], [12, 13]].map(exact), [false, false, false]);
});

test("measured time is the target's own, as a union; of bins it is rough", () => {
  const plane = new Uint8Array(10).fill(51);
  const spans = [
    { start: Float64Array.of(0, 1e6, 5e6), end: Float64Array.of(2e6, 3e6, 9e6), own: Uint8Array.of(1, 1, 0), occupancy: plane },
    { occupancy: plane },
  ];
  const [exact, rough] = measuredTime(memorySource(smallView({ spans })), { from: 0, to: 10e6 });
  assert.deepEqual([exact.length, exact.count, exact.isRough], [3e6, 2, false]);
  assert.deepEqual([rough.length, rough.count, rough.isRough], [2e6, null, true]);
});

test("the heaviest stacks come first, frames innermost first, samples without a stack too", () => {
  const view = smallView();
  const leaves = heaviestLeaves(view, [0, 1, 3, 5], 3);
  assert.deepEqual(leaves.map(({ node, samples }) => [node, samples]), [[2, 2], [3, 1], [-1, 1]]);
  assert.deepEqual(framesOf(view, 2), [[4, 5], [2, 3], [0, 1]]);
  assert.deepEqual(framesOf(view, -1), []);
});

test("of stacks that a transform changes, the heaviest are those that it makes; dropped ones are none", () => {
  const view = smallView();
  const newNode = Int32Array.of(0, 0, 0, -2, 4);
  const leaves = heaviestLeaves(view, [0, 1, 2, 3, 4], 8, newNode);
  assert.deepEqual(leaves.map(({ node, weight }) => [node, weight]), [[0, 3e6], [4, 1e6]]);
});
