import assert from "node:assert/strict";
import { test } from "node:test";
import { createSampleFeed, feedSummary, cachePromises, viewAround } from "../../../dashboard/assets/sample_feed.js";

const settled = () => new Promise((done) => setImmediate(done));

/** A feed whose answers come when the test says so. */
function feedByHand() {
  const questions = [];
  const states = [];
  const load = (query, cursor, signal) =>
    new Promise((answer, refuse) => questions.push({ query, cursor, signal, answer, refuse }));
  const feed = createSampleFeed(load, (state) => states.push(state));
  return { feed, questions, states };
}

const page = (rows, next) => ({ rows, next, selected: 3, total: 9 });

test("a page is asked for, and the next one follows it", async () => {
  const { feed, questions, states } = feedByHand();
  feed.request("from=1");
  assert.equal(states.at(-1).kind, "loading");
  questions[0].answer(page(["a", "b"], "c2"));
  await settled();
  assert.deepEqual([states.at(-1).kind, states.at(-1).rows, states.at(-1).isNew], ["ready", ["a", "b"], true]);
  feed.more();
  assert.deepEqual([questions[1].query, questions[1].cursor], ["from=1", "c2"]);
  assert.deepEqual(states.at(-1).rows, ["a", "b"]);
  questions[1].answer(page(["c"], null));
  await settled();
  assert.deepEqual([states.at(-1).rows, states.at(-1).isNew], [["a", "b", "c"], false]);
  feed.more();
  assert.equal(questions.length, 2);
});

test("the newest query counts, whichever answer arrives first", async () => {
  const { feed, questions, states } = feedByHand();
  feed.request("one");
  feed.request("two");
  assert.equal(questions[0].signal.aborted, true);
  questions[1].answer(page(["two"], null));
  questions[0].answer(page(["one"], null));
  await settled();
  assert.deepEqual(states.at(-1).rows, ["two"]);
});

test("a question that came too late fails unheard", async () => {
  const { feed, questions, states } = feedByHand();
  feed.request("one");
  feed.request("two");
  questions[0].refuse(new Error("aborted"));
  await settled();
  assert.equal(states.at(-1).kind, "loading");
});

test("the same query is loaded once, and every request reports the present state", async () => {
  const { feed, questions, states } = feedByHand();
  feed.request("");
  feed.request("");
  questions[0].answer(page(["a"], null));
  await settled();
  const changes = states.length;
  feed.request("");
  assert.equal(questions.length, 1);
  assert.deepEqual([states.length, states.at(-1).kind, states.at(-1).rows], [changes + 1, "ready", ["a"]]);
});

test("after a refusal there are no rows of another selection, and it can be tried again", async () => {
  const { feed, questions, states } = feedByHand();
  feed.request("one");
  questions[0].answer(page(["a"], null));
  await settled();
  feed.request("two");
  questions[1].refuse(new Error("no such thread"));
  await settled();
  assert.deepEqual([states.at(-1).kind, states.at(-1).message, states.at(-1).rows], ["failed", "no such thread", []]);
  feed.retry();
  assert.equal(questions[2].query, "two");
});

test("a refusal of more leaves what is there, and more is tried again", async () => {
  const { feed, questions, states } = feedByHand();
  feed.request("one");
  questions[0].answer(page(["a"], "c1"));
  await settled();
  feed.more();
  questions[1].refuse(new Error("gone"));
  await settled();
  assert.deepEqual([states.at(-1).kind, states.at(-1).rows], ["failed", ["a"]]);
  feed.retry();
  assert.equal(questions[2].cursor, "c1");
});

test("a selection while more is on its way drops that", async () => {
  const { feed, questions, states } = feedByHand();
  feed.request("one");
  questions[0].answer(page(["a"], "c1"));
  await settled();
  feed.more();
  feed.request("two");
  questions[1].answer(page(["b"], null));
  questions[2].answer(page(["z"], null));
  await settled();
  assert.deepEqual(states.at(-1).rows, ["z"]);
});

test("promises are cached, the least recently used one is dropped first, failures at once", async () => {
  const loaded = [];
  const get = cachePromises((key) => {
    loaded.push(key);
    return key === "bad" ? Promise.reject(new Error("no")) : Promise.resolve(key);
  }, 2);
  for (const key of ["a", "b", "a", "c", "a", "b"]) assert.equal(await get(key), key);
  assert.deepEqual(loaded, ["a", "b", "c", "b"]);
  await assert.rejects(get("bad"));
  await assert.rejects(get("bad"));
  assert.equal(loaded.filter((key) => key === "bad").length, 2);
});

test("the timeline goes to a sample's time, never wider than it is, within the run", () => {
  const view = { duration_ns: 1e9, period_ns: 1e6 };
  const whole = { from: 0, to: 1e9 };
  assert.deepEqual(viewAround(500e6, whole, view), { from: 450e6, to: 550e6 });
  assert.deepEqual(viewAround(500e6, { from: 0, to: 1e6 }, view), { from: 499.5e6, to: 500.5e6 });
  assert.deepEqual(viewAround(2, whole, view), { from: 0, to: 100e6 });
  assert.deepEqual(viewAround(1e9, whole, { ...view, period_ns: 0 }), { from: 999e6, to: 1e9 });
});

test("the summary says how many of how many, and how many of them are listed", () => {
  assert.equal(feedSummary({ rows: [1, 2], selected: 5, total: 9 }, String), "5 of 9 samples, the first 2 listed");
  assert.equal(feedSummary({ rows: [1, 2], selected: 2, total: 9 }, String), "2 of 9 samples");
});
