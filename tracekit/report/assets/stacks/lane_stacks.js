// A thread's stacks in order of time as boxes: for the time-ordered chart, and below the thread's lane in the timeline.
import { joinedView } from "./joined.js";
import { layoutStacks } from "./stack_chart_layout.js";
import { PER_COLUMN } from "../data/stack_rows.js";
import { transformedTree } from "./transform_tree.js";

/** Samples of one stack at most so many periods apart are drawn as one box: the system does not sample like a clock. */
const GAP_PERIODS = 1.6;
/** Enough to find how deep the stacks of a lane are. */
const COLUMNS_FOR_DEPTH = 256;

/**
 * The boxes of a lane over the visible time, { boxes, samples, rows, tree, inRange, isThinned }; `state` is the store's. Null
 * where the order of samples is not known: they are summed up, or have not arrived.
 */
export function layoutLane(source, lane, state, columns) {
  const { view } = state;
  const answer = source.stacksIn(lane, view.from, view.to, columns);
  if (!answer) return null;
  const stacks = state.joined ? joinedView(answer.view) : answer.view;
  const tree = transformedTree(stacks, state.transforms);
  const isThinned = answer.inRange > PER_COLUMN * columns;
  const columnNs = isThinned ? (view.to - view.from) / columns : 0;
  const gap = Math.max(GAP_PERIODS * (source.view.period_ns || 0) - usualLength(answer.lengths), 1);
  const boxes = layoutStacks(tree, stacks.samples, answer.rows, answer.lengths, { gap, columnNs, from: view.from });
  return { boxes, samples: stacks.samples, rows: answer.rows, tree, inRange: answer.inRange, isThinned };
}

/** How many rows boxes take; 1 for none. */
export function depthOfBoxes(boxes) {
  return boxes.reduce((depth, box) => Math.max(depth, box.depth + 1), 1);
}

/** How many rows the stacks of a lane take over the whole run; 0 where their order is not known. */
export function depthOfLane(source, lane, state) {
  const whole = { ...state, view: { from: 0, to: source.view.duration_ns } };
  const layout = layoutLane(source, lane, whole, COLUMNS_FOR_DEPTH);
  return layout ? depthOfBoxes(layout.boxes) : 0;
}

function usualLength(lengths) {
  return lengths.length > 0 ? lengths[Math.floor(lengths.length / 2)] : 0;
}
