import assert from "node:assert/strict";
import { test } from "node:test";
import { createTileStore } from "../../../dashboard/assets/tile_store.js";

/** A store whose tiles of ten bytes arrive when the test says so. */
function stubbed(limits = {}) {
  const log = { asked: [], aborted: [], arrived: 0, failed: [] };
  const open = new Map();
  const load = (address, signal) => {
    log.asked.push(address);
    return new Promise((resolve, reject) => {
      open.set(address, { resolve: () => resolve(new Uint8Array(10)), reject });
      signal.addEventListener("abort", () => {
        log.aborted.push(address);
        reject(signal.reason);
      });
    });
  };
  const arrived = () => {
    log.arrived += 1;
  };
  const store = createTileStore({ load, arrived, failed: (error) => log.failed.push(error.message), ...limits });
  const settled = () => new Promise((resolve) => setTimeout(resolve));
  return {
    ...store,
    log,
    come: (address) => (open.get(address).resolve(), settled()),
    fail: (address, text) => (open.get(address).reject(new Error(text)), settled()),
    settled,
  };
}

test("a missing tile is requested once, and available when it has arrived", async () => {
  const store = stubbed();
  assert.equal(store.request(["a", "b"]), false);
  assert.equal(store.request(["a", "b"]), false);
  assert.deepEqual(store.log.asked, ["a", "b"]);
  assert.equal(store.get("a"), null);
  await store.come("a");
  assert.equal(store.get("a").length, 10);
  await store.come("b");
  assert.equal(store.request(["a", "b"]), true);
  assert.equal(store.log.arrived, 2);
});

test("only a few are on their way at once", async () => {
  const store = stubbed({ mostAtOnce: 2 });
  store.request(["a", "b", "c", "d"]);
  assert.deepEqual(store.log.asked, ["a", "b"]);
  await store.come("b");
  assert.deepEqual(store.log.asked, ["a", "b", "c"]);
});

test("tiles no longer needed make way: their requests are cancelled or never sent", async () => {
  const store = stubbed({ mostAtOnce: 2 });
  store.request(["a", "b", "c"]);
  store.request(["b", "d"]);
  await store.settled();
  assert.deepEqual(store.log.asked, ["a", "b", "d"]);
  assert.deepEqual(store.log.aborted, ["a"]);
  assert.deepEqual(store.log.failed, []);
});

test("without new requests, tiles on their way may arrive", async () => {
  const store = stubbed();
  store.request(["a"]);
  store.request([]);
  await store.come("a");
  assert.equal(store.get("a").length, 10);
  assert.equal(store.log.arrived, 0);
});

test("a cancelled tile that is needed again is requested again", async () => {
  const store = stubbed();
  store.request(["a"]);
  store.request(["b"]);
  store.request(["a"]);
  assert.deepEqual(store.log.asked, ["a", "b", "a"]);
  await store.come("a");
  assert.equal(store.get("a").length, 10);
});

test("spare ones come last, and make way", async () => {
  const store = stubbed({ mostAtOnce: 1 });
  store.request(["a"], ["s", "a", "t"]);
  assert.deepEqual(store.log.asked, ["a"]);
  await store.come("a");
  assert.deepEqual(store.log.asked, ["a", "s"]);
  store.request(["b"], ["s"]);
  await store.settled();
  assert.deepEqual([store.log.asked, store.log.aborted], [["a", "s", "b"], ["s"]]);
  await store.come("b");
  assert.deepEqual(store.log.asked, ["a", "s", "b", "s"]);
  await store.come("s");
  assert.equal(store.log.arrived, 2);
});

test("the least recently used tiles make room, but never needed ones", async () => {
  const store = stubbed({ mostBytes: 20 });
  for (const address of ["a", "b"]) {
    store.request([address]);
    await store.come(address);
  }
  store.get("a");
  store.request(["c"]);
  await store.come("c");
  assert.deepEqual(["a", "b", "c"].map((address) => store.get(address) !== null), [true, false, true]);
  store.request(["a", "b", "c", "d"]);
  await store.come("b");
  await store.come("d");
  assert.equal(store.request(["a", "b", "c", "d"]), true);
});

test("a failure is reported once no needed tile is on its way, and retried only with the next request", async () => {
  const store = stubbed();
  store.request(["a", "b"]);
  await store.fail("a", "no");
  assert.deepEqual(store.log.failed, []);
  await store.fail("b", "gone");
  assert.deepEqual(store.log.failed, ["gone"]);
  assert.equal(store.log.asked.length, 2);
  store.request(["a"]);
  await store.come("a");
  assert.equal(store.get("a").length, 10);
});

test("a spare one that fails is no problem", async () => {
  const store = stubbed();
  store.request([], ["s"]);
  await store.fail("s", "no");
  assert.deepEqual(store.log.failed, []);
});
