// Rows of intervals: inference windows, what the system measured, signposts.
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
  eachVisible(frame, source.windows, rows, (place, left, right) => {
    const window = source.windows.row[place];
    const verdict = strings[windows.verdict[window]];
    const top = row.y + 3 + rows[place] * height;
    const length = source.windows.end[place] - source.windows.start[place];
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
  eachVisible(frame, index, null, (place, left, right) => {
    const original = index.row[place];
    const name = cleanText(source.view.strings[span.name[original]] ?? "", 80);
    const strength = !span.own || span.own[original] ? 1 : OTHERS_STRENGTH;
    drawBox(frame, engine, left, row.y + 3, right - left, row.height - 6, name, strength);
  });
}

export function drawSignposts(frame, row) {
  const index = frame.source.signposts[row.index];
  const { name } = frame.source.view.signposts[row.index];
  eachVisible(frame, index, null, (place, left, right) => {
    const text = cleanText(frame.source.view.strings[name[index.row[place]]], 80);
    drawBox(frame, null, left, row.y + 3, right - left, row.height - 6, text);
  });
}

/** More intervals than a picture can tell apart: their share of each pixel is shown instead. */
function isDense(index, view, width) {
  const [first, last] = touching(index, view.from, view.to);
  return last - first > width * 1.5;
}

/** Calls back with page coordinates; what falls into a pixel already drawn in its row is skipped. */
function eachVisible({ view, width }, index, rows, draw) {
  const [first, last] = touching(index, view.from, view.to);
  const scale = width / (view.to - view.from);
  const drawnTo = [];
  for (let place = first; place < last; place += 1) {
    const right = Math.min(width + 2, (index.end[place] - view.from) * scale);
    const left = Math.max(-2, (index.start[place] - view.from) * scale);
    const row = rows ? rows[place] : 0;
    if (right < 0 || right < (drawnTo[row] ?? -1) + 0.5) continue;
    drawnTo[row] = Math.max(right, left + 1);
    draw(place, left, Math.max(right, left + 1));
  }
}

/** `name` is an engine or a verdict; null for what is of no engine. The label is as strong on a faint box. */
function drawBox({ context, palette }, name, x, y, width, height, text, strength = 1) {
  const known = name === null || palette.engines[name] ? name : "UNKNOWN";
  const colour = known === null ? palette.plate : palette.engines[known];
  context.fillStyle = width < 4 || known === null ? colour : palette.patterns[known];
  context.globalAlpha = strength;
  context.fillRect(x, y, width > 3 ? width - 0.75 : width, height);
  context.globalAlpha = 1;
  if (width < LETTER_FROM_PX || height < 11) return;
  const letter = name === null ? "" : `${engineLetter(name)} `;
  const label = width < TEXT_FROM_PX ? letter.trim() : clipText(letter + text, width - 8);
  const plate = strength === 1 ? colour : palette.surface;
  drawLabel(context, palette, plate, label, Math.max(x, 0) + 3, y, height);
}

/** Text on a plain plate of the colour, so that the hatching does not run through the letters. */
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
