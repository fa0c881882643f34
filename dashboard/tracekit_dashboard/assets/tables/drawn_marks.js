// Draws a table's lane from the server's marks, and describes what is under the pointer.
import { clipText } from "/report-assets/shared/dom.js";
import { cleanText, countOf, formatCount, formatDuration, formatTime } from "/report-assets/shared/numbers.js";
import { lowerBound } from "/report-assets/shared/scale.js";
import { cellText } from "./table_cells.js";

const PADDING_PX = 3;
const MARK_TEXT_FROM_PX = 34;
const POINT_PX = 2;
const NEAR_MARK_PX = 3;

/** `document` is the server's answer (tables/lanes.py): marks with start, end, line, count, label; or time and value. */
export function drawLane(frame, row, document) {
  if (document.time) drawValues(frame, row, document);
  else drawMarks(frame, row, document);
  frame.context.fillStyle = frame.palette.line;
  frame.context.fillRect(0, row.y + row.height - 1, frame.width, 1);
}

function drawMarks({ context, view, width, palette, source }, row, document) {
  const { start, end, line, count, label, labels, lines, timed } = document;
  const scale = width / (view.to - view.from);
  const height = (row.height - 2 * PADDING_PX) / lines;
  for (let mark = 0; mark < start.length; mark += 1) {
    const left = Math.max(-2, (start[mark] - view.from) * scale);
    const right = Math.min(width + 2, ((end[mark] ?? source.view.duration_ns) - view.from) * scale);
    if (right < -1 || left > width) continue;
    const shown = Math.max(POINT_PX, right - left - (right - left > 3 ? 0.75 : 0));
    const top = row.y + PADDING_PX + line[mark] * height;
    const [text, style] = labels[label[mark]];
    drawMark(context, palette, style, left, top, shown, height - 1);
    if (timed && shown >= MARK_TEXT_FROM_PX) drawMarkText(context, palette, cleanText(count[mark] > 1 ? `${text} +${count[mark] - 1}` : text, 80), Math.max(0, left), top, right - Math.max(0, left), height);
  }
}

/** Styles differ in their filling, not in colours: the colours of engines mean engines. */
function drawMark(context, palette, style, left, top, width, height) {
  context.fillStyle = style === 1 ? palette.muted : palette.signpost;
  if (width < 5 || style < 2) {
    context.fillRect(left, top, width, height);
    return;
  }
  context.strokeStyle = palette.signpost;
  context.lineWidth = 1.5;
  context.fillStyle = palette.surface;
  context.fillRect(left, top, width, height);
  context.strokeRect(left + 0.75, top + 0.75, width - 1.5, height - 1.5);
  context.fillStyle = palette.signpost;
  if (style === 3) context.fillRect(left, top + height - 4, width, 4);
}

function drawMarkText(context, palette, text, left, top, width, height) {
  const shown = clipText(text, width - 8);
  if (!shown) return;
  context.fillStyle = palette.surface;
  context.fillRect(left + 2, top + 1.5, context.measureText(shown).width + 4, height - 4);
  context.fillStyle = palette.text;
  context.fillText(shown, left + 4, top + height / 2);
}

function drawValues({ context, view, width, palette, source }, row, document) {
  const { time, value, least, most, low, high } = document;
  const scale = width / (view.to - view.from);
  const bottom = Math.min(0, low);
  const yOf = (number) => row.y + row.height - 4 - ((number - bottom) / (high - bottom || 1)) * (row.height - 18);
  context.strokeStyle = palette.accent;
  context.lineWidth = 1.5;
  context.beginPath();
  const first = Math.max(0, lowerBound(time, view.from) - 1);
  for (let index = first; index < time.length && time[index] <= view.to; index += 1) {
    const left = Math.max(-2, (time[index] - view.from) * scale);
    const right = Math.min(width + 2, ((time[index + 1] ?? source.view.duration_ns) - view.from) * scale);
    if (index === first) context.moveTo(left, yOf(value[index]));
    if (least) {
      context.lineTo(left, yOf(least[index]));
      context.lineTo(left, yOf(most[index]));
    }
    context.lineTo(left, yOf(value[index]));
    context.lineTo(right, yOf(value[index]));
  }
  context.stroke();
  context.fillStyle = palette.muted;
  context.fillText(valueText(high, document), 4, row.y + 8);
}

function valueText(value, { shape, unit }) {
  return shape === "duration" ? formatDuration(value) : `${cellText(value, { shape, unit })} ${unit}`.trim();
}

/** { lines, range, chosen } under the pointer, null for nothing. */
export function describeLane(document, { row, time, y, pixelNs, table }) {
  return document.time ? describeValue(document, { row, time, table }) : describeMark(document, { row, time, y, pixelNs, table });
}

function describeValue(document, { row, time, table }) {
  const index = lowerBound(document.time, time + 1) - 1;
  if (index < 0) return { lines: [row.label, "no value yet"] };
  const count = document.count?.[index] ?? 1;
  const spread = count > 1 ? [`${valueText(document.least[index], document)} to ${valueText(document.most[index], document)} in ${countOf(count, "row")}`] : [];
  return { lines: [row.label, valueText(document.value[index], document), ...spread], chosen: { kind: "row", table, row: document.row[index] } };
}

function describeMark(document, { row, time, y, pixelNs, table }) {
  const { start, end, line, lines } = document;
  const shown = Math.max(0, Math.min(lines - 1, Math.floor(((y - PADDING_PX) / (row.height - 2 * PADDING_PX)) * lines)));
  const slack = NEAR_MARK_PX * pixelNs;
  let best = -1;
  for (let mark = 0; mark < start.length && start[mark] <= time + slack; mark += 1) {
    const until = Math.max(end[mark] ?? Infinity, start[mark]);
    if (line[mark] !== shown || until + slack < time) continue;
    if (best < 0 || until - start[mark] <= (end[best] ?? Infinity) - start[best]) best = mark;
  }
  if (best < 0) return null;
  const [text] = document.labels[document.label[best]];
  const length = end[best] === null ? "open at the end of the recording" : end[best] > start[best] ? formatDuration(end[best] - start[best]) : `at ${formatTime(start[best], Math.max(1, pixelNs))}`;
  const more = document.count[best] > 1 ? [`the longest of ${formatCount(document.count[best])} rows that begin in this pixel`] : [];
  const crowded = document.crowded ? ["rows overlap; they are drawn over each other"] : [];
  const range = end[best] !== null && end[best] > start[best] ? { from: start[best], to: end[best] } : null;
  return { lines: [cleanText(text, 160) || row.label, length, ...more, ...crowded], range, chosen: { kind: "row", table, row: document.row[best] } };
}
