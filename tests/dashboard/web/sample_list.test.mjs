// The text above the list of a selection's samples.
import assert from "node:assert/strict";
import { test } from "node:test";
import "./report_assets.mjs";

const { listSummary } = await import("../../../dashboard/tracekit_dashboard/assets/recording/sample_list.js");

test("the text gives how many are listed only where some are left", () => {
  const counts = { selected: 277, total: 9_000 };
  assert.equal(listSummary(100, { ...counts, hasMore: true }), "277 of 9,000 samples, the first 100 listed");
  assert.equal(listSummary(277, { ...counts, hasMore: false }), "277 of 9,000 samples");
  const summedUp = "277 of 9,000 samples. A row sums up those of one stack and thread in up to 2.00 ms";
  assert.equal(listSummary(100, { ...counts, hasMore: true, binNs: 2e6 }), `${summedUp}; the first 100 rows are listed`);
  assert.equal(listSummary(83, { ...counts, hasMore: false, binNs: 2e6 }), summedUp);
});
