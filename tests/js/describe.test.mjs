// What those who do not see the timeline are described of it.
import assert from "node:assert/strict";
import { test } from "node:test";
import { describeTimeline } from "../../tracekit/report/assets/timeline/describe.js";

const described = (changes) =>
  describeTimeline({ lanes: [], windows: { count: 0 }, spans: [], signposts: [], tracks: [], ...changes });

test("the timeline names what it holds, and which figures stand below", () => {
  assert.equal(
    described({ lanes: [1, 2], windows: { count: 1 }, spans: [1], tracks: [1] }),
    "Timeline of 2 threads, 1 call, 1 measured lane and 1 track; the tables and figures below show the calls and the selection",
  );
});

test("signposts are named, and no missing table is promised", () => {
  assert.equal(described({ signposts: Array(15) }), "Timeline of 15 lanes of signposts");
  assert.equal(described({ signposts: [1] }), "Timeline of 1 lane of signposts");
  assert.equal(described({}), "Empty timeline");
});
