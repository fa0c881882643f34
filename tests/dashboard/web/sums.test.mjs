import assert from "node:assert/strict";
import { test } from "node:test";
import { smallView } from "../../js/small_view.mjs";
import "./report_assets.mjs";

const { createSums, selectionQuery } = await import("../../../dashboard/assets/sums.js");

const VIEW = { samples: { node: Int32Array.of(0, 1), number: Uint32Array.of(3, 4), weight: Float64Array.of(30, 40) } };
const state = (from, to, isDone = true, lanes = []) => ({ range: { from, to, isDone }, lanes });

/** A block as the server sends it: `numbers` of samples, one row each. */
function block(numbers, format = "tracekit-sums/1", more = {}) {
  const count = numbers.length;
  const arrays = { n: ["u32", 0, count] };
  const samples = { count, node: "n", weight: "n", number: "n", kind: "n" };
  const written = (offset) => {
    arrays.n[1] = offset;
    return new TextEncoder().encode(JSON.stringify({ format, samples, arrays, ...more }));
  };
  const offset = 512;
  const header = written(offset);
  const bytes = new ArrayBuffer(offset + 4 * count);
  new DataView(bytes).setUint32(0, header.length, true);
  new Uint8Array(bytes, 4).set(header);
  new Uint32Array(bytes, offset).set(numbers);
  return bytes;
}

function stubbed(view = VIEW) {
  const log = { asked: [], aborted: [], arrived: 0, failed: [] };
  const open = new Map();
  const load = (query, signal) => {
    log.asked.push(query);
    return new Promise((resolve, reject) => {
      open.set(query, { resolve, reject });
      signal.addEventListener("abort", () => {
        log.aborted.push(query);
        reject(signal.reason);
      });
    });
  };
  const arrived = () => {
    log.arrived += 1;
  };
  const sums = createSums(view, { load, arrived, failed: (error) => log.failed.push(error.message) });
  const settled = () => new Promise((resolve) => setTimeout(resolve));
  const ends = (how) => (query, value) => (open.get(query)[how](value), settled());
  return { ...sums, log, come: ends("resolve"), fail: ends("reject") };
}

test("a selection is requested in whole nanoseconds, its threads in order", () => {
  assert.equal(selectionQuery({ range: null, lanes: [] }, null), "");
  assert.equal(selectionQuery({ range: { from: 10.2, to: 20.9 }, lanes: [12, 3] }, "a b"), "from=11&to=21&lanes=3.12&filter=a+b");
  assert.equal(selectionQuery({ range: { from: -5, to: 20 }, lanes: [] }, null), "from=0&to=20");
});

test("the whole run is there without asking", () => {
  const sums = stubbed();
  const { selection, isCurrent } = sums.select({ range: null, lanes: [] }, null);
  assert.deepEqual([isCurrent, selection.isWhole, selection.total, [...selection.rows]], [true, true, 7, [0, 1]]);
  assert.deepEqual(sums.log.asked, []);
});

test("a selection is the one before until its own sums are there", async () => {
  const sums = stubbed();
  const before = sums.select(state(1, 9), null);
  assert.deepEqual([before.isCurrent, before.selection.isWhole], [false, true]);
  await sums.come("from=1&to=9", block([5, 6]));
  assert.equal(sums.log.arrived, 1);
  const { selection, isCurrent } = sums.select(state(1, 9), null);
  assert.equal(isCurrent, true);
  assert.deepEqual([...selection.view.samples.number], [5, 6]);
  assert.deepEqual([[...selection.rows], selection.total, selection.range.to, selection.isWhole], [[0, 1], 7, 9, false]);
});

test("of several choices the last one counts; the others are given up", async () => {
  const sums = stubbed();
  sums.select(state(1, 9), null);
  sums.select(state(1, 9), "gpu");
  sums.select({ range: null, lanes: [2] }, null);
  await sums.come("lanes=2", block([1]));
  assert.deepEqual(sums.log.aborted, ["from=1&to=9", "from=1&to=9&filter=gpu"]);
  assert.deepEqual([sums.log.arrived, sums.log.failed], [1, []]);
  assert.equal(sums.select({ range: null, lanes: [2] }, null).isCurrent, true);
});

test("the branches that an answer brings are the selection's", async () => {
  const view = smallView();
  const sums = stubbed(view);
  const names = { extra: { parent: "n", function: "n", flags: "n" }, functions: { number: "n", name: "n", binary: "n" } };
  sums.select(state(1, 9), null);
  await sums.come("from=1&to=9", block([0], "tracekit-sums/1", { ...names, strings: ["of the answer"] }));
  const { nodes, strings } = sums.select(state(1, 9), null).selection.view;
  assert.deepEqual([nodes.parent.length, nodes.parent[5], strings[nodes.name[5]]], [6, 0, "of the answer"]);
  assert.equal(sums.select({ range: null, lanes: [] }, null).selection.view.nodes, view.nodes);
});

