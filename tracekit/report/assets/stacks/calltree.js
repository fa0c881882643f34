// Call trees with weights. A tree is { parent, func }: parents come before their children, a root's parent is -1, and
// a function (a symbol in a binary) is a number.

export const SYSTEM = 1;
export const CUT_OFF = 2;
/** Instead of a node: the sample has no frame, or a transform drops it. */
export const NO_NODE = -1;
export const DROPPED = -2;

const MOST_STRINGS = 2 ** 26;
const NO_STACK = "(no stack)";
const treeOfNodes = new WeakMap();
const numbersOfTexts = new WeakMap();

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

function joined(first, second) {
  const both = new first.constructor(first.length + second.length);
  both.set(first);
  both.set(second, first.length);
  return both;
}

/** The number of a text of the view; a new text is added. */
export function textNumber({ strings }, text) {
  if (!numbersOfTexts.has(strings)) numbersOfTexts.set(strings, new Map(strings.map((each, number) => [each, number])));
  const numbers = numbersOfTexts.get(strings);
  if (!numbers.has(text)) numbers.set(text, strings.push(text) - 1);
  return numbers.get(text);
}

/** The tree's functions followed by another, { names, binaries, func }, `func` being its number. */
export function withFunction({ names, binaries }, name, binary) {
  for (let func = names.length - 1; func >= 0; func -= 1) {
    if (names[func] === name && binaries[func] === binary) return { names, binaries, func };
  }
  return { names: joined(names, Uint32Array.of(name)), binaries: joined(binaries, Uint32Array.of(binary)), func: names.length };
}

/**
 * The tree with the weight of the rows: `self` and `total` per node, `engines` (one total per node and engine), and
 * `weight` and `samples` of all rows but those that transforms drop, which are in `dropped`. Samples without a frame
 * are a root of their own, so that roots add up to the weight.
 */
export function weighTree(tree, view, rows) {
  const engineCount = view.engines.length;
  const nodes = tree.parent.length;
  const self = new Float64Array(nodes + 1); // the last entry is for samples without a frame
  const selfByEngine = new Float64Array((nodes + 1) * engineCount);
  const { node: leafOf, weight: weights, engine, number } = view.samples;
  const dropped = { weight: 0, samples: 0 };
  let weight = 0;
  let samples = 0;
  for (const row of rows) {
    const node = leafOf[row];
    let leaf = tree.newNode && node >= 0 ? tree.newNode[node] : node;
    if (leaf === DROPPED) {
      dropped.weight += weights[row];
      dropped.samples += number[row];
      continue;
    }
    weight += weights[row];
    samples += number[row];
    if (leaf < 0) leaf = nodes;
    self[leaf] += weights[row];
    selfByEngine[leaf * engineCount + engine[row]] += weights[row];
  }
  const sums = { engineCount, weight, samples, dropped, rootless: self[nodes] };
  if (self[nodes] === 0) {
    return addUp({ ...tree, ...sums, self: self.subarray(0, nodes), selfByEngine: selfByEngine.subarray(0, nodes * engineCount) });
  }
  return addUp({ ...withoutStack(tree, view), ...sums, self, selfByEngine });
}

function withoutStack(tree, view) {
  const { func: none, names, binaries } = withFunction(tree, textNumber(view, NO_STACK), textNumber(view, ""));
  const parent = joined(tree.parent, Int32Array.of(NO_NODE));
  return { ...tree, parent, func: joined(tree.func, Uint32Array.of(none)), names, binaries, none };
}

/** A tree with `self` and `selfByEngine`, completed with `total` and `engines`. */
export function addUp(tree) {
  const { parent, engineCount } = tree;
  const total = tree.self.slice();
  const engines = tree.selfByEngine.slice();
  // Children come after their parents, so backwards each node is complete before it is added to its parent.
  for (let node = total.length - 1; node >= 0; node -= 1) {
    const above = parent[node];
    if (above < 0 || total[node] === 0) continue;
    total[above] += total[node];
    for (let index = 0; index < engineCount; index += 1) {
      engines[above * engineCount + index] += engines[node * engineCount + index];
    }
  }
  return { ...tree, total, engines };
}

/** The engine with the most weight at and below a node. */
export function dominantEngine({ engines, engineCount }, node) {
  let best = 0;
  for (let engine = 1; engine < engineCount; engine += 1) {
    if (engines[node * engineCount + engine] > engines[node * engineCount + best]) best = engine;
  }
  return best;
}

/** { func, self, total } per function, heaviest self first; a recursive function's total counts each sample once. */
export function functionSums(tree) {
  const self = new Float64Array(tree.names.length);
  const total = new Float64Array(tree.names.length);
  const isOutermost = outermostNodes(tree);
  for (let node = 0; node < tree.parent.length; node += 1) {
    if (tree.total[node] === 0) continue;
    self[tree.func[node]] += tree.self[node];
    if (isOutermost[node]) total[tree.func[node]] += tree.total[node];
  }
  const sums = [];
  for (let func = 0; func < total.length; func += 1) {
    if (total[func] > 0) sums.push({ func, self: self[func], total: total[func] });
  }
  return sums.sort((left, right) => right.self - left.self || right.total - left.total);
}

/** 1 for each node whose callers are all other functions. */
export function outermostNodes({ parent, func, names }) {
  const result = new Uint8Array(parent.length);
  const { first, next, roots } = linkChildren(parent);
  // Depth first, with the number of times that each function is on the path: linear however deep the tree is.
  const onPath = new Uint32Array(names.length);
  for (const root of roots) {
    let node = root;
    while (node >= 0) {
      result[node] = onPath[func[node]] === 0 ? 1 : 0;
      onPath[func[node]] += 1;
      if (first[node] >= 0) {
        node = first[node];
        continue;
      }
      onPath[func[node]] -= 1;
      while (node !== root && next[node] < 0) {
        node = parent[node];
        onPath[func[node]] -= 1;
      }
      node = node === root ? -1 : next[node];
    }
  }
  return result;
}

/** First child and next sibling of each node, in order; `roots` are the nodes without a parent. */
export function linkChildren(parent) {
  const first = new Int32Array(parent.length).fill(-1);
  const next = new Int32Array(parent.length).fill(-1);
  const roots = [];
  for (let node = parent.length - 1; node >= 0; node -= 1) {
    const above = parent[node];
    if (above < 0) {
      roots.push(node);
      continue;
    }
    next[node] = first[above];
    first[above] = node;
  }
  return { first, next, roots: roots.reverse() };
}
