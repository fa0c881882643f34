// Draws the timeline's rows, its axis, and what lies over them.
import { drawSignposts, drawSpan, drawWindows } from "./draw_intervals.js";
import { formatTime, formatTrack } from "./numbers.js";
import { paintStack } from "./paint.js";
import { mixColours, packPixel, parseColour } from "./palette.js";
import { lowerBound, niceTicks } from "./scale.js";

export const CANVAS_FONT = "11px system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif";
const TICK_EVERY_PX = 110;
const FAINT = 0.22;

/**
 * One picture of the rows between `top` and `top + height`. `frame` = { context, ratio, source, rows, view, width,
 * height, top, palette, mask, lanes }: `mask` picks samples or is null, `lanes` are the selected ones.
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
      context.fillStyle = palette.surface;
      context.fillRect(0, row.y - top, width, row.height);
    }
    DRAWERS[row.kind]?.(frame, { ...row, y: row.y - top });
  }
  drawGrid(frame);
}

const DRAWERS = {
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

function drawThread(frame, row) {
  const { context, ratio, source, view, width, palette, mask, lanes } = frame;
  const columns = Math.max(1, Math.round(width * ratio));
  const lines = Math.max(1, Math.round((row.height - 4) * ratio));
  const image = context.createImageData(columns, lines);
  const pixels = new Uint32Array(image.data.buffer);
  const everything = source.occupancy(row.index, view.from, view.to, columns);
  if (!everything) return;
  const isOff = lanes.length > 0 && !lanes.includes(row.index);
  const shades = everything.engines.map((engine) => palette.rgb[engine]);
  const surface = packPixel(palette.surfaceRgb);
  const faint = mask || isOff ? everything.engines.map((engine) => faintShade(palette, engine)) : shades;
  paintStack(pixels, columns, lines, everything.planes, faint, surface);
  const wanted = mask && !isOff ? source.occupancy(row.index, view.from, view.to, columns, mask) : null;
  if (wanted) {
    const over = new Uint32Array(pixels.length);
    paintStack(over, columns, lines, wanted.planes, shades, 0);
    for (let place = 0; place < over.length; place += 1) if (over[place]) pixels[place] = over[place];
  }
  context.putImageData(image, 0, Math.round((row.y + 2) * ratio));
  context.fillStyle = palette.line;
  context.fillRect(0, row.y + row.height - 1, width, 1);
}

function faintShade(palette, engine) {
  const plain = packPixel(mixColours(palette.surfaceRgb, parseColour(palette.plain[engine]), FAINT));
  return { plain, hatched: plain, isHatched: palette.rgb[engine].isHatched };
}

/** A step function: a value holds until the next one; not a number is a gap. */
function drawTrack({ context, source, view, width, palette }, row) {
  const { time, value } = source.view.tracks[row.index];
  const [low, high] = limits(value);
  const scale = width / (view.to - view.from);
  const yOf = (each) => row.y + row.height - 5 - ((each - low) / (high - low || 1)) * (row.height - 10);
  context.strokeStyle = palette.accent;
  context.lineWidth = 1.5;
  context.beginPath();
  const first = Math.max(0, lowerBound(time, view.from) - 1);
  let isDown = false;
  for (let place = first; place < time.length && time[place] <= view.to; place += 1) {
    const left = Math.max(-2, (time[place] - view.from) * scale);
    const right = Math.min(width + 2, ((time[place + 1] ?? source.view.duration_ns) - view.from) * scale);
    if (Number.isNaN(value[place])) {
      isDown = false;
      continue;
    }
    if (isDown) context.lineTo(left, yOf(value[place]));
    else context.moveTo(left, yOf(value[place]));
    context.lineTo(right, yOf(value[place]));
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

/** The selected range, the pointer's line and the windows' edges under it, over the rows. */
export function drawOverlay({ context, width, height, view, palette, range, pointer }) {
  context.clearRect(0, 0, width, height);
  const xOf = (time) => ((time - view.from) / (view.to - view.from)) * width;
  if (range) {
    const left = Math.max(-2, xOf(range.from));
    const right = Math.min(width + 2, Math.max(left + 1, xOf(range.to)));
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
