// Advice with options of the command line, and what a button of the page makes of it.
import assert from "node:assert/strict";
import { test } from "node:test";
import "./report_assets.mjs";

const { adviceIn, commandOptions, shellWords } = await import("../../../dashboard/tracekit_dashboard/assets/recording/advice.js");

test("words are separated as a shell does", () => {
  assert.deepEqual(shellWords(`tracekit analyze 'My App.trace' --process 'it'"'"'s'`), ["tracekit", "analyze", "My App.trace", "--process", "it's"]);
});

test("a command of the analysis becomes options", () => {
  const command = "tracekit analyze App.trace --run 2 --window-signpost 'a/b/c d' --window-signpost=x/y/z --process App";
  assert.deepEqual(commandOptions(command), { run: "2", "window-signpost": ["a/b/c d", "x/y/z"], process: "App" });
  assert.deepEqual(commandOptions("tracekit analyze App.trace"), {});
});

test("other commands, and options that the page lacks, become nothing", () => {
  assert.equal(commandOptions("tracekit record --preset coreml"), null);
  assert.equal(commandOptions("tracekit analyze App.trace --via xctrace"), null);
  assert.equal(commandOptions("tracekit analyze App.trace --run"), null);
});

test("sentences name an option, a table, or a choice", () => {
  assert.deepEqual(adviceIn("were not added to it. Choose them with --samples time-sample", ""), { samples: "time-sample" });
  assert.deepEqual(adviceIn("not used; choose it with --samples", "time-sample"), { samples: "time-sample" });
  assert.deepEqual(adviceIn("--windows stacks includes them.", ""), { windows: "stacks" });
  assert.deepEqual(adviceIn("defines windows with --window-signpost", "os-signpost"), { "window-signpost": null });
  assert.equal(adviceIn("--windows hostile<script>", ""), null);
  assert.equal(adviceIn("no option here", "x-y"), null);
});
