// What a filter keeps, case by case: tests/filter_cases.json.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { matcherOf, parseFilter, sampleFilter } from "../../tracekit/report/assets/data/filter.js";

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
    stacks: {
      node: cases.samples.map(({ stack }) => leafOf(stack)),
      engine: cases.samples.map(({ engine }) => ENGINES.indexOf(engine)),
      phase: cases.samples.map(({ phase }) => PHASES.indexOf(phase)),
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
    const filter = sampleFilter(view(), parseFilter(text));
    const kept = [...cases.samples.keys()].filter((row) => matcherOf(filter, cases.samples[row].lane)?.(row, cases.samples[row].time) === true);
    assert.deepEqual(filter && kept, rows);
  });
}
