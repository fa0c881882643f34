// The stacks of a lane from the server: one request per picture, the newest counts, and a failure is not repeated.
import assert from "node:assert/strict";
import { test } from "node:test";
import { smallView } from "../../js/small_view.mjs";
import "./report_assets.mjs";

const { remoteStacks } = await import("../../../dashboard/assets/remote_stacks.js");

/** A block of samples whose nodes, times and lengths are all `numbers`. */
function block(numbers) {
  const arrays = { n: ["u32", 512, numbers.length] };
  const samples = { count: numbers.length, node: "n", time: "n", weight: "n", number: "n", kind: "n" };
  const header = new TextEncoder().encode(JSON.stringify({ format: "tracekit-stacks/1", in_range: 9, samples, arrays }));
  const bytes = new ArrayBuffer(512 + 4 * numbers.length);
  new DataView(bytes).setUint32(0, header.length, true);
  new Uint8Array(bytes, 4).set(header);
  new Uint32Array(bytes, 512).set(numbers);
  return bytes;
}

function stubbed() {
  const log = { asked: [], aborted: 0, arrived: 0, failed: [] };
  const open = [];
  const load = (path, signal) => {
    log.asked.push(path);
    signal.addEventListener("abort", () => (log.aborted += 1));
    return new Promise((resolve, reject) => open.push({ resolve, reject }));
  };
  const arrived = () => (log.arrived += 1);
  const stacksIn = remoteStacks(smallView(), { load, arrived, failed: (error) => log.failed.push(error.message) });
  const settled = () => new Promise((resolve) => setTimeout(resolve));
  return { stacksIn, log, come: (index, numbers) => (open[index].resolve(block(numbers)), settled()), fail: (index) => (open[index].reject(new Error("no")), settled()) };
}

test("a picture is requested once, and drawn from the one before until it is there", async () => {
  const { stacksIn, log, come } = stubbed();
  assert.ok(stacksIn(1, 0, 10.5, 5000).isMissing);
  assert.ok(stacksIn(1, 0, 10.5, 5000).isMissing);
  assert.deepEqual(log.asked, ["stack-chart?lane=1&from=0&to=11&columns=4000"]);
  await come(0, [1, 2]);
  const first = stacksIn(1, 0, 10.5, 5000);
  assert.deepEqual([[...first.rows], [...first.lengths], first.inRange, log.arrived], [[0, 1], [1, 2], 9, 1]);
  assert.equal(stacksIn(1, 0, 5, 100), first);
  assert.equal(log.asked.length, 2);
});

test("the newest picture of a lane counts", async () => {
  const { stacksIn, log, come } = stubbed();
  stacksIn(0, 0, 10, 100);
  stacksIn(0, 0, 5, 100);
  assert.equal(log.aborted, 1);
  await come(0, [1]);
  assert.ok(stacksIn(0, 0, 5, 100).isMissing);
  await come(1, [2]);
  assert.deepEqual([...stacksIn(0, 0, 5, 100).lengths], [2]);
});

test("a failure is reported once, and another picture is requested", async () => {
  const { stacksIn, log, fail } = stubbed();
  stacksIn(0, 0, 10, 100);
  await fail(0);
  stacksIn(0, 0, 10, 100);
  assert.deepEqual([log.failed, log.asked.length], [["no"], 1]);
  stacksIn(0, 0, 5, 100);
  assert.equal(log.asked.length, 2);
});
