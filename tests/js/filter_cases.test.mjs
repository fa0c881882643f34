// The cases that the dashboard's server is held to as well: tests/filter_cases.json.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { parseFilter, sampleMask } from "../../tracekit/report/assets/filter.js";

const cases = JSON.parse(readFileSync(new URL("../filter_cases.json", import.meta.url), "utf-8"));
const ENGINES = ["ANE", "GPU", "CPU", "RUNTIME", "GRAPHICS", "OTHER", "UNKNOWN"];
const PHASES = ["execute", "dispatch", "wait", "copy", "compile", "load", "idle", null];

function view() {
  const strings = [];
  const number = (text) => {
    if (!strings.includes(text)) strings.push(text);
    return strings.indexOf(text);
  };
  const nodes = { parent: [], name: [], binary: [], flags: [] };
  const leafOf = (stack) => {
    let parent = -1;
    for (const [symbol, binary] of [...stack].reverse()) {
      nodes.parent.push(parent);
      nodes.name.push(number(symbol));
      nodes.binary.push(number(binary));
      parent = nodes.parent.length - 1;
    }
    return parent;
  };
  const column = (name) => cases.samples.map((each) => each[name]);
  return {
    engines: ENGINES,
    phases: PHASES,
    exact: true,
    lanes: cases.lanes.map(({ label, process, tid }) => ({ label: number(label), process: number(process), tid })),
    windows: {
      start: cases.windows.map(({ start }) => start),
      end: cases.windows.map(({ end }) => end),
      label: cases.windows.map(({ label }) => number(label)),
      model: cases.windows.map(({ model }) => number(model)),
      group: cases.windows.map(({ group }) => number(group)),
      call: cases.windows.map(({ call }) => call),
    },
    nodes,
    samples: {
      time: column("time"),
      lane: column("lane"),
      node: cases.samples.map(({ stack }) => leafOf(stack)),
      engine: column("engine").map((name) => ENGINES.indexOf(name)),
      phase: column("phase").map((name) => PHASES.indexOf(name)),
    },
    strings,
  };
}

for (const [text, terms] of [...cases.terms, ...cases.keeps]) {
  test(`the terms of ${JSON.stringify(text)}`, () => {
    const expected = terms.map(([key, values, isNegated]) => ({ key, values, isNegated }));
    assert.deepEqual(parseFilter(text), expected);
  });
}

for (const [text, , rows] of cases.keeps) {
  test(`${JSON.stringify(text)} keeps ${JSON.stringify(rows)}`, () => {
    const mask = sampleMask(view(), parseFilter(text));
    assert.deepEqual(mask && [...mask].flatMap((each, row) => (each ? [row] : [])), rows);
  });
}
