// Draws the timeline's rows, its axis, and the overlay: selection, pointer, cursor.
import { drawNotes } from "./draw_notes.js";
import { drawSignposts, drawSpan, drawWindows } from "./draw_intervals.js";
import { laneId } from "./lanes.js";
import { formatTime, formatTrack } from "../shared/numbers.js";
import { paintStack } from "./paint.js";
import { mixColours, packPixel, parseColour } from "../shared/palette.js";
import { laneScale, lowerBound, niceTicks } from "../shared/scale.js";

export const CANVAS_FONT = "11px system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif";
const SCALE_FONT = CANVAS_FONT.replace("11px", "10px");
const TICK_EVERY_PX = 110;
const FAINT = 0.22;
const HALF_FRAME_PX = 5;

/**
 * Draws the rows between `top` and `top + height`. `frame` = { context, ratio, source, rows, view, width,
 * height, top, palette, mask, lanes, scale }: `mask` marks samples or is null, `lanes` are the selected ones; with the
 * `scale` "same" all threads have the same scale.
 */
export function drawRows(frame) {
  const { context, width, height, top, palette, rows } = frame;
  context.fillStyle = palette.surface;
  context.fillRect(0, 0, width, height);
  context.font = CANVAS_FONT;
  context.textBaseline = "middle";
  for (const row of rows) {
    if (row.y + row.height < top || row.y > top + height) continue;
    if (row.isFixed) {
      // A pinned row lies over rows that have scrolled beneath it.
      context.fillStyle = palette.surface;
      context.fillRect(0, row.y - top, width, row.height);
    }
    (row.draw ?? DRAWERS[row.kind])?.(frame, { ...row, y: row.y - top });
  }
  drawGrid(frame);
}

const DRAWERS = {
  notes: drawNotes,
  windows: drawWindows,
  span: drawSpan,
  signposts: drawSignposts,
  thread: drawThread,
  track: drawTrack,
  group: drawGroup,
};

function drawGroup({ context, width, palette }, row) {
  context.fillStyle = palette.page;
  context.fillRect(0, row.y, width, row.height);
}

/**
 * A thread's occupancy, painted pixel by pixel. Samples outside of the filter or of the selected threads are faint: all
 * samples are painted in faint colours first, then those that match are painted over them in full colours.
 */
export function drawThread(frame, row) {
  const { context, ratio, source, view, width, palette, mask, lanes } = frame;
  const columns = Math.max(1, Math.round(width * ratio));
  const lines = Math.max(1, Math.round((row.height - 4) * ratio));
  const image = context.createImageData(columns, lines);
  const pixels = new Uint32Array(image.data.buffer);
  const everything = source.occupancy(row.index, view.from, view.to, columns);
  if (!everything) return;
  const isDeselected = lanes.length > 0 && !lanes.includes(row.index);
  const shades = everything.engines.map((engine) => palette.rgb[engine]);
  const surface = packPixel(palette.surfaceRgb);
  const faint = mask || isDeselected ? everything.engines.map((engine) => faintShade(palette, engine)) : shades;
  const share = frame.scale === "same" ? 1 : laneScale(everything.planes, columns);
  paintStack(pixels, columns, lines, everything.planes, faint, surface, share * 255);
  const matching = mask && !isDeselected ? source.occupancy(row.index, view.from, view.to, columns, mask) : null;
  if (matching) {
    const layer = new Uint32Array(pixels.length);
    paintStack(layer, columns, lines, matching.planes, shades, 0, share * 255); // 0: transparent, no colour is
    for (let pixel = 0; pixel < layer.length; pixel += 1) if (layer[pixel]) pixels[pixel] = layer[pixel];
  }
  context.putImageData(image, 0, Math.round((row.y + 2) * ratio)); // ignores the transform, hence device pixels
  context.fillStyle = palette.line;
  context.fillRect(0, row.y + row.height - 1, width, 1);
  if (share < 1) drawScale(frame, row, `max ${Math.round(share * 100)} %`);
}

/** What a lane's full height stands for, where it is not all of the time. */
function drawScale({ context, palette }, row, text) {
  context.font = SCALE_FONT;
  context.globalAlpha = 0.8;
  context.fillStyle = palette.surface;
  context.fillRect(0, row.y + 1, context.measureText(text).width + 7, 11);
  context.globalAlpha = 1;
  context.fillStyle = palette.muted;
  context.fillText(text, 3, row.y + 7);
  context.font = CANVAS_FONT;
}

