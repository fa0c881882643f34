// The flame graph of the selection, and a table of its functions with the same numbers.
import { dominantEngine } from "./calltree.js";
import { fitCanvas, make } from "../shared/dom.js";
import { boxAt, colouring, drawFlame, flameHeight, MOST_DEPTH, neighbourBox, restName } from "./flame_draw.js";
import { layoutFlame } from "./flame_layout.js";
import { createFunctionTable } from "./function_table.js";
import { cleanText, countOf, formatPercent, formatWeight } from "../shared/numbers.js";
import { createStackMenu, inspectFunction, listenForMenu, runStackKey, STACK_ACTIONS } from "./stack_actions.js";
import { functionName, isShown, libraryName, matchingFunctions } from "./stack_model.js";
import { oncePerFrame } from "../shared/store.js";
import { createTransformBar } from "./transform_bar.js";
import { nodeOfPath, pathOfNode } from "./tree_model.js";

const LEAST_SHOWN_PART = 0.0005;

/** `page` = { palette(), stacks, tooltip, announce(text) }. */
export function createFlame(container, view, store, page) {
  let model = null;
  let boxes = [];
  let cursor = null; // the id of a box
  let focused = -1;
  const canvas = make("canvas", { tabIndex: 0, role: "img" });
  const crumbs = make("div", { className: "breadcrumb" });
  const message = make("p", { className: "note" });
  const search = searchBox(store, "Highlight functions");
  const colour = colourChoice(view, store);
  const bar = createTransformBar(view, store, colour.element, search.element);
  const menu = createStackMenu(container, store, page);
  const sandwich = STACK_ACTIONS.find(({ key }) => key === "b");
  const placeOf = (box) => box && box.node >= 0 && { view, tree: model, model, node: box.node, func: model.func[box.node] };
  const table = createFunctionTable(view, store, page, (func) => {
    inspectFunction({ view, tree: model, func }, store);
    sandwich.run({ view, tree: model, func }, store, page);
  });
  const details = make("details", {}, make("summary", {}, "Functions as a table"), table.element);
  const scroll = make("div", { className: "flame-scroll" }, canvas);
  container.append(make("div", { className: "flame live-only" }, bar.element, crumbs, scroll, message, details));

  function weigh() {
    model = null;
    cursor = null;
    draw();
  }

  function draw() {
    if (!isShown(container)) return;
    if (!model) {
      model = page.stacks.model();
      if (details.open) table.refresh();
    }
    const { focus, search: searchText } = store.state;
    const colourBy = colouring(view, store.state.colourBy);
    focused = focus ? nodeOfPath(model, focus) : -1;
    const width = Math.max(60, scroll.clientWidth);
    boxes = layoutFlame(model, focused, width);
    const { context } = fitCanvas(canvas, width, flameHeight(boxes));
    const matches = matchingFunctions(view, model, searchText);
    const look = { palette: page.palette(), strings: view.strings, engines: view.engines, colourBy, matches, cursor };
    drawFlame(context, model, boxes, width, flameHeight(boxes), look);
    showCrumbs(crumbs, view, model, focused >= 0 ? focus : [], (path) => store.set({ focus: path }));
    const text = summary(matches);
    const current = boxes.find(({ id }) => id === cursor);
    message.textContent = current ? describeBox(view, model, current).join(" · ") : text;
    const keys = "Arrow keys move, Enter zooms, Escape goes back, the menu key opens what can be done.";
    canvas.setAttribute("aria-label", `Flame graph; ${text} ${keys}`);
    bar.show(model);
    colour.mark();
    search.mark();
  }

  function summary(matches) {
    if (!(model.weight > 0)) return model.dropped.samples > 0 ? "The transforms drop every sample of the selection." : "No samples in the selection.";
    const whole = focused < 0 ? model.weight : model.total[focused];
    const share = (weight) => formatPercent(whole > 0 ? weight / whole : 0);
    const all = formatWeight(model.weight, view.unit);
    const parts = [focused < 0 ? `${all} in all.` : `${formatWeight(whole, view.unit)} of ${all}.`];
    if (store.state.focus && focused < 0) parts.push("The function zoomed to is not in this selection, so all of it is shown.");
    if (matches) parts.push(`Highlighted: ${share(model.matched(matches, focused))}.`);
    if (model.rootless > 0 && focused < 0) parts.push(`${share(model.rootless)} has no stack.`);
    const less = model.less < 0 ? 0 : model.matched(Uint8Array.from(model.names, (_, func) => Number(func === model.less)), focused);
    if (less > LEAST_SHOWN_PART * whole) parts.push(`${share(less)} is in branches too light to be drawn${view.tiles ? "; select less time to see them" : ""}.`);
    if (boxes.some(({ depth }) => depth > MOST_DEPTH)) parts.push(`Frames deeper than ${MOST_DEPTH} are in the call tree only.`);
    return parts.join(" ");
  }

  const redraw = oncePerFrame(draw);
  const focusOn = (box) => {
    if (box?.node === -1) return; // a box for others: there is nothing to zoom to
    store.set({ focus: box ? pathOfNode(model, box.node) : null });
  };
  const back = () => store.set({ focus: focused >= 0 && store.state.focus.length > 1 ? store.state.focus.slice(0, -1) : null });
  const boxUnder = (event) => {
    const area = canvas.getBoundingClientRect();
    return boxAt(boxes, event.clientX - area.left, event.clientY - area.top);
  };

  listenToFlame(canvas, {
    click(event) {
      const box = boxUnder(event);
      if (placeOf(box)) inspectFunction(placeOf(box), store);
      focusOn(box);
    },
    hover(event) {
      const box = boxUnder(event);
      if (box) page.tooltip.show(describeBox(view, model, box), event.clientX, event.clientY);
      else page.tooltip.hide();
    },
    leave: () => page.tooltip.hide(),
    back,
    move(key) {
      const box = neighbourBox(boxes, cursor, key);
      if (!box) return;
      cursor = box.id;
      page.announce(describeBox(view, model, box).join(" · "));
      draw();
    },
    choose: () => cursor !== null && focusOn(boxes.find(({ id }) => id === cursor)),
    action: (event) => runStackKey(event, placeOf(boxes.find(({ id }) => id === cursor)), store, page),
  });
  listenForMenu(canvas, (event) => {
    page.tooltip.hide();
    // The menu key's event has no point that is of use: the box with the cursor is meant.
    const isKey = event.button !== 2 && cursor !== null;
    const box = isKey ? boxes.find(({ id }) => id === cursor) : boxUnder(event);
    const area = canvas.getBoundingClientRect();
    const at = isKey ? { x: area.left + box.x + 8, y: area.top + (box.depth + 1) * 19 } : {};
    return placeOf(box) ? { place: placeOf(box), ...at } : null;
  }, menu);
  details.addEventListener("toggle", () => details.open && table.refresh());
  store.on(["invert", "joined"], weigh); // keeps the focus: it applies again when the option is switched back
  store.on(["search"], () => {
    cursor = null;
  });
  store.on(["focus", "search", "colourBy"], redraw);
  new ResizeObserver(redraw).observe(container);
  weigh();
  return { weigh, redraw };
}

