// The download of a recording's samples, against responses that end early, are refused, or are of another file.
import assert from "node:assert/strict";
import { test } from "node:test";
import "./report_assets.mjs";

const { createDownload } = await import("../../../dashboard/tracekit_dashboard/assets/recording/sample_block.js");

/** A response whose body arrives in these texts; after them the connection is lost if `isLost`. */
function answer(status, texts, { etag = '"a"', size = null, isLost = false } = {}) {
  const chunks = texts.map((text) => new TextEncoder().encode(text));
  const body = new ReadableStream({
    pull(controller) {
      if (chunks.length > 0) controller.enqueue(chunks.shift());
      else if (isLost) controller.error(new TypeError("network"));
      else controller.close();
    },
  });
  return new Response(body, { status, headers: { ETag: etag, "Content-Length": String(size ?? texts.join("").length) } });
}

/** A download of these answers, each a response or an error; `requests` are the headers of each request. */
function downloadOf(...answers) {
  const requests = [];
  const shares = [];
  const fetch = async (address, { headers }) => {
    assert.equal(address, "/samples");
    requests.push(headers);
    const next = answers.shift();
    if (next instanceof Error) throw next;
    return next;
  };
  const download = createDownload("/samples", (share) => shares.push(share), { fetch });
  return { requests, shares, text: async () => (await download()).text() };
}

const lost = { message: "the connection was lost", isTemporary: true };

test("a file that arrives whole is asked for once, and its progress is reported", async () => {
  const { requests, shares, text } = downloadOf(answer(200, ["abcd", "ef", "gh"]));
  assert.equal(await text(), "abcdefgh");
  assert.deepEqual(requests, [{}]);
  assert.deepEqual(shares, [0.5, 0.75, 1]);
});

test("after a lost connection the rest is asked for", async () => {
  const { requests, shares, text } = downloadOf(
    answer(200, ["abcd"], { size: 8, isLost: true }),
    answer(206, ["ef"], { size: 4, isLost: true }),
    answer(206, ["gh"]),
  );
  await assert.rejects(text(), lost);
  await assert.rejects(text(), lost);
  assert.equal(await text(), "abcdefgh");
  assert.deepEqual(requests, [{}, { Range: "bytes=4-", "If-Range": '"a"' }, { Range: "bytes=6-", "If-Range": '"a"' }]);
  assert.deepEqual(shares, [0.5, 0.75, 1]);
});

test("a body that ends before its length is a lost connection", async () => {
  const { requests, text } = downloadOf(answer(200, ["abc"], { size: 8 }), answer(206, ["defgh"]));
  await assert.rejects(text(), lost);
  assert.equal(await text(), "abcdefgh");
  assert.equal(requests[1].Range, "bytes=3-");
});

test("a file that was written anew is taken from its start", async () => {
  const { requests, text } = downloadOf(
    answer(200, ["abcd"], { size: 8, isLost: true }),
    answer(200, ["AB"], { etag: '"b"', size: 4, isLost: true }),
    answer(206, ["CD"], { etag: '"b"' }),
  );
  await assert.rejects(text(), lost);
  await assert.rejects(text(), lost);
  assert.equal(await text(), "ABCD");
  assert.deepEqual(requests[2], { Range: "bytes=2-", "If-Range": '"b"' });
});

test("without an ETag nothing is taken up in the middle", async () => {
  const cut = answer(200, ["abcd"], { size: 8, isLost: true });
  cut.headers.delete("ETag");
  const { requests, text } = downloadOf(cut, answer(200, ["abcdefgh"]));
  await assert.rejects(text(), lost);
  assert.equal(await text(), "abcdefgh");
  assert.deepEqual(requests, [{}, {}]);
});

test("a refusal has the server's sentence, and only a failure of the server is temporary", async () => {
  const refusal = (status, error) => new Response(JSON.stringify({ error }), { status });
  const { text } = downloadOf(refusal(404, "There is no such recording."), refusal(503, "Too many requests."), new TypeError("network"));
  await assert.rejects(text(), { message: "There is no such recording.", isTemporary: false });
  await assert.rejects(text(), { message: "Too many requests.", isTemporary: true });
  await assert.rejects(text(), lost);
});

test("what has arrived outlasts a refusal", async () => {
  const { requests, text } = downloadOf(answer(200, ["abcd"], { size: 8, isLost: true }), new Response("", { status: 503 }), answer(206, ["efgh"]));
  await assert.rejects(text(), lost);
  await assert.rejects(text(), { isTemporary: true });
  assert.equal(await text(), "abcdefgh");
  assert.equal(requests[2].Range, "bytes=4-");
});

test("the next download begins anew", async () => {
  const { requests, text } = downloadOf(answer(200, ["abcd"]), answer(200, ["efgh"]));
  assert.equal(await text(), "abcd");
  assert.equal(await text(), "efgh");
  assert.deepEqual(requests, [{}, {}]);
});
