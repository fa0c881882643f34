// The tree of both sides of a comparison: the weight of each path in BASE and in NEW, and which of them makes the width.
import { baseTree } from "../stacks/calltree.js";
import { topDown } from "../stacks/tree_model.js";

/** The weights that can make a box's width; of "both", the larger side of each path, so that no path is missing. */
export const DIFFERENCE_WIDTHS = { both: "larger of both", new: "NEW", base: "BASE" };
const WIDTH_OF = { both: (base, compared) => Math.max(base, compared), new: (_, compared) => compared, base: (base) => base };

/** `data` is a decoded `tracekit-difference/1`. Returns a function (which width) → a model (tree_model.js) with base and compared. */
export function createDifferenceTree(data) {
  const tree = { ...baseTree(data), engineCount: 0 };
  const [base, compared] = [data.base, data.new].map((self) => totalsOf(tree.parent, self));
  const models = new Map();
  return (width) => {
    if (!models.has(width)) {
      const self = Float64Array.from(data.base, (weight, node) => WIDTH_OF[width](weight, data.new[node]));
      const total = totalsOf(tree.parent, self);
      const weight = tree.parent.reduce((sum, above, node) => (above < 0 ? sum + total[node] : sum), 0);
      models.set(width, { ...topDown({ ...tree, self, total, weight }), base, compared });
    }
    return models.get(width);
  };
}

/** Each node's weight with that of all nodes below it: children come after their parents. */
function totalsOf(parent, self) {
  const total = Float64Array.from(self);
  for (let node = parent.length - 1; node >= 0; node -= 1) if (parent[node] >= 0) total[parent[node]] += total[node];
  return total;
}

/** The change of a node relative to its larger side, from -1 (only in BASE) to 1 (only in NEW). */
export function changeOf({ base, compared }, node) {
  const larger = Math.max(base[node], compared[node]);
  return larger > 0 ? (compared[node] - base[node]) / larger : 0;
}

/** The sign that stands in a box: colour is never the only one. */
export function changeSign(change) {
  if (Math.abs(change) < 0.005) return "=";
  return change > 0 ? "+" : "−";
}

/** The weight that ends at paths which only the side that makes no width has. */
export function unseenWeight({ base: all, new: compared }, width) {
  if (width === "both") return 0;
  const [drawn, other] = width === "new" ? [compared, all] : [all, compared];
  return other.reduce((sum, weight, node) => (drawn[node] === 0 ? sum + weight : sum), 0);
}

/** What the comparison found out about a function, by name and library: rows of `data.tested`. */
export function testsOf(data, name, binary) {
  return data.tested.filter((test) => test.name === name && test.binary === binary);
}
