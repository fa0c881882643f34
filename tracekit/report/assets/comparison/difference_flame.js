// The flame graph of both sides of a comparison: boxes as wide as a side's weight, coloured by the change.
import { changeOf, changeSign, createDifferenceTree, unseenWeight, DIFFERENCE_WIDTHS } from "./difference_tree.js";
import { boxText, createDifferenceWords } from "./difference_words.js";
import { clipText, fitCanvas, make } from "../shared/dom.js";
import { CANVAS_FONT } from "../timeline/draw.js";
import { BOX_HEIGHT, boxAt, flameHeight, MOST_DEPTH, neighbourBox } from "../stacks/flame_draw.js";
import { layoutFlame } from "../stacks/flame_layout.js";
import { mixColours, parseColour, readableOn } from "../shared/palette.js";
import { oncePerFrame } from "../shared/store.js";
import { nodeOfPath, pathOfNode } from "../stacks/tree_model.js";

const NAMED_FROM_PX = 24;
const FAINTEST = 0.12;

/** Fills the section; `page` = { palette(), tooltip, announce(text) }. Returns the function that draws anew. */
export function createDifferenceFlame(section, data, page) {
  const modelOf = createDifferenceTree(data);
  const words = createDifferenceWords(data);
  let width = "both";
  let focus = null; // a path of functions
  let cursor = null;
  let boxes = [];
  const canvas = make("canvas", { tabIndex: 0, role: "img" });
  const scroll = make("div", { className: "flame-scroll" }, canvas);
  const message = make("p", { className: "note", role: "status" });
  const back = make("button", { type: "button", onclick: () => focusOn(null) }, "Whole tree");
  const choice = make("select", { onchange: () => show(choice.value) }, ...Object.entries(DIFFERENCE_WIDTHS).map(([value, text]) => make("option", { value }, text)));
  const keyTo = (name, text) => [make("i", { className: name }), text];
  const legend = make("span", { className: "difference-legend" }, ...keyTo("more", "+ more in NEW"), ...keyTo("less", "− less in NEW"));
  const controls = make("div", { className: "controls" }, make("label", {}, "Width: ", choice), back, legend);
  section.append(make("div", { className: "flame difference live-only" }, controls, scroll, message));

  function show(value) {
    width = value;
    cursor = null;
    draw();
  }

  function focusOn(path) {
    focus = path;
    cursor = null;
    draw();
  }

  function draw() {
    const model = modelOf(width);
    const focused = focus ? nodeOfPath(model, focus) : -1;
    const pixels = Math.max(60, scroll.clientWidth);
    boxes = layoutFlame(model, focused, pixels);
    const { context } = fitCanvas(canvas, pixels, flameHeight(boxes));
    context.fillStyle = page.palette().surface;
    context.fillRect(0, 0, pixels, flameHeight(boxes));
    context.font = CANVAS_FONT;
    context.textBaseline = "middle";
    for (const box of boxes) if (box.depth <= MOST_DEPTH) drawBoxOf(context, model, box);
    back.disabled = focused < 0;
    const text = words.summary(model, unseenWeight(data, width), width);
    const current = boxes.find(({ id }) => id === cursor);
    message.textContent = current ? words.lines(model, current).join(" · ") : text;
    canvas.setAttribute("aria-label", `Flame graph of both sides; ${text} Arrow keys move, Enter zooms, Escape goes back.`);
  }

  function drawBoxOf(context, model, box) {
    const palette = page.palette();
    const y = box.depth * BOX_HEIGHT;
    const fill = box.node < 0 ? palette.plate : changeColour(palette, changeOf(model, box.node));
    context.fillStyle = fill;
    context.fillRect(box.x, y, Math.max(0.5, box.width - 0.6), BOX_HEIGHT - 1);
    if (box.width >= NAMED_FROM_PX) {
      context.fillStyle = box.node < 0 ? palette.text : readableOn(fill);
      context.fillText(clipText(boxText(data, model, box, changeSign), box.width - 8), box.x + 4, y + BOX_HEIGHT / 2, box.width - 6);
    }
    if (cursor !== box.id) return;
    context.strokeStyle = palette.text;
    context.lineWidth = 2;
    context.strokeRect(box.x + 1, y + 1, Math.max(1, box.width - 2), BOX_HEIGHT - 3);
  }

  function boxUnder(event) {
    const area = canvas.getBoundingClientRect();
    return boxAt(boxes, event.clientX - area.left, event.clientY - area.top);
  }

  function zoom(box) {
    if (box && box.node >= 0) focusOn(pathOfNode(modelOf(width), box.node));
  }

  canvas.addEventListener("click", (event) => zoom(boxUnder(event)));
  canvas.addEventListener("pointermove", (event) => {
    const box = boxUnder(event);
    if (box) page.tooltip.show(words.lines(modelOf(width), box), event.clientX, event.clientY);
    else page.tooltip.hide();
  });
  canvas.addEventListener("pointerleave", () => page.tooltip.hide());
  canvas.addEventListener("keydown", (event) => {
    if (event.key.startsWith("Arrow")) {
      cursor = neighbourBox(boxes, cursor, event.key)?.id ?? null;
      draw();
      page.announce(message.textContent);
    } else if (event.key === "Enter") zoom(boxes.find(({ id }) => id === cursor));
    else if (event.key === "Escape" || event.key === "Backspace") focusOn(focus && focus.length > 1 ? focus.slice(0, -1) : null);
    else return;
    event.preventDefault();
  });
  new ResizeObserver(oncePerFrame(draw)).observe(scroll);
  return draw;
}

/** The plate's colour for no change, the colour of more or less for paths of one side only. */
function changeColour(palette, change) {
  const part = Math.abs(change) < 0.005 ? 0 : FAINTEST + (1 - FAINTEST) * Math.abs(change);
  const full = parseColour(change > 0 ? palette.more : palette.less);
  return `rgb(${mixColours(parseColour(palette.plate), full, part).join(" ")})`;
}
