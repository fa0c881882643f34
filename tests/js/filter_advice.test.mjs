// What is said of a filter that can find nothing.
import assert from "node:assert/strict";
import { test } from "node:test";
import { filterAdvice } from "../../tracekit/report/assets/data/filter_advice.js";
import { smallView, STRINGS } from "./small_view.mjs";

const advice = (text, changes) => filterAdvice(smallView(changes), text);

test("a filter that can match needs no advice", () => {
  const texts = [
    "", "kernel", "nothing like it", "engine:cpu,a", "-engine:GPU", "phase:exe,none", "call:1", "call:2-99", 'call:"2 of detect"', "window:1", "window:0-99",
    "window:detect", "thread:31", "thread:work", "thread:app", "std::vector", "binary:nothing",
  ];
  for (const text of texts) assert.deepEqual(advice(text), [], text);
});

test("an unknown engine, phase or thread", () => {
  assert.deepEqual(advice("engine:XYZ"), ["No engine is called “XYZ”: ANE, GPU, CPU, OTHER."]);
  assert.deepEqual(advice("-Engine:gpu,NPU"), ["No engine is called “NPU”: ANE, GPU, CPU, OTHER."]);
  assert.deepEqual(advice("phase:run"), ["No phase is called “run”: execute, dispatch, none."]);
  assert.deepEqual(advice("thread:99"), ["No thread or process is called “99”."]);
});

test("an unknown call", () => {
  assert.deepEqual(advice("call:99"), ["There is no call “99”: calls are numbered 1 to 2."]);
  assert.deepEqual(advice("call:9", { strings: STRINGS.with(8, "Detect9") }), ["There is no call “9”: calls are numbered 1 to 2."]);
  assert.deepEqual(advice("call:0"), ["There is no call “0”: calls are numbered 1 to 2."]);
  assert.deepEqual(advice('call:"3-9 of detect"'), ["There is no call “3-9 of detect”: calls are numbered 1 to 2."]);
  assert.deepEqual(advice("call:9-3"), ["Calls “9-3”: put the smaller number first."]);
  assert.deepEqual(advice("call:Faces"), ["No call or model is named “Faces”."]);
  assert.deepEqual(advice('call:"1 of Faces"'), ["No model is named so: “1 of Faces”."]);
});

test("an unknown window of an earlier link", () => {
  const numbers = "they are numbered 0 to 1 over all models. call:1 is the first call of each model.";
  assert.deepEqual(advice("window:99"), [`There is no window “99”: ${numbers}`]);
  assert.deepEqual(advice("window:2-3"), [`There is no window “2-3”: ${numbers}`]);
  assert.deepEqual(advice("window:9-3"), ["Windows “9-3”: put the smaller number first."]);
  assert.deepEqual(advice("window:Faces"), ["No call or model is named “Faces”."]);
  const windows = { count: 0, start: [], end: [], label: [], model: [] };
  assert.deepEqual(advice("call:1", { windows }), ["This recording has no calls."]);
  assert.deepEqual(advice("window:0", { windows }), ["This recording has no calls."]);
});

test("an unknown key, unless a name contains it", () => {
  const expected = "There is no key foo:, so “foo:bar” is searched for as a word. Keys: thread: engine: phase: call: binary:";
  assert.deepEqual(advice("foo:bar"), [expected]);
  assert.deepEqual(advice("foo:bar", { strings: [...smallView().strings, "-[Foo:bar:]"] }), []);
});
