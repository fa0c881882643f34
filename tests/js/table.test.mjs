import assert from "node:assert/strict";
import { test } from "node:test";
import { histogramBins } from "../../tracekit/report/assets/tables/histogram.js";
import { toggled } from "../../tracekit/report/assets/timeline/labels.js";
import { filteredRows, sortedRows } from "../../tracekit/report/assets/tables/table.js";

test("rows sort by number, either way, what is not known last", () => {
  const values = [3, NaN, 1, null, 2];
  assert.deepEqual(sortedRows([0, 1, 2, 3, 4], (row) => values[row], false), [2, 4, 0, 1, 3]);
  assert.deepEqual(sortedRows([0, 1, 2, 3, 4], (row) => values[row], true), [0, 4, 2, 1, 3]);
});

test("names sort as people count, and equal ones keep their order", () => {
  const names = ["worker 10", "worker 9", "Äpfel", "worker 9"];
  assert.deepEqual(sortedRows([0, 1, 2, 3], (row) => names[row], false), [2, 1, 3, 0]);
});

test("every word of the filter must stand in a row", () => {
  const texts = ["Detector on ANE", "Detector on CPU", "Encoder"];
  assert.deepEqual(filteredRows([0, 1, 2], (row) => texts[row], " detector cpu"), [1]);
  assert.deepEqual(filteredRows([0, 1, 2], (row) => texts[row], " "), [0, 1, 2]);
});

test("toggling adds and takes away", () => {
  assert.deepEqual([toggled([1, 2], 3), toggled([1, 2], 2)], [[1, 2, 3], [1]]);
});

test("a histogram holds every window, the first ones apart", () => {
  const bins = histogramBins([1, 2, 3, 10], [1, 0, 0, 0]);
  assert.equal(bins.isLogarithmic, false);
  assert.equal([...bins.warm, ...bins.first].reduce((sum, each) => sum + each), 4);
  assert.equal(bins.first[0], 1);
  assert.equal(bins.warm.at(-1), 1);
});

test("a histogram's bars are stacked by the engines that served the calls", () => {
  const { byKind } = histogramBins([1, 1, 10, 10], [1, 0, 0, 0], ["ANE", "ANE", "CPU", "ANE"]);
  assert.deepEqual([byKind.get("ANE")[0], byKind.get("ANE").at(-1), byKind.get("CPU").at(-1)], [2, 1, 1]);
});

test("a wide spread is shown in equal ratios", () => {
  const bins = histogramBins([1, 10, 100], [0, 0, 0]);
  assert.equal(bins.isLogarithmic, true);
  assert.ok(Math.abs(bins.edge(0.5) - 10) < 1e-9);
  assert.ok(Math.abs(bins.fractionOf(10) - 0.5) < 1e-9);
});

test("windows of equal length, or of none, still have a place", () => {
  assert.equal(Math.max(...histogramBins([5, 5], [0, 0]).warm), 2);
  assert.equal(Math.max(...histogramBins([0, 0], [0, 0]).warm), 2);
});
