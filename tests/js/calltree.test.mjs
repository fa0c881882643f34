import assert from "node:assert/strict";
import { test } from "node:test";
import {
  baseTree, dominantEngine, functionSums, outermostNodes, weighTree,
} from "../../tracekit/report/assets/stacks/calltree.js";
import { boxAt, flameHeight, neighbourBox } from "../../tracekit/report/assets/stacks/flame_draw.js";
import { layoutFlame } from "../../tracekit/report/assets/stacks/flame_layout.js";
import { transformedTree } from "../../tracekit/report/assets/stacks/transform_tree.js";
import { bottomUp, calleesOf, callersOf, nodeOfPath, pathOfNode, topDown } from "../../tracekit/report/assets/stacks/tree_model.js";
import { smallView, STRINGS, wholeRun } from "./small_view.mjs";

const ALL = [0, 1, 2, 3, 4, 5];

function weighed(chain = "", view = smallView(), rows = ALL) {
  view.strings = [...view.strings];
  return { ...weighTree(transformedTree(view, chain), wholeRun(view), rows), view };
}

/** Every node of a model, callers before callees. */
function nodesOf(model) {
  const nodes = [];
  const pending = [...model.roots].reverse();
  while (pending.length > 0) {
    nodes.push(pending.pop());
    pending.push(...[...model.childrenOf(nodes.at(-1))].reverse());
  }
  return nodes;
}

const nameOf = (tree, node) => pathOfNode(tree, node).map((func) => tree.view.strings[tree.names[func]]).join("/");

/** { "main/predict": total in ms } */
function totals(model) {
  return Object.fromEntries(nodesOf(model).map((node) => [nameOf(model, node), model.total[node] / 1e6]));
}

test("totals include all nodes below; samples without a stack are a root of their own", () => {
  const tree = weighed();
  const of = totals(topDown(tree));
  assert.deepEqual(of, { main: 4, "main/predict": 3, "main/predict/kernel": 2, "main/draw": 1, worker: 1, "(no stack)": 1 });
  assert.deepEqual([tree.weight, tree.rootless, tree.samples], [6e6, 1e6, 6]);
});

test("inverted, what ran is on top and its callers below, and the whole is the same", () => {
  const model = bottomUp(weighed());
  assert.deepEqual(totals(model), {
    kernel: 2, "kernel/predict": 2, "kernel/predict/main": 2,
    predict: 1, "predict/main": 1, draw: 1, "draw/main": 1, worker: 1, "(no stack)": 1,
  });
  const sum = (of) => model.roots.reduce((all, node) => all + of[node], 0);
  assert.deepEqual([sum(model.total), sum(model.self)], [model.weight, model.weight]);
});

test("the callers and callees of a function count each of its samples once, however often it calls itself", () => {
  const view = smallView(); // main → predict → main → draw, and main → draw
  view.nodes = {
    parent: Int32Array.of(-1, 0, 1, 2, 0), name: Uint32Array.of(0, 2, 0, 6, 6), binary: Uint32Array.of(1, 3, 1, 1, 1),
    flags: new Uint8Array(5),
  };
  view.stacks.node = Int32Array.of(3, 3, 4, 1, 0, -1);
  const tree = weighed("", view);
  const funcOf = (name) => [...tree.names].findIndex((each) => tree.view.strings[each] === name);
  const [main, draw] = [funcOf("main"), funcOf("draw")];
  assert.deepEqual(totals(calleesOf(tree, main)), {
    main: 5, "main/predict": 3, "main/predict/main": 2, "main/predict/main/draw": 2, "main/draw": 1,
  });
  assert.deepEqual(totals(callersOf(tree, main)), { main: 5 });
  assert.deepEqual([...callersOf(tree, main).self], [1e6]); // its own, not its total
  assert.deepEqual(totals(calleesOf(tree, draw)), { draw: 3 });
  assert.deepEqual(totals(callersOf(tree, draw)), { draw: 3, "draw/main": 3, "draw/main/predict": 2, "draw/main/predict/main": 2 });
  assert.deepEqual([...outermostNodes(tree)], [1, 1, 0, 1, 1, 1]);
});

test("a tree as deep as 10,000 frames needs no stack of the machine's", () => {
  const view = smallView();
  const depth = 10_000;
  const parent = Int32Array.from({ length: depth }, (_, node) => node - 1);
  view.nodes = { parent, name: new Uint32Array(depth).fill(2), binary: new Uint32Array(depth).fill(3), flags: new Uint8Array(depth) };
  view.stacks.node.fill(depth - 1);
  const tree = weighed("", view);
  assert.deepEqual(functionSums(tree), [{ func: 0, self: 6e6, total: 6e6 }]);
  assert.equal(layoutFlame(topDown(tree), -1, 600).length, depth);
  assert.equal(nodesOf(bottomUp(tree)).length, depth);
  const key = "1wgop4f";
  for (const chain of ["flat", "system", `recursion:${key}`]) {
    const less = weighed(chain, view);
    assert.equal(less.weight, 6e6, chain);
  }
  assert.equal(weighed("flat", view).parent.length, 1);
});

test("a box has the engine of most of the weight below it", () => {
  const tree = weighed();
  assert.deepEqual([0, 2, 3].map((node) => dominantEngine(tree, node)), [2, 2, 3]);
  const inverted = bottomUp(tree);
  assert.equal(dominantEngine(inverted, nodesOf(inverted).find((node) => nameOf(inverted, node) === "draw")), 3);
});

