// Draws the boxes of the time-ordered chart.
import { clipText } from "../shared/dom.js";
import { CANVAS_FONT } from "../timeline/draw.js";
import { cleanText } from "../shared/numbers.js";
import { engineLetter, mixColours, parseColour, readableOn } from "../shared/palette.js";

export const ROW_HEIGHT = 18;
const WIDTH_WITH_NAME_PX = 26;
const LEAST_BOX_PX = 0.4;
const SHADES_OF_STACKS = 4;

/** `frame` = { context, width, height, view (the visible time), palette, tree, strings, engines, cursor, matches }. */
export function drawStackChart(boxes, frame) {
  const { context, width, height, view, palette, tree, strings, engines, cursor, matches } = frame;
  context.fillStyle = palette.surface;
  context.fillRect(0, 0, width, height);
  context.font = CANVAS_FONT;
  context.textBaseline = "middle";
  const colourOf = createColours(palette, engines);
  const scale = width / (view.to - view.from);
  const reached = []; // per depth, how far boxes are drawn: of boxes within a pixel, one is enough
  for (const box of boxes) {
    const left = Math.max(-1, (box.from - view.from) * scale);
    const right = Math.min(width + 1, (box.to - view.from) * scale);
    if (right <= 0 || left >= width || right - (reached[box.depth] ?? -1) < LEAST_BOX_PX) continue;
    reached[box.depth] = right;
    const func = tree.func[box.node];
    const colour = colourOf(box.engine, func);
    const y = box.depth * ROW_HEIGHT;
    context.globalAlpha = matches && !matches[func] ? 0.3 : 1;
    context.fillStyle = colour.fill;
    context.fillRect(left, y, Math.max(LEAST_BOX_PX, right - left - 0.6), ROW_HEIGHT - 1);
    if (right - left >= WIDTH_WITH_NAME_PX) {
      const text = `${colour.letter}${boxName(box, tree, strings)}`;
      context.fillStyle = colour.text;
      context.fillText(clipText(text, right - Math.max(0, left) - 8), Math.max(0, left) + 4, y + ROW_HEIGHT / 2, right - Math.max(0, left) - 6);
    }
    context.globalAlpha = 1;
  }
  if (cursor !== null && cursor >= view.from && cursor < view.to) {
    context.fillStyle = palette.text;
    context.fillRect(Math.round((cursor - view.from) * scale), 0, 1.5, height);
  }
}

/** The name in a box; one at the greatest depth shown counts the frames below it. */
export function boxName(box, tree, strings) {
  const name = cleanText(strings[tree.names[tree.func[box.node]]], 300);
  return box.rest > 0 ? `${name} … and up to ${box.rest} deeper frames` : name;
}

function createColours(palette, engines) {
  const colours = new Map();
  return (engine, func) => {
    const key = engine * SHADES_OF_STACKS + (func % SHADES_OF_STACKS);
    if (!colours.has(key)) {
      const name = engines[engine];
      const rgb = mixColours(parseColour(palette.engines[name]), palette.surfaceRgb, 0.14 + (func % SHADES_OF_STACKS) * 0.06);
      const fill = `rgb(${rgb.join(" ")})`;
      colours.set(key, { fill, text: readableOn(fill), letter: name === "OTHER" ? "" : `${engineLetter(name)} ` });
    }
    return colours.get(key);
  };
}
