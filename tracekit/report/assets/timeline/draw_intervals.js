// Draws rows of intervals: inference windows, measured intervals, signposts.
import { callLanes } from "../data/call_lanes.js";
import { hasBudget } from "../data/budget.js";
import { callName } from "../data/calls.js";
import { drawPieces } from "./draw_pieces.js";
import { clipText } from "../shared/dom.js";
import { touching } from "../data/intervals.js";
import { cleanText, formatDuration } from "../shared/numbers.js";
import { ownerOf } from "../data/owners.js";
import { engineLetter, readableOn } from "../shared/palette.js";
import { ROWS_PADDING_PX } from "./rows.js";

const TEXT_FROM_PX = 46;
const LETTER_FROM_PX = 12;
/** Another process's work is an outline with a faint fill: hollow, since faint alone would be too little contrast. */
const HOLLOW_FILL = 0.25;
const HOLLOW_FROM_PX = 4;
const PIECES_FROM_PX = 6;
const GAP_PX = 2;
const FOLDED_PX = 2;

/** `frame` = { context, source, view, width, palette }: see timeline.js. */
export function drawWindows(frame, row) {
  const { source, palette } = frame;
  const { windows, strings } = source.view;
  const index = source.calls[row.index];
  eachPacked(frame, row, index, (position, left, right, top, height) => {
    const window = index.row[position];
    const verdict = strings[windows.verdict[window]];
    const length = index.end[position] - index.start[position];
    const number = `${windows.call[window] || ""}${windows.first[window] ? "*" : ""}`;
    const label = cleanText(strings[windows.label[window]], 80);
    const isNamedByLane = label === callName(source.view, window) && callLanes(source.view)[row.index].name !== null;
    const text = [number, isNamedByLane ? "" : label, formatDuration(length)].filter(Boolean).join(" · ");
    if (hasBudget(source.view) && right - left >= PIECES_FROM_PX) drawBudget(frame, window, { left, right, top, height }, text);
    else drawBox(frame, verdict, left, top, right - left, height, text);
    if (windows.first[window]) {
      frame.context.fillStyle = palette.text;
      frame.context.fillRect(left, top, 1.5, height);
    }
  });
}

/** A call as the pieces of its budget; its letter and text stand in the widest piece of an engine. */
function drawBudget(frame, call, box, text) {
  const widest = drawPieces(frame, call, box);
  if (widest) drawText(frame.context, frame.palette.engines[widest.engine], engineLetter(widest.engine), text, widest.left, box.top, widest.width, box.height);
}

export function drawSpan(frame, row) {
  const { source, view, width } = frame;
  const span = source.view.spans[row.index];
  const engine = source.view.engines[span.engine];
  const index = source.spans[row.index];
  if (!index || isDense(index, view, width)) {
    const levels = (which) => source.spanOccupancy(row.index, view.from, view.to, Math.round(width), which);
    drawHollowLevels(frame, engine, levels("others"), row);
    drawLevels(frame, engine, levels("own"), row);
    return;
  }
  eachPacked(frame, row, index, (position, left, right, top, height) => {
    const original = index.row[position];
    const name = cleanText(source.view.strings[span.name[original]] ?? "", 80);
    const owner = ownerOf(source.view, span, original);
    if (owner === "contested") return drawContested(frame, engine, left, top, right - left, height, name);
    const draw = span.own?.[original] === 0 ? drawHollow : drawBox;
    return draw(frame, engine, left, top, right - left, height, name);
  });
}

export function drawSignposts(frame, row) {
  const index = frame.source.signposts[row.index];
  const { name } = frame.source.view.signposts[row.index];
  eachPacked(frame, row, index, (position, left, right, top, height) => {
    const text = cleanText(frame.source.view.strings[name[index.row[position]]], 80);
    drawSignpost(frame, left, top, right - left, height, text);
  });
}

/** True if there are more intervals than the picture can show: then the share of each pixel is drawn instead. */
function isDense(index, view, width) {
  const [first, last] = touching(index, view.from, view.to);
  return last - first > width * 1.5;
}

/**
 * Calls `draw` with the coordinates of each visible interval. An interval that ends inside a pixel already painted in its
 * row is skipped, so that the number of boxes is limited by the width, however many intervals there are.
 */
function eachVisible({ view, width }, index, rowOf, draw) {
  const [first, last] = touching(index, view.from, view.to);
  const scale = width / (view.to - view.from);
  const paintedTo = [];
  for (let position = first; position < last; position += 1) {
    const right = Math.min(width + 2, (index.end[position] - view.from) * scale);
    const left = Math.max(-2, (index.start[position] - view.from) * scale);
    const row = rowOf(position);
    if (right < 0 || right < (paintedTo[row] ?? -1) + 0.5) continue;
    paintedTo[row] = Math.max(right, left + 1);
    draw(position, left, Math.max(right, left + 1));
  }
}

