// A thread's lane that is unfolded: below what it always shows, the thread's stacks in the time of the lanes.
import { describeThread } from "./describe.js";
import { drawThread } from "./draw.js";
import { formatDuration } from "../shared/numbers.js";
import { boxName, drawStackChart, ROW_HEIGHT } from "../stacks/stack_chart_draw.js";
import { boxOfTime } from "../stacks/stack_chart_layout.js";
import { layoutLane } from "../stacks/lane_stacks.js";

/** The row of an unfolded lane with what draws and describes it; other rows as they are. */
export function withStacks(row, source, store) {
  if (!row.stacksPx) return row;
  let layout = null; // of the latest picture
  const laneOf = (whole) => ({ ...whole, height: whole.height - whole.stacksPx });
  return {
    ...row,
    draw(frame, place) {
      drawThread(frame, laneOf(place));
      layout = layoutLane(source, row.index, store.state, Math.max(1, Math.round(frame.width * frame.ratio)));
      if (!layout) return;
      const { context, width, view, palette } = frame;
      const { cursor } = store.state;
      const look = { tree: layout.tree, strings: source.view.strings, engines: source.view.engines, matches: null };
      context.save();
      context.translate(0, laneOf(place).y + laneOf(place).height);
      context.beginPath();
      context.rect(0, 0, width, row.stacksPx);
      context.clip();
      drawStackChart(layout.boxes, { context, width, height: row.stacksPx, view, palette, cursor: cursor?.lane === row.index ? cursor.time : null, ...look });
      context.restore();
    },
    describe(point) {
      const described = describeThread({ ...point, row: laneOf(row) });
      const depth = Math.floor((point.y - laneOf(row).height) / ROW_HEIGHT);
      const box = depth >= 0 && layout ? boxOfTime(layout.boxes, point.time, depth) : null;
      if (!box) return described;
      const lines = [boxName(box, layout.tree, source.view.strings), `${formatDuration(box.to - box.from)}, itself ${formatDuration(box.self)}`];
      return { ...described, lines: [row.label, ...lines] };
    },
  };
}
