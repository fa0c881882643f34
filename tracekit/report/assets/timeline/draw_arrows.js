// Draws the chosen call's arrows over the lanes: solid where the system reported the connection, dashed where it is inferred.
import { arrowsNote, arrowsOfCall, MOST_ARROWS } from "./arrows.js";
import { CANVAS_FONT } from "./draw.js";
import { ROWS_PADDING_PX } from "./rows.js";

const HEAD_PX = 6;
const DASHES = [5, 3];
const HALO_PX = 4;
const SIDE_PX = 12;

/** A layer of the timeline (timeline.js) that draws the arrows of the call that the state has chosen. */
export function createArrows(source, store) {
  return (frame) => {
    const { chosen } = store.state;
    if (chosen?.kind !== "call" || chosen.index >= source.view.windows.count) return;
    drawArrows(frame, source, chosen.index);
  };
}

function drawArrows(frame, source, call) {
  const { context, palette, width, height, view, top } = frame;
  const all = arrowsOfCall(source.view, call);
  const xOf = (time) => ((time - view.from) / (view.to - view.from)) * width;
  const placed = all.map(({ from, to, isMeasured }) => ({ isMeasured, from: placeOn(frame, source, from, xOf), to: placeOn(frame, source, to, xOf) }));
  const isVisible = ({ from, to }) => from && to && Math.max(from.x, to.x) >= 0 && Math.min(from.x, to.x) <= width && [from, to].every(({ y }) => y >= 0 && y <= height);
  const visible = placed.filter(isVisible);
  const drawn = visible.slice(0, MOST_ARROWS);
  context.save();
  for (const arrow of drawn) drawArrow(context, palette, arrow);
  const note = arrowsNote(source.view, call, { hidden: all.length - visible.length, more: visible.length - drawn.length });
  if (note) drawNote(frame, note, top);
  context.restore();
}

/** The point of an arrow's end: at the interval's row if the lane has rows, else in the middle of the lane; null without a lane. */
function placeOn({ rows, top }, source, { lane, time, row }, xOf) {
  const place = rows.find(({ id }) => id === lane);
  if (!place) return null;
  let y = place.y - top + place.height / 2;
  const index = place.kind === "windows" ? source.calls[place.index] : place.kind === "span" ? source.spans[place.index] : null;
  if (row !== undefined && index && place.lines) {
    const position = index.row.indexOf(row);
    const line = Math.min(place.lines - 1, source.packed[place.kind][place.index].rows[position] ?? 0);
    const step = (place.height - 2 * ROWS_PADDING_PX) / place.lines;
    y = place.y - top + ROWS_PADDING_PX + (line + 0.5) * step;
  }
  return { x: xOf(time), y };
}

function drawArrow(context, palette, { from, to, isMeasured }) {
  const down = to.y >= from.y ? 1 : -1;
  const bend = Math.max(14, Math.abs(to.y - from.y) / 2) * down;
  const tip = to.y - down * 2;
  const side = SIDE_PX * down; // a way down and the way back up must not be one line
  const line = () => {
    context.beginPath();
    context.moveTo(from.x, from.y);
    context.bezierCurveTo(from.x - side, from.y + bend, to.x - side, tip - bend, to.x, tip);
    context.stroke();
  };
  // The halo keeps the line apart from marks of any colour below it.
  context.setLineDash([]);
  context.strokeStyle = palette.surface;
  context.lineWidth = HALO_PX;
  line();
  context.setLineDash(isMeasured ? [] : DASHES);
  context.strokeStyle = palette.text;
  context.lineWidth = 1.5;
  line();
  context.setLineDash([]);
  context.fillStyle = palette.text;
  context.beginPath();
  context.moveTo(to.x, to.y);
  context.lineTo(to.x - HEAD_PX / 2, to.y - down * HEAD_PX);
  context.lineTo(to.x + HEAD_PX / 2, to.y - down * HEAD_PX);
  context.fill();
  context.beginPath();
  context.arc(from.x, from.y, 2.5, 0, 2 * Math.PI);
  context.fill();
}

function drawNote({ context, palette, width, height }, text) {
  context.font = CANVAS_FONT;
  context.textBaseline = "middle";
  const size = Math.min(width - 8, context.measureText(text).width + 12);
  context.fillStyle = palette.surface;
  context.fillRect(width - size - 4, height - 20, size, 18);
  context.fillStyle = palette.text;
  context.fillText(text, width - size + 2, height - 11, size - 12);
}
