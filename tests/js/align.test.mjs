import assert from "node:assert/strict";
import { test } from "node:test";
import { readAligned, shifted, swapAligned, warmWindow, wholeOfBoth, writeAligned } from "../../tracekit/report/assets/comparison/align.js";

const COUNTS = { base: 10, new: 10 };

test("both runs are whole from the start of the one to the end of the other", () => {
  const sides = [{ anchor: 30, duration: 100 }, { anchor: 10, duration: 500 }];
  assert.deepEqual(wholeOfBoth(sides), { from: -30, to: 490 });
});

test("a range moves with its window, and none stays none", () => {
  assert.deepEqual(shifted({ from: 1, to: 3, isDone: false }, 10), { from: 11, to: 13, isDone: false });
  assert.equal(shifted(null, 10), null);
});

test("runs are aligned at a window that is not cold, if there is one", () => {
  const windows = (...first) => ({ count: first.length, first: Uint8Array.from(first) });
  assert.equal(warmWindow(windows(1, 1, 0, 0), 2000), 2);
  assert.equal(warmWindow(windows(1, 1), 2000), 0);
  assert.equal(warmWindow(windows(1, 1, 0), 2), 0);
  assert.equal(warmWindow(windows(), 2000), -1);
});

test("a link reproduces the range, the selection and the windows", () => {
  const state = {
    view: { from: -20, to: 400, isDone: true }, range: { from: 1, to: 2, isDone: true }, windows: { base: 3, new: null },
  };
  assert.deepEqual(readAligned(`#${writeAligned(state)}`, COUNTS), state);
  assert.equal(writeAligned({ view: null, range: null, windows: { base: null, new: null } }), "");
});

test("nonsense in a link is ignored", () => {
  const nothing = { view: null, range: null, windows: { base: null, new: null } };
  for (const text of ["", "#t=5..5", "#t=9..1", "#t=a..b", "#t=1-2", "#base=10", "#base=-1", "#new=1e3", "#s=0..1e99", "#__proto__=1"]) {
    assert.deepEqual(readAligned(text, COUNTS), nothing, text);
  }
});

test("with the sides swapped a link names the other's window and the same time", () => {
  assert.deepEqual(readAligned(swapAligned("#base=3&t=-5..9"), COUNTS), {
    view: { from: -5, to: 9, isDone: true }, range: null, windows: { base: null, new: 3 },
  });
  assert.equal(swapAligned(""), "");
});
