import assert from "node:assert/strict";
import { test } from "node:test";
import { haveEdges, measuredTime, selectStacks, sumSamples, windowsInside } from "../../tracekit/report/assets/data/selection.js";
import { laneSamples } from "../../tracekit/report/assets/data/samples.js";
import { createSource } from "../../tracekit/report/assets/data/source.js";
import { framesOf } from "../../tracekit/report/assets/data/described_samples.js";
import { heaviestLeaves } from "../../tracekit/report/assets/stacks/stacks.js";
import { smallView, wholeRun } from "./small_view.mjs";

const WHOLE = { range: null, lanes: [] };

/** The stacks of a selection: each of the view's samples has its own. */
const selected = (view, state, filter = null) => [...selectStacks(view, laneSamples(view), { ...WHOLE, ...state }, filter).rows];

test("without a selection every sample counts", () => {
  assert.deepEqual(selected(smallView(), {}), [0, 1, 2, 3, 4, 5]);
});

test("range, lanes and filter all narrow the selection; the range's end is outside", () => {
  const view = smallView();
  const range = { from: 1e6, to: 5e6 };
  assert.deepEqual(selected(view, { range }), [1, 2, 3]);
  assert.deepEqual(selected(view, { range, lanes: [0] }), [1, 3]);
  const onlyLast = { tableOf: () => Uint8Array.of(0, 0, 0, 0, 0, 1), times: null };
  assert.deepEqual(selected(view, { lanes: [1] }, onlyLast), [5]);
  assert.deepEqual(selected(view, { range }, { tableOf: () => null, times: { start: [0, 4e6], end: [2e6, 9e6] } }), [1, 3]);
});

test("sums keep every sample and every weight, also where all rows have the same", () => {
  const view = smallView();
  view.stacks.number[0] = view.samples.number[0] = 5;
  for (const lanes of [[], [0, 1]]) {
    const selection = selectStacks(view, laneSamples(view), { range: null, lanes }, null);
    const sums = sumSamples(selection.view, selection.rows);
    assert.deepEqual([sums.samples, sums.weight, selection.total], [10, 6e6, 10]);
    assert.deepEqual(sums.engines[2], { samples: 6, weight: 2e6 });
  }
  Object.assign(view.samples, { weight: 7, number: 2 });
  const { view: summed, rows } = selectStacks(view, laneSamples(view), { range: { from: 1e6, to: 5e6 }, lanes: [] }, null);
  assert.deepEqual([sumSamples(summed, rows).weight, sumSamples(summed, rows).samples], [21, 6]);
});

test("a window is inside with half of its length or more", () => {
  const view = smallView();
  assert.deepEqual([...windowsInside(view, { from: 1.5e6, to: 4.9e6 })], [1, 0]);
  assert.deepEqual([...windowsInside(view, null)], [0, 0]);
});

test("sums of bins are exact where the selection cuts none: at their edges and at the run's ends", () => {
  const samples = { edges: Float64Array.of(0, 10, 15, 20) };
  const exact = ([from, to]) => haveEdges(samples, { from, to });
  assert.deepEqual([[10, 15], [0, 20], [-1, 99], [15, 20]].map(exact), [true, true, true, true]);
  assert.deepEqual([[10, 16], [9, 15], [12, 13]].map(exact), [false, false, false]);
});

test("measured time is the target's own, as a union; of bins it is rough", () => {
  const plane = new Uint8Array(10).fill(51);
  const spans = [
    { start: Float64Array.of(0, 1e6, 5e6), end: Float64Array.of(2e6, 3e6, 9e6), own: Uint8Array.of(1, 1, 0), occupancy: plane },
    { occupancy: plane },
  ];
  const [exact, rough] = measuredTime(createSource(smallView({ spans })), { from: 0, to: 10e6 });
  assert.deepEqual([exact.length, exact.count, exact.isRough], [3e6, 2, false]);
  assert.deepEqual([rough.length, rough.count, rough.isRough], [2e6, null, true]);
});

test("the heaviest stacks come first, frames innermost first, samples without a stack too", () => {
  const view = wholeRun(smallView());
  const leaves = heaviestLeaves(view, [0, 1, 3, 5], 3);
  assert.deepEqual(leaves.map(({ node, samples }) => [node, samples]), [[2, 2], [3, 1], [-1, 1]]);
  assert.deepEqual(framesOf(view, 2), [["kernel", "libBNNS.dylib"], ["predict", "CoreML"], ["main", "App"]]);
  assert.deepEqual(framesOf(view, -1), []);
});

test("of stacks that a transform changes, the heaviest are those that it makes; dropped ones are none", () => {
  const view = wholeRun(smallView());
  const newNode = Int32Array.of(0, 0, 0, -2, 4);
  const leaves = heaviestLeaves(view, [0, 1, 2, 3, 4], 8, newNode);
  assert.deepEqual(leaves.map(({ node, weight }) => [node, weight]), [[0, 2e6], [4, 1e6], [0, 1e6]]);
});