function faintShade(palette, engine) {
  const plain = packPixel(mixColours(palette.surfaceRgb, parseColour(palette.plain[engine]), FAINT));
  return { plain, hatched: plain, isHatched: palette.rgb[engine].isHatched };
}

/** A step function: a value is valid until the next one; NaN is a gap. */
function drawTrack({ context, source, view, width, palette }, row) {
  const { time, value } = source.view.tracks[row.index];
  const [low, high] = limits(value);
  const scale = width / (view.to - view.from);
  const yOf = (number) => row.y + row.height - 5 - ((number - low) / (high - low || 1)) * (row.height - 10);
  context.strokeStyle = palette.accent;
  context.lineWidth = 1.5;
  context.beginPath();
  const first = Math.max(0, lowerBound(time, view.from) - 1);
  let isDown = false; // the pen: after a gap, the line begins anew
  for (let index = first; index < time.length && time[index] <= view.to; index += 1) {
    // Clipped a little outside of the canvas: coordinates far beyond it lose precision when zoomed in.
    const left = Math.max(-2, (time[index] - view.from) * scale);
    const right = Math.min(width + 2, ((time[index + 1] ?? source.view.duration_ns) - view.from) * scale);
    if (Number.isNaN(value[index])) {
      isDown = false;
      continue;
    }
    if (isDown) context.lineTo(left, yOf(value[index]));
    else context.moveTo(left, yOf(value[index]));
    context.lineTo(right, yOf(value[index]));
    isDown = true;
  }
  context.stroke();
  context.fillStyle = palette.muted;
  context.fillText(formatTrack(high, row.unit, 3), 4, row.y + 8);
}

function limits(values) {
  let low = Infinity;
  let high = -Infinity;
  for (const value of values) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return high >= low ? [Math.min(0, low), high] : [0, 1];
}

function drawGrid({ context, view, width, height, palette }) {
  context.fillStyle = palette.grid;
  for (const time of niceTicks(view.from, view.to, width / TICK_EVERY_PX).times) {
    context.fillRect(Math.round(((time - view.from) / (view.to - view.from)) * width), 0, 1, height);
  }
}

export function drawAxis({ context, view, width, height, palette }) {
  context.fillStyle = palette.page;
  context.fillRect(0, 0, width, height);
  context.font = CANVAS_FONT;
  context.textBaseline = "middle";
  const { step, times } = niceTicks(view.from, view.to, width / TICK_EVERY_PX);
  for (const time of times) {
    const x = ((time - view.from) / (view.to - view.from)) * width;
    context.fillStyle = palette.line;
    context.fillRect(Math.round(x), height - 5, 1, 5);
    context.fillStyle = palette.muted;
    const label = formatTime(time, step);
    const half = context.measureText(label).width / 2;
    context.fillText(label, Math.min(width - 2 * half - 2, Math.max(2, x - half)), height / 2 - 2);
  }
}

/** The selected times and the pointer's line, on a canvas of their own, so that moving the pointer redraws no row. */
export function drawOverlay({ context, width, height, view, palette, spans, pointer }) {
  context.clearRect(0, 0, width, height);
  const xOf = (time) => ((time - view.from) / (view.to - view.from)) * width;
  for (const { from, to } of spans) {
    const left = Math.max(-2, xOf(from));
    const right = Math.min(width + 2, Math.max(left + 1, xOf(to)));
    if (right < 0 || left > width) continue;
    context.fillStyle = palette.selection;
    context.fillRect(left, 0, right - left, height);
    context.fillStyle = palette.accent;
    context.fillRect(left, 0, 1.5, height);
    context.fillRect(right - 1.5, 0, 1.5, height);
  }
  if (pointer !== null) {
    context.fillStyle = palette.text;
    context.globalAlpha = 0.5;
    context.fillRect(Math.round(pointer), 0, 1, height);
    context.globalAlpha = 1;
  }
}

/** The cursor: a line at the time of a sample chosen from a list, and a frame on its lane. `rows` are scrolled to `top`. */
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
