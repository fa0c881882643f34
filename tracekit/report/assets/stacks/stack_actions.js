// What can be done with a function of a call tree, a flame graph or a table: by key, and in the context menu.
import { make } from "../shared/dom.js";
import { functionKey, libraryKey, chainWith, pathKey, writeStep } from "./transforms.js";
import { functionName } from "./stack_model.js";
import { pathOfNode } from "./tree_model.js";

/**
 * The actions: key, help, `isFor(place)` and `run(place, store, page)`. A place is { view, tree, func, model, node }; the
 * function table's has no node.
 */
export const STACK_ACTIONS = [
  {
    key: "b", help: "Callers and callees of the function",
    run({ view, tree, func }, store, page) {
      store.set({ selectedFunction: functionKey(view, tree, func).toString(36) });
      page.openCallTree?.();
    },
  },
  { key: "f", help: "Focus on the function: only stacks with it, from it down", run: transform("focus") },
  {
    key: "F", help: "Focus on this branch",
    isFor: ({ model, node }) => node >= 0 && !model.isInverted && model.flags !== null,
    run: ({ view, tree, func, model, node }, store) => append(store, writeStep("subtree", functionKey(view, tree, func), keyOfNode(view, model, node))),
  },
  { key: "s", help: "Focus on the function's self time", run: transform("self") },
  { key: "d", help: "Drop samples with the function", run: transform("drop") },
  { key: "m", help: "Charge the function to its callers (merge it)", run: transform("charge") },
  { key: "r", help: "Collapse the function's recursion", run: transform("recursion") },
  { key: "M", help: "Charge its library to the callers", isFor: hasLibrary, run: transform("charge-lib", libraryKey) },
  { key: "L", help: "Collapse its library to one frame", isFor: hasLibrary, run: transform("collapse-lib", libraryKey) },
  { key: "c", help: "Copy the name", run: ({ view, tree, func }, _, page) => copyText(view.strings[tree.names[func]], page, "Name") },
  {
    key: "C", help: "Copy the stack, innermost frame first",
    isFor: ({ node }) => node >= 0,
    run: (place, _, page) => copyText(stackText(place), page, "Stack"),
  },
];

/** The keys of a call tree, for the help sheet. */
export function stackKeys() {
  const keys = [["→, ←", "Open or close a row; in a flame graph, arrows move"], ["*", "Open all below a row"], ["Enter", "Open or close; in a flame graph, zoom"]];
  for (const { key, help } of STACK_ACTIONS) keys.push([key, help]);
  return make("dl", {}, ...keys.flatMap(([key, help]) => [make("dt", {}, make("kbd", {}, key)), make("dd", {}, help)]));
}

function transform(kind, keyOf = functionKey) {
  return ({ view, tree, func }, store) => append(store, writeStep(kind, keyOf(view, tree, func)));
}

function append(store, step) {
  store.set({ transforms: chainWith(store.state.transforms, step) });
}

function hasLibrary({ view, tree, func }) {
  return view.strings[tree.binaries[func]] !== "";
}

/** True for a function of the recording, not for what stands for cut-off branches or missing stacks. */
export function isRealFunction({ tree, func }) {
  return func >= 0 && func !== tree.less && func !== tree.none;
}

/** Shows the function of a place in the inspector. */
export function inspectFunction(place, store) {
  if (!place || !isRealFunction(place)) return;
  const key = functionKey(place.view, place.tree, place.func).toString(36);
  if (store.state.chosen?.key !== key) store.set({ chosen: { kind: "function", key } });
}

/** Runs a key's action on a place; false if it has none. */
export function runStackKey(event, place, store, page) {
  if (event.ctrlKey || event.metaKey || event.altKey || !place || !isRealFunction(place)) return false;
  const action = STACK_ACTIONS.find(({ key }) => key === event.key);
  if (!action || action.isFor?.(place) === false) return false;
  action.run(place, store, page);
  return true;
}

/** The key of the path to a node of a top-down model. */
export function keyOfNode(view, model, node) {
  return pathOfNode(model, node).reduce((above, func) => pathKey(above, functionKey(view, model, func)), 0);
}

function stackText({ view, tree, model, node }) {
  const path = pathOfNode(model, node);
  const frames = model.isInverted ? path : path.reverse();
  const line = (func) => `${view.strings[tree.names[func]]}\t${view.strings[tree.binaries[func]]}`.trimEnd();
  return `${frames.map(line).join("\n")}\n`;
}

async function copyText(text, page, what) {
  try {
    await navigator.clipboard.writeText(text);
  } catch { // a page from a file, or a browser that asks: the older way needs no permission
    const area = make("textarea", { value: text, "aria-hidden": "true", className: "unseen" });
    const { activeElement } = document;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
    activeElement?.focus({ preventScroll: true });
  }
  page.announce(`${what} copied.`);
}

/** The context menu; `open(place, x, y)` shows it, and focus returns to where it was. */
export function createStackMenu(container, store, page) {
  const element = make("div", { className: "menu", role: "menu", "aria-label": "Function", hidden: true });
  let back = null;
  const close = () => {
    if (element.hidden) return;
    element.hidden = true;
    back?.focus({ preventScroll: true });
  };
  const items = () => [...element.querySelectorAll("button")];
  element.addEventListener("keydown", (event) => {
    const all = items();
    const place = all.indexOf(document.activeElement);
    const to = { ArrowDown: place + 1, ArrowUp: place - 1 + all.length, Home: 0, End: all.length - 1 }[event.key];
    if (event.key === "Escape" || event.key === "Tab") close();
    else if (to !== undefined) all[to % all.length].focus();
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  document.addEventListener("pointerdown", (event) => {
    if (!element.contains(event.target)) element.hidden = true;
  });
  container.append(element);
  return {
    open(place, x, y) {
      if (!isRealFunction(place)) return;
      const title = make("div", { className: "menu-title", role: "presentation" }, functionName(place.view, place.tree, place.func, 120));
      const actions = STACK_ACTIONS.filter(({ isFor }) => isFor?.(place) !== false);
      const entries = actions.map(({ key, help, run }) => {
        const onclick = () => {
          close();
          run(place, store, page);
        };
        return make("button", { type: "button", role: "menuitem", tabIndex: -1, onclick }, help, make("kbd", { "aria-hidden": "true" }, key));
      });
      back = document.activeElement;
      element.replaceChildren(title, ...entries);
      element.hidden = false;
      const { width, height } = element.getBoundingClientRect();
      element.style.left = `${Math.max(4, Math.min(x, window.innerWidth - width - 4))}px`;
      element.style.top = `${Math.max(4, Math.min(y, window.innerHeight - height - 4))}px`;
      entries[0].focus({ preventScroll: true });
    },
  };
}

/** Opens the menu on a right click, and for the keyboard's menu key; `placeAt(event)` is null where nothing is. */
export function listenForMenu(element, placeAt, menu) {
  element.addEventListener("contextmenu", (event) => {
    const found = placeAt(event);
    if (!found) return;
    event.preventDefault();
    menu.open(found.place, found.x ?? event.clientX, found.y ?? event.clientY);
  });
}
