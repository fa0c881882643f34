// Chains of transforms.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { weighTree } from "../../tracekit/report/assets/stacks/calltree.js";
import { chainWith, chainWithout, crc32, parseChain, writeStep } from "../../tracekit/report/assets/stacks/transforms.js";
import { transformedTree } from "../../tracekit/report/assets/stacks/transform_tree.js";
import { bottomUp, pathOfNode, topDown } from "../../tracekit/report/assets/stacks/tree_model.js";

const CASES = JSON.parse(readFileSync(new URL("../transform_cases.json", import.meta.url), "utf8"));

/** A view whose samples have these stacks, [[[symbol, library], …], weight] with the outermost frame first. */
function viewOf(stacks, system) {
  const strings = [""];
  const textOf = (text) => {
    if (!strings.includes(text)) strings.push(text);
    return strings.indexOf(text);
  };
  const nodes = { parent: [], name: [], binary: [], flags: [] };
  const numbers = new Map();
  const leaves = stacks.map(([frames]) =>
    frames.reduce((above, [symbol, library]) => {
      const key = `${above}\n${symbol}\n${library}`;
      if (!numbers.has(key)) {
        numbers.set(key, nodes.parent.length);
        nodes.parent.push(above);
        nodes.name.push(textOf(symbol));
        nodes.binary.push(textOf(library));
        nodes.flags.push(system.includes(library) ? 1 : 0);
      }
      return numbers.get(key);
    }, -1));
  return {
    strings,
    engines: ["CPU"],
    nodes: {
      parent: Int32Array.from(nodes.parent), name: Uint32Array.from(nodes.name), binary: Uint32Array.from(nodes.binary),
      flags: Uint8Array.from(nodes.flags),
    },
    samples: {
      node: Int32Array.from(leaves), weight: Float64Array.from(stacks, ([, weight]) => weight),
      number: new Uint32Array(stacks.length).fill(1), engine: new Uint8Array(stacks.length),
    },
  };
}

const weighed = (view, chain) => weighTree(transformedTree(view, chain), view, [...view.samples.node.keys()]);

for (const { name, chain, stacks, system, left, dropped } of CASES) {
  test(`a chain leaves what loops over stacks leave: ${name}`, () => {
    const view = viewOf(stacks, system);
    const tree = weighed(view, chain);
    const found = {};
    tree.self.forEach((self, node) => {
      const path = pathOfNode(tree, node).map((func) => view.strings[tree.names[func]]).join(";");
      if (self > 0) found[path === "(no stack)" ? "" : path] = self;
    });
    assert.deepEqual(found, left);
    assert.equal(tree.dropped.weight, dropped);
    const whole = stacks.reduce((sum, [, weight]) => sum + weight, 0);
    assert.equal(tree.weight + tree.dropped.weight, whole);
    for (const model of [topDown(tree), bottomUp(tree)]) {
      assert.equal(model.roots.reduce((sum, node) => sum + model.total[node], 0), tree.weight);
    }
  });
}

test("a function that the recording does not have changes nothing, and is named as absent", () => {
  const [{ stacks, system }] = CASES;
  const view = viewOf(stacks, system);
  const tree = transformedTree(view, "drop:1~collapse-lib:2~flat");
  assert.deepEqual(tree.steps.map(({ text, name }) => [text, name]), [["drop:1", null], ["collapse-lib:2", null], ["flat", ""]]);
  assert.equal(weighed(view, "drop:1").dropped.samples, 0);
});

test("only chains are read from an address", () => {
  assert.deepEqual(parseChain("focus:1z~subtree:a.b~system").map(({ kind, key, path }) => [kind, key, path]), [
    ["focus", 71, null], ["subtree", 10, 11], ["system", null, null],
  ]);
  const wrong = ["what:1", "focus", "focus:1.2", "subtree:1", "system:1", "focus:zzzzzzz", "focus:A", "~", "constructor", "flat~".repeat(33).slice(0, -1), "x".repeat(1e5)];
  for (const text of wrong) assert.equal(parseChain(text), null, text.slice(0, 40));
  assert.deepEqual(parseChain(""), []);
});

test("steps are added at the end and removed anywhere; a step again changes nothing", () => {
  const chain = ["flat", writeStep("focus", crc32("predict\0CoreML")), writeStep("subtree", 35, 36)].reduce(chainWith, "");
  assert.equal(chain, "flat~focus:1wgop4f~subtree:z.10");
  assert.equal(chainWith(chain, "subtree:z.10"), chain);
  assert.equal(chainWithout(chain, 1), "flat~subtree:z.10");
  assert.equal(chainWithout("flat", 0), "");
});
