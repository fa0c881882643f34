import assert from "node:assert/strict";
import { test } from "node:test";

import { findingSpans, markedSpans } from "../../tracekit/report/assets/data/finding_spans.js";

/** Three calls of model 7 and one of model 8; the second call is idle for its last 4 ns. */
function viewOf(kind, calls) {
  return {
    windows: { count: 4, start: [0, 10, 20, 30], end: [5, 16, 25, 35], group: [7, 7, 8, 7] },
    budget: { parts: [{ key: "ANE" }, { key: "idle" }], counts: [1, 2, 1, 1], part: [0, 0, 1, 0, 0], length: [5, 2, 4, 5, 5] },
    findings: [[10, 35]],
    finding_calls: [{ kind, calls }],
  };
}

test("a finding about idle time marks the idle pieces of its calls", () => {
  assert.deepEqual(findingSpans(viewOf("gaps-in-calls", [[0, 1]]), 0), [{ from: 12, to: 16 }]);
});

test("a finding about work beside the calls marks the time since the call before of that model", () => {
  assert.deepEqual(findingSpans(viewOf("work-beside-calls", [[0, 1], [3, 3]]), 0), [{ from: 5, to: 10 }, { from: 16, to: 30 }]);
});

test("other findings mark their calls, and one without calls marks its time", () => {
  assert.deepEqual(findingSpans(viewOf("fell-back", [[1, 1], [3, 3]]), 0), [{ from: 10, to: 16 }, { from: 30, to: 35 }]);
  assert.deepEqual(findingSpans(viewOf("rows-lost", []), 0), [{ from: 10, to: 35 }]);
});

test("the timeline marks the selected range where no finding is chosen", () => {
  const range = { from: 1, to: 2 };
  const view = viewOf("fell-back", [[1, 1]]);
  assert.deepEqual(markedSpans(view, { range, chosen: { kind: "call", index: 0 } }), [range]);
  assert.deepEqual(markedSpans(view, { range, chosen: { kind: "finding", index: 0 } }), [{ from: 10, to: 16 }]);
  assert.deepEqual(markedSpans(view, { range: null, chosen: null }), []);
});
