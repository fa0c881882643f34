// Draws the notes: a flag with the text in their own row, and a line down through the lanes.
import { clipText } from "../shared/dom.js";
import { cleanText } from "../shared/numbers.js";

const WIDEST_FLAG = 220;
const NARROWEST_FLAG = 8;
const FLAG_LETTER_PX = 6.4;
const FLAG_PADDING_PX = 10;
const FLAG_GAP_PX = 2;

/** The visible flags from left to right: { note, x, left, width }; none reaches the next one. */
export function flagsOf(notes, view, width) {
  const scale = width / (view.to - view.from);
  const placed = notes.map((note) => ({ note, x: (note.time - view.from) * scale }));
  return placed
    .map(({ note, x }, index) => {
      const room = Math.max((placed[index + 1]?.x ?? Infinity) - x - FLAG_GAP_PX, 0);
      const needed = note.text.length * FLAG_LETTER_PX + FLAG_PADDING_PX;
      return { note, x, width: Math.max(NARROWEST_FLAG, Math.min(WIDEST_FLAG, needed, room)) };
    })
    .map((flag, index, all) => ({ ...flag, left: leftOf(flag, all[index - 1], width) }))
    .filter((flag) => flag.x + flag.width >= 0 && flag.x <= width);
}

/** A flag beyond the right edge stands to the left of its line, if no other flag is there. */
function leftOf(flag, before, width) {
  const isCut = flag.x <= width && flag.x + flag.width > width;
  const left = flag.x - flag.width + 1;
  return isCut && left > (before ? before.x + before.width : 0) ? left : flag.x;
}

export function drawNotes({ context, view, width, palette }, row) {
  for (const flag of flagsOf(row.notes, view, width)) {
    context.fillStyle = palette.mark;
    context.fillRect(flag.left, row.y + 3, flag.width, row.height - 6);
    context.strokeStyle = palette.muted;
    context.lineWidth = 1;
    context.strokeRect(flag.left + 0.5, row.y + 3.5, flag.width - 1, row.height - 7);
    context.fillStyle = palette.text;
    context.fillText(clipText(cleanText(flag.note.text, 80), flag.width - 6), Math.max(0, flag.left) + 4, row.y + row.height / 2 + 0.5, flag.width - 6);
  }
}

/** Over all lanes, after they are drawn. */
export function drawNoteLines({ context, view, width, height, palette }, notes) {
  context.fillStyle = palette.text;
  context.globalAlpha = 0.45;
  for (const { x } of flagsOf(notes, view, width)) context.fillRect(Math.round(x), 0, 1, height);
  context.globalAlpha = 1;
}
