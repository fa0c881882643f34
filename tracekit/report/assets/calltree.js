// Call trees with weights. A tree is { parent, func }: parents come before their children, a root's parent is -1, and
// a function (a symbol in a binary) is a number.

const SYSTEM = 1;

const CUT_OFF = 2;
const MOST_STRINGS = 2 ** 26;
const treeOfNodes = new WeakMap();
const treeWithoutSystem = new WeakMap();

/**
 * The view's call tree with its functions: { parent, func, flags, names, binaries, less }, names and binaries by
 * function; `less` is the function that stands for cut-off nodes, -1 is none. It is built once.
 */
export function baseTree(view) {
  if (!treeOfNodes.has(view.nodes)) treeOfNodes.set(view.nodes, numberFunctions(view.nodes));
  return treeOfNodes.get(view.nodes);
}

function numberFunctions({ parent, name, binary, flags }) {
  const numbers = new Map();
  let less = -1;
  const func = Uint32Array.from(parent, (_, node) => {
    const key = binary[node] * MOST_STRINGS + name[node]; // below 2^53, so exact
    if (!numbers.has(key)) numbers.set(key, numbers.size);
    if (flags[node] & CUT_OFF) less = numbers.get(key);
    return numbers.get(key);
  });
  const keys = [...numbers.keys()];
  const names = Uint32Array.from(keys, (key) => key % MOST_STRINGS);
  const binaries = Uint32Array.from(keys, (key) => Math.floor(key / MOST_STRINGS));
  return { parent, func, flags, names, binaries, less };
}

/**
 * The view's nodes followed by more: `extra` = { parent, function, flags }; `functions` = { number, name, binary } are
 * those that occur in no node of the view.
 */
export function nodesWith(view, extra, functions) {
  const base = baseTree(view);
  const count = functions.number.reduce((most, number) => Math.max(most, number + 1), base.names.length);
  const names = new Uint32Array(count); // entries of functions that no node uses stay 0
  const binaries = new Uint32Array(count);
  names.set(base.names);
  binaries.set(base.binaries);
  functions.number.forEach((number, index) => {
    names[number] = functions.name[index];
    binaries[number] = functions.binary[index];
  });
  const nodes = {
    parent: joined(base.parent, extra.parent),
    name: joined(view.nodes.name, extra.function.map((func) => names[func])),
    binary: joined(view.nodes.binary, extra.function.map((func) => binaries[func])),
    flags: joined(base.flags, extra.flags),
  };
  const func = joined(base.func, extra.function);
  treeOfNodes.set(nodes, { parent: nodes.parent, func, flags: nodes.flags, names, binaries, less: base.less });
  return nodes;
}

function joined(first, second) {
  const both = new first.constructor(first.length + second.length);
  both.set(first);
  both.set(second, first.length);
  return both;
}

/**
 * The tree without system libraries: their frames are gone, their weight is their caller's. `newNode` maps the old
 * tree's nodes to the new tree's, -1 is above the roots. It is built once for each tree.
 */
export function withoutSystem(tree) {
  if (!treeWithoutSystem.has(tree)) treeWithoutSystem.set(tree, folded(tree));
  return treeWithoutSystem.get(tree);
}

function folded(tree) {
  const newNode = new Int32Array(tree.parent.length);
  const parent = [];
  const func = [];
  const children = new Map();
  const functions = tree.names.length;
  for (let node = 0; node < tree.parent.length; node += 1) {
    const above = tree.parent[node] < 0 ? -1 : newNode[tree.parent[node]];
    if (tree.flags[node] & SYSTEM) {
      newNode[node] = above;
      continue;
    }
    // Siblings of one function may meet once the frames between them and their parent are gone: they become one node.
    const key = (above + 1) * functions + tree.func[node];
    if (!children.has(key)) {
      children.set(key, parent.length);
      parent.push(above);
      func.push(tree.func[node]);
    }
    newNode[node] = children.get(key);
  }
  return { ...tree, parent: Int32Array.from(parent), func: Uint32Array.from(func), flags: null, newNode };
}

/**
 * The tree with the weight of the rows: `self` and `total` per node, `engines` (one total per node and engine),
 * `weight` of all rows and `rootless`, the weight that belongs to no node.
 */
