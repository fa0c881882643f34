// A view as decodeView gives it, small enough to add up by hand: 2 lanes, 6 samples of 1 ms, a tree of 5 functions.

export const STRINGS = ["main", "App", "predict", "CoreML", "kernel", "libBNNS.dylib", "draw", "worker", "Detect"];

export function smallView(changes = {}) {
  const count = 6;
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
    samples: {
      time: Float64Array.of(0, 1e6, 2e6, 4e6, 5e6, 9e6),
      lane: Uint16Array.of(0, 0, 1, 0, 0, 1),
      node: Int32Array.of(2, 2, 4, 3, 1, -1),
      weight: new Float64Array(count).fill(1e6),
      number: new Uint32Array(count).fill(1),
      engine: Uint8Array.of(2, 2, 3, 3, 0, 3),
      phase: Uint8Array.of(0, 0, 2, 2, 1, 2),
    },
    heaviest: [],
    ...changes,
  };
}
