// The call tree's section: the tree of the selection, or the callers and callees of one function (the sandwich).
import { functionSums } from "./calltree.js";
import { make } from "../shared/dom.js";
import { searchBox } from "./flame.js";
import { formatPercent, formatWeight } from "../shared/numbers.js";
import { createStackMenu } from "./stack_actions.js";
import { functionName, isShown, libraryName } from "./stack_model.js";
import { oncePerFrame } from "../shared/store.js";
import { createTransformBar } from "./transform_bar.js";
import { functionOfKey } from "./transforms.js";
import { createTreeGrid } from "./tree_grid.js";
import { calleesOf, callersOf } from "./tree_model.js";

/** `page` = { stacks, announce(text) }; it gets `openCallTree()`. */
export function createCallTree(container, view, store, page) {
  const menu = createStackMenu(container, store, page);
  const newGrid = (label) => createTreeGrid(label, view, store, page, menu);
  const grid = newGrid("Call tree");
  const sandwich = createSandwich(view, store, newGrid);
  const search = searchBox(store, "Find functions", () => grid.next());
  const unit = make("button", { type: "button", onclick: () => store.set({ treeUnit: store.state.treeUnit === "percent" ? "weight" : "percent" }) }, "Percent");
  const bar = createTransformBar(view, store, unit, search.element);
  const message = make("p", { className: "note" });
  container.append(make("div", { className: "calltree live-only" }, bar.element, sandwich.element, grid.element, message));
  let isStale = true;
  let shown = null;

  function drawNow() {
    unit.setAttribute("aria-pressed", String(store.state.treeUnit === "percent"));
    search.mark();
    if (!isStale || !isShown(container)) return;
    isStale = false;
    const tree = page.stacks.tree();
    bar.show(tree);
    const isEmpty = !(tree.weight > 0);
    message.textContent = describe(tree, isEmpty);
    const { selectedFunction, invert } = store.state;
    sandwich.element.hidden = selectedFunction === "";
    grid.element.hidden = isEmpty || selectedFunction !== "";
    if (selectedFunction !== "") {
      sandwich.show(tree);
      return;
    }
    const model = page.stacks.model();
    if (model !== shown && !isEmpty) grid.show(model);
    shown = model;
    grid.element.firstChild.setAttribute("aria-label", invert ? "Inverted call tree: functions with their callers" : "Call tree");
  }
  const draw = oncePerFrame(drawNow);

  function describe(tree, isEmpty) {
    if (isEmpty) return tree.dropped.samples > 0 ? "The transforms drop every sample of the selection." : "No samples in the selection.";
    const all = formatWeight(tree.weight, view.unit);
    return `${all} in all. Arrow keys open and close, * opens a whole branch; a right click or the menu key shows what can be done with a function.`;
  }

  function weigh() {
    isStale = true;
    drawNow();
  }

  page.openCallTree = () => {
    if (container.closest("[role=tabpanel]")) store.set({ tab: "calltree" });
    container.scrollIntoView({ block: "nearest" });
  };
  store.on(["invert", "joined", "selectedFunction"], weigh);
  store.on(["treeUnit", "search"], draw);
  new ResizeObserver(draw).observe(container);
  weigh();
  return { weigh };
}

function createSandwich(view, store, newGrid) {
  const callers = newGrid("Callers");
  const callees = newGrid("Callees");
  const back = make("button", { type: "button", onclick: () => store.set({ selectedFunction: "" }) }, "‹ Call tree");
  const name = make("strong", {});
  const sums = make("p", { className: "note" });
  const grids = make("div", {}, make("h3", {}, "Callers"), callers.element, make("h3", {}, "Callees"), callees.element);
  const element = make("div", { className: "sandwich", hidden: true }, make("p", { className: "sandwich-head" }, back, name), sums, grids);
  element.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || event.defaultPrevented) return;
    event.preventDefault();
    store.set({ selectedFunction: "" });
  });
  return {
    element,
    show(tree) {
      const func = functionOfKey(view, tree, parseInt(store.state.selectedFunction, 36));
      const entry = func < 0 ? undefined : functionSums(tree).find((each) => each.func === func);
      grids.hidden = entry === undefined;
      name.textContent = func < 0 ? "" : functionName(view, tree, func);
      sums.textContent = entry ? describeSums(view, tree, entry) : "The function is not in this selection, or the transforms leave none of it.";
      if (!entry) return;
      callers.show(callersOf(tree, func));
      callees.show(calleesOf(tree, func));
    },
  };
}

function describeSums(view, tree, { func, self, total }) {
  const shown = (weight) => `${formatWeight(weight, view.unit)} (${formatPercent(weight / tree.weight)})`;
  return `${libraryName(view, tree, func)} · self ${shown(self)} · total ${shown(total)}`;
}