test("the same selection is not requested twice", () => {
  const sums = stubbed();
  sums.select(state(1, 9), null);
  sums.select(state(1, 9), null);
  assert.equal(sums.log.asked.length, 1);
});

test("while the pointer drags, answers come through, and the newest selection waits its turn", async () => {
  const sums = stubbed();
  for (const to of [2, 3, 4]) sums.select(state(1, to, false), null);
  assert.deepEqual(sums.log.asked, ["from=1&to=2"]);
  await sums.come("from=1&to=2", block([8]));
  assert.deepEqual(sums.log.asked, ["from=1&to=2", "from=1&to=4"]);
  const { selection, isCurrent } = sums.select(state(1, 5, false), null);
  assert.deepEqual([isCurrent, selection.range.to], [false, 2]);
  sums.select(state(1, 5), null);
  assert.deepEqual(sums.log.asked, ["from=1&to=2", "from=1&to=4", "from=1&to=5"]);
});

test("clearing the selection gives up what is on its way", async () => {
  const sums = stubbed();
  sums.select(state(1, 9), null);
  assert.equal(sums.select({ range: null, lanes: [] }, null).isCurrent, true);
  await new Promise((resolve) => setTimeout(resolve));
  assert.deepEqual([sums.log.aborted.length, sums.log.failed], [1, []]);
});

test("a failure is reported, and retried only after allowRetry", async () => {
  const sums = stubbed();
  sums.select(state(1, 9), null);
  await sums.fail("from=1&to=9", new Error("no"));
  assert.deepEqual(sums.log.failed, ["no"]);
  const { isCurrent, isRefused } = sums.select(state(1, 9), null);
  assert.deepEqual([isCurrent, isRefused], [false, true]);
  assert.equal(sums.log.asked.length, 1);
  assert.equal(sums.allowRetry(), true);
  assert.equal(sums.allowRetry(), false);
  sums.select(state(1, 9), null);
  assert.equal(sums.log.asked.length, 2);
});

test("a failed selection is refused until its sums arrive or another one is chosen, also during a retry", async () => {
  const sums = stubbed();
  assert.equal(sums.select(state(1, 9), null).isRefused, false);
  await sums.fail("from=1&to=9", new Error("no"));
  sums.allowRetry();
  assert.equal(sums.select(state(1, 9), null).isRefused, true);
  assert.equal(sums.log.asked.length, 2);
  assert.equal(sums.select(state(1, 8), null).isRefused, false);
  await sums.fail("from=1&to=8", new Error("no"));
  assert.equal(sums.select({ range: null, lanes: [] }, null).isRefused, undefined);
  assert.equal(sums.select(state(1, 8), null).isRefused, false);
  await sums.come("from=1&to=8", block([1]));
  assert.equal(sums.select(state(1, 8), null).isCurrent, true);
});

test("an answer of another kind is a failure", async () => {
  const sums = stubbed();
  sums.select(state(1, 9), null);
  await sums.come("from=1&to=9", block([1], "tracekit-view/1"));
  assert.match(sums.log.failed[0], /expected tracekit-sums\/1/);
});

test("transforms are applied by the server, whose answer has the whole tree and the names of the steps", async () => {
  const view = { ...smallView(), tiles: {} };
  view.strings = [...view.strings];
  const sums = stubbed(view);
  const chain = { range: null, lanes: [], transforms: "drop:1~flat" };
  assert.equal(sums.select(chain, null).isCurrent, false);
  assert.deepEqual(sums.log.asked, ["transforms=drop%3A1%7Eflat"]);
  const extra = { parent: [-1, 0], function: [0, 9], flags: [0, 0] };
  const more = { extra, functions: { number: [9], name: [0], binary: [1] }, strings: ["leaf", "App"], steps: [null, ""] };
  await sums.come(sums.log.asked[0], block([0, 1], "tracekit-sums/1", more));
  const { selection, isCurrent } = sums.select(chain, null);
  assert.deepEqual([isCurrent, selection.isWhole], [true, true]);
  assert.deepEqual([...selection.view.nodes.parent], [-1, 0]);
  assert.deepEqual(selection.view.steps.map(({ text, name }) => [text, name]), [["drop:1", null], ["flat", ""]]);
  assert.equal(sums.select({ range: null, lanes: [] }, null).selection.view.steps, undefined);
});

test("the nodes of a selection are made when a part asks for them, and once", async () => {
  const view = smallView();
  view.strings = [...view.strings];
  const before = view.strings.length;
  const sums = stubbed(view);
  sums.select(state(0, 5), null);
  const more = { extra: { count: 1, parent: "n", function: "n", flags: "n" }, functions: { number: "n", name: "n", binary: "n" }, strings: ["new"] };
  await sums.come("from=0&to=5", block([0], "tracekit-sums/1", more));
  const { selection } = sums.select(state(0, 5), null);
  assert.equal(view.strings.length, before);
  assert.equal(selection.view.nodes, selection.view.nodes);
  assert.equal(view.strings.length, before + 1);
});
