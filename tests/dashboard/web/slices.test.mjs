// The upload's protocol against a small server that fails on demand.
import assert from "node:assert/strict";
import { createHash, webcrypto } from "node:crypto";
import { test } from "node:test";
import { BLOCK_BYTES, createDigests } from "../../../dashboard/tracekit_dashboard/assets/library/block_digest.js";
import { describeItems, Refused, sendItems, sliceItems, uploadKey } from "../../../dashboard/tracekit_dashboard/assets/library/slices.js";


function fileOf(text, name = "x.zip", lastModified = 1) {
  return new File([text], name, { lastModified });
}

function itemsOf(...files) {
  return files.map((file) => ({ path: file.name, file }));
}

/** The digest of less than a block. */
function digestOf(text) {
  const hash = (data) => createHash("sha256").update(data).digest();
  return (text === "" ? hash("") : hash(hash(text))).toString("hex");
}

/** Keeps what it is sent; `failures` are answers that it gives first to PUTs: a status, or "lost" for no answer. */
function serverOf({ failures = [], sliceBytes = 4, finishStatus = 200 } = {}) {
  const server = { asked: [], digests: [], proofs: [], content: "", isGone: false };
  const answer = (status, value = null, headers = {}) =>
    new Response(value === null ? null : JSON.stringify(value), { status, headers });
  server.fetch = async (address, { method, headers, body, signal }) => {
    signal?.throwIfAborted();
    assert.equal(headers["X-Tracekit"], "1");
    server.asked.push(`${method} ${address}${method === "PUT" ? ` ${headers["Upload-Offset"]}` : ""}`);
    if (method === "POST" && address === "/api/uploads") return answer(201, { id: "u1", slice_bytes: sliceBytes });
    if (method === "POST") {
      server.proofs.push(JSON.parse(body));
      return finishStatus === 200 ? answer(200, { address: "/recordings/r1" }) : answer(finishStatus, { error: "No recording." });
    }
    if (method === "DELETE") return answer(204);
    if (server.isGone) return answer(404, { error: "There is no such upload." });
    const offset = { "Upload-Offset": String(server.content.length) };
    if (method === "HEAD") return answer(204, null, offset);
    const failure = failures.shift();
    if (failure === "lost") throw new TypeError("network");
    if (failure === "stored and lost") {
      server.content += await body.text();
      throw new TypeError("network");
    }
    if (failure) return answer(failure, { error: `Refused with ${failure}.` });
    if (Number(headers["Upload-Offset"]) !== server.content.length) return answer(409, { error: "Elsewhere." }, offset);
    server.digests.push(headers["Upload-Digest"]);
    if ("Upload-Digest" in headers && headers["Upload-Digest"] !== digestOf(server.content)) return answer(409, { error: "Another file." });
    server.content += await body.text();
    return answer(204, null, { "Upload-Offset": String(server.content.length) });
  };
  return server;
}

function memory(values = {}) {
  const storage = new Map(Object.entries(values));
  return {
    values: storage,
    getItem: (key) => storage.get(key) ?? null,
    setItem: (key, value) => storage.set(key, value),
    removeItem: (key) => storage.delete(key),
  };
}

function send(server, items, more = {}) {
  const options = { storage: memory(), locks: null, onProgress: () => {}, fetch: server.fetch, pauses: [0, 0], pollMs: 1, ...more };
  return sendItems("x.zip", items, options);
}

test("a file goes in slices, and its page is where it ends", async () => {
  const server = serverOf();
  const seen = [];
  const address = await send(server, itemsOf(fileOf("abcdefghij")), { onProgress: (...each) => seen.push(each) });
  assert.equal(address, "/recordings/r1");
  assert.equal(server.content, "abcdefghij");
  assert.deepEqual(seen, [[0, "sent"], [4, "sent"], [8, "sent"], [10, "sent"]]);
  assert.deepEqual(server.asked, [
    "POST /api/uploads", "PUT /api/uploads/u1 0", "PUT /api/uploads/u1 4", "PUT /api/uploads/u1 8", "POST /api/uploads/u1/finish",
  ]);
});

test("an empty file is begun and finished", async () => {
  const server = serverOf();
  await send(server, itemsOf(fileOf("")));
  assert.deepEqual(server.asked, ["POST /api/uploads", "POST /api/uploads/u1/finish"]);
});

for (const failure of ["lost", "stored and lost", 500, 503]) {
  test(`after a slice that is ${failure}, it continues at the server's offset`, async () => {
    const server = serverOf({ failures: [undefined, failure] });
    await send(server, itemsOf(fileOf("abcdefghij")));
    assert.equal(server.content, "abcdefghij");
  });
}

test("it gives up when the server stays away", async () => {
  const server = serverOf({ failures: Array(9).fill("lost") });
  await assert.rejects(send(server, itemsOf(fileOf("abcdefghij"))), TypeError);
});

for (const status of [403, 413, 422]) {
  test(`a ${status} is final, and its message is shown`, async () => {
    const server = serverOf({ failures: [status] });
    await assert.rejects(send(server, itemsOf(fileOf("abc"))), new Refused(`Refused with ${status}.`));
    assert.equal(server.asked.length, 2);
  });
}

