// The boxes of the time-ordered chart: samples side by side, equal frames of neighbours as one box.

/** Frames below this depth are one box that counts them. */
export const MOST_CHART_DEPTH = 200;

/**
 * Boxes { depth, node, from, to, self, engine, rest, row }, in order of their start. `rows` are rows of `samples` in order of
 * time that last `lengths`; with `columnNs` each stands for that length. Neighbours less than `gap` apart share their
 * boxes from the root down to where their stacks part. `rest` is the number of frames in a box for deeper ones. The tree's
 * `newNode` maps the nodes of the samples to its own, -1 or less for a stack that is dropped.
 */
export function layoutStacks({ parent, newNode = null }, samples, rows, lengths, { gap, columnNs = 0, from = 0 }) {
  const pathOf = createPaths(parent);
  const boxes = [];
  let open = [];
  let lastEnd = -Infinity;
  for (let index = 0; index < rows.length; index += 1) {
    const row = rows[index];
    const start = columnNs > 0 ? from + Math.floor((samples.time[row] - from) / columnNs) * columnNs : samples.time[row];
    const { path, rest } = pathOf(nodeIn(newNode, samples.node[row]));
    const next = rows[index + 1];
    const length = columnNs > 0 ? columnNs : lengths[index];
    // A sample that overlaps the next one ends there: at any time the chart has one stack.
    const end = next === undefined || columnNs > 0 ? start + length : Math.min(start + length, Math.max(start, samples.time[next]));
    const isNear = start - lastEnd <= gap;
    let shared = 0;
    while (isNear && shared < path.length && open[shared]?.node === path[shared]) shared += 1;
    open = open.slice(0, shared);
    for (const box of open) extend(box, end, samples.engine[row], end - start);
    for (let depth = shared; depth < path.length; depth += 1) {
      const box = { depth, node: path[depth], from: start, to: end, self: 0, engine: samples.engine[row], lead: end - start, rest: 0, row };
      boxes.push(box);
      open.push(box);
    }
    const innermost = open[open.length - 1];
    if (innermost) {
      innermost.self += end - start;
      innermost.rest = Math.max(innermost.rest, rest);
    }
    lastEnd = end;
  }
  return boxes;
}

/** The node of a transformed tree that stands for a node. */
export function nodeIn(newNode, node) {
  return newNode !== null && node >= 0 ? newNode[node] : node;
}

/** Lengthens a box; its engine is the one that leads over all others together, as far as one does. */
function extend(box, end, engine, length) {
  box.to = end;
  box.lead += engine === box.engine ? length : -length;
  if (box.lead >= 0) return;
  box.engine = engine;
  box.lead = -box.lead;
}

/** Returns a function: the nodes from the root to a node, at most MOST_CHART_DEPTH, and how many deeper ones there are. */
function createPaths(parent) {
  const paths = new Map();
  return (leaf) => {
    if (!paths.has(leaf)) {
      const path = [];
      for (let node = leaf; node >= 0; node = parent[node]) path.push(node);
      path.reverse();
      const rest = Math.max(0, path.length - MOST_CHART_DEPTH);
      if (rest > 0) path.length = MOST_CHART_DEPTH;
      paths.set(leaf, { path, rest });
    }
    return paths.get(leaf);
  };
}

/** The box at a time and depth, or null. */
export function boxOfTime(boxes, time, depth) {
  return boxes.find((box) => box.depth === depth && time >= box.from && time < box.to) ?? null;
}

/** The position in `rows` of the sample at a time, or the last before it; -1 for none. */
export function sampleAtTime(samples, rows, time) {
  let low = 0;
  let high = rows.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (samples.time[rows[middle]] <= time) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}
