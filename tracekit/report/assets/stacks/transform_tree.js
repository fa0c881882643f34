// Applies a chain of transforms to a call tree. Each step turns stacks into stacks; here it acts on the tree of all
// stacks at once, so its cost does not depend on the number of samples.
import { CUT_OFF, DROPPED, NO_NODE, SYSTEM, baseTree, textNumber, withFunction } from "./calltree.js";
import { functionKey, functionOfKey, libraryOfKey, parseChain, pathKey } from "./transforms.js";

const HIDDEN = "(only hidden frames)";
const MOST_CACHED = 12;
const MOST_LIBRARIES = 200;
const transformed = new WeakMap();

/**
 * The view's tree after a chain: `newNode` maps the view's nodes to the tree's, and `steps` are the chain's with the name
 * that each refers to, null for a name that does not occur, so that the step changes nothing. An answer of the server
 * (`view.steps`) is transformed already.
 */
export function transformedTree(view, text) {
  const base = baseTree(view);
  if (!transformed.has(base)) transformed.set(base, new Map());
  const trees = transformed.get(base);
  const steps = parseChain(text) ?? [];
  let tree = { ...base, newNode: null, steps: [] };
  let applied = "";
  for (const step of steps) {
    applied = applied === "" ? step.text : `${applied}~${step.text}`;
    if (!trees.has(applied)) {
      if (trees.size >= MOST_CACHED) trees.delete(trees.keys().next().value);
      trees.set(applied, withStep(view, tree, step));
    }
    tree = trees.get(applied);
  }
  return tree;
}

function withStep(view, tree, step) {
  const { kind, key, path } = step;
  const isOfLibrary = kind.endsWith("-lib");
  const subject = key === null ? 0 : isOfLibrary ? libraryOfKey(view, tree, key) : functionOfKey(view, tree, key);
  const name = key === null ? "" : subject < 0 ? null : view.strings[isOfLibrary ? subject : tree.names[subject]];
  const steps = [...tree.steps, { ...step, name }];
  if (subject < 0) return { ...tree, steps };
  const { newNode, ...result } = rebuilt(tree, PLANS[kind](tree, subject, view, path), view);
  return { ...result, steps, newNode: composed(tree.newNode, newNode) };
}

function composed(first, second) {
  return first ? first.map((node) => (node >= 0 ? second[node] : node)) : second;
}

// A plan: `into` is for each node the node itself if it stays, the node above it that takes its frames' place, NO_NODE if
// nothing does, or DROPPED; `above` the node that calls it; `func` its function; `isLeafDropped` marks nodes whose own
// weight is dropped.
const PLANS = {
  focus(tree, subject) {
    const { parent, func } = tree;
    const inside = below(tree, (node) => func[node] === subject);
    const above = parent.map((caller) => (caller >= 0 && inside[caller] ? caller : NO_NODE));
    return { into: parent.map((_, node) => (inside[node] ? node : DROPPED)), above };
  },
  subtree(tree, subject, view, path) {
    const keys = new Uint32Array(tree.parent.length);
    const isTop = (node) => {
      const caller = tree.parent[node];
      keys[node] = pathKey(caller < 0 ? 0 : keys[caller], functionKey(view, tree, tree.func[node]));
      return keys[node] === path && tree.func[node] === subject;
    };
    const inside = below(tree, isTop, true);
    const above = tree.parent.map((caller) => (caller >= 0 && inside[caller] ? caller : NO_NODE));
    return { into: tree.parent.map((_, node) => (inside[node] ? node : DROPPED)), above };
  },
  self: ({ parent, func }, subject) => ({
    into: parent.map((_, node) => node),
    isLeafDropped: (node) => func[node] !== subject,
  }),
  drop(tree, subject) {
    const inside = below(tree, (node) => tree.func[node] === subject);
    return { into: tree.parent.map((_, node) => (inside[node] ? DROPPED : node)) };
  },
  charge: (tree, subject) => without(tree, (node) => tree.func[node] === subject),
  "charge-lib": (tree, subject) => without(tree, (node) => tree.binaries[tree.func[node]] === subject),
  system: (tree) => without(tree, (node) => (tree.flags[node] & SYSTEM) !== 0),
  flat: ({ parent, func }) => ({
    into: parent.map((caller, node) => (caller >= 0 && func[caller] === func[node] ? caller : node)),
  }),
  recursion({ parent, func }, subject) {
    const first = new Int32Array(parent.length).fill(NO_NODE); // the outermost call of the function on each path
    parent.forEach((caller, node) => {
      if (caller >= 0) first[node] = first[caller];
      if (first[node] < 0 && func[node] === subject) first[node] = node;
    });
    return { into: parent.map((_, node) => (func[node] === subject ? first[node] : node)) };
  },
  "collapse-lib"(tree, subject, view) {
    const { parent, func, binaries } = tree;
    const isInside = (node) => binaries[func[node]] === subject;
    const collapsed = withFunction(tree, textNumber(view, `(${view.strings[subject]})`), subject);
    return {
      into: parent.map((caller, node) => (caller >= 0 && isInside(node) && isInside(caller) ? caller : node)),
      func: func.map((each, node) => (isInside(node) ? collapsed.func : each)),
      functions: collapsed,
    };
  },
};

