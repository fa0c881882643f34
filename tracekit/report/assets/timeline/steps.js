// Stepping from interval to interval of a lane: windows, measured intervals, signposts.
import { callTitle } from "../data/calls.js";
import { touching } from "../data/intervals.js";
import { laneId, readLaneId } from "./lanes.js";
import { cleanText, formatDuration, formatTime } from "../shared/numbers.js";
import { lowerBound } from "../shared/scale.js";

/** A lane's intervals in order of their start; null if it has none, or too many to be listed in the view. */
export function laneIntervals(source, id) {
  const { kind, index } = readLaneId(id);
  const getters = { windows: () => source.calls[index], span: () => source.spans[index], signposts: () => source.signposts[index] };
  const intervals = getters[kind]?.();
  return intervals?.start.length > 0 ? intervals : null;
}

/** The first lane with intervals to step through; the windows' lane only if there is no other. */
export function firstLaneOfIntervals(source) {
  const { spans, signposts } = source.view;
  const ids = [...spans.map((_, index) => laneId("span", index)), ...signposts.map((_, index) => laneId("signposts", index))];
  return ids.find((id) => laneIntervals(source, id)) ?? laneId("windows", 0);
}

/**
 * The position of the interval after (1) or before (-1) the selected interval or time; without a selection, of the first
 * or last interval in view. -1 if there is none.
 */
export function nextPosition(intervals, id, { range, view }, direction) {
  const { start } = intervals;
  const selected = range ? selectedPosition(intervals, id, range) : -1;
  const position = selected >= 0 ? selected + direction : adjacentPosition(intervals, range, view, direction);
  return position < start.length ? Math.max(-1, position) : -1;
}

function adjacentPosition(intervals, range, view, direction) {
  const { start } = intervals;
  if (range) return direction > 0 ? lowerBound(start, range.from) : lowerBound(start, range.from) - 1;
  const [first, last] = touching(intervals, view.from, view.to);
  const isInView = (position) => endOf(intervals, position) > view.from;
  let position = direction > 0 ? first : last - 1;
  while (position >= first && position < last && !isInView(position)) position += direction;
  return position;
}

/** The position of the selected interval, else -1. Of several with the same start and end, the range names one. */
function selectedPosition(intervals, id, range) {
  const isSame = (position) => intervals.start[position] === range.from && endOf(intervals, position) === range.to;
  if (range.lane === id && isSame(range.position)) return range.position;
  let position = lowerBound(intervals.start, range.from);
  while (intervals.start[position] === range.from && !isSame(position)) position += 1;
  return isSame(position) ? position : -1;
}

/** The store's `range` for an interval, with its lane and position, as several may have the same start and end. */
export function intervalRange(intervals, id, position) {
  const range = { from: intervals.start[position], to: endOf(intervals, position), isDone: true, lane: id, position };
  return id.startsWith("w") ? { ...range, window: intervals.row[position] } : range;
}

/** The position among all calls of the one after (1) or before (-1) the selected call, -1 for none. */
export function nextCall(source, { range, view }, direction) {
  const selected = range?.window === undefined ? -1 : source.windows.row.indexOf(range.window);
  return nextPosition(source.windows, "w", { view, range: selected < 0 ? range : { ...range, lane: "w", position: selected } }, direction);
}

/** The lane of a call, and its position there. */
export function placeOfCall(source, window) {
  const index = source.calls.findIndex(({ row }) => row.includes(window));
  return { id: laneId("windows", index), position: source.calls[index].row.indexOf(window) };
}

/** What the inspector shows of an interval: the store's `chosen`. */
export function chosenInterval(source, id, position) {
  const { kind } = readLaneId(id);
  const index = laneIntervals(source, id).row[position];
  if (kind === "windows") return { kind: "call", index };
  return { kind: kind === "signposts" ? "signpost" : "interval", lane: id, index };
}

function endOf({ start, end }, position) {
  return Math.max(end[position], start[position] + 1);
}

/** An interval in words, for screen readers. */
export function intervalWords(source, id, position) {
  const { kind, index } = readLaneId(id);
  const intervals = laneIntervals(source, id);
  const { view } = source;
  const row = intervals.row[position];
  const names = { span: () => view.spans[index].name[row], signposts: () => view.signposts[index].name[row] };
  const text = cleanText(view.strings[names[kind]?.()] ?? "", 160);
  const name = kind === "windows" ? callTitle(view, row) : text || "Interval";
  const length = intervals.end[position] - intervals.start[position];
  return `${name}, ${formatDuration(length)} at ${formatTime(intervals.start[position], Math.max(1, length / 100))}`;
}

/** The row of the selected call in the view, -1 for none. */
export function selectedWindow(windows, range) {
  if (!range) return -1;
  const position = selectedPosition(windows, "w", { ...range, lane: "w", position: windows.row.indexOf(range.window) });
  return position < 0 ? -1 : windows.row[position];
}
