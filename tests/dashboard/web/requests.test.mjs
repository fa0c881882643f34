import assert from "node:assert/strict";
import { test } from "node:test";
import { fetchResult } from "../../../dashboard/tracekit_dashboard/assets/shared/requests.js";

const ask = (answer) => {
  globalThis.fetch = async () => answer;
  return fetchResult("/x", (response) => response.json());
};

test("a result is what was read; a refusal is the server's sentence", async () => {
  assert.equal(await ask({ ok: true, json: async () => 7 }), 7);
  await assert.rejects(ask({ ok: false, json: async () => ({ error: "It is gone." }) }), { message: "It is gone." });
});

test("a damaged result leads to the advice to read again", async () => {
  const broken = { ok: true, json: async () => { throw new TypeError("Failed to fetch"); } };
  await assert.rejects(ask(broken), /^Error: The analysis is damaged.*read the recording again\.$/);
});
