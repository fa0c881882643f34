// The timeline's rows from top to bottom, with their positions.
import { laneId, orderedLanes, viewLanes } from "./lanes.js";
import { cleanText, countOf, formatCount } from "./numbers.js";

export const MOST_THREADS = 12;
/** Pinned rows stay in sight while other rows scroll, unless they are higher than this. */
const MOST_FIXED_PX = 200;

const HEIGHTS = { group: 22, window: 18, span: 22, signposts: 18, thread: 32, more: 24, none: 32, track: 34 };
const GROUPS = { windows: "Windows", measured: "Measured", threads: "Threads", signposts: "Signposts", tracks: "Tracks" };

/**
 * Rows with `kind`, `id`, `label`, `y` and `height`, and the height of all. Lanes have an `index` into their kind's
 * list and the `group` in which they can be moved. `chosen` are the state's fields that decide which rows are shown.
 */
export function timelineRows(source, chosen = {}) {
  const { closed = [], allThreads = false, pinned = [], order = [], shownLanes = "", cursor = null } = chosen;
  const lanes = laneRows(source);
  const searchText = shownLanes.trim().toLowerCase();
  const cursorLane = cursor && laneId("thread", cursor.lane);
  const isMatch = ({ id, words }) => id === cursorLane || words.toLowerCase().includes(searchText);
  const lanesOf = (ids, group) => ids.map((id) => ({ ...lanes.get(id), group })).filter(isMatch);
  const rows = [];
  const isFoldable = searchText === ""; // a search shows all matches, also in closed groups
  const add = (key, label, count, members) => {
    if (members.length === 0) return;
    const folded = isFoldable && closed.includes(key);
    rows.push({ kind: "group", id: key, key, label, folded, count, isFoldable });
    if (folded) return;
    if (key === "threads" && isFoldable) rows.push(...firstThreads(members, allThreads, cursorLane));
    else rows.push(...members);
  };
  const pinnedIds = new Set(pinned.filter((id) => lanes.has(id)));
  add("pinned", "Pinned", pinnedIds.size, lanesOf([...pinnedIds], "pinned").map(withGroupName));
  const pinnedRows = rows.length;
  for (const [key, ids] of Object.entries(viewLanes(source.view))) {
    const unpinned = orderedLanes(ids, order).filter((id) => !pinnedIds.has(id));
    const count = key === "windows" ? source.view.windows.count : unpinned.length;
    add(key, GROUPS[key], count, lanesOf(unpinned, key));
  }
  if (rows.length === 0 && searchText !== "") rows.push({ kind: "none", id: "none", label: "no lane has this in its name" });
  return placed(rows, pinnedRows);
}

/** All lanes by id; `words` is the text that the search looks in. */
function laneRows(source) {
  const { view } = source;
  const text = (index) => cleanText(view.strings[index] ?? "");
  const lanes = new Map();
  const add = (kind, index, label, more = {}) => {
    const id = laneId(kind, index);
    lanes.set(id, { kind, index, id, label, words: `${label}\n${more.process ?? ""}`, ...more });
  };
  if (view.windows.count > 0) add("windows", 0, "all models", { height: HEIGHTS.window * source.windowRows.count + 6 });
  view.spans.forEach((span, index) => add("span", index, text(span.label)));
  view.lanes.forEach((lane, index) => {
    const process = text(lane.process);
    const detail = `${cleanText(process, 60)} · ${countOf(lane.samples, "sample")}`;
    add("thread", index, text(lane.label), { process, detail });
  });
  view.signposts.forEach((lane, index) => add("signposts", index, text(lane.label)));
  view.tracks.forEach((track, index) => add("track", index, text(track.name), { unit: text(track.unit) }));
  return lanes;
}

/** Outside of its group, the windows' lane needs a label that names the group. */
function withGroupName(row) {
  return row.kind === "windows" ? { ...row, label: `windows of ${row.label}` } : row;
}

/** The first threads and the cursor's, or all of them, with a row that switches between the two. */
function firstThreads(threads, isAll, cursorLane) {
  if (threads.length <= MOST_THREADS) return threads;
  const label = isAll ? `only the first ${MOST_THREADS}` : `show all ${formatCount(threads.length)} threads`;
  const shown = threads.filter(({ id }, index) => isAll || index < MOST_THREADS || id === cursorLane);
  return [...shown, { kind: "more", id: "more", label }];
}

function placed(rows, pinned) {
  let y = 0;
  for (const row of rows) {
    row.height ??= HEIGHTS[row.kind];
    row.y = y;
    y += row.height;
  }
  const last = rows[pinned - 1];
  const isFixed = pinned < rows.length && last?.y + last?.height <= MOST_FIXED_PX;
  if (isFixed) for (const row of rows.slice(0, pinned)) row.isFixed = true;
  return { rows, height: y };
}

/** The rows when scrolled down to `top`: pinned rows lie over the others, so they come last. */
export function scrolledRows(rows, top) {
  const isFixed = (row) => row.isFixed === true;
  if (top === 0 || !rows.some(isFixed)) return rows;
  const fixed = rows.filter(isFixed).map((row) => ({ ...row, y: row.y + top }));
  return [...rows.filter((row) => !isFixed(row)), ...fixed];
}

/** The row at a height, the uppermost if they overlap, or null. */
export function rowAt(rows, y) {
  return rows.findLast((row) => y >= row.y && y < row.y + row.height) ?? null;
}
