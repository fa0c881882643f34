// What lies under the pointer, in words.
import { intervalAt } from "./intervals.js";
import { cleanText, countOf, formatCount, formatDuration, formatPercent, formatTime, formatTrack } from "./numbers.js";
import { lowerBound } from "./scale.js";

const NEAR_PX = 3;

/** What the timeline holds, for those who do not see it: which of it is told elsewhere, and how to get at the rest. */
export function describeTimeline({ lanes, windows, spans, signposts, tracks }) {
  const parts = [
    [lanes.length, "thread"],
    [windows.count, "inference window"],
    [spans.length, "measured lane"],
    [signposts.length, "lane of signposts", "lanes of signposts"],
    [tracks.length, "track"],
  ];
  const named = parts
    .filter(([count]) => count > 0)
    .map(([count, noun, plural]) => (plural && count !== 1 ? `${formatCount(count)} ${plural}` : countOf(count, noun)));
  const list = [named.slice(0, -1).join(", "), named.at(-1)].filter(Boolean).join(" and ");
  if (list === "") return "Timeline without anything to show";
  const below = windows.count > 0 || spans.length > 0 || lanes.length > 0;
  const told = windows.count > 0 ? "the windows and what is selected" : "what is selected";
  return `Timeline of ${list}${below ? `; the tables and figures below hold ${told}` : ""}`;
}

/** { lines, range }: the lines of a tooltip, and the interval that a click would select, or null. */
export function describeAt(source, row, time, y, view, width) {
  const pixelNs = (view.to - view.from) / width;
  const at = formatTime(time, pixelNs);
  const described = row && DESCRIBERS[row.kind]?.({ source, row, time, y, pixelNs });
  if (!described) return { lines: row?.label ? [row.label, at] : [at], range: null };
  return { lines: [...described.lines, at], range: described.range ?? null };
}

const DESCRIBERS = {
  windows: describeWindow,
  span: describeSpan,
  signposts: describeSignpost,
  thread: describeThread,
  track: describeTrack,
};

function describeWindow({ source, row, time, y, pixelNs }) {
  const { rows, count } = source.windowRows;
  const wanted = Math.floor((y - 3) / ((row.height - 6) / count));
  const place = intervalAt(source.windows, time, NEAR_PX * pixelNs, rows, wanted);
  return place < 0 ? null : { lines: windowLines(source, place), range: rangeOf(source.windows, place) };
}

function windowLines(source, place) {
  const { windows, strings } = source.view;
  const window = source.windows.row[place];
  const text = (column) => cleanText(strings[windows[column][window]] ?? "", 160);
  const first = windows.first[window] ? ", the first of its model" : "";
  return [
    `Window ${window}${first}: ${text("verdict")}`,
    text("label"),
    `${formatDuration(source.windows.end[place] - source.windows.start[place])} (${text("basis")})`,
    text("why"),
  ];
}

function describeSpan({ source, row, time, pixelNs }) {
  const span = source.view.spans[row.index];
  const index = source.spans[row.index];
  if (!index) {
    const [level] = source.spanOccupancy(row.index, time, time + pixelNs, 1);
    return { lines: [row.label, `busy ${formatPercent(level / 255)} (${span.basis}; too many to show singly)`] };
  }
  const place = intervalAt(index, time, NEAR_PX * pixelNs);
  if (place < 0) return null;
  const original = index.row[place];
  const name = cleanText(source.view.strings[span.name[original]] ?? "", 160);
  const other = span.own && !span.own[original] ? ["another process's work"] : [];
  const length = formatDuration(index.end[place] - index.start[place]);
  return { lines: [name || row.label, `${length} (${span.basis})`, ...other], range: rangeOf(index, place) };
}

function describeSignpost({ source, row, time, pixelNs }) {
  const index = source.signposts[row.index];
  const place = intervalAt(index, time, NEAR_PX * pixelNs);
  if (place < 0) return null;
  const name = cleanText(source.view.strings[source.view.signposts[row.index].name[index.row[place]]], 160);
  return { lines: [name, formatDuration(index.end[place] - index.start[place])], range: rangeOf(index, place) };
}

function describeThread({ source, row, time, pixelNs }) {
  const from = Math.max(0, time - pixelNs / 2);
  const answer = source.occupancy(row.index, from, from + pixelNs, 1);
  if (!answer) return null;
  const shares = answer.engines
    .map((engine, index) => [source.view.engines[engine], answer.planes[index] / 255])
    .filter(([, share]) => share > 0.0005)
    .sort((left, right) => right[1] - left[1])
    .map(([name, share]) => `${name} ${formatPercent(share)}`);
  return { lines: [row.label, shares.length > 0 ? shares.join(", ") : "no samples here", row.detail] };
}

function describeTrack({ source, row, time }) {
  const track = source.view.tracks[row.index];
  const place = lowerBound(track.time, time + 1) - 1;
  const value = place < 0 ? NaN : track.value[place];
  return { lines: [row.label, Number.isNaN(value) ? "not known" : formatTrack(value, row.unit, 4)] };
}

function rangeOf(index, place) {
  return { from: index.start[place], to: Math.max(index.end[place], index.start[place] + 1) };
}
