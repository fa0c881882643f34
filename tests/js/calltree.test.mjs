import assert from "node:assert/strict";
import { test } from "node:test";
import {
  baseTree, dominantEngine, functionSums, invertTree, nodesWith, weighTree, withoutSystem,
} from "../../tracekit/report/assets/calltree.js";
import { boxAt, flameHeight, neighbourBox } from "../../tracekit/report/assets/flame_draw.js";
import { layoutFlame, linkChildren, matchedWeight, nodeOfPath, pathOfNode } from "../../tracekit/report/assets/flame_layout.js";
import { framesOf } from "../../tracekit/report/assets/stacks.js";
import { smallView, STRINGS } from "./small_view.mjs";

const ALL = [0, 1, 2, 3, 4, 5];

function weighed(change = (tree) => tree, rows = ALL) {
  const view = smallView();
  return weighTree(change(baseTree(view)), view, rows);
}

/** { "main/predict": total in ms } */
function totals(tree) {
  const names = pathNames(tree);
  return Object.fromEntries(names.map((name, node) => [name, tree.total[node] / 1e6]));
}

function pathNames(tree) {
  return [...tree.parent.keys()].map((node) =>
    pathOfNode(tree, node).map((func) => STRINGS[tree.names[func]]).join("/"));
}

test("totals include all nodes below; the sample without a stack is counted apart", () => {
  const tree = weighed();
  assert.deepEqual(totals(tree), { main: 4, "main/predict": 3, "main/predict/kernel": 2, "main/draw": 1, worker: 1 });
  assert.deepEqual([tree.weight, tree.rootless], [6e6, 1e6]);
});

test("without system libraries their weight is their caller's, and none is lost", () => {
  const tree = weighed(withoutSystem);
  assert.deepEqual(totals(tree), { main: 4, "main/draw": 1, worker: 1 });
  assert.equal(tree.self[0], 3e6);
  assert.equal(tree.rootless, 1e6);
});

test("calls that hiding brings together become one", () => {
  const view = smallView();
  const nodes = { // main → predict(system) → draw, and main → draw
    parent: Int32Array.of(-1, 0, 1, 0), name: Uint32Array.of(0, 2, 6, 6), binary: Uint32Array.of(1, 3, 1, 1),
    flags: Uint8Array.of(0, 1, 0, 0),
  };
  const tree = withoutSystem(baseTree({ ...view, nodes }));
  assert.deepEqual([[...tree.parent], [...tree.newNode]], [[-1, 0], [0, 0, 1, 1]]);
});

test("a recording of nothing but system libraries has all its weight above the roots", () => {
  const view = smallView();
  view.nodes.flags.fill(1);
  const tree = weighTree(withoutSystem(baseTree(view)), view, ALL);
  assert.deepEqual([tree.parent.length, tree.rootless], [0, 6e6]);
});

test("inverted, what ran is on top and its callers below", () => {
  const tree = invertTree(weighed());
  assert.deepEqual(totals(tree), {
    kernel: 2, "kernel/predict": 2, "kernel/predict/main": 2,
    predict: 1, "predict/main": 1, draw: 1, "draw/main": 1, worker: 1,
  });
  const roots = [...tree.parent.keys()].filter((node) => tree.parent[node] < 0);
  assert.equal(roots.reduce((sum, node) => sum + tree.total[node], 0), 5e6);
});

test("inverted branches that are too small to see end where they begin", () => {
  const names = Object.keys(totals(invertTree(weighed(), 0.3)));
  assert.ok(names.includes("kernel/predict/main"));
  assert.ok(names.includes("draw") && !names.includes("draw/main"));
});

test("a box has the engine of most of the weight below it", () => {
  const tree = weighed();
  assert.deepEqual([0, 2, 3].map((node) => dominantEngine(tree, node)), [2, 2, 3]);
  const inverted = invertTree(tree);
  const draw = Object.keys(totals(inverted)).indexOf("draw");
  assert.equal(dominantEngine(inverted, draw), 3);
});

test("a function that calls itself counts once in its total", () => {
  const view = smallView();
  view.nodes.name[1] = 0;
  view.nodes.binary[1] = 1; // main calls main
  const tree = weighTree(baseTree(view), view, ALL);
  const main = functionSums(tree).find(({ func }) => STRINGS[tree.names[func]] === "main");
  assert.deepEqual([main.self, main.total], [1e6, 4e6]);
});

test("the heaviest function comes first", () => {
  assert.equal(STRINGS[weighed().names[functionSums(weighed())[0].func]], "kernel");
});

