// The arrows of a call: where they begin and end, and which of them are measured.
import assert from "node:assert/strict";
import { test } from "node:test";
import { arrowsNote, arrowsOfCall } from "../../tracekit/report/assets/timeline/arrows.js";
import { createSource } from "../../tracekit/report/assets/data/source.js";
import { timelineRows } from "../../tracekit/report/assets/timeline/rows.js";
import { smallView } from "./small_view.mjs";

const [ANE, CPU] = [0, 2];
const [OF_OTHERS, OF_CALL, CONTESTED] = [3, 1, 4]; // numbers of the view's owners

// Call 1 is at 4 to 6 ms. A worker on lane 1 has samples of the ANE at 4.5 to 5 ms; an interval of the ANE begins at 4.8 ms.
function viewOf({ workers = [[1, 1, 4.5e6, 5e6, ANE]], engine = ANE, sure = 1, owner = OF_CALL } = {}) {
  const column = (Type, place) => Type.from(workers, (worker) => worker[place]);
  return smallView({
    workers: {
      until_call: 2,
      call: column(Uint32Array, 0),
      lane: column(Uint16Array, 1),
      first_ns: column(Float64Array, 2),
      last_ns: column(Float64Array, 3),
      engine: column(Uint8Array, 4),
    },
    spans: [
      {
        engine,
        start: Float64Array.of(1e6, 4.8e6),
        end: Float64Array.of(2e6, 5.5e6),
        owner: Uint8Array.of(OF_OTHERS, owner),
        pairs: { row: Uint32Array.of(1), call: Uint32Array.of(1), sure: Uint8Array.of(sure) },
      },
    ],
  });
}

const CALL = { lane: "w0", row: 1 };
const INTERVAL = { lane: "m0", time: 4.8e6, row: 1 };

test("from the call to its worker, and from there to the interval: both are inferred", () => {
  assert.deepEqual(arrowsOfCall(viewOf(), 1), [
    { from: { ...CALL, time: 4.5e6 }, to: { lane: "t1", time: 4.5e6 }, isMeasured: false },
    { from: { lane: "t1", time: 4.8e6 }, to: INTERVAL, isMeasured: false },
  ]);
});

test("without a worker that shows the engine, straight from the call, measured if the system reported both", () => {
  for (const [changes, isMeasured] of [[{ workers: [] }, true], [{ workers: [], sure: 0 }, false]]) {
    assert.deepEqual(arrowsOfCall(viewOf(changes), 1), [{ from: { ...CALL, time: 4.8e6 }, to: INTERVAL, isMeasured }]);
  }
  const [, second] = arrowsOfCall(viewOf({ workers: [[1, 1, 4.5e6, 5e6, CPU]] }), 1);
  assert.equal(second.from.lane, "w0");
});

test("two workers may have served the interval: it is the call's, of neither in particular", () => {
  const arrows = arrowsOfCall(viewOf({ workers: [[1, 0, 4.4e6, 5e6, ANE], [1, 1, 4.5e6, 5e6, ANE]] }), 1);
  assert.deepEqual(arrows.map(({ from, to }) => [from.lane, to.lane]), [["w0", "t0"], ["w0", "t1"], ["w0", "m0"]]);
});

test("another call has no arrow to work that is not its own", () => {
  assert.deepEqual(arrowsOfCall(viewOf(), 0), []);
  assert.deepEqual(arrowsOfCall(smallView(), 1), []); // a view of another version
});

test("a contested interval has no arrow: no number of the call contains it", () => {
  assert.deepEqual(arrowsOfCall(viewOf({ workers: [], owner: CONTESTED }), 1), []);
});

test("what is not drawn is counted", () => {
  const view = viewOf();
  assert.equal(arrowsNote(view, 1, { hidden: 0, more: 0 }), "");
  assert.match(arrowsNote(view, 1, { hidden: 1, more: 3 }), /^1 arrow not drawn: .*; 3 more arrows not drawn$/);
  view.workers.until_call = 1;
  assert.match(arrowsNote(view, 1, { hidden: 0, more: 0 }), /threads that worked/);
});

test("the threads that worked for the chosen call are drawn below the calls, and go back", () => {
  const source = createSource(viewOf());
  const ids = (state) => timelineRows(source, state).rows.map(({ id }) => id);
  const before = ids({});
  assert.ok(before.indexOf("t1") > before.indexOf("threads"));
  const during = ids({ chosen: { kind: "call", index: 1 } });
  assert.deepEqual(during.slice(during.indexOf("w0") + 1, during.indexOf("w0") + 3), ["serving", "t1"]);
  assert.equal(during.filter((id) => id === "t1").length, 1);
  assert.deepEqual(ids({ chosen: { kind: "call", index: 0 } }), before); // no thread worked for it
  assert.ok(!ids({ chosen: { kind: "call", index: 1 }, pinned: ["t1"] }).includes("serving"));
});