/** 1 for the nodes that match, and those below them; `isVisited` calls `isMatch` for every node. */
function below({ parent }, isMatch, isVisited = false) {
  const inside = new Uint8Array(parent.length);
  for (let node = 0; node < parent.length; node += 1) {
    const isUnder = parent[node] >= 0 && inside[parent[node]] === 1;
    if ((isVisited || !isUnder) && isMatch(node)) inside[node] = 1;
    if (isUnder) inside[node] = 1;
  }
  return inside;
}

/** Frames are gone, their weight is their caller's. */
function without({ parent, flags }, isGone) {
  return { into: parent.map((caller, node) => (isGone(node) && !(flags[node] & CUT_OFF) ? caller : node)) };
}

function rebuilt(tree, { into, above = tree.parent, func = tree.func, functions = tree, isLeafDropped }, view) {
  const { names, binaries } = functions;
  const nodes = createNodes(names.length);
  const place = new Int32Array(into.length);
  for (let node = 0; node < into.length; node += 1) {
    const target = into[node];
    if (target === node) place[node] = nodes.add(above[node] < 0 ? NO_NODE : place[above[node]], func[node], tree.flags[node]);
    else place[node] = target < 0 ? target : place[target];
  }
  const newNode = place.slice();
  if (isLeafDropped) newNode.forEach((_, node) => isLeafDropped(node) && (newNode[node] = DROPPED));
  const result = { ...tree, names, binaries };
  if (newNode.includes(NO_NODE)) Object.assign(result, withHidden(result, newNode, nodes, view, tree));
  return { ...result, ...nodes.finished(), newNode };
}

/** What has no caller left to be charged to stands below one root, by library. */
function withHidden(functions, newNode, nodes, view, tree) {
  let table = withFunction(functions, textNumber(view, HIDDEN), textNumber(view, ""));
  const root = nodes.add(NO_NODE, table.func, 0);
  const ofLibrary = new Map();
  newNode.forEach((place, node) => {
    if (place !== NO_NODE) return;
    const binary = tree.binaries[tree.func[node]];
    if (!ofLibrary.has(binary) && ofLibrary.size === MOST_LIBRARIES) {
      newNode[node] = root;
      return;
    }
    if (!ofLibrary.has(binary)) {
      table = withFunction(table, textNumber(view, `(${view.strings[binary]})`), binary);
      ofLibrary.set(binary, nodes.add(root, table.func, 0));
    }
    newNode[node] = ofLibrary.get(binary);
  });
  return { names: table.names, binaries: table.binaries };
}

/** Nodes that are added parents first; those of one function with one parent are the same node. */
function createNodes(functions) {
  const parent = [];
  const func = [];
  const flags = [];
  const numbers = new Map();
  const size = 2 * functions + 2 ** 16; // functions that are added later have numbers of their own
  return {
    add(above, of, flag) {
      const key = (above + 1) * size + of;
      if (!numbers.has(key)) {
        numbers.set(key, parent.length);
        parent.push(above);
        func.push(of);
        flags.push(flag);
      }
      return numbers.get(key);
    },
    finished: () => ({ parent: Int32Array.from(parent), func: Uint32Array.from(func), flags: Uint8Array.from(flags) }),
  };
}
