// The strip of the whole run has something to show wherever there is something.
import assert from "node:assert/strict";
import { test } from "node:test";
import { overviewCover, overviewPlanes } from "../../tracekit/report/assets/overview.js";
import { memorySource } from "../../tracekit/report/assets/source.js";
import { smallView } from "./small_view.mjs";

const planes = (view) => {
  const shown = overviewPlanes(memorySource(view), 2);
  return { engines: shown.engines, planes: [...shown.planes] };
};

test("engines are shown, and other work beside them is not", () => {
  const view = smallView();
  view.lanes[0].occupancy.fill(100, 0, 5); // CPU
  view.lanes[1].occupancy.fill(255); // OTHER
  assert.deepEqual(planes(view), { engines: [2], planes: [255, 0] });
});

test("other work is shown where there is nothing else", () => {
  const view = smallView();
  view.lanes = [{ ...view.lanes[1], occupancy: new Uint8Array(10).fill(51, 5) }];
  assert.deepEqual(planes(view), { engines: [3], planes: [0, 255] });
});

test("without threads the strip shows what signposts and measured intervals cover", () => {
  const signposts = [{ start: Float64Array.of(0, 5e6), end: Float64Array.of(5e6, 7.5e6), name: [0, 0] }];
  const view = smallView({ lanes: [], signposts });
  assert.deepEqual([...overviewCover(memorySource(view), 2)], [255, 127.5]);
  assert.deepEqual([...overviewCover(memorySource(smallView({ signposts })), 2)], [0, 0]);
});
