// The flame graph of both sides: what each width shows, signs, and what is said of tests.
import assert from "node:assert/strict";
import { test } from "node:test";
import { changeOf, changeSign, createDifferenceTree, unseenWeight } from "../../tracekit/report/assets/comparison/difference_tree.js";
import { boxText, createDifferenceWords } from "../../tracekit/report/assets/comparison/difference_words.js";
import { layoutFlame } from "../../tracekit/report/assets/stacks/flame_layout.js";

// main ← work (4 ms → 6 ms), main ← old (2 ms, BASE only), main ← fresh (1 ms, NEW only)
const DATA = {
  per: "window",
  unit: "ns",
  strings: ["main", "App", "work", "old", "fresh"],
  nodes: {
    parent: Int32Array.of(-1, 0, 0, 0),
    name: Uint32Array.of(0, 2, 3, 4),
    binary: Uint32Array.of(1, 1, 1, 1),
    flags: new Uint8Array(4),
  },
  base: Float64Array.of(0, 4e6, 2e6, 0),
  new: Float64Array.of(0, 6e6, 0, 1e6),
  tested: [{ name: 2, binary: 1, engine: "CPU", model: null, difference: 2e6, judgement: "higher" }],
};
const modelOf = createDifferenceTree(DATA);

test("the larger side of each path shows paths of one side only", () => {
  assert.deepEqual([...modelOf("both").total], [9e6, 6e6, 2e6, 1e6]);
  assert.deepEqual(layoutFlame(modelOf("both"), -1, 90).map(({ node }) => node), [0, 1, 2, 3]);
  assert.equal(unseenWeight(DATA, "both"), 0);
});

test("with one side's width, what the other has alone is counted", () => {
  assert.deepEqual([...modelOf("new").total], [7e6, 6e6, 0, 1e6]);
  assert.deepEqual([...modelOf("base").total], [6e6, 4e6, 2e6, 0]);
  assert.deepEqual([unseenWeight(DATA, "new"), unseenWeight(DATA, "base")], [2e6, 1e6]);
  const words = createDifferenceWords(DATA);
  assert.match(words.summary(modelOf("new"), 2e6, "new"), /^BASE 6\.00? ms per call, NEW 7\.00? ms per call\. 2\.00? ms per call is in paths of BASE only/);
});

test("every box has a sign and an amount", () => {
  const model = modelOf("both");
  assert.deepEqual([0, 1, 2, 3].map((node) => changeSign(changeOf(model, node))), ["+", "+", "−", "+"]);
  const text = (node) => boxText(DATA, model, { node }, changeSign);
  assert.deepEqual([1, 2, 3].map(text), ["+ work, +50 %", "− old, only in BASE", "+ fresh, only in NEW"]);
  assert.equal(changeSign(0.001), "=");
});

test("a test is of the function, and a path is never called tested", () => {
  const { lines } = createDifferenceWords(DATA);
  assert.match(lines(modelOf("both"), { node: 1 }).at(-1), /as a whole \(CPU\): \+2\.00? ms per call, shown to be higher\. This path is not tested\./);
  assert.equal(lines(modelOf("both"), { node: 2 }).at(-1), "Not tested.");
  const ofModel = createDifferenceWords({ ...DATA, tested: [{ ...DATA.tested[0], model: 4 }] });
  assert.match(ofModel.lines(modelOf("both"), { node: 1 }).at(-1), /\(CPU, in calls of fresh\): \+2/);
});