export function weighTree(tree, view, rows) {
  const engineCount = view.engines.length;
  const nodes = tree.parent.length;
  const self = new Float64Array(nodes);
  const selfByEngine = new Float64Array(nodes * engineCount);
  const { node: leafOf, weight: weights, engine } = view.samples;
  let weight = 0;
  let rootless = 0;
  for (const row of rows) {
    const node = leafOf[row]; // -1: no stack
    const leaf = tree.newNode && node >= 0 ? tree.newNode[node] : node;
    weight += weights[row];
    if (leaf < 0) {
      rootless += weights[row];
      continue;
    }
    self[leaf] += weights[row];
    selfByEngine[leaf * engineCount + engine[row]] += weights[row];
  }
  const total = self.slice();
  const engines = selfByEngine.slice();
  // Children come after their parents, so backwards each node is complete before it is added to its parent.
  for (let node = nodes - 1; node >= 0; node -= 1) {
    const above = tree.parent[node];
    if (above < 0 || total[node] === 0) continue;
    total[above] += total[node];
    for (let index = 0; index < engineCount; index += 1) {
      engines[above * engineCount + index] += engines[node * engineCount + index];
    }
  }
  return { ...tree, self, total, selfByEngine, engines, engineCount, weight, rootless };
}

/** The engine with the most weight at and below a node. */
export function dominantEngine({ engines, engineCount }, node) {
  let best = 0;
  for (let engine = 1; engine < engineCount; engine += 1) {
    if (engines[node * engineCount + engine] > engines[node * engineCount + best]) best = engine;
  }
  return best;
}

/**
 * The inverted tree: the functions that ran are the roots, their callers are below. A branch with less than `smallest`
 * of all weight is not continued.
 */
export function invertTree(tree, smallest = 1 / 10_000) {
  const result = { parent: [], func: [], total: [], self: [], engines: [] };
  const leaves = [];
  for (let node = 0; node < tree.self.length; node += 1) if (tree.self[node] > 0) leaves.push([node, node]);
  // An entry is [leaf, ancestor]: the weight comes from the leaf, the caller to follow next from the ancestor.
  const pending = [{ above: -1, entries: leaves }];
  while (pending.length > 0) {
    const { above, entries } = pending.pop();
    for (const [func, group] of groupByFunction(tree, entries)) {
      const node = addInverted(result, tree, above, func, group);
      if (result.total[node] < tree.weight * smallest) continue;
      const callers = group
        .filter(([, ancestor]) => tree.parent[ancestor] >= 0)
        .map(([leaf, ancestor]) => [leaf, tree.parent[ancestor]]);
      if (callers.length > 0) pending.push({ above: node, entries: callers });
    }
  }
  return {
    ...tree,
    parent: Int32Array.from(result.parent),
    func: Uint32Array.from(result.func),
    total: Float64Array.from(result.total),
    self: Float64Array.from(result.self),
    engines: Float64Array.from(result.engines),
    selfByEngine: null,
    flags: null,
  };
}

function groupByFunction(tree, entries) {
  const groups = new Map();
  for (const entry of entries) {
    const func = tree.func[entry[1]];
    if (groups.has(func)) groups.get(func).push(entry);
    else groups.set(func, [entry]);
  }
  return groups;
}

function addInverted(result, tree, above, func, group) {
  const node = result.parent.length;
  const engines = new Array(tree.engineCount).fill(0);
  let total = 0;
  let ended = 0;
  for (const [leaf, ancestor] of group) {
    total += tree.self[leaf];
    if (tree.parent[ancestor] < 0) ended += tree.self[leaf];
    for (let engine = 0; engine < engines.length; engine += 1) {
      engines[engine] += tree.selfByEngine[leaf * engines.length + engine];
    }
  }
  result.parent.push(above);
  result.func.push(func);
  result.total.push(total);
  result.self.push(ended);
  result.engines.push(...engines);
  return node;
}

/** { func, self, total } per function, heaviest self first; a recursive function's total counts each sample once. */
export function functionSums(tree) {
  const self = new Float64Array(tree.names.length);
  const total = new Float64Array(tree.names.length);
  for (let node = 0; node < tree.parent.length; node += 1) {
    if (tree.total[node] === 0) continue;
    self[tree.func[node]] += tree.self[node];
    if (!isRecursive(tree, node)) total[tree.func[node]] += tree.total[node];
  }
  const sums = [];
  for (let func = 0; func < total.length; func += 1) {
    if (total[func] > 0) sums.push({ func, self: self[func], total: total[func] });
  }
  return sums.sort((left, right) => right.self - left.self || right.total - left.total);
}

function isRecursive(tree, node) {
  for (let above = tree.parent[node]; above >= 0; above = tree.parent[above]) {
    if (tree.func[above] === tree.func[node]) return true;
  }
  return false;
}
