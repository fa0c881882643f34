// Call trees with weights. A tree is { parent, func }, parents before children, -1 above the roots; a function is a
// symbol in a binary, by number.

const SYSTEM = 1;

const CUT_OFF = 2;
const MOST_STRINGS = 2 ** 26;
const ofNodes = new WeakMap();
const ofTrees = new WeakMap();

/**
 * The view's call tree, with its functions: { parent, func, flags, names, binaries, less }, names and binaries by
 * function; `less` is the function that stands for what was cut off, -1 is none. It is made once.
 */
export function baseTree(view) {
  if (!ofNodes.has(view.nodes)) ofNodes.set(view.nodes, numberFunctions(view.nodes));
  return ofNodes.get(view.nodes);
}

function numberFunctions({ parent, name, binary, flags }) {
  const numbers = new Map();
  let less = -1;
  const func = Uint32Array.from(parent, (_, node) => {
    const key = binary[node] * MOST_STRINGS + name[node];
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
 * The view's nodes with more behind them: `extra` = { parent, function, flags }; `functions` = { number, name, binary }
 * are those that the view has no node of.
 */
export function nodesWith(view, extra, functions) {
  const base = baseTree(view);
  const known = base.names.length;
  const count = functions.number.reduce((most, number) => Math.max(most, number + 1), known);
  const names = new Uint32Array(count); // of functions in no node: any
  const binaries = new Uint32Array(count);
  names.set(base.names);
  binaries.set(base.binaries);
  functions.number.forEach((number, at) => {
    names[number] = functions.name[at];
    binaries[number] = functions.binary[at];
  });
  const nodes = {
    parent: joined(base.parent, extra.parent),
    name: joined(view.nodes.name, extra.function.map((func) => names[func])),
    binary: joined(view.nodes.binary, extra.function.map((func) => binaries[func])),
    flags: joined(base.flags, extra.flags),
  };
  const func = joined(base.func, extra.function);
  ofNodes.set(nodes, { parent: nodes.parent, func, flags: nodes.flags, names, binaries, less: base.less });
  return nodes;
}

function joined(first, second) {
  const both = new first.constructor(first.length + second.length);
  both.set(first);
  both.set(second, first.length);
  return both;
}

/**
 * The tree without system libraries: their frames are gone and their weight is their caller's. `place` says where a
 * node of the old tree went; -1 is above the roots. It is made once of each tree.
 */
export function withoutSystem(tree) {
  if (!ofTrees.has(tree)) ofTrees.set(tree, folded(tree));
  return ofTrees.get(tree);
}

function folded(tree) {
  const place = new Int32Array(tree.parent.length);
  const parent = [];
  const func = [];
  const children = new Map();
  const functions = tree.names.length;
  for (let node = 0; node < tree.parent.length; node += 1) {
    const above = tree.parent[node] < 0 ? -1 : place[tree.parent[node]];
    if (tree.flags[node] & SYSTEM) {
      place[node] = above;
      continue;
    }
    const key = (above + 1) * functions + tree.func[node];
    if (!children.has(key)) {
      children.set(key, parent.length);
      parent.push(above);
      func.push(tree.func[node]);
    }
    place[node] = children.get(key);
  }
  return { ...tree, parent: Int32Array.from(parent), func: Uint32Array.from(func), flags: null, place };
}

/**
 * The tree with the weight of the rows: `self` and `total` per node, `engines` (one number per node and engine, below
 * the node), `weight` of all rows and `rootless`, what belongs to no node.
 */
export function weighTree(tree, view, rows) {
  const engineCount = view.engines.length;
  const nodes = tree.parent.length;
  const self = new Float64Array(nodes);
  const own = new Float64Array(nodes * engineCount);
  const { node: leafOf, weight: weights, engine } = view.samples;
  let weight = 0;
  let rootless = 0;
  for (const row of rows) {
    const node = leafOf[row]; // -1: no stack
    const leaf = tree.place && node >= 0 ? tree.place[node] : node;
    weight += weights[row];
    if (leaf < 0) {
      rootless += weights[row];
      continue;
    }
    self[leaf] += weights[row];
    own[leaf * engineCount + engine[row]] += weights[row];
  }
  const total = self.slice();
  const engines = own.slice();
  for (let node = nodes - 1; node >= 0; node -= 1) {
    const above = tree.parent[node];
    if (above < 0 || total[node] === 0) continue;
    total[above] += total[node];
    for (let each = 0; each < engineCount; each += 1) {
      engines[above * engineCount + each] += engines[node * engineCount + each];
    }
  }
  return { ...tree, self, total, own, engines, engineCount, weight, rootless };
}

/** The engine that most of the weight below a node is of. */
export function dominantEngine({ engines, engineCount }, node) {
  let best = 0;
  for (let each = 1; each < engineCount; each += 1) {
    if (engines[node * engineCount + each] > engines[node * engineCount + best]) best = each;
  }
  return best;
}

/**
 * Upside down: what ran is the root, its callers stand below. Branches of less than `smallest` of all the weight end
 * where they begin.
 */
export function invertTree(tree, smallest = 1 / 10_000) {
  const result = { parent: [], func: [], total: [], self: [], engines: [] };
  const leaves = [];
  for (let node = 0; node < tree.self.length; node += 1) if (tree.self[node] > 0) leaves.push([node, node]);
  const waiting = [{ above: -1, entries: leaves }];
  while (waiting.length > 0) {
    const { above, entries } = waiting.pop();
    for (const [func, group] of groupByFunction(tree, entries)) {
      const node = addInverted(result, tree, above, func, group);
      if (result.total[node] < tree.weight * smallest) continue;
      const callers = group.filter(([, at]) => tree.parent[at] >= 0).map(([leaf, at]) => [leaf, tree.parent[at]]);
      if (callers.length > 0) waiting.push({ above: node, entries: callers });
    }
  }
  return {
    ...tree,
    parent: Int32Array.from(result.parent),
    func: Uint32Array.from(result.func),
    total: Float64Array.from(result.total),
    self: Float64Array.from(result.self),
    engines: Float64Array.from(result.engines),
    own: null,
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
  for (const [leaf, at] of group) {
    total += tree.self[leaf];
    if (tree.parent[at] < 0) ended += tree.self[leaf];
    for (let each = 0; each < engines.length; each += 1) engines[each] += tree.own[leaf * engines.length + each];
  }
  result.parent.push(above);
  result.func.push(func);
  result.total.push(total);
  result.self.push(ended);
  result.engines.push(...engines);
  return node;
}

/** Per function { func, self, total }, the total counted once where a function calls itself; heaviest self first. */
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
