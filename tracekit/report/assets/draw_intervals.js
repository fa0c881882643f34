// Draws rows of intervals: inference windows, measured intervals, signposts.
import { clipText } from "./dom.js";
import { touching } from "./intervals.js";
import { cleanText, formatDuration } from "./numbers.js";
import { engineLetter, readableOn } from "./palette.js";

const TEXT_FROM_PX = 46;
const LETTER_FROM_PX = 12;
const OTHERS_STRENGTH = 0.35;

/** `frame` = { context, source, view, width, palette }: see timeline.js. */
export function drawWindows(frame, row) {
  const { source, palette } = frame;
  const { windows, strings } = source.view;
  const { rows, count } = source.windowRows;
  const height = (row.height - 6) / count;
  eachVisible(frame, source.windows, rows, (position, left, right) => {
    const window = source.windows.row[position];
    const verdict = strings[windows.verdict[window]];
    const top = row.y + 3 + rows[position] * height;
    const length = source.windows.end[position] - source.windows.start[position];
    const name = `${windows.first[window] ? "*" : ""}${cleanText(strings[windows.label[window]], 80)}`;
    drawBox(frame, verdict, left, top, right - left, height - 2, `${name} · ${formatDuration(length)}`);
    if (windows.first[window]) {
      frame.context.fillStyle = palette.text;
      frame.context.fillRect(left, top, 1.5, height - 2);
    }
  });
}

export function drawSpan(frame, row) {
  const { source, view, width } = frame;
  const span = source.view.spans[row.index];
  const engine = source.view.engines[span.engine];
  const index = source.spans[row.index];
  if (!index || isDense(index, view, width)) {
    const levels = (which) => source.spanOccupancy(row.index, view.from, view.to, Math.round(width), which);
    frame.context.globalAlpha = OTHERS_STRENGTH;
    drawLevels(frame, engine, levels("others"), row);
    frame.context.globalAlpha = 1;
    drawLevels(frame, engine, levels("occupancy"), row);
    return;
  }
  eachVisible(frame, index, null, (position, left, right) => {
    const original = index.row[position];
    const name = cleanText(source.view.strings[span.name[original]] ?? "", 80);
    const strength = !span.own || span.own[original] ? 1 : OTHERS_STRENGTH;
    drawBox(frame, engine, left, row.y + 3, right - left, row.height - 6, name, strength);
  });
}

export function drawSignposts(frame, row) {
  const index = frame.source.signposts[row.index];
  const { name } = frame.source.view.signposts[row.index];
  eachVisible(frame, index, null, (position, left, right) => {
    const text = cleanText(frame.source.view.strings[name[index.row[position]]], 80);
    drawBox(frame, null, left, row.y + 3, right - left, row.height - 6, text);
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
function eachVisible({ view, width }, index, rows, draw) {
  const [first, last] = touching(index, view.from, view.to);
  const scale = width / (view.to - view.from);
  const paintedTo = [];
  for (let position = first; position < last; position += 1) {
    const right = Math.min(width + 2, (index.end[position] - view.from) * scale);
    const left = Math.max(-2, (index.start[position] - view.from) * scale);
    const row = rows ? rows[position] : 0;
    if (right < 0 || right < (paintedTo[row] ?? -1) + 0.5) continue;
    paintedTo[row] = Math.max(right, left + 1);
    draw(position, left, Math.max(right, left + 1));
  }
}

/** `name` is an engine or a verdict, null for neither. `strength` fades the box but not its label. */
function drawBox({ context, palette }, name, x, y, width, height, text, strength = 1) {
  const style = name === null || palette.engines[name] ? name : "UNKNOWN";
  const colour = style === null ? palette.plate : palette.engines[style];
  context.fillStyle = width < 4 || style === null ? colour : palette.patterns[style];
  context.globalAlpha = strength;
  context.fillRect(x, y, width > 3 ? width - 0.75 : width, height);
  context.globalAlpha = 1;
  if (width < LETTER_FROM_PX || height < 11) return;
  const letter = name === null ? "" : `${engineLetter(name)} `;
  const label = width < TEXT_FROM_PX ? letter.trim() : clipText(letter + text, width - 8);
  const plate = strength === 1 ? colour : palette.surface;
  drawLabel(context, palette, plate, label, Math.max(x, 0) + 3, y, height);
}

/** Draws text on a plain plate of the colour, so that no hatching runs through the letters. */
function drawLabel(context, palette, colour, label, x, y, height) {
  const plate = context.measureText(label).width + 4;
  context.fillStyle = colour;
  context.fillRect(x - 2, y + 1, plate, height - 2);
  context.fillStyle = readableOn(colour);
  context.fillText(label, x, y + height / 2 + 0.5);
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
