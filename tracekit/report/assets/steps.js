// From one interval of a lane to the next: windows, what was measured, signposts.
import { touching } from "./intervals.js";
import { laneId, readLaneId } from "./lanes.js";
import { cleanText, formatDuration, formatTime } from "./numbers.js";
import { lowerBound } from "./scale.js";

/** A lane's intervals in order of their start; null where it has none, or too many to hold them singly. */
export function laneIntervals(source, id) {
  const { kind, index } = readLaneId(id);
  const found = { windows: () => source.windows, span: () => source.spans[index], signposts: () => source.signposts[index] };
  const intervals = found[kind]?.();
  return intervals?.start.length > 0 ? intervals : null;
}

/** The first lane that can be stepped through, unless windows are all there is: these come last. */
export function firstLaneOfIntervals(source) {
  const { spans, signposts } = source.view;
  const ids = [...spans.map((_, index) => laneId("span", index)), ...signposts.map((_, index) => laneId("signposts", index))];
  return ids.find((id) => laneIntervals(source, id)) ?? laneId("windows", 0);
}

/**
 * The place of the interval after (1) or before (-1) the selected one, or the selected time; where nothing is
 * selected, of the first or last one in view. -1 where there is none.
 */
export function nextPlace(intervals, id, { range, view }, direction) {
  const { start } = intervals;
  const selected = range ? selectedPlace(intervals, id, range) : -1;
  const place = selected >= 0 ? selected + direction : besidePlace(intervals, range, view, direction);
  return place < start.length ? Math.max(-1, place) : -1;
}

function besidePlace(intervals, range, view, direction) {
  const { start } = intervals;
  if (range) return direction > 0 ? lowerBound(start, range.from) : lowerBound(start, range.from) - 1;
  const [first, last] = touching(intervals, view.from, view.to);
  const isInView = (place) => endOf(intervals, place) > view.from;
  let place = direction > 0 ? first : last - 1;
  while (place >= first && place < last && !isInView(place)) place += direction;
  return place;
}

/** Where the selected range is one of the intervals, that one's place. Some have the same start and end: the range says which. */
function selectedPlace(intervals, id, range) {
  const isSame = (place) => intervals.start[place] === range.from && endOf(intervals, place) === range.to;
  if (range.lane === id && isSame(range.place)) return range.place;
  let place = lowerBound(intervals.start, range.from);
  while (intervals.start[place] === range.from && !isSame(place)) place += 1;
  return isSame(place) ? place : -1;
}

/** What the store's `range` becomes; it says whose it is, as the time alone may be that of several. */
export function intervalRange(intervals, id, place) {
  return { from: intervals.start[place], to: endOf(intervals, place), isDone: true, lane: id, place };
}

function endOf({ start, end }, place) {
  return Math.max(end[place], start[place] + 1);
}

/** An interval in words, for those who do not see which one was reached. */
export function intervalWords(source, id, place) {
  const { kind, index } = readLaneId(id);
  const intervals = laneIntervals(source, id);
  const { view } = source;
  const row = intervals.row[place];
  const named = { span: () => view.spans[index].name[row], signposts: () => view.signposts[index].name[row] };
  const text = cleanText(view.strings[named[kind]?.() ?? view.windows.label[row]] ?? "", 160);
  const name = kind === "windows" ? `Window ${row}: ${text}` : text || "Interval";
  const length = intervals.end[place] - intervals.start[place];
  return `${name}, ${formatDuration(length)} at ${formatTime(intervals.start[place], Math.max(1, length / 100))}`;
}

/** The window that is the selected range, as its row in the view; -1 where none is. */
export function selectedWindow(windows, range) {
  const place = range ? selectedPlace(windows, laneId("windows", 0), range) : -1;
  return place < 0 ? -1 : windows.row[place];
}
