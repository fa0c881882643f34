import assert from "node:assert/strict";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { decodeView, readView } from "../../tracekit/report/assets/data/decode.js";

function block(header, body = Buffer.alloc(0)) {
  const text = Buffer.from(JSON.stringify({ format: "tracekit-view/2", ...header }));
  const head = Buffer.alloc(4);
  head.writeUInt32LE(text.length);
  const padding = Buffer.alloc((8 - ((4 + text.length) % 8)) % 8);
  const whole = Buffer.concat([head, text, padding, body]);
  return whole.buffer.slice(whole.byteOffset, whole.byteOffset + whole.length);
}

function withTimes(values, entry) {
  const header = (position) => ({ samples: { weight: "t" }, arrays: { t: entry ?? ["f64", position, values.length] } });
  const offset = 1000; // behind the header, which is shorter
  const body = Buffer.alloc(1008 + values.length * 8);
  const start = block(header(offset)).byteLength;
  values.forEach((value, index) => body.writeDoubleLE(value, offset - start + index * 8));
  return block(header(offset), body);
}

test("arrays replace their names", () => {
  assert.deepEqual(readView(withTimes([1.5, 2 ** 52])).samples.weight, Float64Array.of(1.5, 2 ** 52));
});

test("base64 of gzip is read", async () => {
  const text = gzipSync(Buffer.from(withTimes([7]))).toString("base64");
  assert.deepEqual((await decodeView(`\n${text}\n`)).samples.weight, Float64Array.of(7));
});

test("a field that is a number or absent stays as it is", () => {
  const view = readView(block({ arrays: {}, spans: [{ label: 3, count: 30000 }] }));
  assert.deepEqual(view.spans, [{ label: 3, count: 30000 }]);
});

test("arrays by engine are found inside their object", () => {
  const header = { windows: { values: { verdict: "a" } }, arrays: { a: ["u8", 200, 2] } };
  assert.deepEqual(readView(block(header, Buffer.alloc(300, 9))).windows.values.verdict, Uint8Array.of(9, 9));
});

test("engine and phase of a stack are one byte", () => {
  const header = { stacks: { kind: "k" }, arrays: { k: ["u8", 200, 2] } };
  const { engine, phase } = readView(block(header, Buffer.alloc(300, 0x57))).stacks;
  assert.deepEqual([engine, phase], [Uint8Array.of(5, 5), Uint8Array.of(7, 7)]);
});

for (const [what, buffer, message] of [
  ["another format", block({ format: "other/1" }), /expected tracekit-view\/2, found other\/1/],
  ["a missing array", block({ samples: { weight: "t" }, arrays: {} }), /no array t/],
  ["an array beyond the end", withTimes([1], ["f64", 1000, 1e9]), /beyond the end/],
  ["an unknown type", withTimes([1], ["u64", 1000, 1]), /unknown type u64/],
  ["no header", new ArrayBuffer(2), /before their header/],
  ["a header cut off", new Uint8Array([255, 0, 0, 0, 1]).buffer, /inside their header/],
]) {
  test(`${what} is an error that says so`, () => assert.throws(() => readView(buffer), message));
}
