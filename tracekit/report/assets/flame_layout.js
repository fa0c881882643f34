// The layout of the flame graph's boxes: roots on top, heavier calls to the left.

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

/** The node at the end of a path of functions, or -1. */
export function nodeOfPath(tree, links, path) {
  let node = -1;
  let candidates = links.roots;
  for (const func of path) {
    node = candidates.find((candidate) => tree.func[candidate] === func) ?? -1;
    if (node < 0) return -1;
    candidates = childrenOf(links, node);
  }
  return node;
}

export function pathOfNode(tree, node) {
  const path = [];
  for (let current = node; current >= 0; current = tree.parent[current]) path.unshift(tree.func[current]);
  return path;
}

function childrenOf(links, node) {
  const children = [];
  for (let child = links.first[node]; child >= 0; child = links.next[child]) children.push(child);
  return children;
}

/**
 * Boxes { node, x, width, depth } for a focused node (-1: everything), its callers above it at full width. Boxes
 * narrower than `smallest` pixels are left out with all below them, which bounds the work by the picture's width.
 */
export function layoutFlame(tree, links, focus, width, smallest = 0.5) {
  const boxes = [];
  const callers = [];
  for (let node = focus < 0 ? -1 : tree.parent[focus]; node >= 0; node = tree.parent[node]) callers.unshift(node);
  callers.forEach((node, depth) => boxes.push({ node, x: 0, width, depth }));
  const whole = focus < 0 ? tree.weight : tree.total[focus];
  if (!(whole > 0)) return boxes;
  const scale = width / whole;
  const pending = [{ nodes: focus < 0 ? links.roots : [focus], x: 0, depth: callers.length }];
  while (pending.length > 0) {
    const { nodes, x, depth } = pending.pop();
    const shown = nodes.filter((node) => tree.total[node] * scale >= smallest);
    shown.sort((left, right) => tree.total[right] - tree.total[left]);
    let left = x;
    for (const node of shown) {
      const size = tree.total[node] * scale;
      boxes.push({ node, x: left, width: size, depth });
      if (links.first[node] >= 0) pending.push({ nodes: childrenOf(links, node), x: left, depth: depth + 1 });
      left += size;
    }
  }
  return boxes;
}

/**
 * The weight of stacks that contain a marked function (1 in `isMatch`). With a focus, only the weight at and below it
 * counts; a marked caller of the focus marks all of that.
 */
export function matchedWeight(tree, isMatch, focus = -1) {
  for (let node = focus; node >= 0; node = tree.parent[node]) if (isMatch[tree.func[node]]) return tree.total[focus];
  const state = new Uint8Array(tree.parent.length); // 1: below the focus, no match so far; 2: counted
  if (focus >= 0) state[focus] = 1;
  let sum = 0;
  for (let node = focus + 1; node < state.length; node += 1) {
    const above = tree.parent[node];
    state[node] = above >= 0 ? state[above] : Number(focus < 0);
    if (state[node] !== 1 || !isMatch[tree.func[node]]) continue;
    state[node] = 2;
    sum += tree.total[node];
  }
  return sum;
}
