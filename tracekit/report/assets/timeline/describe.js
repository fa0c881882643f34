// Texts for what the timeline shows: as a whole, and under the pointer.
import { callName, callTitle } from "../data/calls.js";
import { flagsOf } from "./draw_notes.js";
import { intervalAt } from "../data/intervals.js";
import { cleanText, countOf, formatCount, formatDuration, formatPercent, formatTime, formatTrack } from "../shared/numbers.js";
import { ownerText } from "../data/owners.js";
import { lineAt } from "./rows.js";
import { lowerBound } from "../shared/scale.js";

const NEAR_PX = 3;
const SAMPLE_NEAR_PX = 2;

/** The timeline's contents for screen readers, and the parts of the page that hold the same as text. */
export function describeTimeline({ lanes, windows, spans, signposts, tracks }) {
  const parts = [
    [lanes.length, "thread"],
    [windows.count, "call"],
    [spans.length, "measured lane"],
    [signposts.length, "lane of signposts", "lanes of signposts"],
    [tracks.length, "track"],
  ];
  const named = parts
    .filter(([count]) => count > 0)
    .map(([count, noun, plural]) => (plural && count !== 1 ? `${formatCount(count)} ${plural}` : countOf(count, noun)));
  const list = [named.slice(0, -1).join(", "), named.at(-1)].filter(Boolean).join(" and ");
  if (list === "") return "Empty timeline";
  const below = windows.count > 0 || spans.length > 0 || lanes.length > 0;
  const contents = windows.count > 0 ? "the calls and the selection" : "the selection";
  return `Timeline of ${list}${below ? `; the tables and figures below show ${contents}` : ""}`;
}

/**
 * { lines, range, chosen, sample }: a tooltip's lines, none where nothing is; the interval that a click would select and what
 * it would show in the inspector, or null; and in a thread's lane where to look for a sample: { lane, time, within }.
 */
export function describeAt(source, row, time, y, view, width) {
  const pixelNs = (view.to - view.from) / width;
  const timeText = formatTime(time, pixelNs);
  const nothing = { range: null, chosen: null, sample: null };
  const describer = row && (row.describe ?? DESCRIBERS[row.kind]);
  if (!describer) return { ...nothing, lines: [] };
  const described = describer({ source, row, time, y, pixelNs, view, width });
  if (!described) return { ...nothing, lines: [row.label, timeText] };
  return { ...nothing, ...described, lines: [...described.lines, timeText] };
}

const DESCRIBERS = {
  notes: describeNote,
  windows: describeWindow,
  span: describeSpan,
  signposts: describeSignpost,
  thread: describeThread,
  track: describeTrack,
};

function describeNote({ row, time, pixelNs, view, width }) {
  const x = (time - view.from) / pixelNs;
  const flag = flagsOf(row.notes, view, width).findLast((candidate) => x >= candidate.left - NEAR_PX && x <= candidate.left + candidate.width);
  return flag ? { lines: [`Note at ${formatTime(flag.note.time, pixelNs)}`, cleanText(flag.note.text, 500)], note: flag.note } : null;
}

function describeWindow({ source, row, time, y, pixelNs }) {
  const intervals = source.calls[row.index];
  const position = positionAt(source, intervals, row, time, y, pixelNs);
  if (position < 0) return null;
  const window = intervals.row[position];
  const range = { ...rangeOf(intervals, position), window, position };
  return { lines: callLines(source.view, window), range, chosen: { kind: "call", index: window } };
}

/** The position of the interval under the pointer, in its row of the lane; -1 for none. */
function positionAt(source, intervals, row, time, y, pixelNs) {
  return intervalAt(intervals, time, NEAR_PX * pixelNs, source.packed[row.kind][row.index].rows, lineAt(row, y));
}

function callLines(view, window) {
  const { windows, strings } = view;
  const text = (column) => cleanText(strings[windows[column][window]] ?? "", 160);
  const first = windows.first[window] ? ", the first of its model" : "";
  return [
    `${callTitle(view, window)}${first}: ${text("verdict")}`,
    text("label") === callName(view, window) ? "" : text("label"),
    `${formatDuration(windows.end[window] - windows.start[window])} (${text("basis")})`,
    text("why"),
  ].filter(Boolean);
}

function describeSpan({ source, row, time, y, pixelNs }) {
  const span = source.view.spans[row.index];
  const index = source.spans[row.index];
  if (!index) {
    const [level] = source.spanOccupancy(row.index, time, time + pixelNs, 1);
    return { lines: [row.label, `busy ${formatPercent(level / 255)} (${span.basis}; too many intervals to list)`] };
  }
  const position = positionAt(source, index, row, time, y, pixelNs);
  if (position < 0) return null;
  const original = index.row[position];
  const name = cleanText(source.view.strings[span.name[original]] ?? "", 160);
  const owner = ownerText(source.view, span, original);
  const length = formatDuration(index.end[position] - index.start[position]);
  const chosen = { kind: "interval", lane: row.id, index: original };
  return { lines: [name || row.label, `${length} (${span.basis})`, owner].filter(Boolean), range: { ...rangeOf(index, position), position }, chosen };
}

function describeSignpost({ source, row, time, y, pixelNs }) {
  const index = source.signposts[row.index];
  const position = positionAt(source, index, row, time, y, pixelNs);
  if (position < 0) return null;
  const name = cleanText(source.view.strings[source.view.signposts[row.index].name[index.row[position]]], 160);
  const chosen = { kind: "signpost", lane: row.id, index: index.row[position] };
  const range = { ...rangeOf(index, position), position };
  return { lines: [name, formatDuration(index.end[position] - index.start[position])], range, chosen };
}

export function describeThread({ source, row, time, pixelNs }) {
  const from = Math.max(0, time - pixelNs / 2);
  const occupied = source.occupancy(row.index, from, from + pixelNs, 1);
  if (!occupied) return null;
  const shares = occupied.engines
    .map((engine, index) => [source.view.engines[engine], occupied.planes[index] / 255])
    .filter(([, share]) => share > 0.0005)
    .sort((left, right) => right[1] - left[1])
    .map(([name, share]) => `${name} ${formatPercent(share)}`);
  const lines = [row.label, shares.length > 0 ? shares.join(", ") : "no samples here", row.detail];
  const sample = shares.length > 0 ? { lane: row.index, time, within: SAMPLE_NEAR_PX * pixelNs } : null;
  const gap = shares.length > 0 ? null : source.gapAt(row.index, time);
  const quiet = gap && { range: gap, chosen: { kind: "gap", lane: row.id, from: Math.round(gap.from), to: Math.round(gap.to) } };
  return { lines, sample, ...quiet };
}

function describeTrack({ source, row, time }) {
  const track = source.view.tracks[row.index];
  const position = lowerBound(track.time, time + 1) - 1;
  const value = position < 0 ? NaN : track.value[position];
  return { lines: [row.label, Number.isNaN(value) ? "no value" : formatTrack(value, row.unit, 4)] };
}

function rangeOf(index, position) {
  return { from: index.start[position], to: Math.max(index.end[position], index.start[position] + 1) };
}