function boxes(focus, smallest) {
  const tree = weighed();
  const laid = layoutFlame(tree, linkChildren(tree.parent), focus, 600, smallest);
  const names = pathNames(tree);
  return Object.fromEntries(laid.map(({ node, x, width, depth }) => [names[node], [x, width, depth]]));
}

test("boxes are as wide as their weight, heavier ones left; what has no frame stays empty", () => {
  assert.deepEqual(boxes(-1), {
    main: [0, 400, 0], worker: [400, 100, 0], "main/predict": [0, 300, 1], "main/draw": [300, 100, 1],
    "main/predict/kernel": [0, 200, 2],
  });
});

test("a focused box is as wide as the picture, and its callers stand above it", () => {
  assert.deepEqual(boxes(1), {
    main: [0, 600, 0], "main/predict": [0, 600, 1], "main/predict/kernel": [0, 400, 2],
  });
});

test("boxes that are too narrow are left out with all below them", () => {
  assert.deepEqual(Object.keys(boxes(-1, 350)), ["main"]);
});

test("a path of functions leads to its node, in any tree that has it", () => {
  const tree = weighed();
  const links = linkChildren(tree.parent);
  assert.equal(nodeOfPath(tree, links, pathOfNode(tree, 2)), 2);
  assert.equal(nodeOfPath(tree, links, [99]), -1);
});

test("the weight of highlighted functions counts stacks once", () => {
  const tree = weighed();
  const marked = Uint8Array.from(tree.names, (name) => (["main", "kernel"].includes(STRINGS[name]) ? 1 : 0));
  assert.equal(matchedWeight(tree, marked), 4e6);
});

test("with a focus only what is below it counts, whole where a caller is highlighted", () => {
  const tree = weighed();
  const only = (...all) => Uint8Array.from(tree.names, (name) => (all.includes(STRINGS[name]) ? 1 : 0));
  const predict = 1;
  assert.equal(tree.total[predict], 3e6);
  const weights = [only("kernel"), only("draw", "worker"), only("main"), only("predict")].map((marked) => matchedWeight(tree, marked, predict));
  assert.deepEqual(weights, [2e6, 0, 3e6, 3e6]);
});

test("nodes of an answer stand behind the view's, with its functions or with new ones", () => {
  const view = smallView();
  const base = baseTree(view);
  const extra = { parent: Int32Array.of(3, 5, -1), function: Uint32Array.of(2, 7, 0), flags: Uint8Array.of(1, 0, 0) };
  const functions = { number: Uint32Array.of(7), name: Uint32Array.of(8), binary: Uint32Array.of(1) };
  const nodes = nodesWith(view, extra, functions);
  const tree = baseTree({ ...view, nodes });
  const paths = pathNames(tree);
  assert.deepEqual(paths.slice(5), ["main/draw/kernel", "main/draw/kernel/Detect", "main"]);
  assert.deepEqual(paths.slice(0, 5), pathNames(base));
  assert.deepEqual(framesOf({ nodes }, 6), [[8, 1], [4, 5], [6, 1], [0, 1]]);
  assert.equal(withoutSystem(tree).newNode[5], withoutSystem(tree).newNode[3]);
  assert.equal(baseTree(view), base);
  assert.equal(base.parent.length, 5);
});

test("what was cut off is one function, also upside down", () => {
  const view = smallView();
  const nodes = { ...view.nodes, name: view.nodes.name.slice(), flags: Uint8Array.of(0, 1, 2, 2, 0) };
  nodes.name.fill(8, 2, 4);
  nodes.binary = nodes.binary.slice().fill(0, 2, 4);
  const cut = { ...view, nodes };
  const tree = weighTree(baseTree(cut), cut, ALL);
  const isLess = Uint8Array.from(tree.names, (_, func) => Number(func === tree.less));
  assert.deepEqual([tree, invertTree(tree)].map((each) => matchedWeight(each, isLess)), [3e6, 3e6]);
  assert.equal(baseTree(view).less, -1);
});

test("pointer and arrow keys find boxes", () => {
  const tree = weighed();
  const laid = layoutFlame(tree, linkChildren(tree.parent), -1, 600);
  assert.equal(boxAt(laid, 350, 25).node, 3);
  assert.equal(boxAt(laid, 550, 5), null);
  const keys = ["ArrowDown", "ArrowRight", "ArrowUp", "ArrowRight"];
  const walked = [];
  keys.reduce((node, key) => {
    walked.push(neighbourBox(laid, tree, node, key).node);
    return walked.at(-1);
  }, 0);
  assert.deepEqual(walked, [1, 3, 0, 4]);
  assert.equal(flameHeight(laid), 57);
});
