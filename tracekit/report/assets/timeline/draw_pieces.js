// Draws the pieces of a call's budget inside its bar: engines at work are filled, engines at other work hatched, idle time hollow.
import { listPieces } from "../data/budget.js";

const HATCH_EVERY_PX = 5;
const LINE_EVERY_PX = 4;
const DASH = [3, 2];

/** How parts without an engine of their own are drawn, by key; the others have a plain plate. */
const LOOKS = {
  load: (frame, box) => hatchPiece(frame, box, frame.palette.engines.RUNTIME, 1),
  copy: (frame, box) => tintPiece(frame, box, frame.palette.engines.RUNTIME),
  contested: (frame, box) => hatchPiece(frame, box, frame.palette.engines.MIXED, 1),
  other_process: (frame, box) => hatchPiece(frame, box, frame.palette.more, -1),
  other_call: (frame, box) => hatchPiece(frame, box, frame.palette.less, -1),
  other_threads: (frame, box) => hatchPiece(frame, box, frame.palette.engines.OTHER, 1),
  waiting: (frame, box) => linePiece(frame, box, frame.palette.engines.RUNTIME),
  runnable: (frame, box) => linePiece(frame, box, frame.palette.muted),
  blocked: (frame, box) => linePiece(frame, box, frame.palette.muted),
  idle: outlinePiece,
};

/**
 * Draws the pieces of a call at their times, clipped to `left` and `right`, the visible part of its bar; returns the widest
 * visible piece of an engine: { engine, left, width }, or null.
 */
export function drawPieces(frame, call, { left, right, top, height }) {
  const { view } = frame.source;
  frame.context.fillStyle = frame.palette.surface;
  frame.context.fillRect(left, top, right - left, height);
  let widest = null;
  for (const piece of listPieces(view, call)) {
    const { key, engine } = view.budget.parts[piece.part];
    const box = { ...clipPiece(frame, piece, left, right), top, height };
    if (box.width <= 0) continue;
    if (LOOKS[key]) LOOKS[key](frame, box);
    else fillPiece(frame, box, engine);
    if (view.serving.includes(engine) && box.width > (widest?.width ?? 0)) widest = { engine, left: box.left, width: box.width };
  }
  frame.context.strokeStyle = frame.palette.muted;
  frame.context.lineWidth = 1;
  frame.context.strokeRect(left + 0.5, top + 0.5, Math.max(1, right - left - 1), height - 1);
  return widest;
}

/** The visible part of a piece: its time on the axis of the frame, within the visible part of the call. */
export function clipPiece({ view, width }, piece, left, right) {
  const scale = width / (view.to - view.from);
  const from = Math.max(left, (piece.start - view.from) * scale);
  const to = Math.min(right, (piece.end - view.from) * scale);
  return { left: from, width: to - from };
}

function fillPiece({ context, palette }, { left, top, width, height }, engine) {
  const isNarrow = width < 4;
  context.fillStyle = engine ? (isNarrow ? palette.engines[engine] : palette.patterns[engine]) : palette.plate;
  context.fillRect(left, top, width, height);
}

function tintPiece(frame, box, colour) {
  frame.context.globalAlpha = 0.45;
  frame.context.fillStyle = colour;
  frame.context.fillRect(box.left, box.top, box.width, box.height);
  frame.context.globalAlpha = 1;
}

/** Lines that rise (1) or fall (-1), clipped to the box. */
function hatchPiece({ context, width: most }, { left, top, width, height }, colour, direction) {
  const [from, to] = [Math.max(left, -height), Math.min(left + width, most + height)];
  context.save();
  context.beginPath();
  context.rect(from, top, to - from, height);
  context.clip();
  context.strokeStyle = colour;
  context.lineWidth = 1.6;
  context.beginPath();
  for (let x = from - height - (from % HATCH_EVERY_PX); x < to + height; x += HATCH_EVERY_PX) {
    context.moveTo(x, direction > 0 ? top + height : top);
    context.lineTo(x + height, direction > 0 ? top : top + height);
  }
  context.stroke();
  context.restore();
}

function outlinePiece({ context, palette }, { left, top, width, height }) {
  if (width < 3) return;
  context.strokeStyle = palette.muted;
  context.lineWidth = 1;
  context.setLineDash(DASH);
  context.strokeRect(left + 0.5, top + 1.5, width - 1, height - 3);
  context.setLineDash([]);
}

function linePiece({ context }, { left, top, width, height }, colour) {
  context.fillStyle = colour;
  for (let y = 2; y < height; y += LINE_EVERY_PX) context.fillRect(left, top + y, width, 1);
}
