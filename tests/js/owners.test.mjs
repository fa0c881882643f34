// Whose work an interval is, in a line.
import assert from "node:assert/strict";
import { test } from "node:test";
import { callTitle } from "../../tracekit/report/assets/data/calls.js";
import { callsOfInterval, ownerOf, ownerText } from "../../tracekit/report/assets/data/owners.js";
import { smallView } from "./small_view.mjs";

const [NONE, OF_CALL, OF_PROCESS, OF_OTHERS, CONTESTED] = [0, 1, 2, 3, 4];
const span = {
  owner: Uint8Array.of(OF_CALL, OF_PROCESS, OF_OTHERS, CONTESTED, CONTESTED, NONE),
  pairs: { row: Uint32Array.of(0, 3, 3), call: Uint32Array.of(1, 0, 1), sure: Uint8Array.of(1, 0, 0) },
};

test("an interval has the owner of the analysis", () => {
  const view = smallView();
  assert.deepEqual([0, 1, 2, 3, 4, 5].map((row) => ownerText(view, span, row)), [
    "work of call 2 of Detect",
    "this app's, outside of its calls",
    "another process's work",
    "contested: call 1 of Detect, call 2 of Detect, or another owner",
    "contested: of several calls, or another owner",
    "",
  ]);
  assert.deepEqual([callsOfInterval(span, 3), callsOfInterval(span, 1)], [[0, 1], []]);
  assert.equal(ownerOf(smallView({ owners: undefined }), {}, 0), ""); // a view of another version
});

test("ranges of the user have their own names", () => {
  const view = smallView();
  const windows = { ...view.windows, noun: "range" };
  assert.equal(callTitle(view, 1), "Call 2 of Detect");
  assert.equal(callTitle({ ...view, windows }, 1), "Range 2 (predict)");
  assert.equal(callTitle({ ...view, windows: { ...windows, call: Uint32Array.of(0, 0) } }, 0), "The whole run");
});
