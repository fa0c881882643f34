// The layout of the flame graph's boxes: roots on top, heavier calls to the left.

/**
 * Boxes { id, node, above, x, width, depth, weight } for a focused node (-1: everything), its callers above it at full
 * width. Siblings narrower than `smallest` pixels share one box { node: -1, count }, so that nothing is missing and the
 * picture's width bounds the work; `above` is the node that calls a box, -1 for none.
 */
export function layoutFlame(model, focus, width, smallest = 0.5) {
  const boxes = [];
  const callers = [];
  for (let node = focus < 0 ? -1 : model.parent[focus]; node >= 0; node = model.parent[node]) callers.push(node);
  callers.reverse().forEach((node, depth) => boxes.push(boxOf(model, node, 0, width, depth)));
  const whole = focus < 0 ? model.weight : model.total[focus];
  if (!(whole > 0)) return boxes;
  const scale = width / whole;
  const pending = [{ above: focus < 0 ? -1 : model.parent[focus], nodes: focus < 0 ? model.roots : [focus], x: 0, depth: callers.length }];
  while (pending.length > 0) {
    const { above, nodes, x, depth } = pending.pop();
    let left = x;
    let shown = 0;
    // The heaviest come first: after the first that is too narrow, all are.
    for (; shown < nodes.length && model.total[nodes[shown]] * scale >= smallest; shown += 1) {
      const node = nodes[shown];
      const box = boxOf(model, node, left, model.total[node] * scale, depth);
      boxes.push(box);
      if (model.hasChildren(node)) pending.push({ above: node, nodes: model.childrenOf(node), x: left, depth: depth + 1 });
      left += box.width;
    }
    let weight = 0;
    for (let rest = shown; rest < nodes.length; rest += 1) weight += model.total[nodes[rest]];
    if (weight * scale < smallest) continue;
    boxes.push({ id: -above - 2, node: -1, above, x: left, width: weight * scale, depth, weight, count: nodes.length - shown });
  }
  return boxes;
}

function boxOf(model, node, x, width, depth) {
  return { id: node, node, above: model.parent[node], x, width, depth, weight: model.total[node] };
}
