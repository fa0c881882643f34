// The flame graph of the selection, and a table of its functions with the same numbers.
import { baseTree, dominantEngine, functionSums, invertTree, weighTree, withoutSystem } from "./calltree.js";
import { fitCanvas, make } from "./dom.js";
import { boxAt, drawFlame, flameHeight, neighbourBox } from "./flame_draw.js";
import { layoutFlame, linkChildren, matchedWeight, nodeOfPath, pathOfNode } from "./flame_layout.js";
import { cleanText, formatCount, formatPercent, formatWeight } from "./numbers.js";
import { hasJoined, joinedView } from "./joined.js";
import { oncePerFrame } from "./store.js";
import { createTable } from "./table.js";

const MOST_FUNCTIONS = 2000;
const LEAST_SHOWN_PART = 0.0005;

/** `page` = { palette(), selection(), tooltip, announce(text) }. */
export function createFlame(container, view, store, page) {
  let tree = null;
  let links = null;
  let boxes = [];
  let cursor = -1;
  let focused = -1;
  let size = { width: 1, height: 1 };
  const canvas = make("canvas", { tabIndex: 0, role: "img" });
  const crumbs = make("div", { className: "breadcrumb" });
  const message = make("p", { className: "note" });
  const search = make("input", { type: "search", placeholder: "Highlight functions", "aria-label": "Highlight functions" });
  const table = createFunctionTable(view, () => tree, page, (func) => {
    search.value = view.strings[tree.names[func]];
    store.set({ search: search.value });
  });
  const details = make("details", {}, make("summary", {}, "Functions as a table"), table.element);
  const controls = flameControls(view, store, search);
  container.append(make("div", { className: "flame live-only" }, controls.element, crumbs, make("div", { className: "flame-scroll" }, canvas), message, details));

  function weigh() {
    const { hideSystem, invert } = store.state;
    const { view: sampled, rows } = page.selection();
    const selected = store.state.joined ? joinedView(sampled) : sampled;
    const base = baseTree(selected);
    const weighed = weighTree(hideSystem ? withoutSystem(base) : base, selected, rows);
    tree = invert ? invertTree(weighed) : weighed;
    links = linkChildren(tree.parent);
    cursor = -1;
    if (details.open) table.refresh();
    redraw();
  }

  function draw() {
    const { focus, search: searchText, colourBy } = store.state;
    focused = focus ? nodeOfPath(tree, links, focus) : -1;
    const width = Math.max(60, canvas.parentElement.clientWidth);
    boxes = layoutFlame(tree, links, focused, width);
    size = { width, height: flameHeight(boxes) };
    const { context } = fitCanvas(canvas, size.width, size.height);
    const matches = searchText ? matchingFunctions(view, tree, searchText) : null;
    const look = { palette: page.palette(), strings: view.strings, engines: view.engines, colourBy, matches, cursor };
    drawFlame(context, tree, boxes, size.width, size.height, look);
    showCrumbs(crumbs, view, tree, focused >= 0 ? focus : [], (path) => store.set({ focus: path }));
    const text = summary(matches);
    message.textContent = cursor < 0 ? text : describeNode(view, tree, cursor).join(" · ");
    canvas.setAttribute("aria-label", `Flame graph; ${text} Arrow keys move, Enter zooms, Escape goes back.`);
    controls.mark();
  }

  function summary(matches) {
    if (!(tree.weight > 0)) return "No samples in the selection.";
    const whole = focused < 0 ? tree.weight : tree.total[focused];
    const share = (weight) => formatPercent(whole > 0 ? weight / whole : 0);
    const all = formatWeight(tree.weight, view.unit);
    const parts = [focused < 0 ? `${all} in all.` : `${formatWeight(whole, view.unit)} of ${all}.`];
    if (store.state.focus && focused < 0) parts.push("The function zoomed to is not in this selection, so all of it is shown.");
    if (matches) parts.push(`Highlighted: ${share(matchedWeight(tree, matches, focused))}.`);
    if (tree.rootless > 0 && focused < 0) parts.push(`${share(tree.rootless)} has no frame to draw.`);
    const less = cutOff();
    if (less > LEAST_SHOWN_PART * whole) parts.push(`${share(less)} is in branches too light to be drawn${view.tiles ? "; select less time to see them" : ""}.`);
    return parts.join(" ");
  }

  function cutOff() {
    if (tree.less < 0) return 0;
    const isLess = new Uint8Array(tree.names.length);
    isLess[tree.less] = 1;
    return matchedWeight(tree, isLess, focused);
  }

  const redraw = oncePerFrame(draw);
  const focusOn = (node) => {
    const path = node < 0 ? null : pathOfNode(tree, node);
    store.set({ focus: path });
  };
  const back = () => store.set({ focus: focused >= 0 && store.state.focus.length > 1 ? store.state.focus.slice(0, -1) : null });

  listenToFlame(canvas, {
    boxAt: (x, y) => boxAt(boxes, x, y),
    click: (box) => focusOn(box ? box.node : -1),
    hover: (box, event) => {
      if (box) page.tooltip.show(describeNode(view, tree, box.node), event.clientX, event.clientY);
      else page.tooltip.hide();
    },
    leave: () => page.tooltip.hide(),
    back,
    move: (key) => {
      const box = neighbourBox(boxes, tree, cursor, key);
      if (!box) return;
      cursor = box.node;
      page.announce(describeNode(view, tree, cursor).join(" · "));
      draw();
    },
    choose: () => cursor >= 0 && focusOn(cursor),
  });
  details.addEventListener("toggle", () => details.open && table.refresh());
  store.on(["hideSystem", "invert", "joined"], weigh); // keeps the focus: it applies again when the option is switched back
  store.on(["search"], () => {
    cursor = -1;
  });
  store.on(["focus", "search", "colourBy"], redraw);
  new ResizeObserver(redraw).observe(container);
  weigh();
  return { weigh, redraw };
}

