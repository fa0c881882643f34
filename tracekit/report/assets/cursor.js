// The sample that was chosen from a list: a line at its time, and a frame where it meets its lane.
import { laneId } from "./lanes.js";

const HALF_FRAME_PX = 5;

/** `rows` are those on the screen, scrolled down to `top`; without a cursor nothing is drawn. */
export function drawCursor({ context, rows, top, view, width, height, palette, cursor }) {
  const x = cursor ? ((cursor.time - view.from) / (view.to - view.from)) * width : -1;
  if (x < 0 || x > width) return;
  context.fillStyle = palette.text;
  context.fillRect(Math.round(x) - 1, 0, 2, height);
  const row = rows.find(({ id }) => id === laneId("thread", cursor.lane));
  if (!row) return;
  context.strokeStyle = palette.text;
  context.lineWidth = 2;
  context.strokeRect(Math.round(x) - HALF_FRAME_PX, row.y - top + 1, 2 * HALF_FRAME_PX, row.height - 3);
}
