// The lanes of a timeline: a lane for each model, rows for what overlaps, names that tell lanes apart, scales.
import assert from "node:assert/strict";
import { test } from "node:test";
import { callLanes } from "../../tracekit/report/assets/data/call_lanes.js";
import { describeAt } from "../../tracekit/report/assets/timeline/describe.js";
import { lineAt, timelineRows } from "../../tracekit/report/assets/timeline/rows.js";
import { laneScale } from "../../tracekit/report/assets/shared/scale.js";
import { shortNames } from "../../tracekit/report/assets/stacks/short_names.js";
import { createSource } from "../../tracekit/report/assets/data/source.js";
import { createStore } from "../../tracekit/report/assets/shared/store.js";
import { timelineActions } from "../../tracekit/report/assets/timeline/timeline_actions.js";
import { smallView } from "./small_view.mjs";

/** Calls of models: [model, from, to] in ms, `model` being a number of the small view's strings. */
function withCalls(...calls) {
  const column = (index) => Float64Array.from(calls, (call) => call[index] * 1e6);
  const model = Uint32Array.from(calls, ([number]) => number);
  const zeros = new Uint32Array(calls.length);
  const call = Uint32Array.from(model, (number, row) => model.slice(0, row + 1).filter((other) => other === number).length);
  const windows = { noun: "call", count: calls.length, start: column(1), end: column(2), model, group: model, call, label: model, verdict: zeros, why: zeros, basis: zeros, first: zeros };
  return createSource(smallView({ windows }));
}

const laneOf = (source, id, state) => timelineRows(source, state).rows.find((row) => row.id === id);

test("each model has a lane, in order of its first call", () => {
  const source = withCalls([8, 3, 4], [2, 1, 2], [8, 5, 6]);
  assert.deepEqual(callLanes(source.view).map(({ name, rows }) => [name, rows]), [[2, [1]], [8, [0, 2]]]);
  assert.deepEqual([laneOf(source, "w0").label, laneOf(source, "w1").label], ["predict", "Detect"]);
});

test("of many models those with the fewest calls share the last lane, which counts them", () => {
  const view = smallView();
  const strings = Array.from({ length: 30 }, (_, model) => `model ${model}`);
  const model = Uint32Array.from({ length: 60 }, (_, row) => (row < 30 ? row : row % 12));
  const start = Float64Array.from(model.keys());
  const source = createSource({ ...view, strings, windows: { ...view.windows, count: 60, group: model, start, end: start.map((time) => time + 1) } });
  const lanes = timelineRows(source).rows.filter(({ kind }) => kind === "windows");
  assert.equal(lanes.length, 12);
  assert.equal(lanes.at(-1).label, "19 other models");
  assert.equal(source.calls.reduce((sum, { start: starts }) => sum + starts.length, 0), 60);
});

test("of overlapping calls four rows are shown and the rest is counted, until the lane is unfolded", () => {
  const source = withCalls(...Array.from({ length: 16 }, (_, index) => [8, index / 100, 9]));
  const folded = laneOf(source, "w0");
  assert.deepEqual([folded.lines, folded.folded, folded.isUnfolded], [4, 12, false]);
  const unfolded = laneOf(source, "w0", { unfolded: ["w0"] });
  assert.deepEqual([unfolded.lines, unfolded.folded, unfolded.isUnfolded], [16, 0, true]);
  assert.equal(unfolded.height - folded.height, 12 * 18);
  assert.deepEqual([lineAt(folded, 0), lineAt(folded, 22), lineAt(folded, folded.height - 1)], [0, 1, 4]);
  const at = (row, y) => describeAt(source, row, 5e6, y, { from: 0, to: 10e6 }, 1000).lines[0];
  assert.match(at(unfolded, 3 + 18 * 15 + 4), /^Call 16 of Detect:/);
  assert.match(at(folded, 4), /^Call 1 of Detect:/);
});

test("stepping to the next call goes from model to model, stepping in a lane does not", () => {
  const source = withCalls([8, 1, 2], [2, 3, 4], [8, 5, 6]);
  const store = createStore({ view: { from: 0, to: 10e6 } });
  const actions = timelineActions(source, store, { announce() {} });
  const visited = () => [store.state.range.lane, store.state.range.window];
  actions.stepCall(1);
  assert.deepEqual(visited(), ["w0", 0]);
  actions.stepCall(1);
  assert.deepEqual(visited(), ["w1", 1]);
  actions.stepCall(-1);
  actions.stepIn("w0", 1);
  assert.deepEqual(visited(), ["w0", 2]);
});