function describeBox(view, model, box) {
  const share = formatPercent(box.weight / model.weight);
  if (box.node < 0) {
    const name = model.isInverted && box.depth === 0 ? "function" : "call";
    return [restName(model, box), `${countOf(box.count, name)} too narrow to be drawn`, formatWeight(box.weight, view.unit)];
  }
  const func = model.func[box.node];
  const self = model.isInverted ? "" : `, itself ${formatWeight(model.self[box.node], view.unit)}`;
  return [
    functionName(view, model, func),
    `${libraryName(view, model, func)} · mostly ${view.engines[dominantEngine(model, box.node)]}`,
    `${formatWeight(box.weight, view.unit)} (${share})${self}`,
  ];
}

/** The search that all parts with functions share. `onEnter` is called for Enter. */
export function searchBox(store, label, onEnter) {
  const element = make("input", { type: "search", placeholder: label, "aria-label": label, value: store.state.search });
  element.addEventListener("input", () => store.set({ search: element.value }));
  element.addEventListener("keydown", (event) => event.key === "Enter" && onEnter?.());
  return {
    element,
    mark() {
      if (document.activeElement !== element) element.value = store.state.search;
    },
  };
}

function colourChoice(view, store) {
  const element = make(
    "select",
    { "aria-label": "Colour by", onchange: () => store.set({ colourBy: element.value }) },
    make("option", { value: "engine" }, "Colour by engine"),
    make("option", { value: "binary" }, "Colour by binary"),
  );
  return {
    element,
    mark() {
      element.value = colouring(view, store.state.colourBy);
    },
  };
}

function showCrumbs(element, view, model, path, choose) {
  const names = path.map((func) => cleanText(view.strings[model.names[func]], 80));
  const crumb = (text, end) =>
    make("button", { type: "button", onclick: () => choose(end === 0 ? null : path.slice(0, end)) }, text);
  const shown = names.slice(-4).map((name, index) => crumb(name, names.length - Math.min(4, names.length) + index + 1));
  element.hidden = path.length === 0;
  element.replaceChildren(crumb("all", 0), ...(path.length > 4 ? ["…"] : []), ...shown);
}

function listenToFlame(canvas, handlers) {
  canvas.addEventListener("click", handlers.click);
  canvas.addEventListener("pointermove", handlers.hover);
  canvas.addEventListener("pointerleave", handlers.leave);
  canvas.addEventListener("keydown", (event) => {
    if (event.key.startsWith("Arrow")) handlers.move(event.key);
    else if (event.key === "Enter") handlers.choose();
    else if (event.key === "Escape" || event.key === "Backspace") handlers.back();
    else if (!handlers.action(event)) return;
    event.preventDefault();
  });
}
