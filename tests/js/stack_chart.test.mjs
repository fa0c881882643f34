// The time-ordered chart: which boxes neighbouring samples share, and what is drawn of many.
import assert from "node:assert/strict";
import { test } from "node:test";
import { createSource } from "../../tracekit/report/assets/data/source.js";
import { boxOfTime, layoutStacks, MOST_CHART_DEPTH, sampleAtTime } from "../../tracekit/report/assets/stacks/stack_chart_layout.js";
import { smallView } from "./small_view.mjs";

const TREE = { parent: Int32Array.of(-1, 0, 1, 0) }; // main ← predict ← kernel; main ← draw

function layout(samples, options = {}) {
  const [time, node, lengths, engine] = [0, 1, 2, 3].map((place) => samples.map((sample) => sample[place] ?? 0));
  const columns = { time: Float64Array.from(time), node: Int32Array.from(node), engine: Uint8Array.from(engine) };
  return layoutStacks(options.tree ?? TREE, columns, samples.map((_, row) => row), lengths, { gap: 6, ...options });
}

const short = ({ depth, node, from, to, self }) => [depth, node, from, to, self];

test("neighbours share the frames above the place where they part", () => {
  const boxes = layout([[0, 2, 10], [10, 1, 10], [20, 3, 10]]);
  assert.deepEqual(boxes.map(short), [
    [0, 0, 0, 30, 0],
    [1, 1, 0, 20, 10],
    [2, 2, 0, 10, 10],
    [1, 3, 20, 30, 10],
  ]);
});

test("a gap, and a sample without a stack, end all boxes", () => {
  assert.deepEqual(layout([[0, 0, 10], [17, 0, 10]]).map(short), [[0, 0, 0, 10, 10], [0, 0, 17, 27, 10]]);
  assert.deepEqual(layout([[0, 0, 10], [16, 0, 10]]).map(short), [[0, 0, 0, 26, 20]]);
  assert.deepEqual(layout([[0, 0, 10], [10, -1, 10], [20, 0, 10]]).map(short), [[0, 0, 0, 10, 10], [0, 0, 20, 30, 10]]);
});

test("a sample that overlaps the next one ends where that begins", () => {
  assert.deepEqual(layout([[0, 0, 90], [10, 3, 10]]).map(short), [[0, 0, 0, 20, 10], [1, 3, 10, 20, 10]]);
});

test("a box has the engine of most of its time", () => {
  const [root] = layout([[0, 2, 10, 1], [10, 1, 10, 2], [20, 3, 10, 2]]);
  assert.equal(root.engine, 2);
});

test("a stack of 10,000 frames has a box for the rest", () => {
  const count = 10_000;
  const parent = Int32Array.from({ length: count }, (_, node) => node - 1);
  const boxes = layout([[0, count - 1, 10]], { tree: { parent } });
  assert.equal(boxes.length, MOST_CHART_DEPTH);
  assert.equal(boxes.at(-1).rest, count - MOST_CHART_DEPTH);
});

test("with a column's length, each sample fills its column", () => {
  assert.deepEqual(layout([[7, 0, 1], [13, 0, 1], [38, 0, 1]], { columnNs: 10 }).map(short), [
    [0, 0, 0, 20, 20],
    [0, 0, 30, 40, 10],
  ]);
});

test("transforms hide frames, and drop stacks", () => {
  const tree = { parent: Int32Array.of(-1, 0), newNode: Int32Array.of(0, 0, 1, -2) }; // predict is hidden, draw dropped
  assert.deepEqual(layout([[0, 2, 10], [10, 3, 10], [20, 1, 10], [30, -1, 10]], { tree }).map(short), [
    [0, 0, 0, 10, 0],
    [1, 1, 0, 10, 10],
    [0, 0, 20, 30, 10],
  ]);
});

test("boxes and samples are found by time", () => {
  const boxes = layout([[0, 2, 10], [10, 1, 10]]);
  assert.equal(boxOfTime(boxes, 15, 1).node, 1);
  assert.equal(boxOfTime(boxes, 15, 2), null);
  const samples = { time: Float64Array.of(5, 10, 20) };
  assert.deepEqual([4, 5, 19, 99].map((time) => sampleAtTime(samples, [0, 1, 2], time)), [-1, 0, 1, 2]);
});

test("a source has the samples of a lane in order of time, few enough for the columns", () => {
  const { stacksIn } = createSource(smallView());
  const timesOf = ({ view, rows }) => rows.map((row) => view.samples.time[row] / 1e6);
  assert.deepEqual(timesOf(stacksIn(0, 0, 10e6, 100)), [0, 1, 4, 5]);
  assert.deepEqual(timesOf(stacksIn(0, 1.5e6, 5e6, 100)), [1, 4]); // the sample at 1 ms reaches into the range
  const thinned = stacksIn(0, 0, 10e6, 1); // 2 of CPU, 1 of OTHER, 1 of ANE
  assert.deepEqual([timesOf(thinned), thinned.inRange], [[1], 4]);
  assert.equal(createSource(smallView({ exact: false })).stacksIn(0, 0, 10e6, 100), null);
});
