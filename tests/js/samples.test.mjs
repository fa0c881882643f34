// The rows of samples: times from their steps, what a row stands for, what a list has of them.
import assert from "node:assert/strict";
import { test } from "node:test";
import { laneSamples } from "../../tracekit/report/assets/data/samples.js";
import { createSource } from "../../tracekit/report/assets/data/source.js";
import { sampled, smallView } from "./small_view.mjs";

const WHOLE = { range: null, lanes: [] };

test("times are sums of steps, and begin anew with each lane and after a long pause", () => {
  const view = smallView();
  const samples = {
    ...view.samples,
    of_lane: Uint32Array.of(4, 2),
    step: Uint32Array.of(0, 1e6, 0, 1e6, 0, 7e6),
    jump_row: Uint32Array.of(2, 4),
    jump_time: Float64Array.of(9e9, 2e6),
  };
  const rows = laneSamples(view, samples);
  assert.deepEqual([...rows.time], [0, 1e6, 9e9, 9.001e9, 2e6, 9e6]);
  assert.deepEqual([0, 3, 4, 5].map(rows.laneOf), [0, 0, 1, 1]);
  assert.deepEqual(rows.between(0, 1e6, 9.001e9), [1, 3]);
});

test("a lane without rows is between its neighbours", () => {
  const view = smallView();
  const rows = laneSamples(view, { ...view.samples, of_lane: Uint32Array.of(0, 2, 0, 4) });
  assert.deepEqual([0, 1, 2, 5].map(rows.laneOf), [1, 1, 3, 3]);
  assert.deepEqual(rows.between(2, 0, 9e9), [2, 2]);
});

test("a binned row lasts from its edge to the next, also where a window cuts a bin", () => {
  const view = smallView({ exact: false });
  const samples = { ...view.samples, edges: Float64Array.of(0, 4, 6, 7, 8), edge: Uint16Array.of(0, 1, 1, 3, 0, 2) };
  const rows = laneSamples(view, samples);
  assert.deepEqual([...rows.time], [0, 4, 4, 7, 0, 6]);
  assert.deepEqual([...rows.time.keys()].map(rows.endOf), [4, 6, 6, 8, 4, 7]);
  assert.deepEqual([rows.between(0, 2, 5), rows.between(0, 2.1, 5.1), rows.between(1, 2, 6.5)], [[0, 1], [1, 3], [4, 5]]);
});

test("a selection's samples are listed in order of time over all lanes, some at a time", () => {
  const source = createSource(smallView());
  const timesOf = ({ rows }) => rows.map((sample) => [sample.time_ns / 1e6, sample.lane]);
  const first = source.listSamples(WHOLE, null, null, 4);
  assert.deepEqual(timesOf(first), [[0, 0], [1, 0], [2, 1], [4, 0]]);
  const rest = source.listSamples(WHOLE, null, first.next, 4);
  assert.deepEqual([timesOf(rest), rest.next], [[[5, 0], [9, 1]], null]);
  assert.deepEqual(timesOf(source.listSamples({ range: { from: 1e6, to: 5e6 }, lanes: [0] }, null, null, 9)), [[1, 0], [4, 0]]);
  assert.deepEqual(timesOf(source.listSamples(WHOLE, source.mask("kernel,draw"), null, 9)), [[0, 0], [1, 0], [4, 0]]);
});

test("samples of one instant are each listed once", () => {
  const rows = Array.from({ length: 7 }, (_, index) => ({ time: 3e6, lane: index % 2 }));
  const source = createSource(smallView({}, rows));
  const seen = [];
  let after = null;
  do {
    const { rows: listed, next } = source.listSamples(WHOLE, null, after, 2);
    seen.push(...listed.map(({ lane }) => lane));
    after = next;
  } while (after !== null);
  assert.deepEqual(seen, [0, 0, 0, 0, 1, 1, 1]);
});

test("a sample has the frame and the rule that decided its engine; of a deep stack, the frames around it", () => {
  const depth = 1_000;
  const nodes = {
    parent: Int32Array.from({ length: depth }, (_, node) => node - 1), name: new Uint32Array(depth).fill(2),
    binary: new Uint32Array(depth).fill(3), flags: new Uint8Array(depth),
  };
  const rows = [{ time: 0, lane: 0, node: depth - 1, engine: 2, phase: 0, rule: 0, deciding: 500 }, { time: 5e6, lane: 0 }];
  const view = smallView({ nodes }, rows);
  view.stacks.rules = [[4, 5]];
  const { sampleAt } = createSource(view);
  const { stack, rule, engine, phase } = sampleAt({ lane: 0, time: 0.5e6, within: 0 });
  assert.deepEqual([rule, engine, phase, stack.why], ["kernel", "CPU", "execute", "libBNNS.dylib"]);
  assert.deepEqual([stack.above, stack.frames.length, stack.below, stack.deciding], [300, 400, 300, 200]);
  assert.equal(sampleAt({ lane: 0, time: 5.5e6, within: 0 }).stack, null);
  assert.equal(sampleAt({ lane: 0, time: 3e6, within: 1e6 }), null);
  assert.equal(sampleAt({ lane: 0, time: 3e6, within: 2e6 }).time_ns, 5e6);
});

test("until its samples arrive, a page has the whole run, and takes no other analysis' samples", () => {
  const whole = smallView();
  const view = { ...whole, samples: { count: 6, digest: "d" } };
  const source = createSource(view);
  let calls = 0;
  source.listen(() => (calls += 1));
  const selected = () => source.select({ range: { from: 1e6, to: 5e6 }, lanes: [0] }, source.mask("kernel"));
  assert.deepEqual([source.hasSamples(), selected().isWhole, [...selected().rows]], [false, true, [0, 1, 2, 3, 4, 5]]);
  assert.equal(source.sampleAt({ lane: 0, time: 0, within: 0 }), null);
  assert.deepEqual([...source.occupancy(0, 0, 10e6, 2).planes], [0, 0, 0, 0]);
  assert.throws(() => source.receive({ digest: "another", samples: whole.samples, spans: [] }), /analyzed again/);
  assert.equal(source.hasSamples(), false);
  source.receive({ digest: "d", samples: whole.samples, spans: [] });
  assert.deepEqual([source.hasSamples(), calls, [...selected().rows]], [true, 1, [1]]);
});

test("zoomed in, a lane of too many intervals is drawn from their times", () => {
  const plane = new Uint8Array(10).fill(128);
  const view = smallView({ spans: [{ occupancy: plane, others: plane }], samples: { count: 6, digest: "d" } });
  const source = createSource(view);
  assert.deepEqual([...source.spanOccupancy(0, 0, 2e6, 2)], [128, 128]);
  const times = (...values) => Float64Array.from(values);
  const unions = { own_start: times(0, 1.5e6), own_end: times(0.5e6, 1.75e6), others_start: times(), others_end: times() };
  source.receive({ digest: "d", samples: sampled([], 2).samples, spans: [{ unions }] });
  assert.deepEqual([...source.spanOccupancy(0, 0, 2e6, 4)], [255, 0, 0, 127.5]);
  assert.deepEqual([...source.spanOccupancy(0, 0, 2e6, 4, "others")], [0, 0, 0, 0]);
});
