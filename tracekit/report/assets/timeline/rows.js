// The timeline's rows from top to bottom, with their positions.
import { callLanes } from "../data/call_lanes.js";
import { servingLanes } from "./arrows.js";
import { laneId, orderedLanes, viewLanes } from "./lanes.js";
import { depthOfLane } from "../stacks/lane_stacks.js";
import { cleanText, countOf, formatCount } from "../shared/numbers.js";

export const MOST_THREADS = 12;
/** Pinned rows stay in sight while other rows scroll, unless they are higher than this. */
const MOST_FIXED_PX = 200;

/** The rows of overlapping intervals that a lane shows before it is unfolded. */
export const SHOWN_ROWS = 4;
/** Above and below the rows of a lane; the lower part has the mark of folded rows. */
export const ROWS_PADDING_PX = 3;
/** A thread with less than this part of the work of the busiest one gets a low lane. */
const LITTLE_WORK = 0.02;

/** Below a thread's lane: deeper frames are in the time-ordered chart only. */
const MOST_STACK_ROWS = 60;
const STACK_ROW_PX = 18; // as in stacks/stack_chart_draw.js
const HEIGHTS = { notes: 24, group: 22, span: 22, signposts: 20, thread: 32, quiet: 22, more: 24, none: 32, track: 34 };
const LINES = { windows: 18, span: 18, signposts: 16 };
const GROUPS = { windows: "Calls", measured: "Measured", threads: "Threads", signposts: "Signposts", tracks: "Tracks", tables: "Tables" };

/**
 * Rows with `kind`, `id`, `label`, `y` and `height`, and the height of all. Lanes have an `index` into their kind's
 * list and the `group` in which they can be moved. `chosen` are the state's fields that decide which rows are shown.
 */
export function timelineRows(source, chosen = {}) {
  const { closed = [], allThreads = false, pinned = [], order = [], shownLanes = "", cursor = null, unfolded = [], notes = [] } = chosen;
  const lanes = laneRows(source, unfolded, chosen);
  const searchText = shownLanes.trim().toLowerCase();
  const cursorLane = cursor && laneId("thread", cursor.lane);
  const isMatch = ({ id, words }) => id === cursorLane || words.toLowerCase().includes(searchText);
  const lanesOf = (ids, group) => ids.map((id) => ({ ...lanes.get(id), group })).filter(isMatch);
  const rows = notes.length > 0 ? [{ kind: "notes", id: "notes", label: "Notes", notes }] : [];
  const isFoldable = searchText === ""; // a search shows all matches, also in closed groups
  const process = onlyProcess(source.view);
  const add = (key, label, count, members) => {
    if (members.length === 0) return;
    const folded = isFoldable && closed.includes(key);
    rows.push({ kind: "group", id: key, key, label, folded, count, isFoldable, detail: key === "threads" ? process : "" });
    if (folded) return;
    if (key === "threads" && isFoldable) rows.push(...firstThreads(members, allThreads, cursorLane));
    else rows.push(...members);
  };
  const addServing = () => {
    const members = lanesOf(serving, "threads");
    if (members.length > 0) rows.push({ kind: "group", id: "serving", key: "serving", label: "Threads of the chosen call", folded: false, count: members.length, isFoldable: false, detail: "" }, ...members);
  };
  const pinnedIds = new Set(pinned.filter((id) => lanes.has(id)));
  add("pinned", "Pinned", pinnedIds.size, lanesOf([...pinnedIds], "pinned").map(withGroupName));
  const pinnedRows = rows.length;
  const serving = chosen.chosen?.kind === "call" ? servingLanes(source.view, chosen.chosen.index).filter((id) => lanes.has(id) && !pinnedIds.has(id)) : [];
  for (const [key, ids] of Object.entries(viewLanes(source.view))) {
    const unpinned = orderedLanes(ids, order).filter((id) => !pinnedIds.has(id) && !serving.includes(id));
    const count = key === "windows" ? source.view.windows.count : unpinned.length;
    add(key, GROUPS[key], count, lanesOf(unpinned, key));
    if (key === "windows") addServing();
  }
  if (rows.every(({ kind }) => kind === "notes") && searchText !== "") rows.push({ kind: "none", id: "none", label: "no lane has this in its name" });
  return placed(rows, pinnedRows);
}

