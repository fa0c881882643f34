// Notes pinned to times: in the address, in order, and as flags that do not cover each other.
import assert from "node:assert/strict";
import { test } from "node:test";
import { describeAt } from "../../tracekit/report/assets/timeline/describe.js";
import { flagsOf } from "../../tracekit/report/assets/timeline/draw_notes.js";
import { readHash, writeHash } from "../../tracekit/report/assets/shared/hash.js";
import { notesOfView, noteTime, readNotes, withNote, writeNotes } from "../../tracekit/report/assets/inspector/notes.js";
import { timelineRows } from "../../tracekit/report/assets/timeline/rows.js";
import { createSource } from "../../tracekit/report/assets/data/source.js";
import { INITIAL_STATE } from "../../tracekit/report/assets/shared/store.js";
import { smallView } from "./small_view.mjs";

const VIEW = { from: 0, to: 10e6 };
const note = (time, text, id = text) => ({ id, time, text });

test("a link has the notes, also when all were deleted", () => {
  const state = { ...INITIAL_STATE, view: VIEW, ownNotes: [note(5, "a & b"), note(7e6, "<c> #d", "c")] };
  const read = readHash(`#${writeHash(state, 10e6)}`, 10e6, 1).ownNotes;
  assert.deepEqual(read.map(({ time, text }) => [time, text]), [[5, "a & b"], [7e6, "<c> #d"]]);
  assert.equal(new Set(read.map(({ id }) => id)).size, 2);
  assert.deepEqual(readHash(writeHash({ ...state, ownNotes: [] }, 10e6), 10e6, 1).ownNotes, []);
  assert.equal(writeHash({ ...state, ownNotes: null }, 10e6), "");
});

test("nonsense in a link is no note", () => {
  assert.deepEqual(readNotes("x\n5\n-5 a\n12345678901234567 b\n"), []);
  assert.equal(readNotes(`5 ${"x".repeat(9000)}`)[0].text.length, 500);
  assert.equal(readNotes(Array(900).fill("5 x").join("\n")).length, 200);
  assert.equal(writeNotes([]), "");
});

test("notes stand in order of time, and a changed one replaces itself", () => {
  const list = withNote(withNote([], note(9, "late")), note(5, "early"));
  assert.deepEqual(list.map(({ text }) => text), ["early", "late"]);
  assert.deepEqual(withNote(list, note(9, "changed", "late")).map(({ text }) => text), ["early", "changed"]);
  assert.deepEqual(notesOfView({ notes: [{ time_ns: 4, text: "given" }] }), [{ id: "v0", time: 4, text: "given" }]);
});

test("a note goes to the selection, else to the chosen sample, else to the middle of what is shown", () => {
  assert.equal(noteTime({ view: VIEW, range: { from: 3, to: 4 }, cursor: { time: 9 } }), 3);
  assert.equal(noteTime({ view: VIEW, range: null, cursor: { time: 9 } }), 9);
  assert.equal(noteTime({ view: VIEW, range: null, cursor: null }), 5e6);
});

test("no flag reaches the next one, and the pointer finds the one that it is on", () => {
  const notes = [note(1e6, "x".repeat(300)), note(2e6, "next")];
  const [first, second] = flagsOf(notes, VIEW, 1000);
  assert.ok(first.x + first.width <= second.x);
  assert.deepEqual(flagsOf(notes, { from: 5e6, to: 6e6 }, 1000), []);
  const [last] = flagsOf([note(9.9e6, "at the very end")], VIEW, 1000);
  assert.ok(last.left + last.width <= 1000 && last.x === 990);
  const source = createSource(smallView());
  const row = timelineRows(source, { notes }).rows[0];
  assert.equal(row.kind, "notes");
  assert.equal(describeAt(source, row, 2.1e6, 9, VIEW, 1000).note.text, "next");
  assert.equal(timelineRows(source, {}).rows.some(({ kind }) => kind === "notes"), false);
});
