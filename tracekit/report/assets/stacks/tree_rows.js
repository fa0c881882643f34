// The rows of an outline: the nodes of a model (tree_model.js) whose callers are all open. Open nodes are known by the
// keys of their paths, which are the same in every selection.
import { functionKey, pathKey } from "./transforms.js";

const MOST_LEVELS = 40;
const MOST_SOUGHT = 100_000;
const LEAST_PART = 0.5;

/** The rows { nodes, depths, keys } from top to bottom, at most so many. */
export function flatten(view, model, expanded, most) {
  const rows = { nodes: [], depths: [], keys: [], isCut: false };
  const pending = [];
  const push = (nodes, depth, above) => {
    for (let index = nodes.length - 1; index >= 0; index -= 1) pending.push(nodes[index], depth, above);
  };
  push(model.roots, 0, 0);
  while (pending.length > 0) {
    const above = pending.pop();
    const depth = pending.pop();
    const node = pending.pop();
    if (rows.nodes.length === most) {
      rows.isCut = true;
      break;
    }
    const key = pathKey(above, functionKey(view, model, model.func[node]));
    rows.nodes.push(node);
    rows.depths.push(depth);
    rows.keys.push(key);
    if (expanded.has(key)) push(model.childrenOf(node), depth + 1, key);
  }
  return rows;
}

/** The keys of the heaviest path, as far as one child has most of the weight: what is open at first. */
export function heaviestPath(view, model) {
  const keys = [];
  let candidates = model.roots;
  let whole = model.roots.length === 1 ? model.total[model.roots[0]] : model.weight;
  for (let level = 0; level < MOST_LEVELS && candidates.length > 0; level += 1) {
    const [node] = candidates;
    if (model.total[node] < LEAST_PART * whole) break;
    keys.push(pathKey(keys.at(-1) ?? 0, functionKey(view, model, model.func[node])));
    whole = model.total[node];
    candidates = model.childrenOf(node);
  }
  return keys;
}

/** The keys of a node, whose own is `key`, and of all below it, nearest first, at most so many. */
export function keysBelow(view, model, node, key, most) {
  const keys = [];
  let level = [[node, key]];
  while (level.length > 0 && keys.length < most) {
    const next = [];
    for (const [each, eachKey] of level) {
      keys.push(eachKey);
      if (keys.length + next.length >= most) continue;
      for (const child of model.childrenOf(each)) next.push([child, pathKey(eachKey, functionKey(view, model, model.func[child]))]);
    }
    level = next;
  }
  return keys;
}

/** The keys of a node's callers, outermost first. */
export function keysOfCallers(view, model, node) {
  const callers = [];
  for (let above = model.parent[node]; above >= 0; above = model.parent[above]) callers.push(above);
  let key = 0;
  return callers.reverse().map((each) => (key = pathKey(key, functionKey(view, model, model.func[each]))));
}

/** The nodes with a marked function, from top to bottom, of the first so many nodes. */
export function matchesOf(model, isMatch, most = MOST_SOUGHT) {
  const found = [];
  const pending = [...model.roots].reverse();
  for (let seen = 0; pending.length > 0 && seen < most; seen += 1) {
    const node = pending.pop();
    if (isMatch[model.func[node]]) found.push(node);
    const children = model.childrenOf(node);
    for (let index = children.length - 1; index >= 0; index -= 1) pending.push(children[index]);
  }
  return found;
}
