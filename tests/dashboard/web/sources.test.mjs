import assert from "node:assert/strict";
import { test } from "node:test";
import { smallView } from "../../js/small_view.mjs";
import "./report_assets.mjs";

const { remoteSource, sourceOf } = await import("../../../dashboard/assets/sources.js");

/** 10 ms in planes of 10 bins; tiles of 8 bins for 1 lane each; a dense measured lane, and one that is kept. */
function largeView() {
  const view = smallView({ exact: false, tiles: { bins: 8, levels: 12, lanes: 1 } });
  view.lanes[0].occupancy.fill(100, 0, 10);
  view.lanes[0].occupancy.fill(20, 10, 20);
  view.spans = [
    { start: Float64Array.of(0), end: Float64Array.of(5), occupancy: new Uint8Array(10).fill(9) },
    { occupancy: new Uint8Array(10).fill(60), others: new Uint8Array(10).fill(70) },
  ];
  return view;
}

/** Answers each tile with its plane's number times 10, plus 5 with a filter; `fetch.asked` are the addresses. */
function stub({ status: refusal = 200, planes = {} } = {}) {
  const fetch = async (address) => {
    fetch.asked.push(address);
    const status = fetch.isMended ? 200 : refusal;
    const query = new URL(address, "http://local").searchParams;
    const bytes = new Uint8Array(8 * (planes[query.get("block")] ?? { 0: 2, 1: 1, spans: 2 }[query.get("block")]));
    const plus = query.has("filter") ? 5 : 0;
    bytes.forEach((_, place) => {
      bytes[place] = (Math.floor(place / 8) + 1) * 10 + plus;
    });
    return new Response(status === 200 ? bytes : JSON.stringify({ error: "Read it again." }), { status });
  };
  fetch.asked = [];
  return fetch;
}

function opened(options) {
  const fetch = stub(options);
  const source = remoteSource(largeView(), "/api/recordings/x", { fetch });
  const events = [];
  source.listen({
    picture: () => events.push("picture"),
    problem: (text) => events.push(text),
    resolved: () => events.push("resolved"),
  });
  return { source, fetch, events, settled: () => new Promise((resolve) => setTimeout(resolve, 20)) };
}

const look = (from, to, columns, more = {}) => ({ from, to, columns, lanes: [0], spans: [], mask: null, ...more });
const tilesOf = (addresses) => addresses.map((address) => address.replace("/api/recordings/x/tile?", ""));

test("a view without tiles is drawn from memory", () => {
  assert.equal(sourceOf(smallView(), "/api").isExact, true);
  assert.equal(sourceOf(smallView({ exact: false, bin_ns: 1e6 }), "/api").isExact, false);
  assert.equal(sourceOf(largeView(), "/api").isExact, true);
});

test("wide pictures are the view's own, nothing sharper is asked for", () => {
  const { source, fetch } = opened();
  assert.equal(source.prepare(look(0, 10e6, 5)), true);
  assert.deepEqual([...source.occupancy(0, 0, 10e6, 5).planes], [...new Array(5).fill(100), ...new Array(5).fill(20)]);
  assert.ok(fetch.asked.every((address) => !address.includes("level=0&")));
});

test("zoomed in, the view's planes are stretched until the tiles are there", async () => {
  const { source, fetch, events, settled } = opened();
  assert.equal(source.prepare(look(0, 2.5e6, 8)), false);
  assert.deepEqual(tilesOf(fetch.asked.slice(0, 1)), ["level=2&index=0&block=0"]);
  assert.deepEqual([...source.occupancy(0, 0, 2.5e6, 8).planes], [...new Array(8).fill(100), ...new Array(8).fill(20)]);
  await settled();
  assert.deepEqual(events, ["picture"]);
  assert.equal(source.prepare(look(0, 2.5e6, 8)), true);
  assert.deepEqual([...source.occupancy(0, 0, 2.5e6, 8).planes], [...new Array(8).fill(10), ...new Array(8).fill(20)]);
});

test("under the pointer is what is drawn", async () => {
  const { source, fetch, settled } = opened();
  source.prepare(look(0, 2.5e6, 16));
  await settled();
  const asked = fetch.asked.length;
  assert.deepEqual([...source.occupancy(0, 1e6, 1e6 + 312_500, 1).planes].map(Math.round), [10, 20]);
  assert.equal(fetch.asked.length, asked);
});

