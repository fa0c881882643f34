// What browsers hand over when something is dropped or chosen.
import assert from "node:assert/strict";
import { test } from "node:test";
import { chosenItems, droppedItems } from "../../../dashboard/tracekit_dashboard/assets/library/dropped.js";

const fileEntry = (name) => ({ isFile: true, name, file: (done) => done(new File(["x"], name)) });

/** A folder that lists its entries in batches, as Chromium does. */
function folderEntry(name, entries, batch = 2) {
  return {
    isFile: false,
    name,
    createReader() {
      let next = 0;
      return {
        readEntries(done) {
          done(entries.slice(next, next + batch));
          next += batch;
        },
      };
    },
  };
}

const drop = (...entries) => ({ items: entries.map((entry) => ({ webkitGetAsEntry: () => entry })) });
const paths = ({ items }) => items.map(({ path }) => path);

test("a file", async () => {
  const dropped = await droppedItems(drop(fileEntry("x.zip")));
  assert.equal(dropped.name, "x.zip");
  assert.deepEqual(paths(dropped), ["x.zip"]);
});

test("a bundle with folders in it, listed in batches", async () => {
  const inner = folderEntry("Trace1.run", [fileEntry("c"), fileEntry("a"), fileEntry("b"), fileEntry("d"), fileEntry("e")]);
  const dropped = await droppedItems(drop(folderEntry("x.trace", [inner, fileEntry("form.template")])));
  assert.equal(dropped.name, "x.trace");
  assert.deepEqual(paths(dropped), [
    "x.trace/Trace1.run/a", "x.trace/Trace1.run/b", "x.trace/Trace1.run/c", "x.trace/Trace1.run/d", "x.trace/Trace1.run/e",
    "x.trace/form.template",
  ]);
});

test("several files are one recording, named after the first", async () => {
  const dropped = await droppedItems(drop(fileEntry("time-profile.xml"), fileEntry("toc.xml")));
  assert.equal(dropped.name, "time-profile.xml and 1 more");
});

test("what the Finder adds is left out", async () => {
  const dropped = await droppedItems(drop(folderEntry("x", [fileEntry(".DS_Store"), fileEntry("a.xml"), folderEntry("__MACOSX", [fileEntry("b")])])));
  assert.deepEqual(paths(dropped), ["x/a.xml"]);
});

test("nothing, an empty folder, and what is no file", async () => {
  assert.deepEqual(await droppedItems(drop()), { name: "", items: [] });
  assert.deepEqual(await droppedItems(drop(folderEntry("x", []))), { name: "", items: [] });
  assert.deepEqual(await droppedItems({ items: [{ webkitGetAsEntry: () => null }, {}] }), { name: "", items: [] });
});

test("an entry that cannot be read is an error", async () => {
  const broken = { isFile: true, name: "x", file: (_done, failed) => failed(new Error("gone")) };
  await assert.rejects(droppedItems(drop(broken)), /gone/);
});

test("chosen files and folders", () => {
  const inFolder = Object.assign(new File(["x"], "a"), {});
  Object.defineProperty(inFolder, "webkitRelativePath", { value: "x.trace/a" });
  assert.deepEqual(paths(chosenItems([inFolder])), ["x.trace/a"]);
  assert.equal(chosenItems([inFolder]).name, "x.trace");
  assert.deepEqual(paths(chosenItems([new File(["x"], "x.zip")])), ["x.zip"]);
});