test("a function that calls itself counts once in its total", () => {
  const view = smallView();
  view.nodes.name[1] = 0;
  view.nodes.binary[1] = 1; // main calls main
  const tree = weighed("", view);
  const main = functionSums(tree).find(({ func }) => STRINGS[tree.names[func]] === "main");
  assert.deepEqual([main.self, main.total], [1e6, 4e6]);
});

test("the heaviest function comes first", () => {
  assert.equal(STRINGS[weighed().names[functionSums(weighed())[0].func]], "kernel");
});

/** The boxes { name: [x, width, depth] } of a flame graph that is 600 pixels wide. */
function boxes(focus, smallest, tree = weighed(), direction = topDown) {
  const model = direction(tree);
  const laid = layoutFlame(model, focus, 600, smallest);
  const name = (box) => (box.node < 0 ? `rest of ${box.count}` : nameOf(model, box.node));
  return Object.fromEntries(laid.map((box) => [name(box), [box.x, box.width, box.depth]]));
}

test("boxes are as wide as their weight, heavier ones left, and the roots fill the width", () => {
  assert.deepEqual(boxes(-1), {
    main: [0, 400, 0], worker: [400, 100, 0], "(no stack)": [500, 100, 0], "main/predict": [0, 300, 1],
    "main/draw": [300, 100, 1], "main/predict/kernel": [0, 200, 2],
  });
});

test("a focused box is as wide as the picture, and its callers stand above it", () => {
  assert.deepEqual(boxes(1), {
    main: [0, 600, 0], "main/predict": [0, 600, 1], "main/predict/kernel": [0, 400, 2],
  });
});

test("what is too narrow shares a box, also upside down, so that nothing is blank", () => {
  assert.deepEqual(boxes(-1, 150), {
    main: [0, 400, 0], "rest of 2": [400, 200, 0], "main/predict": [0, 300, 1], "main/predict/kernel": [0, 200, 2],
  });
  assert.deepEqual(boxes(-1, 150, weighed(), bottomUp), {
    kernel: [0, 200, 0], "rest of 4": [200, 400, 0], "kernel/predict": [0, 200, 1], "kernel/predict/main": [0, 200, 2],
  });
});

test("a path of functions leads to its node, in any tree that has it", () => {
  const model = topDown(weighed());
  assert.equal(nodeOfPath(model, pathOfNode(model, 2)), 2);
  assert.equal(nodeOfPath(model, [99]), -1);
});

test("the weight of highlighted functions counts stacks once, in both directions", () => {
  const tree = weighed();
  const marked = Uint8Array.from(tree.names, (name) => (["main", "kernel"].includes(tree.view.strings[name]) ? 1 : 0));
  assert.deepEqual([topDown, bottomUp].map((direction) => direction(tree).matched(marked)), [4e6, 4e6]);
});

test("with a focus only what is below it counts, whole where a caller is highlighted", () => {
  const tree = weighed();
  const only = (...all) => Uint8Array.from(tree.names, (name) => (all.includes(tree.view.strings[name]) ? 1 : 0));
  const predict = 1;
  assert.equal(tree.total[predict], 3e6);
  const model = topDown(tree);
  const weights = [only("kernel"), only("draw", "worker"), only("main"), only("predict")].map((marked) => model.matched(marked, predict));
  assert.deepEqual(weights, [2e6, 0, 3e6, 3e6]);
  const inverted = bottomUp(tree);
  const draw = nodesOf(inverted).find((node) => nameOf(inverted, node) === "draw");
  assert.deepEqual([only("main"), only("kernel")].map((marked) => inverted.matched(marked, draw)), [1e6, 0]);
});

test("what was cut off is one function, also upside down", () => {
  const view = smallView();
  const nodes = { ...view.nodes, name: view.nodes.name.slice(), flags: Uint8Array.of(0, 1, 2, 2, 0) };
  nodes.name.fill(8, 2, 4);
  nodes.binary = nodes.binary.slice().fill(0, 2, 4);
  const tree = weighed("", { ...view, nodes });
  const isLess = Uint8Array.from(tree.names, (_, func) => Number(func === tree.less));
  assert.deepEqual([topDown(tree), bottomUp(tree)].map((each) => each.matched(isLess)), [3e6, 3e6]);
  assert.equal(baseTree(view).less, -1);
});

test("pointer and arrow keys find boxes, also those of what is too narrow", () => {
  const laid = layoutFlame(topDown(weighed()), -1, 600);
  assert.equal(boxAt(laid, 350, 25).node, 3);
  assert.equal(boxAt(laid, 550, 25), null);
  const keys = ["ArrowDown", "ArrowRight", "ArrowUp", "ArrowRight"];
  const walked = [];
  keys.reduce((id, key) => {
    walked.push(neighbourBox(laid, id, key).id);
    return walked.at(-1);
  }, 0);
  assert.deepEqual(walked, [1, 3, 0, 4]);
  assert.equal(flameHeight(laid), 57);
  const narrow = layoutFlame(topDown(weighed()), -1, 600, 150);
  const rest = neighbourBox(narrow, 0, "ArrowRight");
  assert.deepEqual([rest.node, rest.count, rest.weight], [-1, 2, 2e6]);
  assert.equal(neighbourBox(narrow, null, "ArrowDown").id, 0);
});