test("nothing is said of a group's heading", () => {
  const source = withCalls([8, 1, 2]);
  const heading = timelineRows(source).rows[0];
  assert.deepEqual(describeAt(source, heading, 5e6, 4, { from: 0, to: 10e6 }, 1000), { lines: [], range: null, chosen: null, sample: null });
});

test("names are shortened at the start that they share, and only if they do not fit", () => {
  const fits = (letters) => (text) => text.length <= letters;
  const names = ["com.apple.WebKit.GPU (0xda28a1)", "com.apple.WebKit.GPU (0xda289f)", "Main Thread (0x1)"];
  assert.deepEqual(shortNames(names, fits(40)), names);
  assert.deepEqual(shortNames(names, fits(24)), ["…WebKit.GPU (0xda28a1)", "…WebKit.GPU (0xda289f)", "Main Thread (0x1)"]);
  assert.deepEqual(shortNames(names, fits(14)).slice(0, 2), ["…(0xda28a1)", "…(0xda289f)"]);
});

test("where a whole word would be much more than has to go, a part of it goes", () => {
  const names = ["com.apple.root.sharedDecoderQueue.47 (0x1)", "com.apple.root.sharedDecoderQueue.47 (0x2)"];
  assert.deepEqual(shortNames(names, (text) => text.length <= 22)[0], "…DecoderQueue.47 (0x1)");
});

test("a name that shares no start loses its middle, never its end", () => {
  const [name] = shortNames(["JavaScriptCore libpas scavenger (0xd90157)"], (text) => text.length <= 20);
  assert.equal(name.length, 20);
  assert.ok(name.startsWith("JavaScri") && name.endsWith("(0xd90157)"));
  assert.equal(new Set(shortNames(["a".repeat(100_000), "b"], (text) => text.length <= 9)).size, 2);
});

test("the process is named once if all threads are of one", () => {
  const source = createSource(smallView());
  const rows = timelineRows(source).rows;
  assert.equal(rows.find(({ key }) => key === "threads").detail, "App");
  assert.doesNotMatch(rows.find(({ id }) => id === "t0").detail, /App/);
  const two = smallView();
  two.lanes[1].process = 3;
  assert.match(timelineRows(createSource(two)).rows.find(({ id }) => id === "t0").detail, /· App$/);
});

test("a thread that does little has a low lane", () => {
  const view = smallView();
  view.lanes[0].weight = 1000;
  view.lanes[1].weight = 5;
  const source = createSource(view);
  assert.ok(laneOf(source, "t1").height < laneOf(source, "t0").height);
});

test("a lane's scale is the next of 1, 2, 5, 10 … per cent above its highest pixel", () => {
  assert.equal(laneScale(Float32Array.of(0, 2, 1, 0), 4), 0.01);
  assert.equal(laneScale(Float32Array.of(0, 20, 10, 10), 2), 0.2); // two planes: 10 and 30 of 255
  assert.equal(laneScale(Float32Array.of(255, 0), 2), 1);
  assert.equal(laneScale(new Float32Array(0), 2), 0.01);
});

test("an unfolded thread has its stacks below its lane, as deep as they are in the whole run", () => {
  const source = createSource(smallView());
  const folded = laneOf(source, "t0", {});
  assert.deepEqual([folded.hasStacks, folded.isUnfolded, folded.stacksPx], [true, false, 0]);
  const unfolded = laneOf(source, "t0", { unfolded: ["t0"] });
  assert.equal(unfolded.stacksPx, 3 * 18); // main, predict, kernel
  assert.equal(unfolded.height, folded.height + 3 * 18);
  assert.equal(laneOf(source, "t1", { unfolded: ["t0"] }).height, laneOf(source, "t1", {}).height);
});

test("a thread of which samples are summed up has no stacks to unfold", () => {
  const source = createSource(smallView({ exact: false }));
  const row = laneOf(source, "t0", { unfolded: ["t0"] });
  assert.deepEqual([row.hasStacks, row.isUnfolded, row.stacksPx], [false, false, 0]);
});
