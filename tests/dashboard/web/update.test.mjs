// Pages from before an update of the dashboard.
import assert from "node:assert/strict";
import { test } from "node:test";

const { createVersionedFetch } = await import("../../../dashboard/tracekit_dashboard/assets/shared/update.js");

async function reloads(version) {
  const versions = [];
  const headers = version === null ? {} : { "X-Tracekit-Version": version };
  const fetch = createVersionedFetch(async () => new Response("x", { status: 400, headers }), "own", (other) => versions.push(other));
  assert.equal(await (await fetch("/x")).text(), "x");
  return versions;
}

test("a response from another version reloads the page, and is passed on", async () => {
  assert.deepEqual(await reloads("other"), ["other"]);
});

test("a response from this version, or from a proxy, does not", async () => {
  assert.deepEqual(await reloads("own"), []);
  assert.deepEqual(await reloads(null), []);
});
