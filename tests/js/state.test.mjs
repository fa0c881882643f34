import assert from "node:assert/strict";
import { test } from "node:test";
import { readHash, writeHash } from "../../tracekit/report/assets/shared/hash.js";
import { createStore, INITIAL_STATE } from "../../tracekit/report/assets/shared/store.js";
import { rowAt, timelineRows } from "../../tracekit/report/assets/timeline/rows.js";
import { createSource } from "../../tracekit/report/assets/data/source.js";
import { smallView } from "./small_view.mjs";

const WHOLE = { from: 0, to: 100 };

test("a link reproduces what was chosen", () => {
  const state = {
    ...INITIAL_STATE, view: { from: 10, to: 20 }, range: { from: 12, to: 15, isDone: true }, lanes: [0, 3],
    filter: 'thread:"a b" & c#d', invert: true, transforms: "focus:1wgop4f~system", selectedFunction: "k0", treeUnit: "percent", colourBy: "binary", search: "ü", focus: [4, 0],
    theme: "dark", allThreads: true, closed: ["tracks"], cursor: { time: 14, lane: 3 }, namesWidth: 320,
    unfolded: ["w0", "m2"], scale: "same",
  };
  assert.deepEqual({ ...INITIAL_STATE, ...readHash(`#${writeHash(state, 100)}`, 100, 4) }, state);
});

test("what was not chosen is not in the link", () => {
  assert.equal(writeHash({ ...INITIAL_STATE, view: WHOLE }, 100), "");
});

test("nonsense in a link is ignored", () => {
  const text = "#t=9-3&s=a-b&lanes=0.77&theme=pink&focus=x&what=1&t=&__proto__=1";
  assert.deepEqual(readHash(text, 100, 4), { lanes: [0], theme: "auto" });
  assert.deepEqual(readHash("#s=10-900", 100, 4), {});
  for (const cursor of ["5", "5.4", "101.0", "5.0.0", "x.0", "5.-1"]) assert.deepEqual(readHash(`#at=${cursor}`, 100, 4), {});
  for (const chosen of ["constructor.1", "__proto__.1", "call.x", "row.1.2"]) assert.deepEqual(readHash(`#pick=${chosen}`, 100, 4), {});
  for (const width of ["", "9", "-50", "12345", "1e3"]) assert.deepEqual(readHash(`#width=${width}`, 100, 4), {});
});

test("a thread named twice counts once", () => {
  assert.deepEqual(readHash("#lanes=0.3.0.0", 100, 4), { lanes: [0, 3] });
});

test("the store tells those who asked, and only of changes", () => {
  const store = createStore({ view: WHOLE });
  const heard = [];
  store.on(["filter"], ({ filter }) => heard.push(filter));
  store.set({ filter: "x" });
  store.set({ filter: "x" });
  store.set({ search: "y" });
  assert.deepEqual(heard, ["x"]);
  assert.equal(store.state.search, "y");
});

function rowsOf(lanes, options) {
  const view = smallView();
  const busy = Array.from({ length: lanes }, () => view.lanes[0]);
  return timelineRows(createSource({ ...view, lanes: busy }), options);
}

test("of many threads the first twelve are shown, all on demand", () => {
  const count = (rows) => rows.filter(({ kind }) => kind === "thread").length;
  assert.equal(count(rowsOf(40).rows), 12);
  assert.equal(count(rowsOf(40, { allThreads: true }).rows), 40);
  assert.equal(rowsOf(12).rows.some(({ kind }) => kind === "more"), false);
});

test("the thread of a chosen sample is shown, also beyond the first twelve or not found by name", () => {
  const threads = (options) => rowsOf(40, { cursor: { time: 5, lane: 30 }, ...options }).rows.filter(({ kind }) => kind === "thread");
  assert.deepEqual(threads({}).map(({ index }) => index), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 30]);
  assert.deepEqual(threads({ shownLanes: "nowhere" }).map(({ index }) => index), [30]);
  assert.equal(threads({ allThreads: true }).length, 40);
});

test("a folded group keeps its heading; rows lie below each other without gaps", () => {
  const { rows, height } = rowsOf(2, { closed: ["windows"] });
  assert.deepEqual(rows.map(({ kind }) => kind), ["group", "group", "thread", "thread"]);
  assert.equal(rows.at(-1).y + rows.at(-1).height, height);
  assert.equal(rowAt(rows, rows[2].y).kind, "thread");
  assert.equal(rowAt(rows, height), null);
});
