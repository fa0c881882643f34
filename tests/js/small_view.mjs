// A view as decodeView gives it, small enough to add up by hand: 2 lanes, 6 samples of 1 ms, a tree of 5 functions.

import { laneSamples } from "../../tracekit/report/assets/data/samples.js";

export const STRINGS = ["main", "App", "predict", "CoreML", "kernel", "libBNNS.dylib", "draw", "worker", "Detect"];

/** `samples` and `stacks` of a view: each sample has a stack of its own, numbered in the order given; lanes are sorted here. */
export function sampled(rows, lanes) {
  const ofLanes = Array.from({ length: lanes }, (_, lane) => [...rows.keys()].filter((row) => rows[row].lane === lane));
  const order = ofLanes.flat();
  const column = (name, Column, missing) => Column.from(rows, (row) => row[name] ?? missing);
  return {
    samples: {
      count: rows.length,
      of_lane: Uint32Array.from(ofLanes, ({ length }) => length),
      ...stepsOf(order.map((row) => rows[row].time)),
      stack: Uint32Array.from(order),
      weight: Float64Array.from(order, (row) => rows[row].weight ?? 1e6),
      number: Uint32Array.from(order, (row) => rows[row].number ?? 1),
    },
    stacks: {
      node: column("node", Int32Array, -1), engine: column("engine", Uint8Array, 3), phase: column("phase", Uint8Array, 2),
      weight: column("weight", Float64Array, 1e6), number: column("number", Float64Array, 1),
      rule: column("rule", Int32Array, -1), deciding: column("deciding", Int32Array, -1), rules: [],
    },
  };
}

/** Times as a view has them: each but the first of a row that begins anew is a step from the one before. */
function stepsOf(times) {
  const jumps = [...times.keys()].filter((row) => row === 0 || times[row] < times[row - 1]);
  return {
    step: Uint32Array.from(times, (time, row) => (jumps.includes(row) ? 0 : time - times[row - 1])),
    jump_row: Uint32Array.from(jumps),
    jump_time: Float64Array.from(jumps, (row) => times[row]),
  };
}

/** The samples of `smallView` in pieces of time between edges. */
export function binned(view, ...edges) {
  const { time } = laneSamples(view);
  view.samples.edges = Float64Array.from(edges);
  view.samples.edge = Uint16Array.from(time, (start) => edges.findLastIndex((edge) => edge <= start));
  return view;
}

/** The view with the sums of the whole run, as a selection has them. */
export const wholeRun = (view) => ({ ...view, samples: view.stacks });

const ROWS = [
  { time: 0, lane: 0, node: 2, engine: 2, phase: 0 },
  { time: 1e6, lane: 0, node: 2, engine: 2, phase: 0 },
  { time: 2e6, lane: 1, node: 4, engine: 3, phase: 2 },
  { time: 4e6, lane: 0, node: 3, engine: 3, phase: 2 },
  { time: 5e6, lane: 0, node: 1, engine: 0, phase: 1 },
  { time: 9e6, lane: 1, node: -1, engine: 3, phase: 2 },
];

export function smallView(changes = {}, rows = ROWS) {
  return {
    strings: STRINGS,
    owners: ["", "call", "process", "other process", "contested"],
    engines: ["ANE", "GPU", "CPU", "OTHER"],
    phases: ["execute", "dispatch", null],
    duration_ns: 10e6,
    unit: "ns",
    exact: true,
    bin_ns: 0,
    bins: 10,
    period_ns: 1e6,
    lanes: [
      { label: 0, process: 1, tid: "31", engines: [2, 3], occupancy: new Uint8Array(20) },
      { label: 7, process: 1, tid: "32", engines: [3], occupancy: new Uint8Array(10) },
    ],
    spans: [],
    signposts: [],
    tracks: [],
    windows: {
      count: 2,
      start: Float64Array.of(0, 4e6),
      end: Float64Array.of(3e6, 6e6),
      label: Uint32Array.of(8, 2),
      model: Uint32Array.of(8, 8),
      noun: "call",
      call: Uint32Array.of(1, 2),
      group: Uint32Array.of(8, 8),
    },
    // 0 main ← 1 predict ← 2 kernel; 0 ← 3 draw; 4 worker
    nodes: {
      parent: Int32Array.of(-1, 0, 1, 0, -1),
      name: Uint32Array.of(0, 2, 4, 6, 7),
      binary: Uint32Array.of(1, 3, 5, 1, 1),
      flags: Uint8Array.of(0, 1, 1, 0, 0),
    },
    ...sampled(rows, 2),
    ...changes,
  };
}
