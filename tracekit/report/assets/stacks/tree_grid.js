// A call tree as an outline: a treegrid that makes only the rows in sight, so that 100,000 nodes scroll as ten do.
import { dominantEngine } from "./calltree.js";
import { make } from "../shared/dom.js";
import { formatCount, formatPercent, formatWeight } from "../shared/numbers.js";
import { engineLetter } from "../shared/palette.js";
import { functionName, isShown, libraryName, matchingFunctions } from "./stack_model.js";
import { inspectFunction, listenForMenu, runStackKey } from "./stack_actions.js";
import { functionKey, pathKey } from "./transforms.js";
import { oncePerFrame } from "../shared/store.js";
import { flatten, heaviestPath, keysBelow, keysOfCallers, matchesOf } from "./tree_rows.js";

const ROW_PX = 22;
const SPARE_ROWS = 6;
const MOST_INDENTS = 24;
const MOST_TREE_ROWS = 200_000;
const MOST_OPENED_AT_ONCE = 100_000;
const TREE_COLUMNS = ["Total", "Self", "By engine", "Function", "Library"];
let grids = 0;

/** `menu` is the context menu (stack_actions.js). Returns { element, show(model), next() }. */
export function createTreeGrid(label, view, store, page, menu) {
  const id = `tree-${(grids += 1)}`;
  const expanded = new Set(); // keys of paths, so that rows stay open when the selection changes
  let model = null;
  let rows = { nodes: [], depths: [], keys: [], isCut: false };
  let cursor = -1; // a row
  let rootKey = null; // of the heaviest root
  let matches = null;
  let found = -1;
  const pool = [];
  const body = make("div", { className: "tree-body", role: "rowgroup" });
  const head = make("div", { className: "tree-row tree-head", role: "row" }, ...TREE_COLUMNS.map((title) => make("span", { role: "columnheader" }, title)));
  const grid = make("div", { className: "tree-grid", role: "treegrid", tabIndex: 0, "aria-label": label }, make("div", { role: "rowgroup", className: "tree-top" }, head), body);
  const note = make("p", { className: "note", hidden: true });

  function show(newModel) {
    const wasEmpty = model === null;
    const key = rows.keys[cursor];
    model = newModel;
    const isFirst = isAnother(model) || wasEmpty;
    matches = matchingFunctions(view, model, store.state.search);
    found = -1;
    if (isFirst || (expanded.size === 0 && model.roots.length > 0)) for (const each of heaviestPath(view, model)) expanded.add(each);
    arrange();
    const place = key === undefined ? -1 : rows.keys.indexOf(key);
    cursor = Math.min(rows.nodes.length - 1, place < 0 ? cursor : place); // a row that is gone leaves it to the next one
    drawVisible();
  }

  /** True if the heaviest root is another than before, and is not open: the callers of another function. */
  function isAnother({ roots, func }) {
    const before = rootKey;
    rootKey = roots.length > 0 ? pathKey(0, functionKey(view, model, func[roots[0]])) : null;
    return rootKey !== before && !expanded.has(rootKey);
  }

  function arrange() {
    rows = flatten(view, model, expanded, MOST_TREE_ROWS);
    body.style.height = `${rows.nodes.length * ROW_PX}px`;
    grid.setAttribute("aria-rowcount", String(rows.nodes.length + 1));
    note.hidden = !rows.isCut;
    note.textContent = `The first ${formatCount(MOST_TREE_ROWS)} rows are listed; close branches to see others.`;
  }

  /** Draws the rows in sight; after mere scrolling, those that were in sight before are as they were. */
  function drawVisible(isScrolled = false) {
    if (!model || !isShown(grid)) return;
    const first = Math.max(0, Math.floor(grid.scrollTop / ROW_PX) - SPARE_ROWS);
    const end = Math.min(rows.nodes.length, Math.ceil((grid.scrollTop + grid.clientHeight) / ROW_PX) + SPARE_ROWS);
    while (pool.length < end - first) pool.push(createRow(body));
    // A row's number modulo the pool's size: rows that stay in sight keep their elements.
    pool.forEach((row, place) => {
      const index = first + ((((place - first) % pool.length) + pool.length) % pool.length);
      if (index < end && !(isScrolled && row.index === index)) fill(row, index);
      if (index >= end) row.element.hidden = true;
      row.index = index < end ? index : -1;
    });
    const current = cursor >= first && cursor < end ? `${id}-${cursor}` : null;
    if (current) grid.setAttribute("aria-activedescendant", current);
    else grid.removeAttribute("aria-activedescendant");
  }
  const draw = oncePerFrame(drawVisible);
  const drawScrolled = oncePerFrame(() => drawVisible(true));

  function fill({ element, total, self, bar, indent, twisty, name, library }, index) {
    const node = rows.nodes[index];
    const func = model.func[node];
    const isPercent = store.state.treeUnit === "percent";
    const shown = (weight) => (isPercent ? formatPercent(weight / model.weight) : formatWeight(weight, view.unit));
    const depth = rows.depths[index];
    if (element.hidden) element.hidden = false;
    element.id = `${id}-${index}`;
    element.style.transform = `translateY(${index * ROW_PX}px)`;
    const className = `tree-row${index === cursor ? " current" : ""}${matches?.[func] ? " match" : ""}`;
    if (element.className !== className) element.className = className; // styles are computed anew for each that is set
    element.setAttribute("aria-rowindex", String(index + 2));
    element.setAttribute("aria-level", String(depth + 1));
    element.setAttribute("aria-selected", String(index === cursor));
    const isOpen = rows.keys[index] !== undefined && expanded.has(rows.keys[index]);
    if (model.hasChildren(node)) element.setAttribute("aria-expanded", String(isOpen));
    else element.removeAttribute("aria-expanded");
    total.textContent = shown(model.total[node]);
    self.textContent = model.self[node] > 0 ? shown(model.self[node]) : "";
    bar.firstChild.textContent = engineLetter(view.engines[dominantEngine(model, node)]);
    bar.lastChild.style.background = engineBar(view, model, node);
    indent.style.width = `${Math.min(depth, MOST_INDENTS) * 13}px`;
    indent.textContent = depth > MOST_INDENTS ? `${formatCount(depth)} ` : "";
    twisty.textContent = model.hasChildren(node) ? (isOpen ? "▾" : "▸") : "";
    name.textContent = functionName(view, model, func);
    name.title = name.textContent;
    library.textContent = libraryName(view, model, func);
  }

  function setCursor(index, isScrolled = true) {
    cursor = Math.min(rows.nodes.length - 1, index);
    if (isScrolled && cursor >= 0) {
      const top = cursor * ROW_PX;
      const room = grid.clientHeight - 2 * ROW_PX; // below the sticky head
      if (top < grid.scrollTop) grid.scrollTop = top;
      else if (top > grid.scrollTop + room) grid.scrollTop = top - room;
    }
    draw();
  }

  function toggle(index, isOpen) {
    const key = rows.keys[index];
    if (isOpen) expanded.add(key);
    else expanded.delete(key);
    arrange();
    setCursor(index);
  }

  const placeOf = (index) => {
    const node = rows.nodes[index];
    return node === undefined ? null : { view, tree: model, model, node, func: model.func[node] };
  };
  const rowAt = (event) => {
    const element = event.target.closest(".tree-body .tree-row");
    return element ? Number(element.getAttribute("aria-rowindex")) - 2 : -1;
  };

  function moved(key) {
    const node = rows.nodes[cursor];
    const isOpen = expanded.has(rows.keys[cursor]);
    const page = Math.max(1, Math.floor(grid.clientHeight / ROW_PX) - 2);
    const steps = { ArrowDown: cursor + 1, ArrowUp: cursor - 1, PageDown: cursor + page, PageUp: cursor - page, Home: 0, End: rows.nodes.length - 1 };
    if (key in steps) setCursor(Math.max(0, steps[key]));
    else if (node === undefined) return false;
    else if (key === "ArrowRight" && model.hasChildren(node)) isOpen ? setCursor(cursor + 1) : toggle(cursor, true);
    else if (key === "ArrowLeft" && isOpen && model.hasChildren(node)) toggle(cursor, false);
    else if (key === "ArrowLeft") setCursor(Math.max(0, rows.nodes.indexOf(model.parent[node])));
    else if ((key === "Enter" || key === " ") && model.hasChildren(node)) toggle(cursor, !isOpen);
    else if (key === "*") {
      for (const each of keysBelow(view, model, node, rows.keys[cursor], MOST_OPENED_AT_ONCE)) expanded.add(each);
      arrange();
      setCursor(cursor);
    } else return key === "ArrowRight";
    return true;
  }

  grid.addEventListener("keydown", (event) => {
    const isHandled = (!event.ctrlKey && !event.metaKey && !event.altKey && moved(event.key)) || runStackKey(event, placeOf(cursor), store, page);
    if (isHandled) event.preventDefault();
  });
  grid.addEventListener("focus", () => cursor < 0 && setCursor(0, false));
  body.addEventListener("click", (event) => {
    const index = rowAt(event);
    if (index < 0) return;
    const isTwisty = event.target.classList.contains("twisty") && model.hasChildren(rows.nodes[index]);
    if (isTwisty) return toggle(index, !expanded.has(rows.keys[index]));
    inspectFunction(placeOf(index), store);
    return setCursor(index);
  });
  body.addEventListener("dblclick", (event) => {
    const index = rowAt(event);
    if (index >= 0 && model.hasChildren(rows.nodes[index])) toggle(index, !expanded.has(rows.keys[index]));
  });
  listenForMenu(grid, (event) => {
    const index = rowAt(event);
    if (index >= 0) setCursor(index);
    if (!placeOf(cursor)) return null;
    const { left, top } = grid.getBoundingClientRect();
    const at = index < 0 ? { x: left + 320, y: top + (cursor + 2) * ROW_PX - grid.scrollTop } : {};
    return { place: placeOf(cursor), ...at };
  }, menu);
  grid.addEventListener("scroll", drawScrolled, { passive: true });
  new ResizeObserver(draw).observe(grid);
  store.on(["treeUnit"], draw);
  store.on(["search"], () => {
    matches = model && matchingFunctions(view, model, store.state.search);
    found = -1;
    draw();
  });

  /** Opens the branch of the next function that the search finds. */
  function next() {
    const all = matches ? matchesOf(model, matches) : [];
    if (all.length === 0) return page.announce("No function of this tree contains the search.");
    found = (found + 1) % all.length;
    for (const key of keysOfCallers(view, model, all[found])) expanded.add(key);
    arrange();
    setCursor(rows.nodes.indexOf(all[found]));
    return page.announce(`Match ${formatCount(found + 1)} of ${formatCount(all.length)}.`);
  }

  return { element: make("div", {}, grid, note), show, next };
}