/** All lanes by id; `words` is the text that the search looks in. */
function laneRows(source, unfolded, state) {
  const { view } = source;
  const text = (index) => cleanText(view.strings[index] ?? "");
  const lanes = new Map();
  const add = (kind, index, label, more = {}) => {
    const id = laneId(kind, index);
    lanes.set(id, { kind, index, id, label, words: `${label}\n${more.process ?? ""}\n${more.detail ?? ""}`, ...more });
  };
  const addPacked = (kind, index, label, more = {}) => add(kind, index, label, { ...more, ...packedHeight(kind, source.packed[kind][index], unfolded.includes(laneId(kind, index))) });
  callLanes(view).forEach((lane, index) => addPacked("windows", index, nameOfCalls(lane, text)));
  view.spans.forEach((span, index) => addPacked("span", index, text(span.label), { detail: `measured by ${text(span.source)}` }));
  const process = onlyProcess(view);
  const heaviest = view.lanes.reduce((most, { weight }) => Math.max(most, weight ?? 0), 0);
  view.lanes.forEach((lane, index) => {
    const samples = countOf(lane.samples, "sample");
    const detail = [samples, process ? "" : cleanText(text(lane.process), 60)].filter(Boolean).join(" · ");
    const isQuiet = lane.weight < LITTLE_WORK * heaviest;
    const stacks = stacksBelow(source, index, unfolded, state);
    const height = (isQuiet ? HEIGHTS.quiet : HEIGHTS.thread) + stacks.stacksPx;
    add("thread", index, text(lane.label), { process: text(lane.process), detail, isQuiet, height, ...stacks });
  });
  view.signposts.forEach((lane, index) => addPacked("signposts", index, text(lane.label)));
  view.tracks.forEach((track, index) => add("track", index, text(track.name), { unit: text(track.unit) }));
  view.drawn?.forEach((lane, index) => add("table", index, lane.label, lane)); // which draws and describes itself
  return lanes;
}

/** Whether a thread's lane can show its stacks, and the height that they take. */
function stacksBelow(source, index, unfolded, state) {
  const hasStacks = Boolean(source.stacksIn?.(index, 0, 1, 1)); // which need the order of samples
  const isUnfolded = hasStacks && unfolded.includes(laneId("thread", index));
  const depth = isUnfolded ? depthOfLane(source, index, { transforms: "", ...state }) : 0;
  return { hasStacks, isUnfolded, stacksPx: Math.min(depth, MOST_STACK_ROWS) * STACK_ROW_PX };
}

function nameOfCalls({ name, models }, text) {
  return name === null ? `${formatCount(models)} other models` : text(name);
}

/** The height of a lane with rows of intervals: `lines` are shown, `folded` are not, `left` intervals have no row at all. */
function packedHeight(kind, packed, isUnfolded) {
  const { count, left } = packed ?? { count: 1, left: 0 };
  const lines = isUnfolded ? count : Math.min(count, SHOWN_ROWS);
  const height = count > 1 ? LINES[kind] * lines + 2 * ROWS_PADDING_PX : Math.max(HEIGHTS[kind] ?? 0, LINES[kind] + 2 * ROWS_PADDING_PX);
  return { height, lines, folded: count - lines, left, isUnfolded: isUnfolded && count > SHOWN_ROWS };
}

/** The row of a lane at a height inside of it. */
export function lineAt(row, y) {
  const line = Math.floor((y - ROWS_PADDING_PX) / ((row.height - 2 * ROWS_PADDING_PX) / row.lines));
  return Math.max(0, Math.min(row.lines - (row.folded > 0 ? 0 : 1), line)); // below the last is the mark of folded rows
}

/** The process of all threads, "" if there are several: then each thread names its own. */
function onlyProcess(view) {
  const processes = new Set(view.lanes.map((lane) => lane.process));
  return processes.size === 1 ? cleanText(view.strings[view.lanes[0].process] ?? "") : "";
}

/** Outside of its group, a lane of calls needs a label that names the group. */
function withGroupName(row) {
  return row.kind === "windows" ? { ...row, label: `Calls: ${row.label}` } : row;
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
