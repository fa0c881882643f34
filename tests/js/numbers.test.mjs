import assert from "node:assert/strict";
import { test } from "node:test";
import {
  cleanText, countOf, formatCount, formatDuration, formatMegabytes, formatPercent, formatTime, formatTrack, formatWeight,
} from "../../tracekit/report/assets/shared/numbers.js";

test("durations have three digits and a unit", () => {
  const shown = [0, 7, 950, 1e3, 4.2149e6, 99.97e6, 999.9e6, 1.5e9, 75.5e9].map(formatDuration);
  const expected = ["0", "7.00 ns", "950 ns", "1.00 µs", "4.21 ms", "100 ms", "1.00 s", "1.50 s", "1 min 15.5 s"];
  assert.deepEqual(shown, expected);
});

test("an unknown value is a dash, never zero", () => {
  assert.deepEqual([null, undefined, NaN].map(formatDuration), ["–", "–", "–"]);
  assert.equal(formatPercent(0 / 0), "–");
  assert.equal(formatCount(NaN), "–");
});

test("ticks have as many digits as they need to differ", () => {
  assert.equal(formatTime(1.5e9, 0.5e9), "1.5 s");
  assert.equal(formatTime(1.5e9, 1e6), "1.500 s");
  assert.equal(formatTime(0, 20e6), "0 ms");
  assert.equal(formatTime(40e6, 20e6), "40 ms");
});

test("percentages", () => {
  assert.deepEqual([0, 0.0004, 0.0123, 0.5, 1].map(formatPercent), ["0 %", "< 0.1 %", "1.2 %", "50 %", "100 %"]);
});

test("weights are times or counts of their unit", () => {
  assert.equal(formatWeight(2e6, "ns"), "2.00 ms");
  assert.equal(formatWeight(3.2e9, "cycles"), "3.20 Gcycles");
  assert.equal(formatWeight(12, "events"), "12 events");
});

test("recorded text stays on one line, in one direction, and is cut", () => {
  assert.equal(cleanText("a\nb\u202ec\u0000"), "a b‹202e›c‹0000›");
  assert.equal(cleanText("\ud800x"), "‹d800›x");
  assert.equal(cleanText("x".repeat(1000), 5), "xxxxx…");
  assert.equal(cleanText("xx😀", 3), "xx…");
  assert.equal(cleanText("😀 naïve</script>"), "😀 naïve</script>");
});

test("one of a thing is no plural", () => {
  assert.deepEqual([0, 1, 1200].map((count) => countOf(count, "sample")), ["0 samples", "1 sample", "1,200 samples"]);
});

test("thermal levels have names, other tracks numbers and units", () => {
  assert.deepEqual([0, 1, 2, 3].map((level) => formatTrack(level, "level", 3)), ["nominal", "fair", "serious", "critical"]);
  assert.deepEqual([formatTrack(7, "level", 3), formatTrack(1234.5, "W", 3), formatTrack(1, "", 3)], ["7 level", "1230 W", "1"]);
});

test("megabytes have a decimal while they are few", () => {
  assert.deepEqual([3_400_000, 9_990_000, 16_777_216, 1_204_000_000].map(formatMegabytes), ["3.4", "10", "17", "1,204"]);
});