test("lanes of several blocks and dense measured lanes are asked for with what is shown", async () => {
  const { source, fetch, settled } = opened();
  source.prepare(look(0, 1e6, 4, { lanes: [1, 0], spans: [0, 1] }));
  assert.deepEqual(
    tilesOf(fetch.asked.slice(0, 3)),
    ["level=3&index=0&block=1", "level=3&index=0&block=0", "level=3&index=0&block=spans"],
  );
  await settled();
  assert.deepEqual([...source.spanOccupancy(1, 0, 5e5, 1)], [10]);
  assert.deepEqual([...source.spanOccupancy(1, 0, 5e5, 1, "others")], [20]);
});

test("with a filter, wanted samples come from tiles at any zoom, and none are drawn before", async () => {
  const { source, fetch, settled } = opened();
  assert.equal(source.mask("  "), null);
  const mask = source.mask("-a b&c");
  assert.equal(mask, '[["",["a"],true],["",["b&c"],false]]');
  assert.equal(source.mask(" -A  b&c"), mask);
  source.prepare(look(0, 10e6, 8, { mask }));
  assert.deepEqual(tilesOf(fetch.asked.slice(0, 1)), [`level=0&index=0&block=0&filter=${encodeURIComponent(mask)}`]);
  assert.deepEqual([...source.occupancy(0, 0, 10e6, 4, mask).planes], new Array(8).fill(0));
  await settled();
  assert.deepEqual([...source.occupancy(0, 0, 10e6, 4, mask).planes], [15, 15, 15, 15, 25, 25, 25, 25]);
});

test("ranges beyond the run, as beside another recording, are idle there", async () => {
  const { source, settled } = opened();
  source.prepare(look(-1e6, 1e6, 16));
  await settled();
  assert.deepEqual([...source.occupancy(0, -1e6, 1e6, 8).planes], [0, 0, 0, 0, 10, 10, 10, 10, 0, 0, 0, 0, 20, 20, 20, 20]);
});

test("the server's refusal is reported in its words; the picture stays, and the next one requests again", async () => {
  const { source, fetch, events, settled } = opened({ status: 404 });
  source.prepare(look(0, 1e6, 4));
  await settled();
  assert.deepEqual(events, ["This part of the timeline could not be fetched: Read it again."]);
  assert.equal(source.occupancy(0, 0, 1e6, 4).planes[0], 100);
  fetch.isMended = true;
  source.prepare(look(0, 1e6, 4));
  await settled();
  assert.deepEqual([events.length, events.at(-1), events.filter((each) => each === "resolved").length], [3, "resolved", 1]);
  assert.equal(source.occupancy(0, 0, 1e6, 4).planes[0], 10);
});

const SELECTED = { range: { from: 1, to: 9, isDone: true }, lanes: [] };

/** A source whose every answer is what `answer(address)` gives; `sums` counts how often those were asked for. */
function failing(answer) {
  const events = [];
  const asked = [];
  const fetch = async (address) => {
    asked.push(address);
    return answer(address);
  };
  const source = remoteSource(largeView(), "/x", { fetch, pauses: { first: 30, longest: 60 } });
  source.listen({ sums: () => source.select(SELECTED, null), problem: (text, about) => events.push([about, text]) });
  return { source, events, sums: () => asked.filter((address) => address.includes("/sums?")).length };
}

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

test("failed sums are retried automatically, at growing intervals", async () => {
  const { source, events, sums } = failing(() => {
    throw new TypeError("Failed to fetch");
  });
  source.select(SELECTED, null);
  await pause(15);
  assert.deepEqual([sums(), events], [1, [["sums", "The selection could not be added up: the dashboard does not answer."]]]);
  await pause(200);
  assert.ok(sums() >= 3 && sums() <= 5, `${sums()} times`);
  source.select({ range: null, lanes: [] }, null);
});

test("refused sums are retried only when the reader asks for it", async () => {
  const { source, events, sums } = failing(() => new Response(JSON.stringify({ error: "Too long." }), { status: 400 }));
  source.select(SELECTED, null);
  await pause(120);
  assert.deepEqual([sums(), events], [1, [["sums", "The selection could not be added up: Too long."]]]);
  source.retry();
  await pause(15);
  assert.equal(sums(), 2);
});

test("a tile that does not fit the view is refused", async () => {
  const { source, events, settled } = opened({ planes: { 0: 3 } });
  source.prepare(look(0, 1e6, 4));
  await settled();
  assert.match(events[0], /unexpected number of planes/);
});

test("a server that does not answer is reported as such", async () => {
  const events = [];
  const source = remoteSource(largeView(), "/x", { fetch: async () => { throw new TypeError("Failed to fetch"); } });
  source.listen({ problem: (text) => events.push(text) });
  source.prepare(look(0, 1e6, 4));
  await new Promise((resolve) => setTimeout(resolve, 10));
  assert.deepEqual(events, ["This part of the timeline could not be fetched: the dashboard does not answer."]);
});