test("an upload begun before a reload continues", async () => {
  const items = itemsOf(fileOf("abcdefghij"));
  const storage = memory({ [uploadKey("x.zip", items)]: "u1" });
  const server = serverOf();
  server.content = "abcd";
  const seen = [];
  await send(server, items, { storage, onProgress: (...each) => seen.push(each) });
  assert.equal(server.content, "abcdefghij");
  assert.deepEqual(seen[0], [4, "before"]);
  assert.equal(server.digests[0], digestOf("abcd"));
  assert.equal(storage.values.size, 0);
});

test("a slice comes with the digest of the bytes before it, and the end with that of all", async () => {
  const server = serverOf();
  await send(server, itemsOf(fileOf("abcdef", "a"), fileOf("ghij", "b")));
  assert.deepEqual(server.digests, ["", "abcd", "abcdefgh"].map(digestOf));
  assert.deepEqual(server.proofs, [{ digest: digestOf("abcdefghij") }]);
});

test("a file that has changed since is refused before a byte is added, and begun anew when it is chosen again", async () => {
  const items = itemsOf(fileOf("abXdefghij"));
  const storage = memory({ [uploadKey("x.zip", items)]: "u1" });
  const server = serverOf();
  server.content = "abcd";
  await assert.rejects(send(server, items, { storage }), new Refused("Another file."));
  assert.equal(server.content, "abcd");
  assert.deepEqual(server.asked.map((request) => request.split(" ")[0]), ["HEAD", "PUT"]);
  assert.equal(storage.values.size, 0);
  server.content = "";
  await send(server, items, { storage });
  assert.equal(server.content, "abXdefghij");
});

test("the digest of long files is that of their blocks", async () => {
  const content = webcrypto.getRandomValues(new Uint8Array(60_000));
  const long = new Blob(Array(300).fill(content)); // 18 MB
  const read = [];
  const before = createDigests((from, to) => (read.push([from, to]), long.slice(from, to)), webcrypto.subtle);
  const hash = (data) => createHash("sha256").update(data).digest();
  const bytes = Buffer.from(await long.arrayBuffer());
  for (const offset of [0, 1, BLOCK_BYTES - 1, BLOCK_BYTES, BLOCK_BYTES + 1, 2 * BLOCK_BYTES, long.size]) {
    const blocks = [];
    for (let from = 0; from < offset; from += BLOCK_BYTES) blocks.push(hash(bytes.subarray(from, Math.min(from + BLOCK_BYTES, offset))));
    assert.equal(await before(offset), hash(Buffer.concat(blocks)).toString("hex"), `of ${offset}`);
  }
  assert.equal(read.filter(([from, to]) => to - from === BLOCK_BYTES).length, 2); // each block once
});

test("without digests, only the page that began an upload continues it", async () => {
  const items = itemsOf(fileOf("abcdefghij"));
  const storage = memory({ [uploadKey("x.zip", items)]: "of an earlier page" });
  const server = serverOf({ failures: [undefined, 403] });
  await assert.rejects(send(server, items, { storage, subtle: null }), new Refused("Refused with 403."));
  assert.equal(server.asked[0], "POST /api/uploads");
  await send(server, items, { storage, subtle: null });
  assert.equal(server.content, "abcdefghij");
  assert.equal(server.asked.filter((request) => request === "POST /api/uploads").length, 1);
  assert.deepEqual(server.digests, [undefined, undefined]);
});

test("an upload that the server no longer has begins anew", async () => {
  const items = itemsOf(fileOf("abc"));
  const storage = memory({ [uploadKey("x.zip", items)]: "old" });
  const server = serverOf();
  const fetch = (address, options) => (address.endsWith("/old") ? Promise.resolve(new Response(null, { status: 404 })) : server.fetch(address, options));
  await send(server, items, { storage, fetch });
  assert.equal(server.content, "abc");
});

test("a refused end is forgotten, so that the same file can be tried again", async () => {
  const storage = memory();
  await assert.rejects(send(serverOf({ finishStatus: 422 }), itemsOf(fileOf("abc")), { storage }), new Refused("No recording."));
  assert.equal(storage.values.size, 0);
});

test("stopping stops, and nothing stays", async () => {
  const controller = new AbortController();
  const storage = memory();
  const server = serverOf();
  const onProgress = (arrived) => arrived === 4 && controller.abort();
  const stopped = send(server, itemsOf(fileOf("abcdefghij")), { storage, signal: controller.signal, onProgress });
  await assert.rejects(stopped, { name: "AbortError" });
  assert.equal(server.content, "abcd");
  assert.equal(server.asked.at(-1), "DELETE /api/uploads/u1");
  assert.equal(storage.values.size, 0);
});

