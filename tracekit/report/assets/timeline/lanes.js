// The timeline's lanes: their ids in links, and the order that the reader gave them.
import { callLanes } from "../data/call_lanes.js";

const LANE_LETTERS = { windows: "w", span: "m", thread: "t", signposts: "s", track: "k", table: "d" };
const LANE_ID = /^[wmtskd]\d{1,6}$/;

/** A lane's id, such as `t3` for the fourth thread of the view; short, because links contain it. */
export function laneId(kind, index) {
  return `${LANE_LETTERS[kind]}${index}`;
}

/** The lane of an id: { kind, index }. */
export function readLaneId(id) {
  const kind = Object.keys(LANE_LETTERS).find((name) => LANE_LETTERS[name] === id[0]);
  return { kind, index: Number(id.slice(1)) };
}

/** The ids in a link's text, each once; invalid ones are left out. */
export function readLaneIds(text) {
  return [...new Set(text.split("."))].filter((id) => LANE_ID.test(id));
}

/** All lanes of a view, as { group name: ids }, in the view's order. */
export function viewLanes(view) {
  const ids = (kind, count) => Array.from({ length: count }, (_, index) => laneId(kind, index));
  return {
    windows: ids("windows", callLanes(view).length),
    measured: ids("span", view.spans.length),
    threads: ids("thread", view.lanes.length),
    signposts: ids("signposts", view.signposts.length),
    tracks: ids("track", view.tracks.length),
    tables: ids("table", view.drawn?.length ?? 0),
  };
}

/** The group that a lane belongs to by its kind. */
export function groupOfLane(view, id) {
  return Object.entries(viewLanes(view)).find(([, ids]) => ids.includes(id))?.[0];
}

/** The ids in `order` first, in that order; then the remaining ones as they were. */
export function orderedLanes(ids, order) {
  const existing = new Set(ids);
  const first = order.filter((id) => existing.has(id));
  const ordered = new Set(first);
  return [...first, ...ids.filter((id) => !ordered.has(id))];
}

/** The ids with one of them moved before or after its new neighbour. */
export function movedLane(ids, id, neighbour, isAfter) {
  const remaining = ids.filter((existing) => existing !== id);
  const position = remaining.indexOf(neighbour);
  return position < 0 ? ids : remaining.toSpliced(position + (isAfter ? 1 : 0), 0, id);
}

/** The shortest `order` from which `orderedLanes` makes `ordered`: the tail that is in initial order is not needed. */
export function orderPrefix(ids, ordered) {
  const initial = new Map(ids.map((id, position) => [id, position]));
  let length = ordered.length;
  while (length > 0 && !(initial.get(ordered[length - 1]) > initial.get(ordered[length]))) length -= 1;
  return length === 0 ? [] : ordered.slice(0, length);
}

/** The changed state fields when a lane moves next to a neighbour, in its group or among the pinned lanes. */
export function moveLane(view, { pinned, order }, id, neighbour, isAfter) {
  if (pinned.includes(id)) return { pinned: movedLane(pinned, id, neighbour, isAfter) };
  const ids = Object.values(viewLanes(view)).find((group) => group.includes(id));
  const moved = movedLane(orderedLanes(ids, order), id, neighbour, isAfter);
  return { order: [...order.filter((entry) => !ids.includes(entry)), ...orderPrefix(ids, moved)] };
}