/** The part of all weight that a node has, by engine. */
function engineBar(view, model, node) {
  let left = 0;
  const parts = [];
  for (let engine = 0; engine < model.engineCount; engine += 1) {
    const part = (100 * model.engines[node * model.engineCount + engine]) / model.weight;
    if (part <= 0) continue;
    parts.push(`var(--engine-${view.engines[engine].toLowerCase()}) ${left.toFixed(2)}% ${(left + part).toFixed(2)}%`);
    left += part;
  }
  return `linear-gradient(90deg, ${parts.join(", ")}${parts.length > 0 ? ", " : ""}transparent ${left.toFixed(2)}% 100%)`;
}

function createRow(body) {
  const cell = (className, ...children) => make("span", { className, role: "gridcell" }, ...children);
  const span = (className) => make("span", { className });
  const total = cell("number");
  const self = cell("number");
  const bar = cell("by-engine", span("letter"), span("bar"));
  const [indent, twisty, name] = [span("indent"), span("twisty"), span("name")];
  twisty.setAttribute("aria-hidden", "true");
  const library = cell("library");
  const element = make("div", { className: "tree-row", role: "row", hidden: true }, total, self, bar, cell("function", indent, twisty, name), library);
  body.append(element);
  return { element, total, self, bar, indent, twisty, name, library };
}
