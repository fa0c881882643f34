// The pieces of a call's budget stand at their own times, however far the timeline is zoomed in.
import assert from "node:assert/strict";
import { test } from "node:test";
import { clipPiece } from "../../tracekit/report/assets/timeline/draw_pieces.js";

const WIDTH = 1000;
const clip = (from, to, piece) => clipPiece({ view: { from, to }, width: WIDTH }, piece, ...visible(from, to));

/** The visible part of a call from 0 to 100, which eachVisible of draw_intervals.js cuts at the edges of the picture. */
function visible(from, to) {
  const scale = WIDTH / (to - from);
  return [Math.max(-2, (0 - from) * scale), Math.min(WIDTH + 2, (100 - from) * scale)];
}

test("a call that is wholly visible has its pieces in proportion", () => {
  assert.deepEqual(clip(0, 200, { start: 20, end: 60 }), { left: 100, width: 200 });
});

test("a piece keeps its time where the call reaches beyond the picture", () => {
  assert.deepEqual(clip(40, 60, { start: 45, end: 50 }), { left: 250, width: 250 });
});

test("a piece that covers the picture is cut at its edges, and one outside has no width", () => {
  assert.deepEqual(clip(40, 60, { start: 20, end: 80 }), { left: -2, width: WIDTH + 4 });
  assert.ok(clip(40, 60, { start: 70, end: 80 }).width <= 0);
});