/**
 * Calls `draw` as eachVisible does, with the top and height of each interval's row as well. Rows that are folded, and
 * intervals without a row, are a line at the lane's lower edge.
 */
function eachPacked(frame, row, index, draw) {
  const { rows } = frame.source.packed[row.kind][row.index];
  const step = (row.height - 2 * ROWS_PADDING_PX) / row.lines;
  const height = step - (row.lines > 1 ? GAP_PX : 0);
  const place = (position) => Math.min(row.lines, rows[position]);
  eachVisible(frame, index, place, (position, left, right) => {
    const line = place(position);
    if (line < row.lines) return draw(position, left, right, row.y + ROWS_PADDING_PX + line * step, height);
    frame.context.fillStyle = frame.palette.muted;
    return frame.context.fillRect(left, row.y + row.height - FOLDED_PX - 0.5, right - left, FOLDED_PX);
  });
}

/** `name` is an engine or a verdict. */
function drawBox({ context, palette }, name, x, y, width, height, text) {
  const style = palette.engines[name] ? name : "UNKNOWN";
  const colour = palette.engines[style];
  context.fillStyle = width < 4 ? colour : palette.patterns[style];
  context.fillRect(x, y, width > 3 ? width - 0.75 : width, height);
  drawText(context, colour, engineLetter(name), text, x, y, width, height);
}

/** Another process's work; where it is too narrow to be hollow, it is half as high. */
function drawHollow({ context, palette }, name, x, y, width, height, text) {
  const colour = palette.engines[name];
  context.fillStyle = colour;
  if (width < HOLLOW_FROM_PX) return context.fillRect(x, y + height / 2, width, height / 2);
  context.globalAlpha = HOLLOW_FILL;
  context.fillRect(x, y, width - 0.75, height);
  context.globalAlpha = 1;
  context.strokeStyle = colour;
  context.lineWidth = 1;
  context.strokeRect(x + 0.5, y + 0.5, width - 1.75, height - 1);
  return drawText(context, palette.surface, engineLetter(name), text, x, y, width, height);
}

/** Work of an owner that is not known: hollow as another process's, with a broken outline and a question mark. */
function drawContested(frame, name, x, y, width, height, text) {
  const { context } = frame;
  context.setLineDash([4, 3]);
  drawHollow(frame, name, x, y, width, height, `? ${text}`);
  context.setLineDash([]);
}

/** A signpost is an outlined box in a colour of its own: no engine is meant, and a long one must not outshine the others. */
function drawSignpost({ context, palette }, x, y, width, height, text) {
  context.fillStyle = width < HOLLOW_FROM_PX ? palette.signpost : palette.plate;
  context.fillRect(x, y, width, height);
  if (width < HOLLOW_FROM_PX) return;
  context.strokeStyle = palette.signpost;
  context.lineWidth = 1;
  context.strokeRect(x + 0.5, y + 0.5, width - 1.75, height - 1);
  drawText(context, palette.plate, "", text, x, y, width, height);
}

/** The letter and as much of the text as fits into a box. */
function drawText(context, colour, letter, text, x, y, width, height) {
  const room = Math.min(width, width + x); // what is left of the picture is not seen
  if (room < LETTER_FROM_PX || height < 11) return;
  const label = room < TEXT_FROM_PX ? letter : clipText(letter ? `${letter} ${text}` : text, room - 8);
  if (label) drawLabel(context, colour, label, Math.max(x, 0) + 3, y, room - 4, height);
}

/** Draws text on a plain plate of the colour, so that no hatching runs through the letters. */
function drawLabel(context, colour, label, x, y, room, height) {
  const plate = Math.min(room, context.measureText(label).width + 4);
  context.fillStyle = colour;
  context.fillRect(x - 1.5, y + 1.5, plate, height - 3);
  context.fillStyle = readableOn(colour);
  context.fillText(label, x, y + height / 2 + 0.5, room);
}

/** The share of each pixel that other processes' work covers: faint, with a line on top in the full colour. */
function drawHollowLevels(frame, engine, levels, row) {
  const { context, palette } = frame;
  context.globalAlpha = HOLLOW_FILL;
  drawLevels(frame, engine, levels, row);
  context.globalAlpha = 1;
  context.fillStyle = palette.engines[engine];
  const height = row.height - 4;
  levels?.forEach((level, pixel) => {
    if (level > 0) context.fillRect(pixel, row.y + 2 + height - Math.max(1, (level / 255) * height), 1, 1);
  });
}

function drawLevels({ context, palette }, engine, levels, row) {
  if (!levels) return;
  const height = row.height - 4;
  context.fillStyle = palette.patterns[engine] ?? palette.patterns.UNKNOWN;
  context.beginPath();
  for (let pixel = 0; pixel < levels.length; pixel += 1) {
    const level = levels[pixel] > 0 ? Math.max(1, (levels[pixel] / 255) * height) : 0;
    if (level > 0) context.rect(pixel, row.y + 2 + height - level, 1, level);
  }
  context.fill();
}
