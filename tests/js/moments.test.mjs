import assert from "node:assert/strict";
import { test } from "node:test";

import { countInCalls, findGap } from "../../tracekit/report/assets/data/moments.js";
import { laneSamples } from "../../tracekit/report/assets/data/samples.js";
import { smallView } from "./small_view.mjs";

test("a pause of a lane is between the end of a sample and the start of the next one", () => {
  const samples = laneSamples(smallView()); // lane 0 at 0, 1, 4 and 5 ms, 1 ms each; lane 1 at 2 and 9 ms
  assert.deepEqual(findGap(samples, 0, 3e6, 10e6), { from: 2e6, to: 4e6 });
  assert.deepEqual(findGap(samples, 0, 8e6, 10e6), { from: 6e6, to: 10e6 });
  assert.deepEqual(findGap(samples, 1, 1e6, 10e6), { from: 0, to: 2e6 });
  assert.equal(findGap(samples, 0, 0.5e6, 10e6), null);
});

test("samples with a marked stack are counted during each call", () => {
  const view = { ...smallView(), windows: { count: 2, start: [0, 4e6], end: [3e6, 10e6] } };
  const isMarked = Uint8Array.of(1, 1, 1, 0, 0, 1); // a stack for each of the six samples
  assert.deepEqual([...countInCalls(view, laneSamples(view), isMarked)], [3, 1]);
});
