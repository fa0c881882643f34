import assert from "node:assert/strict";
import { test } from "node:test";
import { readHash, writeHash } from "../../tracekit/report/assets/shared/hash.js";
import { moveLane, movedLane, orderedLanes, orderPrefix, readLaneIds, viewLanes } from "../../tracekit/report/assets/timeline/lanes.js";
import { rowAt, scrolledRows, timelineRows } from "../../tracekit/report/assets/timeline/rows.js";
import { createSource } from "../../tracekit/report/assets/data/source.js";
import { INITIAL_STATE } from "../../tracekit/report/assets/shared/store.js";
import { smallView } from "./small_view.mjs";

/** Threads "<name>/<process>", the others of the small view. */
function viewOf(...threads) {
  const view = smallView();
  const strings = [...view.strings, ...threads.flatMap((thread) => thread.split("/"))];
  const lanes = threads.map((_, index) => {
    const label = view.strings.length + 2 * index;
    return { ...view.lanes[0], label, process: label + 1 };
  });
  return { ...view, strings, lanes };
}

const THREADS = ["main/Camera", "worker/Camera", "render/Camera", "pump/Daemon"];
const rowsOf = (state, threads = THREADS) => timelineRows(createSource(viewOf(...threads)), state).rows;
const labelsOf = (rows) => rows.map(({ kind, label }) => (kind === "group" ? `[${label}]` : label));

test("lanes stand in their groups as the view has them", () => {
  assert.deepEqual(labelsOf(rowsOf({})), ["[Calls]", "Detect", "[Threads]", "main", "worker", "render", "pump"]);
  assert.deepEqual(viewLanes(viewOf(...THREADS)), {
    windows: ["w0"], measured: [], threads: ["t0", "t1", "t2", "t3"], signposts: [], tracks: [], tables: [],
  });
});

test("a lane names its process where there are several, and none that is not known", () => {
  const details = (...threads) => rowsOf({}, threads).filter(({ kind }) => kind === "thread").map(({ detail }) => detail.split(" · ").slice(1));
  assert.deepEqual(details("main/Camera", "pump/Daemon"), [["Camera"], ["Daemon"]]);
  assert.deepEqual(details("main/", "pump/"), [[], []]);
});

test("pinned lanes stand at the top in the order in which they were pinned, and nowhere else", () => {
  const rows = rowsOf({ pinned: ["t2", "w0", "t77"] });
  assert.deepEqual(labelsOf(rows), ["[Pinned]", "render", "Calls: Detect", "[Threads]", "main", "worker", "pump"]);
  assert.deepEqual([rows[0].count, rows[3].count], [2, 3]);
});

test("the first in a group's order come first, the others follow as they were", () => {
  assert.deepEqual(labelsOf(rowsOf({ order: ["t3", "t1", "k9"] })).slice(3), ["pump", "worker", "main", "render"]);
});

test("lanes are found by name and by process, in folded groups as well", () => {
  assert.deepEqual(labelsOf(rowsOf({ shownLanes: " DAEM ", closed: ["threads"] })), ["[Threads]", "pump"]);
  assert.deepEqual(labelsOf(rowsOf({ shownLanes: "r", pinned: ["t3"] })), ["[Threads]", "main", "worker", "render"]);
  assert.deepEqual(labelsOf(rowsOf({ shownLanes: "nowhere" })), ["no lane has this in its name"]);
});

test("what is found is not cut to the first twelve", () => {
  const many = Array.from({ length: 40 }, (_, index) => `worker ${index}/App`);
  const count = (state) => rowsOf(state, many).filter(({ kind }) => kind === "thread").length;
  assert.equal(count({}), 12);
  assert.equal(count({ shownLanes: "worker" }), 40);
  assert.equal(count({ pinned: ["t30"] }), 13);
  assert.equal(rowsOf({ pinned: ["t30"] }, many).at(-1).label, "show all 39 threads");
});

test("a lane goes before or after its new neighbour", () => {
  assert.deepEqual(movedLane(["a", "b", "c"], "c", "a", false), ["c", "a", "b"]);
  assert.deepEqual(movedLane(["a", "b", "c"], "a", "b", true), ["b", "a", "c"]);
  assert.deepEqual(movedLane(["a", "b"], "a", "x", true), ["a", "b"]);
});

test("an order is written as short as it can be", () => {
  const ids = ["t0", "t1", "t2", "t3"];
  for (const [ordered, prefix] of [
    [["t0", "t1", "t2", "t3"], []],
    [["t3", "t0", "t1", "t2"], ["t3"]],
    [["t1", "t0", "t2", "t3"], ["t1"]],
    [["t1", "t2", "t3", "t0"], ["t1", "t2", "t3"]],
    [["t3", "t2", "t1", "t0"], ["t3", "t2", "t1"]],
  ]) {
    assert.deepEqual(orderPrefix(ids, ordered), prefix);
    assert.deepEqual(orderedLanes(ids, prefix), ordered);
  }
});

test("moving changes the lane's own group only, or the pinned ones", () => {
  const view = viewOf(...THREADS);
  assert.deepEqual(moveLane(view, { pinned: [], order: ["w0", "t1"] }, "t3", "t1", false), { order: ["w0", "t3", "t1"] });
  assert.deepEqual(moveLane(view, { pinned: [], order: ["t1"] }, "t1", "t0", true), { order: [] });
  assert.deepEqual(moveLane(view, { pinned: ["t1", "w0"], order: [] }, "w0", "t1", false), { pinned: ["w0", "t1"] });
});

test("a link keeps pins, order and what was looked for", () => {
  const chosen = { pinned: ["t3", "w0"], order: ["t2"], shownLanes: "a&b" };
  assert.deepEqual(readHash(writeHash({ ...INITIAL_STATE, view: { from: 0, to: 100 }, ...chosen }, 100), 100, 4), chosen);
  assert.deepEqual(readLaneIds("t1.t1.x3.t.w0.t1234567.__proto__"), ["t1", "w0"]);
});

test("pinned rows stay in sight while the others scroll below them", () => {
  const rows = rowsOf({ pinned: ["t2"] });
  const pinned = rows.filter(({ isFixed }) => isFixed);
  assert.deepEqual(labelsOf(pinned), ["[Pinned]", "render"]);
  const scrolled = scrolledRows(rows, 30);
  assert.equal(rowAt(scrolled, 30 + 25).label, "render");
  assert.equal(rowAt(rows, 30 + 25).label, "Calls");
  assert.equal(rowAt(scrolled, 30 + 54).label, rowAt(rows, 84).label);
  assert.equal(scrolledRows(rows, 0), rows);
});

test("too many pinned rows scroll with the others", () => {
  const many = Array.from({ length: 9 }, (_, index) => `worker ${index}/App`);
  const rows = rowsOf({ pinned: ["t0", "t1", "t2", "t3", "t4", "t5"] }, many);
  assert.equal(rows.some(({ isFixed }) => isFixed), false);
  assert.equal(rowsOf({ pinned: ["t0", "t1", "t2", "t3", "t4"] }, many)[5].isFixed, true);
});