function describeNode(view, tree, node) {
  const func = tree.func[node];
  const share = formatPercent(tree.total[node] / tree.weight);
  return [
    cleanText(view.strings[tree.names[func]]),
    `${cleanText(view.strings[tree.binaries[func]], 120)} · mostly ${view.engines[dominantEngine(tree, node)]}`,
    `${formatWeight(tree.total[node], view.unit)} (${share}), itself ${formatWeight(tree.self[node], view.unit)}`,
  ];
}

function matchingFunctions(view, tree, text) {
  const lower = text.toLowerCase();
  return Uint8Array.from(tree.names, (name, func) => {
    const names = `${view.strings[name]}\n${view.strings[tree.binaries[func]]}`;
    return names.toLowerCase().includes(lower) ? 1 : 0;
  });
}

function flameControls(view, store, search) {
  search.value = store.state.search;
  search.addEventListener("input", () => store.set({ search: search.value }));
  const toggle = (key, text) => {
    const button = make("button", { type: "button", onclick: () => store.set({ [key]: !store.state[key] }) }, text);
    return { mark: () => button.setAttribute("aria-pressed", String(store.state[key])), button };
  };
  const invert = toggle("invert", "Invert");
  const hide = toggle("hideSystem", "Hide system libraries");
  const join = toggle("joined", "Join workers to calls");
  join.button.hidden = !hasJoined(view);
  join.button.title = "Work on a worker thread is shown below the prediction call that it served (inferred)";
  const colour = make(
    "select",
    { "aria-label": "Colour by", onchange: () => store.set({ colourBy: colour.value }) },
    make("option", { value: "engine" }, "Colour by engine"),
    make("option", { value: "binary" }, "Colour by binary"),
  );
  return {
    element: make("div", { className: "controls" }, invert.button, hide.button, join.button, colour, search),
    mark() {
      invert.mark();
      hide.mark();
      join.mark();
      colour.value = store.state.colourBy;
      if (document.activeElement !== search) search.value = store.state.search;
    },
  };
}

function showCrumbs(element, view, tree, path, choose) {
  const names = path.map((func) => cleanText(view.strings[tree.names[func]], 80));
  const crumb = (text, end) =>
    make("button", { type: "button", onclick: () => choose(end === 0 ? null : path.slice(0, end)) }, text);
  const shown = names.map((name, index) => crumb(name, index + 1)).slice(-4);
  element.hidden = path.length === 0;
  element.replaceChildren(crumb("all", 0), ...(path.length > 4 ? ["…"] : []), ...shown);
}

function listenToFlame(canvas, handlers) {
  const boxUnder = (event) => {
    const area = canvas.getBoundingClientRect();
    return handlers.boxAt(event.clientX - area.left, event.clientY - area.top);
  };
  canvas.addEventListener("click", (event) => handlers.click(boxUnder(event)));
  canvas.addEventListener("pointermove", (event) => handlers.hover(boxUnder(event), event));
  canvas.addEventListener("pointerleave", handlers.leave);
  canvas.addEventListener("keydown", (event) => {
    if (event.key.startsWith("Arrow")) handlers.move(event.key);
    else if (event.key === "Enter") handlers.choose();
    else if (event.key === "Escape" || event.key === "Backspace") handlers.back();
    else return;
    event.preventDefault();
  });
}

function createFunctionTable(view, treeNow, page, choose) {
  let sums = [];
  const note = make("p", { className: "note", hidden: true });
  const text = (index) => cleanText(view.strings[index], 300);
  const weight = (value) => `${formatWeight(value, view.unit)} (${formatPercent(value / treeNow().weight)})`;
  const table = createTable({
    caption: "Functions of the selection",
    sort: { key: "self", descending: true },
    columns: [
      { key: "name", title: "Function", value: (row) => text(treeNow().names[sums[row].func]) },
      { key: "self", title: "Self", isNumber: true, value: (row) => sums[row].self, show: (row) => weight(sums[row].self) },
      { key: "total", title: "Total", isNumber: true, value: (row) => sums[row].total, show: (row) => weight(sums[row].total) },
      { key: "binary", title: "Binary", value: (row) => text(treeNow().binaries[sums[row].func]) },
    ],
    rowCount: () => sums.length,
    onChoose: (row) => choose(sums[row].func),
    chooseLabel: (row) => `${text(treeNow().names[sums[row].func])}: highlight`,
  });
  return {
    element: make("div", {}, note, table.element),
    refresh() {
      const all = functionSums(treeNow());
      sums = all.slice(0, MOST_FUNCTIONS);
      note.hidden = sums.length === all.length;
      note.textContent = `The ${formatCount(sums.length)} heaviest by self time of ${formatCount(all.length)} functions.`;
      table.refresh();
    },
  };
}