test("what another tab cancelled is begun anew, and not without end", async () => {
  const server = serverOf({ failures: [undefined, 404] });
  const fetch = async (address, options) => {
    const answer = await server.fetch(address, options);
    server.isGone = answer.status === 404 ? ((server.content = ""), true) : options.method === "HEAD" && server.isGone;
    if (options.method === "POST") server.isGone = false;
    return answer;
  };
  await send(server, itemsOf(fileOf("abcdefghij")), { fetch });
  assert.equal(server.content, "abcdefghij");
  const gone = serverOf({ failures: Array(9).fill(404) });
  await assert.rejects(send(gone, itemsOf(fileOf("abc"))), new Refused("Refused with 404."));
});

// Two tabs --------------------------------------------------------------------------------------------------

/** As navigator.locks: one holder, the others in their turn. */
function locksOf() {
  let last = Promise.resolve();
  return {
    request(_name, { signal }, work) {
      const turn = last.then(() => {
        signal?.throwIfAborted();
        return work();
      });
      last = turn.catch(() => {});
      const stopped = new Promise((_resolve, reject) => signal?.addEventListener("abort", () => reject(signal.reason)));
      return Promise.race([turn, stopped]);
    },
  };
}

/** A server on which every slice takes a while. */
function slowServer() {
  const server = serverOf();
  const fetch = async (address, options) => {
    if (options.method === "PUT") await new Promise((resolve) => setTimeout(resolve, 10));
    return server.fetch(address, options);
  };
  return { server, fetch };
}

test("a second tab follows the first, and both end at the recording", async () => {
  const { server, fetch } = slowServer();
  const shared = { storage: memory(), locks: locksOf(), fetch };
  const seen = [];
  const items = itemsOf(fileOf("abcdefghijklmnop"));
  const addresses = await Promise.all([
    send(server, items, shared),
    send(server, items, { ...shared, onProgress: (arrived, why) => seen.push(why === "elsewhere" ? arrived : why) }),
  ]);
  assert.deepEqual(addresses, ["/recordings/r1", "/recordings/r1"]);
  assert.equal(server.content, "abcdefghijklmnop");
  assert.deepEqual(server.asked.filter((request) => request.startsWith("PUT")).length, 4);
  assert.deepEqual(server.asked.filter((request) => request === "POST /api/uploads").length, 1);
  assert.ok(seen.includes(4) && seen.at(-1) === "before", String(seen));
});

test("a second tab goes on where the first stopped", async () => {
  const server = serverOf({ failures: [undefined, 403] });
  const shared = { storage: memory(), locks: locksOf() };
  const items = itemsOf(fileOf("abcdefghij"));
  const [first, second] = await Promise.allSettled([send(server, items, shared), send(server, items, shared)]);
  assert.equal(first.reason.message, "Refused with 403.");
  assert.equal(second.value, "/recordings/r1");
  assert.equal(server.content, "abcdefghij");
});

test("who stops following another tab leaves its upload alone", async () => {
  const { server, fetch } = slowServer();
  const shared = { storage: memory(), locks: locksOf(), fetch };
  const items = itemsOf(fileOf("abcdefghij"));
  const first = send(server, items, shared);
  const controller = new AbortController();
  const onProgress = (arrived) => arrived === 4 && controller.abort();
  await assert.rejects(send(server, items, { ...shared, signal: controller.signal, onProgress }), { name: "AbortError" });
  assert.equal(await first, "/recordings/r1");
  assert.ok(!server.asked.some((request) => request.startsWith("DELETE")));
});

test("two tabs that cannot agree take turns", async () => {
  const { server, fetch } = slowServer();
  const shared = { storage: memory(), fetch, pauses: [1, 1, 1, 1] };
  const items = itemsOf(fileOf("abcdefghijklmnop"));
  shared.storage.setItem(uploadKey("x.zip", items), "u1");
  const addresses = await Promise.all([send(server, items, shared), send(server, items, shared)]);
  assert.deepEqual(addresses, ["/recordings/r1", "/recordings/r1"]);
  assert.equal(server.content, "abcdefghijklmnop");
});

test("slices run over the borders of files", async () => {
  const items = itemsOf(fileOf("abc", "a"), fileOf("", "b"), fileOf("defgh", "c"));
  const text = (from, to) => sliceItems(items, from, to).text();
  assert.equal(await text(0, 2), "ab");
  assert.equal(await text(2, 5), "cde");
  assert.equal(await text(3, 8), "defgh");
  assert.equal(await text(0, 8), "abcdefgh");
});

test("a file is described as one, a folder by its files", () => {
  const file = fileOf("abc");
  assert.deepEqual(describeItems("x.zip", [{ path: "x.zip", file }]), { name: "x.zip", size_bytes: 3 });
  const inside = { path: "x.trace/a", file };
  assert.deepEqual(describeItems("x.trace", [inside]), { name: "x.trace", files: [{ path: "x.trace/a", size_bytes: 3 }] });
});

test("the key distinguishes files by name, size and time", () => {
  const key = (file) => uploadKey("x", itemsOf(file));
  const original = key(fileOf("abc", "x", 1));
  assert.equal(key(fileOf("xyz", "x", 1)), original);
  for (const changed of [fileOf("abcd", "x", 1), fileOf("abc", "x", 2), fileOf("abc", "y", 1)]) assert.notEqual(key(changed), original);
});
