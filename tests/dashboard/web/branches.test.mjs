import assert from "node:assert/strict";
import { test } from "node:test";
import { smallView } from "../../js/small_view.mjs";
import "./report_assets.mjs";

const { createBranches } = await import("../../../dashboard/assets/branches.js");
const { framesOf } = await import("../../../tracekit/report/assets/stacks.js");

/** A worker's function `leaf` in App, which the view has no word for, and below it the view's `kernel`. */
const ANSWER = {
  extra: { parent: Int32Array.of(4, 5), function: Uint32Array.of(9, 2), flags: Uint8Array.of(0, 1) },
  functions: { number: Uint32Array.of(9), name: Uint32Array.of(0), binary: Uint32Array.of(1) },
  strings: ["leaf", "App"],
};
const named = (view, node, nodes) => framesOf({ nodes }, node).map((frame) => frame.map((text) => view.strings[text]).join(" in "));

test("an answer without branches has the view's nodes", () => {
  const view = smallView();
  assert.equal(createBranches(view)({}), view.nodes);
});

test("new functions get their names, and texts that the view has keep their numbers", () => {
  const view = smallView();
  view.strings = [...view.strings];
  const nodesOf = createBranches(view);
  const before = view.strings.length;
  const nodes = nodesOf(ANSWER);
  assert.deepEqual(named(view, 6, nodes), ["kernel in libBNNS.dylib", "leaf in App", "worker in App"]);
  assert.equal(view.strings.length, before + 1);
  assert.equal(nodesOf(ANSWER).name[5], nodes.name[5]);
  assert.equal(view.strings.length, before + 1);
});
