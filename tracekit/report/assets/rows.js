// The timeline's rows from top to bottom: what there is to draw, and where.
import { cleanText, formatCount } from "./numbers.js";

export const MOST_THREADS = 12;

const HEIGHTS = { group: 22, window: 18, span: 22, signposts: 18, thread: 32, more: 24, track: 34 };

/** Rows with `kind`, `index` into that kind's list, `label`, `y` and `height`; and the height of all. */
export function timelineRows(source, { closed = [], allThreads = false } = {}) {
  const { view } = source;
  const text = (index) => cleanText(view.strings[index]);
  const groups = [
    ["windows", "Windows", windowRows(source)],
    ["measured", "Measured", view.spans.map((span, index) => ({ kind: "span", index, label: text(span.label) }))],
    ["threads", "Threads", threadRows(view, allThreads)],
    [
      "signposts",
      "Signposts",
      view.signposts.map((lane, index) => ({ kind: "signposts", index, label: text(lane.label) })),
    ],
    [
      "tracks",
      "Tracks",
      view.tracks.map((track, index) => ({ kind: "track", index, label: text(track.name), unit: text(track.unit) })),
    ],
  ];
  const rows = [];
  for (const [key, label, members] of groups) {
    if (members.length === 0) continue;
    const folded = closed.includes(key);
    rows.push({ kind: "group", key, label, folded, count: groupCount(view, key) });
    if (!folded) rows.push(...members);
  }
  return placed(rows);
}

function groupCount(view, key) {
  const counts = {
    windows: view.windows.count,
    measured: view.spans.length,
    threads: view.lanes.length,
    signposts: view.signposts.length,
    tracks: view.tracks.length,
  };
  return counts[key];
}

function windowRows(source) {
  if (source.view.windows.count === 0) return [];
  const height = HEIGHTS.window * source.windowRows.count + 6;
  return [{ kind: "windows", index: 0, label: "all models", height }];
}

function threadRows(view, all) {
  const shown = all ? view.lanes : view.lanes.slice(0, MOST_THREADS);
  const rows = shown.map((lane, index) => ({
    kind: "thread",
    index,
    label: cleanText(view.strings[lane.label]),
    detail: `${cleanText(view.strings[lane.process], 60)} · ${formatCount(lane.samples)} samples`,
  }));
  if (view.lanes.length > MOST_THREADS) {
    const label = all ? `only the busiest ${MOST_THREADS}` : `show all ${formatCount(view.lanes.length)} threads`;
    rows.push({ kind: "more", label });
  }
  return rows;
}

function placed(rows) {
  let y = 0;
  for (const row of rows) {
    row.height ??= HEIGHTS[row.kind];
    row.y = y;
    y += row.height;
  }
  return { rows, height: y };
}

/** The row at a height, or null. */
export function rowAt(rows, y) {
  return rows.find((row) => y >= row.y && y < row.y + row.height) ?? null;
}
