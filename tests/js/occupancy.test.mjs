import assert from "node:assert/strict";
import { test } from "node:test";
import { capPixels, coverPixels, resamplePlane } from "../../tracekit/report/assets/data/occupancy.js";
import { paintStack } from "../../tracekit/report/assets/timeline/paint.js";
import { createSource } from "../../tracekit/report/assets/data/source.js";
import { binned, smallView } from "./small_view.mjs";

function resampled(plane, from, to, pixels) {
  const out = new Float64Array(pixels);
  resamplePlane(Uint8Array.from(plane), 10, from, to, out);
  return [...out];
}

/** A filter that these stacks match, in all lanes. */
const stacksOnly = (...stacks) => ({ tableOf: () => Uint8Array.from({ length: 6 }, (_, stack) => (stacks.includes(stack) ? 1 : 0)), times: null });

test("bins are averaged in pixels, in parts where edges do not meet", () => {
  assert.deepEqual(resampled([0, 100, 200, 40], 0, 40, 2), [50, 120]);
  assert.deepEqual(resampled([0, 100, 200, 40], 5, 25, 1), [100]);
  assert.deepEqual(resampled([0, 128], 12.5, 15, 2), [128, 128]);
});

test("what lies beyond the run is idle", () => {
  assert.deepEqual(resampled([100, 100], 10, 30, 2), [100, 0]);
});

test("a sample covers the pixels that its period overlaps", () => {
  const out = new Float32Array(4);
  coverPixels(out, 0, 4, 0, 10, 5, 25, 1);
  assert.deepEqual([...out], [127.5, 255, 127.5, 0]);
  coverPixels(out, 0, 4, 0, 10, 32, 34, 0.5);
  assert.equal(out[3], 25.5);
});

test("planes of one pixel never add up to more than busy", () => {
  const planes = Float32Array.of(255, 10, 255, 10);
  capPixels(planes, 2);
  assert.deepEqual([...planes], [127.5, 10, 127.5, 10]);
});

test("zoomed in, the picture comes from the samples", () => {
  const { engines, planes } = createSource(smallView()).occupancy(0, 0, 2e6, 8);
  assert.deepEqual(engines, [2, 3]);
  assert.deepEqual([...planes], [...new Array(8).fill(255), ...new Array(8).fill(0)]);
});

test("zoomed out, it comes from the bins", () => {
  const view = smallView();
  view.lanes[1].occupancy.fill(51, 0, 5);
  assert.deepEqual([...createSource(view).occupancy(1, 0, 10e6, 2).planes], [51, 0]);
});

test("with a filter only the wanted samples are drawn, at any zoom", () => {
  const { planes } = createSource(smallView()).occupancy(0, 0, 10e6, 10, stacksOnly(0, 2, 3, 4, 5));
  assert.deepEqual([...planes.slice(0, 10)], [255, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
});

test("a binned row is as busy as its weight fills its bin", () => {
  const view = binned(smallView({ exact: false, bin_ns: 2e6 }), 0, 2e6, 4e6, 6e6, 8e6, 10e6);
  const { planes } = createSource(view).occupancy(0, 0, 4e6, 4, stacksOnly(0));
  assert.deepEqual([...planes.slice(0, 4)], [127.5, 127.5, 0, 0]);
});

test("weights that are not times count a period each", () => {
  const view = smallView({ unit: "cycles" });
  view.samples.weight.fill(77);
  assert.equal(createSource(view).occupancy(0, 0, 2e6, 8).planes[0], 255);
});

test("stacked planes are painted from the bottom, each in its colour and hatching", () => {
  const pixels = new Uint32Array(8);
  const hatched = { plain: 3, hatched: 4, isHatched: new Uint8Array(64).fill(1) };
  const plain = { plain: 2, hatched: 9, isHatched: new Uint8Array(64) };
  paintStack(pixels, 2, 4, Float32Array.of(127.5, 0, 63.75, 0.5), [plain, hatched], 1);
  assert.deepEqual([...pixels], [1, 1, 4, 1, 2, 1, 2, 4]);
});
