import assert from "node:assert/strict";
import { test } from "node:test";
import { indexIntervals } from "../../tracekit/report/assets/data/intervals.js";
import { createSource } from "../../tracekit/report/assets/data/source.js";
import {
  firstLaneOfIntervals,
  intervalRange,
  intervalWords,
  laneIntervals,
  nextPosition,
  selectedWindow,
} from "../../tracekit/report/assets/timeline/steps.js";
import { createStore } from "../../tracekit/report/assets/shared/store.js";
import { timelineActions } from "../../tracekit/report/assets/timeline/timeline_actions.js";
import { smallView } from "./small_view.mjs";

/** Windows at these times; 10 and 10 begin together, and 40 to 45 is there twice. */
const TIMES = [[10, 20], [10, 30], [40, 45], [40, 45], [60, 70]];
const VIEW = { from: 0, to: 100 };
const windows = indexIntervals(TIMES.map(([from]) => from), TIMES.map(([, to]) => to));

/** The positions that one comes to, step by step, until there is none. */
function visited(direction, start = { view: VIEW, range: null }) {
  const positions = [];
  let state = start;
  for (let position = nextPosition(windows, "w0", state, direction); position >= 0; position = nextPosition(windows, "w0", state, direction)) {
    positions.push(position);
    state = { ...state, range: intervalRange(windows, "w0", position) };
  }
  return positions;
}

test("stepping comes to every interval, also to those that begin at the same time", () => {
  assert.deepEqual(visited(1), [0, 1, 2, 3, 4]);
  assert.deepEqual(visited(-1), [4, 3, 2, 1, 0]);
});

test("with nothing selected the first or last interval in view is meant, or else the next one outside", () => {
  const first = (view, direction) => nextPosition(windows, "w0", { view, range: null }, direction);
  assert.deepEqual([first({ from: 35, to: 65 }, 1), first({ from: 35, to: 65 }, -1)], [2, 4]);
  assert.deepEqual([first({ from: 25, to: 28 }, 1), first({ from: 25, to: 28 }, -1)], [1, 1]);
  assert.deepEqual([first({ from: 50, to: 55 }, 1), first({ from: 50, to: 55 }, -1)], [4, 3]);
  assert.deepEqual([first({ from: 80, to: 90 }, 1), first({ from: 0, to: 5 }, -1)], [-1, -1]);
});

test("from a range that is no interval the one after its start, or before it, is meant", () => {
  const from = (range, direction) => nextPosition(windows, "w0", { view: VIEW, range }, direction);
  assert.deepEqual([from({ from: 38, to: 90 }, 1), from({ from: 38, to: 90 }, -1)], [2, 1]);
  assert.deepEqual([from({ from: 71, to: 90 }, 1), from({ from: 5, to: 9 }, -1)], [-1, -1]);
});

test("a range from a link, or of another run, is found by its times, whatever it says of its position", () => {
  assert.equal(nextPosition(windows, "w0", { view: VIEW, range: { from: 10, to: 30 } }, 1), 2);
  assert.equal(nextPosition(windows, "w0", { view: VIEW, range: { from: 40, to: 45, lane: "m0", position: 3 } }, 1), 3);
  assert.equal(nextPosition(windows, "w0", { view: VIEW, range: { from: 60, to: 70, lane: "w0", position: 0 } }, -1), 3);
});

test("the selected range leads to its window's row", () => {
  const unsorted = indexIntervals([40, 10, 10], [45, 30, 20]);
  assert.equal(selectedWindow(unsorted, intervalRange(unsorted, "w0", 2)), 0);
  assert.equal(selectedWindow(unsorted, { from: 10, to: 20 }), 2);
  assert.equal(selectedWindow(unsorted, { from: 10, to: 21 }), -1);
  assert.equal(selectedWindow(unsorted, null), -1);
});

function viewWithLanes() {
  const view = smallView();
  const name = Uint32Array.of(2, 4);
  return {
    ...view,
    spans: [{ label: 3, engine: 0, start: null }, { label: 5, engine: 1, start: [1e6, 5e6], end: [2e6, 6e6], name }],
    signposts: [{ label: 1, start: [3e6, 3e6], end: [3e6, 4e6], name }],
  };
}

test("measured intervals and signposts can be stepped through, lanes without single ones cannot", () => {
  const source = createSource(viewWithLanes());
  assert.deepEqual(["m0", "t0", "k0"].map((id) => laneIntervals(source, id)), [null, null, null]);
  assert.equal(laneIntervals(source, "m1").start.length, 2);
  assert.equal(firstLaneOfIntervals(source), "m1");
  assert.equal(firstLaneOfIntervals(createSource(smallView())), "w0");
  assert.equal(intervalWords(source, "m1", 1), "kernel, 1.00 ms at 5.00 ms");
  assert.equal(intervalWords(source, "s0", 0), "predict, 0 at 3.000000 ms");
  assert.match(intervalWords(source, "w0", 1), /^Call 2 of Detect, 2.00 ms at /);
});

function started(state = {}) {
  const source = createSource(viewWithLanes());
  const store = createStore({ view: { from: 0, to: 10e6 }, ...state });
  const actions = timelineActions(source, store, { announce() {}, help() {}, filter() {} });
  const announced = [];
  actions.announce = (text) => announced.push(text);
  return { store, actions, announced };
}

test("the lane that has the focus is stepped through, then the one where the selection is", () => {
  const { store, actions, announced } = started();
  actions.laneInFocus = () => "s0";
  actions.stepInterval(1);
  assert.deepEqual(store.state.range, { from: 3e6, to: 3e6 + 1, isDone: true, lane: "s0", position: 0 });
  actions.laneInFocus = () => null;
  actions.stepInterval(1);
  assert.deepEqual([store.state.range.to, store.state.range.position], [4e6, 1]);
  actions.stepInterval(1);
  assert.deepEqual([store.state.range.position, announced.at(-1)], [1, "There is no later interval."]);
  actions.laneInFocus = () => "t0";
  actions.stepInterval(1);
  assert.deepEqual([store.state.range.position, announced.at(-1)], [1, "This lane has no intervals to step through."]);
});

test("what is stepped to comes into view", () => {
  const { store, actions } = started({ view: { from: 0, to: 2e6 } });
  actions.stepIn("m1", 1);
  assert.deepEqual(store.state.view, { from: 0, to: 2e6 });
  actions.stepIn("m1", 1);
  assert.deepEqual(store.state.view, { from: 4.5e6, to: 6.5e6 });
});

test("all that is shown can be selected, in whole nanoseconds", () => {
  const { store, actions } = started({ view: { from: 1.5, to: 1000.25 } });
  actions.selectShown();
  assert.deepEqual(store.state.range, { from: 1, to: 1001, isDone: true });
});

test("clearing the selection, or choosing nothing, takes the chosen sample's mark away", () => {
  const { store, actions } = started({ cursor: { time: 5, lane: 0 } });
  actions.choose({ range: { from: 1, to: 2 }, chosen: null });
  assert.deepEqual(store.state.cursor, { time: 5, lane: 0 });
  actions.choose({ range: null });
  assert.equal(store.state.cursor, null);
  store.set({ cursor: { time: 5, lane: 0 } });
  actions.clear();
  assert.equal(store.state.cursor, null);
});
