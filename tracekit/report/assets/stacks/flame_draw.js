// Draws the flame graph's boxes, and finds boxes by point or by arrow key.
import { clipText } from "../shared/dom.js";
import { CANVAS_FONT } from "../timeline/draw.js";
import { dominantEngine } from "./calltree.js";
import { cleanText, formatPercent } from "../shared/numbers.js";
import { engineLetter, mixColours, parseColour, readableOn } from "../shared/palette.js";

export const BOX_HEIGHT = 19;
export const MOST_DEPTH = 400;

const NAME_FROM_PX = 24;
const OF_MODELS = ["ANE", "GPU", "CPU", "RUNTIME"];
const BINARY_COLOURS = [
  "#4c78a8", "#c97b3c", "#5f9e6e", "#a05f9e", "#b8a13b", "#4fa3a5", "#b5606b", "#7d79c7", "#8a7256", "#6d8b3a",
];

export function flameHeight(boxes) {
  let deepest = 0;
  for (const { depth } of boxes) deepest = Math.max(deepest, depth);
  return (Math.min(MOST_DEPTH, deepest) + 1) * BOX_HEIGHT;
}

/**
 * `look` = { palette, strings, engines, colourBy, matches (marks functions that were searched for, or null), cursor }, the
 * cursor being the id of a box.
 */
export function drawFlame(context, tree, boxes, width, height, look) {
  context.fillStyle = look.palette.surface;
  context.fillRect(0, 0, width, height);
  context.font = CANVAS_FONT;
  context.textBaseline = "middle";
  const colours = colourTable(tree, look);
  for (const box of boxes) {
    if (box.depth > MOST_DEPTH) continue;
    const colour = box.node < 0 ? restColours(look) : colours(box.node);
    const y = box.depth * BOX_HEIGHT;
    const isDim = look.matches && !(box.node >= 0 && look.matches[tree.func[box.node]]);
    context.globalAlpha = isDim ? 0.3 : 1;
    context.fillStyle = colour.fill;
    context.fillRect(box.x, y, Math.max(0.5, box.width - 0.6), BOX_HEIGHT - 1);
    if (box.width >= NAME_FROM_PX) drawName(context, tree, box, y, colour, look);
    context.globalAlpha = 1;
    if (look.cursor === box.id) {
      context.strokeStyle = look.palette.text;
      context.lineWidth = 2;
      context.strokeRect(box.x + 1, y + 1, Math.max(1, box.width - 2), BOX_HEIGHT - 3);
    }
  }
}

function restColours({ palette }) {
  return { fill: palette.plate, text: palette.text, letter: "" };
}

/** What a box that stands for others says: `rest, 2.1 %`. */
export function restName(tree, { weight }) {
  return `rest, ${formatPercent(weight / tree.weight)}`;
}

function drawName(context, tree, box, y, { text, letter }, { strings }) {
  const { node, x, width } = box;
  const isRest = node < 0 || tree.func[node] === tree.less; // cut-off branches are no function
  const name = isRest ? restName(tree, box) : cleanText(strings[tree.names[tree.func[node]]], 300);
  context.fillStyle = text;
  const left = Math.max(x, 0) + 4;
  context.fillText(clipText(letter ? `${letter} ${name}` : name, width - 8), left, y + BOX_HEIGHT / 2, width - 6);
}

/** Returns a node's colours; lightness varies a little by function, so that boxes of one engine stay distinct. */
/** Without any work of a model all boxes would be of one colour, so these are coloured by binary unless chosen otherwise. */
export function colouring(view, colourBy) {
  if (colourBy !== "auto") return colourBy;
  const hasModel = view.lanes.some(({ engines }) => engines.some((engine) => OF_MODELS.includes(view.engines[engine])));
  return hasModel ? "engine" : "binary";
}

function colourTable(tree, { palette, engines, colourBy }) {
  const entries = new Map();
  const entry = (base, shade, letter) => {
    const key = `${base}${shade}`;
    if (!entries.has(key)) {
      const fill = `rgb(${mixColours(parseColour(base), palette.surfaceRgb, 0.14 + shade * 0.06).join(" ")})`;
      entries.set(key, { fill, text: readableOn(fill), letter });
    }
    return entries.get(key);
  };
  return (node) => {
    const func = tree.func[node];
    if (colourBy === "binary") return entry(BINARY_COLOURS[tree.binaries[func] % BINARY_COLOURS.length], func % 3, "");
    const engine = engines[dominantEngine(tree, node)];
    return entry(palette.engines[engine], func % 4, engine === "OTHER" ? "" : engineLetter(engine));
  };
}

export function boxAt(boxes, x, y) {
  const depth = Math.floor(y / BOX_HEIGHT);
  return boxes.find((box) => box.depth === depth && x >= box.x && x < box.x + box.width) ?? null;
}

/** The box that an arrow key moves to: down and up along the calls, left and right among neighbours. */
export function neighbourBox(boxes, id, key) {
  const current = boxes.find((box) => box.id === id);
  if (id === null || !current) return boxes[0] ?? null;
  if (key === "ArrowUp") return boxes.find((box) => box.node >= 0 && box.node === current.above) ?? current;
  if (key === "ArrowDown") {
    const below = boxes.filter((box) => current.node >= 0 && box.above === current.node && box.depth === current.depth + 1);
    return below.sort((left, right) => left.x - right.x)[0] ?? current;
  }
  const row = boxes.filter((box) => box.depth === current.depth).sort((left, right) => left.x - right.x);
  const next = row.findIndex((box) => box.id === id) + (key === "ArrowRight" ? 1 : -1);
  return row[next] ?? current;
}
