// The arrows of a chosen call: to the threads that worked for it, and to the engines' intervals that are its own.
import { callLanes } from "../data/call_lanes.js";
import { laneId } from "./lanes.js";
import { countOf } from "../shared/numbers.js";
import { ownerOf } from "../data/owners.js";
import { lowerBound } from "../shared/scale.js";

/** More arrows would be a tangle; the others are counted. */
export const MOST_ARROWS = 24;
const SPANS_OF_CALLS = new WeakMap();

/**
 * The arrows of a call, `from` and `to` as { lane, time, row } with a lane's id, and `isMeasured`. They lead from the call to
 * each worker's lane; and to an interval from the only worker that shows the engine before it ends, else from the call.
 */
export function arrowsOfCall(view, call) {
  const place = placeOfCallLane(view, call);
  if (!place) return [];
  const { start, end } = view.windows;
  const workers = workersOf(view, call);
  const arrows = workers.map(({ lane, first }) => ({ from: { ...place, time: Math.max(start[call], Math.min(first, end[call])) }, to: { lane, time: first }, isMeasured: false }));
  for (const { lane, row, engine, isMeasured } of spansOf(view, call)) {
    const span = view.spans[lane];
    const able = workers.filter((worker) => worker.engine === engine && worker.first <= span.end[row]);
    const to = { lane: laneId("span", lane), time: Math.max(span.start[row], start[call]), row };
    if (able.length === 1) arrows.push({ from: { lane: able[0].lane, time: Math.max(able[0].first, Math.min(to.time, able[0].last)) }, to, isMeasured: false });
    else arrows.push({ from: { ...place, time: to.time }, to, isMeasured });
  }
  return arrows;
}

function placeOfCallLane(view, call) {
  const lanes = callLanes(view);
  const index = lanes.findIndex(({ rows }) => rows[lowerBound(rows, call)] === call);
  return index < 0 ? null : { lane: laneId("windows", index), row: call };
}

/** The ids of the lanes of the threads that worked for a call, the first to work first. */
export function servingLanes(view, call) {
  return [...new Set(workersOf(view, call).sort((one, two) => one.first - two.first).map(({ lane }) => lane))];
}

function workersOf({ workers }, call) {
  if (!workers) return [];
  const found = [];
  for (let index = lowerBound(workers.call, call); workers.call[index] === call; index += 1) {
    found.push({ lane: laneId("thread", workers.lane[index]), first: workers.first_ns[index], last: workers.last_ns[index], engine: workers.engine[index] });
  }
  return found;
}

/** The intervals of a call, by an index that is made once: call → [lane, row] pairs. */
function spansOf(view, call) {
  if (!SPANS_OF_CALLS.has(view)) {
    const byCall = new Map();
    view.spans.forEach((span, lane) => {
      span.pairs?.row.forEach((row, place) => {
        if (ownerOf(view, span, row) !== "call") return; // contested: no number of the call contains it
        const owner = span.pairs.call[place];
        if (!byCall.has(owner)) byCall.set(owner, []);
        byCall.get(owner).push({ lane, row, engine: span.engine, isMeasured: span.pairs.sure[place] === 1 });
      });
    });
    SPANS_OF_CALLS.set(view, byCall);
  }
  return SPANS_OF_CALLS.get(view).get(call) ?? [];
}

/** What the picture does not show, in words; "" if it shows all. */
export function arrowsNote(view, call, { hidden, more }) {
  const parts = [];
  if (hidden > 0) parts.push(`${countOf(hidden, "arrow")} not drawn: a lane is folded, filtered or out of sight`);
  if (more > 0) parts.push(`${countOf(more, "more arrow")} not drawn`);
  if (view.workers && call >= view.workers.until_call) parts.push("threads that worked for this call are not in the page");
  return parts.join("; ");
}
