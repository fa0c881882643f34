// The timeline's rows from top to bottom: what there is to draw, and where.
import { laneId, orderedLanes, viewLanes } from "./lanes.js";
import { cleanText, countOf, formatCount } from "./numbers.js";

export const MOST_THREADS = 12;
/** Pinned rows stay in sight while the others scroll, unless they would leave these too little room. */
const MOST_FIXED_PX = 200;

const HEIGHTS = { group: 22, window: 18, span: 22, signposts: 18, thread: 32, more: 24, none: 32, track: 34 };
const GROUPS = { windows: "Windows", measured: "Measured", threads: "Threads", signposts: "Signposts", tracks: "Tracks" };

/**
 * Rows with `kind`, `id`, `label`, `y` and `height`, and the height of all. Lanes have an `index` into their kind's
 * list and the `group` that they can be moved in. `chosen`: the state's fields that say which rows there are.
 */
export function timelineRows(source, chosen = {}) {
  const { closed = [], allThreads = false, pinned = [], order = [], shownLanes = "", cursor = null } = chosen;
  const lanes = laneRows(source);
  const wanted = shownLanes.trim().toLowerCase();
  const sought = cursor && laneId("thread", cursor.lane);
  const fits = ({ id, words }) => id === sought || words.toLowerCase().includes(wanted);
  const take = (ids, group) => ids.map((id) => ({ ...lanes.get(id), group })).filter(fits);
  const rows = [];
  const isFoldable = wanted === ""; // what was found is shown
  const add = (key, label, count, members) => {
    if (members.length === 0) return;
    const folded = isFoldable && closed.includes(key);
    rows.push({ kind: "group", id: key, key, label, folded, count, isFoldable });
    if (folded) return;
    if (key === "threads" && isFoldable) rows.push(...firstThreads(members, allThreads, sought));
    else rows.push(...members);
  };
  const own = new Set(pinned.filter((id) => lanes.has(id)));
  add("pinned", "Pinned", own.size, take([...own], "pinned").map(withGroupName));
  const pinnedRows = rows.length;
  for (const [key, ids] of Object.entries(viewLanes(source.view))) {
    const rest = orderedLanes(ids, order).filter((id) => !own.has(id));
    const count = key === "windows" ? source.view.windows.count : rest.length;
    add(key, GROUPS[key], count, take(rest, key));
  }
  if (rows.length === 0 && wanted !== "") rows.push({ kind: "none", id: "none", label: "no lane has this in its name" });
  return placed(rows, pinnedRows);
}

/** All lanes by their id; `words` are what they can be found by. */
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

/** Away from its group a lane says what it is of, where its name does not. */
function withGroupName(row) {
  return row.kind === "windows" ? { ...row, label: `windows of ${row.label}` } : row;
}

/** The first ones, and the one that is `sought`, unless all are wanted. */
function firstThreads(threads, isAll, sought) {
  if (threads.length <= MOST_THREADS) return threads;
  const label = isAll ? `only the first ${MOST_THREADS}` : `show all ${formatCount(threads.length)} threads`;
  const shown = threads.filter(({ id }, place) => isAll || place < MOST_THREADS || id === sought);
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

/** The rows while one has scrolled down to `top`: the pinned ones lie over the others, and so come last. */
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
