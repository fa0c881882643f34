// A weighed tree as it is shown: { parent, func, total, self, engines, roots, childrenOf(node), … }, children heaviest
// first. Top down, from callers to callees; or bottom up, where the functions that ran are the roots and the callers are
// below. The bottom-up tree is made where it is opened: all of it would have a node for each pair of a leaf and a caller.
import { addUp, linkChildren, outermostNodes } from "./calltree.js";

export function topDown(tree) {
  const { first, next, roots } = linkChildren(tree.parent);
  const sorted = new Map();
  const heaviestFirst = (nodes) =>
    nodes.filter((node) => tree.total[node] > 0).sort((left, right) => tree.total[right] - tree.total[left] || left - right);
  return {
    ...tree,
    isInverted: false,
    roots: heaviestFirst(roots),
    childrenOf(node) {
      if (first[node] < 0) return [];
      if (!sorted.has(node)) {
        const children = [];
        for (let child = first[node]; child >= 0; child = next[child]) children.push(child);
        sorted.set(node, heaviestFirst(children));
      }
      return sorted.get(node);
    },
    hasChildren: (node) => first[node] >= 0 && tree.total[node] > tree.self[node],
    /** The weight of the stacks at a node (-1: all) that contain a marked function. */
    matched(isMatch, node = -1) {
      const isOn = stacksWith(tree, isMatch);
      const inside = new Uint8Array(isOn.length);
      let sum = 0;
      for (let leaf = Math.max(0, node); leaf < isOn.length; leaf += 1) {
        const above = tree.parent[leaf];
        inside[leaf] = node < 0 || leaf === node || (above >= 0 && inside[above]) ? 1 : 0;
        if (inside[leaf] && isOn[leaf]) sum += tree.self[leaf];
      }
      return sum;
    },
  };
}

export function bottomUp(tree) {
  const leaves = [];
  for (let node = 0; node < tree.self.length; node += 1) if (tree.self[node] > 0) leaves.push(node);
  return inverted(tree, leaves, tree.self, tree.selfByEngine);
}

/** The callers of a function: bottom up, from each of its calls that is in no other call of it. Its row has its own self. */
export function callersOf(tree, func) {
  const isOutermost = outermostNodes(tree);
  const starts = [];
  let self = 0;
  for (let node = 0; node < tree.func.length; node += 1) {
    if (tree.func[node] !== func) continue;
    self += tree.self[node];
    if (isOutermost[node] && tree.total[node] > 0) starts.push(node);
  }
  const model = inverted(tree, starts, tree.total, tree.engines);
  for (const root of model.roots) model.self[root] = self;
  return model;
}

/** The callees of a function: top down, all its calls as one root. */
export function calleesOf(tree, func) {
  const place = new Int32Array(tree.parent.length).fill(-1);
  const [parent, funcs, numbers] = [[], [], new Map()];
  for (let node = 0; node < place.length; node += 1) {
    const above = tree.parent[node] < 0 ? -1 : place[tree.parent[node]];
    if (above < 0 && tree.func[node] !== func) continue;
    const key = (above + 1) * tree.names.length + tree.func[node];
    if (!numbers.has(key)) {
      numbers.set(key, parent.length);
      parent.push(above);
      funcs.push(tree.func[node]);
    }
    place[node] = numbers.get(key);
  }
  const self = new Float64Array(parent.length);
  const selfByEngine = new Float64Array(parent.length * tree.engineCount);
  place.forEach((at, node) => {
    if (at < 0) return;
    self[at] += tree.self[node];
    for (let engine = 0; engine < tree.engineCount; engine += 1) {
      selfByEngine[at * tree.engineCount + engine] += tree.selfByEngine[node * tree.engineCount + engine];
    }
  });
  const cut = { parent: Int32Array.from(parent), func: Uint32Array.from(funcs), flags: null, self, selfByEngine };
  return topDown(addUp({ ...tree, ...cut }));
}

/** Bottom up from `starts`, nodes with these weights. A node's self is what it weighs as a root. */
function inverted(tree, starts, weights, weightsByEngine) {
  const { engineCount } = tree;
  const result = { parent: [], func: [], total: [], self: [], engines: [] };
  const origins = []; // per node: the starts, and the node of each path that it stands for
  const opened = new Map();

  function groups(above, origin, places) {
    const byFunction = new Map();
    places.forEach((place, index) => {
      const func = tree.func[place];
      if (!byFunction.has(func)) byFunction.set(func, { starts: [], places: [] });
      byFunction.get(func).starts.push(origin[index]);
      byFunction.get(func).places.push(place);
    });
    const nodes = [...byFunction].map(([func, group]) => add(above, func, group));
    return nodes.sort((left, right) => result.total[right] - result.total[left] || left - right);
  }

  function add(above, func, group) {
    const node = result.parent.length;
    const engines = new Array(engineCount).fill(0);
    let total = 0;
    for (const start of group.starts) {
      total += weights[start];
      for (let engine = 0; engine < engineCount; engine += 1) engines[engine] += weightsByEngine[start * engineCount + engine];
    }
    result.parent.push(above);
    result.func.push(func);
    result.total.push(total);
    result.self.push(above < 0 ? total : 0);
    result.engines.push(...engines);
    origins.push(group);
    return node;
  }

  function childrenOf(node) {
    if (opened.has(node)) return opened.get(node);
    const [starting, callers] = [[], []];
    origins[node].places.forEach((place, index) => {
      if (tree.parent[place] < 0) return;
      starting.push(origins[node].starts[index]);
      callers.push(tree.parent[place]);
    });
    opened.set(node, groups(node, starting, callers));
    return opened.get(node);
  }

  return {
    ...tree,
    ...result,
    isInverted: true,
    roots: groups(-1, starts, starts),
    childrenOf,
    hasChildren: (node) => origins[node].places.some((place) => tree.parent[place] >= 0),
    matched(isMatch, node = -1) {
      const isOn = stacksWith(tree, isMatch);
      const of = node < 0 ? starts : origins[node].starts;
      return of.reduce((sum, start) => (isOn[start] ? sum + weights[start] : sum), 0);
    },
  };
}

/** 1 for each node with a marked function at it or above. */
function stacksWith({ parent, func }, isMatch) {
  const isOn = new Uint8Array(parent.length);
  for (let node = 0; node < isOn.length; node += 1) {
    isOn[node] = isMatch[func[node]] || (parent[node] >= 0 && isOn[parent[node]]) ? 1 : 0;
  }
  return isOn;
}

/** The node at the end of a path of functions, or -1. */
export function nodeOfPath(model, path) {
  let node = -1;
  for (const func of path) {
    const candidates = node < 0 ? model.roots : model.childrenOf(node);
    node = candidates.find((candidate) => model.func[candidate] === func) ?? -1;
    if (node < 0) return -1;
  }
  return node;
}

/** The functions from the root to a node. */
export function pathOfNode(tree, node) {
  const path = [];
  for (let current = node; current >= 0; current = tree.parent[current]) path.push(tree.func[current]);
  return path.reverse();
}
