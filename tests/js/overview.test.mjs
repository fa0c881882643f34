// The strip of the whole run has something to show wherever there is something.
import assert from "node:assert/strict";
import { test } from "node:test";
import { longIntervals, overviewCover, overviewPlanes } from "../../tracekit/report/assets/timeline/overview.js";
import { createSource } from "../../tracekit/report/assets/data/source.js";
import { smallView } from "./small_view.mjs";

const planes = (view) => {
  const shown = overviewPlanes(createSource(view), 2);
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
  const signposts = [{ start: Float64Array.of(0, 2e6, 5e6), end: Float64Array.of(2e6, 4e6, 7e6), name: [0, 0, 0] }];
  const view = smallView({ lanes: [], signposts });
  assert.deepEqual([...overviewCover(createSource(view), 2)], [255, 127.5]);
  assert.deepEqual(longIntervals(createSource(view)), []);
  assert.deepEqual([...overviewCover(createSource(smallView({ signposts })), 2)], [0, 0]);
});

test("a long signpost is a line above the levels, not a block that hides the others", () => {
  const signposts = [{ start: Float64Array.of(0, 5e6), end: Float64Array.of(9e6, 6e6), name: [0, 0] }];
  const source = createSource(smallView({ lanes: [], signposts }));
  const cover = overviewCover(source, 2);
  assert.equal(cover[0], 0);
  assert.ok(cover[1] > 0 && cover[1] < 255);
  assert.deepEqual(longIntervals(source), [{ from: 0, to: 9e6 }]);
});

test("a few graphics samples do not hide all other work", () => {
  const view = smallView({ engines: ["ANE", "GPU", "GRAPHICS", "OTHER"] });
  view.lanes[0].occupancy.fill(10, 0, 1);
  view.lanes[1].occupancy.fill(255);
  assert.deepEqual(planes(view).engines, [2, 3]);
});
