// Requests for which the server was too busy.
import assert from "node:assert/strict";
import { test } from "node:test";
import "./report_assets.mjs";

const { createPatientFetch } = await import("../../../dashboard/tracekit_dashboard/assets/shared/busy.js");

const busy = () => new Response(JSON.stringify({ error: "It is locked." }), { status: 503, headers: { "Retry-After": "2" } });

/** A server that sends these responses one after the other, and what the page shows. */
function served(...responses) {
  const shown = [];
  const pauses = [];
  const requests = [];
  const fetch = async (...request) => {
    requests.push(request);
    return responses.shift()();
  };
  const sleep = async (milliseconds) => pauses.push(milliseconds);
  return { patient: createPatientFetch(fetch, (sentence) => shown.push(sentence), { repeats: 2, sleep }), shown, pauses, requests };
}

test("a response is passed on", async () => {
  for (const status of [200, 404, 500, 503]) {
    const { patient, shown } = served(() => new Response("x", { status }));
    assert.equal((await patient("/x")).status, status);
    assert.deepEqual(shown, []);
  }
});

test("a busy server is asked again, with the same request", async () => {
  const { patient, shown, pauses, requests } = served(busy, busy, () => new Response("x"));
  assert.equal(await (await patient("/x", { method: "POST", body: "b" })).text(), "x");
  assert.deepEqual(shown, ["It is locked. Trying again …", "It is locked. Trying again …", ""]);
  assert.deepEqual(pauses, [2000, 2000]);
  assert.deepEqual(requests, Array(3).fill(["/x", { method: "POST", body: "b" }]));
});

test("a server that stays busy: the last response, and its sentence stays", async () => {
  const { patient, shown } = served(busy, busy, busy);
  const response = await patient("/x");
  assert.equal(response.status, 503);
  assert.deepEqual(await response.json(), { error: "It is locked." });
  assert.equal(shown.at(-1), "It is locked.");
});

test("a cancelled request is not repeated", async () => {
  const controller = new AbortController();
  const patient = createPatientFetch(async () => busy(), () => controller.abort());
  await assert.rejects(patient("/x", { signal: controller.signal }), { name: "AbortError" });
});
