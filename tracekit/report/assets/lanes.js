// The timeline's lanes: how a link names them, and in which order the reader wants them.

const LANE_LETTERS = { windows: "w", span: "m", thread: "t", signposts: "s", track: "k" };
const LANE_ID = /^[wmtsk]\d{1,6}$/;

/** `t3` is the fourth thread of the view: short, as links hold it. */
export function laneId(kind, index) {
  return `${LANE_LETTERS[kind]}${index}`;
}

/** What an id stands for: { kind, index }. */
export function readLaneId(id) {
  const kind = Object.keys(LANE_LETTERS).find((each) => LANE_LETTERS[each] === id[0]);
  return { kind, index: Number(id.slice(1)) };
}

/** The lanes that a link names, each once; what names none is left out. */
export function readLaneIds(text) {
  return [...new Set(text.split("."))].filter((id) => LANE_ID.test(id));
}

/** All lanes of a view, as { group name: ids }, in the view's own order. */
export function viewLanes(view) {
  const ids = (kind, count) => Array.from({ length: count }, (_, index) => laneId(kind, index));
  return {
    windows: ids("windows", view.windows.count > 0 ? 1 : 0),
    measured: ids("span", view.spans.length),
    threads: ids("thread", view.lanes.length),
    signposts: ids("signposts", view.signposts.length),
    tracks: ids("track", view.tracks.length),
  };
}

/** The group that a lane belongs to by its kind. */
export function groupOfLane(view, id) {
  return Object.entries(viewLanes(view)).find(([, ids]) => ids.includes(id))?.[0];
}

/** Those that `order` names first, in that order; then the others as they were. */
export function orderedLanes(ids, order) {
  const there = new Set(ids);
  const first = order.filter((id) => there.has(id));
  const named = new Set(first);
  return [...first, ...ids.filter((id) => !named.has(id))];
}

/** The ids with one of them before or after its new neighbour. */
export function movedLane(ids, id, neighbour, isAfter) {
  const rest = ids.filter((each) => each !== id);
  const place = rest.indexOf(neighbour);
  return place < 0 ? ids : rest.toSpliced(place + (isAfter ? 1 : 0), 0, id);
}

/** The fewest ids that `orderedLanes` needs to give `ordered` again. */
export function orderPrefix(ids, ordered) {
  const own = new Map(ids.map((id, place) => [id, place]));
  let length = ordered.length;
  while (length > 0 && !(own.get(ordered[length - 1]) > own.get(ordered[length]))) length -= 1;
  return length === 0 ? [] : ordered.slice(0, length);
}

/** What the state becomes when a lane moves to a neighbour of its group, or among the pinned ones. */
export function moveLane(view, { pinned, order }, id, neighbour, isAfter) {
  if (pinned.includes(id)) return { pinned: movedLane(pinned, id, neighbour, isAfter) };
  const ids = Object.values(viewLanes(view)).find((each) => each.includes(id));
  const moved = movedLane(orderedLanes(ids, order), id, neighbour, isAfter);
  return { order: [...order.filter((each) => !ids.includes(each)), ...orderPrefix(ids, moved)] };
}
