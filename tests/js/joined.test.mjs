// Joined stacks in the page: the same weight, below the caller.
import assert from "node:assert/strict";
import { test } from "node:test";
import { weighTree } from "../../tracekit/report/assets/stacks/calltree.js";
import { hasJoined, joinedView } from "../../tracekit/report/assets/stacks/joined.js";
import { transformedTree } from "../../tracekit/report/assets/stacks/transform_tree.js";
import { smallView, wholeRun } from "./small_view.mjs";

// The last sample ran on a worker, at node 4; its joined stack is main, predict, (worker of Detect), worker.
function viewWithWorker() {
  const view = smallView();
  view.strings = [...view.strings];
  const nodes = {
    parent: Int32Array.of(...view.nodes.parent, 1, 5),
    name: Uint32Array.of(...view.nodes.name, 8, 7),
    binary: Uint32Array.of(...view.nodes.binary, 1, 1),
    flags: Uint8Array.of(...view.nodes.flags, 0, 0),
  };
  const joined = Int32Array.from(view.stacks.node, (node) => (node === 4 ? 6 : node));
  return wholeRun({ ...view, nodes, stacks: { ...view.stacks, joined } });
}

const weigh = (view, chain = "") =>
  weighTree(transformedTree(view, chain), view, Uint32Array.from(view.samples.node, (_, row) => row));

test("joining moves weight below the caller and loses none", () => {
  const view = viewWithWorker();
  const [apart, joined] = [weigh(view), weigh(joinedView(view))];
  assert.equal(joined.weight, apart.weight);
  assert.ok(apart.total[4] > 0);
  assert.equal(joined.total[4], 0);
  assert.equal(joined.total[1], apart.total[1] + apart.total[4]);
  assert.equal(joined.total[6], apart.total[4]);
});

test("without system libraries, a worker's weight stays with the caller", () => {
  const view = viewWithWorker();
  view.nodes.flags[4] = view.nodes.flags[6] = 1;
  const hidden = (tree) => [...tree.names].map((name) => view.strings[name]).indexOf("(only hidden frames)");
  const weightOf = (tree, func) => tree.total.reduce((sum, total, node) => (tree.func[node] === func && tree.parent[node] < 0 ? sum + total : sum), 0);
  const [apart, joined] = [weigh(view, "system"), weigh(joinedView(view), "system")];
  assert.equal(weightOf(apart, hidden(apart)), 1e6);
  assert.equal(weightOf(joined, hidden(joined)), 0);
  assert.equal(joined.weight, apart.weight);
});

test("a recording without joined stacks is shown as it is", () => {
  const view = smallView();
  assert.ok(!hasJoined(view));
  assert.equal(joinedView(view), view);
});
