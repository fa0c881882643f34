import assert from "node:assert/strict";
import test from "node:test";

import "./report_assets.mjs";

const { bandText, historyQuoted, pointLines } = await import("../../../dashboard/tracekit_dashboard/assets/history/history_inspector.js");
const { buildAt, buildScale, engineParts, markKind, marksOf, markText, pointsByBuild, systemUpdates } = await import("../../../dashboard/tracekit_dashboard/assets/history/history_rows.js");

const ROW = {
  metric: "p50",
  main: { build: [3, 5], ms: [10, 11], low: [9, null], high: [11, null], runs: [5, 1], system: ["A", "B"], level: [10, 10] },
  p90: { build: [3], ms: [14] },
  engines: { ANE: { build: [3, 4], low: [1, 0.2], high: [1, 0.6] }, CPU: { build: [3, 4], low: [0, 0.4], high: [0, 0.4] }, GPU: {} },
};
const LENGTH = { metric: "p50", isLength: true, sign: 1, first: 5, label: "p50 +10 %" };
const HIGH = { ...LENGTH, metric: "p90", label: "p90 +11 %" };
const ANE = { metric: "ANE used share", isLength: false, sign: -1, first: 5, label: "Neural Engine 100 % → 42 % of calls" };

test("values of a row are found by their build, and what a build lacks is absent", () => {
  const points = pointsByBuild(ROW);
  assert.deepEqual([...points.keys()].sort(), [3, 4, 5]);
  assert.deepEqual([points.get(3).p90, points.get(3).level], [14, 10]);
  assert.equal(points.get(4).main, undefined);
  assert.deepEqual(systemUpdates(points), [[5, "B"]]);
});

test("a bar has the certain shares, and what is unknown", () => {
  assert.deepEqual(engineParts({ ANE: [0.2, 0.6], CPU: [0.4, 0.4] }), [["ANE", 0.2], ["CPU", 0.4], ["UNKNOWN", 0.39999999999999997]]);
  assert.deepEqual(engineParts({ ANE: [0, 1], GPU: [0, 1] }), [["UNKNOWN", 1]]);
  assert.deepEqual(engineParts({ ANE: [1, 1], CPU: [1, 1] }), [["ANE", 0.5], ["CPU", 0.5]]);
});

test("changes at one build are one mark", () => {
  const [mark] = marksOf([ANE, HIGH, LENGTH]);
  assert.equal(markText(mark), "▲ p50 +10 %, Neural Engine 100 % → 42 % of calls");
  assert.equal(markKind(mark), "worse");
  assert.equal(markKind({ changes: [ANE] }), "worse");
  assert.equal(markText({ changes: [{ ...HIGH, sign: -1 }] }), "▼ p90 +11 %");
});

test("a place on the axis is that of a build", () => {
  const scale = buildScale(10, 20, 460);
  assert.equal(scale.step, 40);
  for (const build of [10, 15, 19]) assert.equal(buildAt(scale, scale.xOf(build)), build);
  assert.equal(buildAt(scale, -5), 10);
  assert.equal(buildScale(0, 1000, 460).step, 7);
  assert.deepEqual([buildScale(0, 1, 460).step, buildScale(0, 1, 460).width], [60, 460]);
});

test("a point in words has its interval and its engines", () => {
  const points = pointsByBuild(ROW);
  assert.deepEqual(pointLines(points.get(3)), ["p50 10 ms (95 % interval 9 … 11 ms; 5 runs)", "p90 14 ms", "Neural Engine: 100 % of calls", "A"]);
  assert.deepEqual(pointLines(points.get(4)), ["Neural Engine: 20 to 60 % of calls", "CPU: 40 % of calls"]);
  assert.equal(bandText([0.101, 0.104]), "10 %");
});

test("a path is a word of a command", () => {
  assert.equal(historyQuoted("farm/a.trace"), "farm/a.trace");
  assert.equal(historyQuoted("it's $HOME"), `'it'"'"'s $HOME'`);
});
