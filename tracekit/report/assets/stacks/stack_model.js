// The selection's call tree after the transforms, made once for all parts that show it, and only when one of them asks.
import { LIGHT_BRANCHES } from "../data/described_samples.js";
import { weighTree } from "./calltree.js";
import { joinedView } from "./joined.js";
import { cleanText } from "../shared/numbers.js";
import { transformedTree } from "./transform_tree.js";
import { bottomUp, topDown } from "./tree_model.js";

export function createStackModel(store, page) {
  let weighed = null;
  let models = {};
  const refresh = () => {
    weighed = null;
    models = {};
  };
  store.on(["joined"], refresh);
  return {
    /** Forgets what was made; the parts ask again. */
    refresh,
    tree() {
      const { view: sampled, rows } = page.selection();
      const view = store.state.joined ? joinedView(sampled) : sampled;
      weighed ??= weighTree(transformedTree(view, store.state.transforms), view, rows);
      return weighed;
    },
    /** The model (tree_model.js) in the direction that the state asks for. */
    model() {
      const { invert } = store.state;
      models[invert] ??= (invert ? bottomUp : topDown)(this.tree());
      return models[invert];
    },
  };
}

/** A function as it is shown: cut-off branches have a name that says so. */
export function functionName(view, tree, func, limit = 300) {
  return func === tree.less ? LIGHT_BRANCHES : cleanText(view.strings[tree.names[func]], limit);
}

export function libraryName(view, tree, func, limit = 120) {
  return cleanText(view.strings[tree.binaries[func]], limit);
}

/** 1 for each function whose name or library contains the text; null without a text. */
export function matchingFunctions(view, tree, text) {
  const lower = text.trim().toLowerCase();
  if (lower === "") return null;
  const strings = new Map();
  const isMatch = (number) => {
    if (!strings.has(number)) strings.set(number, view.strings[number].toLowerCase().includes(lower));
    return strings.get(number);
  };
  return Uint8Array.from(tree.names, (name, func) => (isMatch(name) || isMatch(tree.binaries[func]) ? 1 : 0));
}

/** False in a closed tab, whose parts are made when it is opened. Asking for sizes instead would force a layout of the page. */
export function isShown(element) {
  return element.isConnected && element.closest("[hidden]") === null;
}
