import assert from "node:assert/strict";
import { test } from "node:test";
import "./report_assets.mjs";

const { addPiece, coverage, tileBlocks, tileGrid } = await import("../../../dashboard/assets/tiles.js");

// 2^14 ns in tiles of 4 bins: bins of 4096, 2048, 1024 and 512 ns.
const grid = tileGrid({ bins: 4, levels: 4 }, 16_384);

test("a level is chosen whose bins are no longer than a pixel, the widest that will do", () => {
  assert.deepEqual([5000, 4096, 4095, 2048, 1500, 1024, 600].map(grid.levelFor), [0, 0, 1, 1, 2, 2, 3]);
});

test("where no level is fine enough, it is the finest", () => {
  assert.equal(grid.levelFor(1), 3);
});

test("tiles are those that the range touches, as far as the run goes", () => {
  assert.deepEqual(grid.between(2, 4096, 8192), [1]);
  assert.deepEqual(grid.between(2, 4095.5, 8192.5), [0, 1, 2]);
  assert.deepEqual(grid.between(1, -5000, 99_999), [0, 1]);
  assert.deepEqual(grid.between(1, 20_000, 30_000), []);
});

test("a missing tile is replaced by the next coarser one available, for its part only", () => {
  const tiles = new Map([["2/1", "fine"], ["1/1", "coarse"]]);
  const pieces = coverage(grid, 2, 5000, 13_000, (level, index) => tiles.get(`${level}/${index}`) ?? null);
  assert.deepEqual(pieces, [
    { from: 5000, to: 8192, start: 4096, binNs: 1024, data: "fine" },
    { from: 8192, to: 12_288, start: 8192, binNs: 2048, data: "coarse" },
    { from: 12_288, to: 13_000, start: 8192, binNs: 2048, data: "coarse" },
  ]);
});

test("tiles coarser than the view's planes are not used", () => {
  const [pieces] = coverage(grid, 2, 0, 100, (level) => (level === 0 ? "coarsest" : null), 1);
  assert.equal(pieces.data, null);
});

test("pixels that are cut by the edge of two tiles get a part of each", () => {
  const out = new Float32Array(2);
  const left = { from: 3072, to: 4096, start: 0, binNs: 1024 };
  const right = { from: 4096, to: 5632, start: 4096, binNs: 1024 };
  addPiece(out, 3072, 5632, left, Uint8Array.of(9, 9, 9, 200));
  addPiece(out, 3072, 5632, right, Uint8Array.of(100, 40, 9, 9));
  // The first pixel is 1024 ns of 200 and 256 of 100, the second 768 of 100 and 512 of 40.
  assert.deepEqual([...out], [180, 76]);
});

test("a coarser plane is stretched", () => {
  const out = new Float32Array(4);
  addPiece(out, 0, 4096, { from: 0, to: 4096, start: 0, binNs: 2048 }, Uint8Array.of(10, 30, 0, 0));
  assert.deepEqual([...out], [10, 10, 30, 30]);
});

test("pixels before the run and behind it stay empty", () => {
  const out = new Float32Array(4);
  addPiece(out, -2048, 6144, { from: 0, to: 4096, start: 0, binNs: 1024 }, Uint8Array.of(255, 255, 255, 255));
  assert.deepEqual([...out], [0, 255, 255, 0]);
});

test("planes stand in a tile by lane and engine; spans that are listed one by one have none", () => {
  const view = {
    lanes: [{ engines: [2, 3] }, { engines: [3] }, { engines: [0] }],
    spans: [{ start: [], others: [] }, { others: [] }, {}],
  };
  const { lanes, spans, bytes } = tileBlocks(view, grid, 2);
  assert.deepEqual(lanes, [{ block: 0, offset: 0 }, { block: 0, offset: 8 }, { block: 1, offset: 0 }]);
  assert.deepEqual(spans, [null, { block: "spans", offset: 0 }, { block: "spans", offset: 8 }]);
  assert.deepEqual([...bytes], [[0, 12], [1, 4], ["spans", 12]]);
});
