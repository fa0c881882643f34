// The heaviest stacks of the selection; the deciding frame is marked if the analysis listed the stack.
import { DROPPED } from "./calltree.js";
import { make } from "../shared/dom.js";
import { cleanText, countOf, formatCount, formatPercent, formatWeight } from "../shared/numbers.js";
import { functionName } from "./stack_model.js";
import { transformedTree } from "./transform_tree.js";

const MOST_FRAMES = 60;
const MOST_LISTED = 8;

/**
 * The heaviest leaves of each engine: { node, weight, samples, engine, stack }, heaviest first; `newNode` maps nodes to those of
 * another tree. `stack` is a row of `view.stacks` for the phase and the rule, -1 where stacks of the leaf differ in them.
 */
export function heaviestLeaves(view, rows, most = MOST_LISTED, newNode = null) {
  const sums = new Map();
  const { node, weight, number, engine } = view.samples;
  const differs = (row, stack) => ["phase", "rule", "deciding"].some((column) => view.samples[column][row] !== view.samples[column][stack]);
  for (const row of rows) {
    const leaf = newNode && node[row] >= 0 ? newNode[node[row]] : node[row];
    if (leaf === DROPPED) continue;
    const key = leaf * view.engines.length + engine[row];
    const sum = sums.get(key) ?? { node: leaf, weight: 0, samples: 0, engine: engine[row], stack: row };
    sum.weight += weight[row];
    sum.samples += number[row];
    if (sum.stack >= 0 && differs(row, sum.stack)) sum.stack = -1;
    sums.set(key, sum);
  }
  return [...sums.values()].sort((left, right) => right.weight - left.weight).slice(0, most);
}

/** `selection` is a source's, `chain` the transforms, `weight` the weight of all its samples. */
export function showStacks(container, { view, rows, isWhole }, chain, weight) {
  const tree = transformedTree(view, chain);
  const leaves = heaviestLeaves(view, rows, MOST_LISTED, tree.newNode);
  const list = make("ol", { className: "stacks" });
  leaves.forEach((leaf, index) => list.append(stackItem(view, tree, leaf, weight, index === 0)));
  const of = isWhole ? "the whole run" : "the selection";
  const none = isWhole ? "No sample has a stack." : "No samples in the selection.";
  const about =
    `The heaviest stacks of ${of}${chain === "" ? "" : ", after the transforms of the call tree"}, innermost frame first. ` +
    "Those of machine learning name their rule, and ▸ marks the frame that decided the engine.";
  container.replaceChildren(make("p", { className: "note" }, leaves.length === 0 ? none : about), list);
}

function stackItem(view, tree, leaf, weight, isOpen) {
  const nodes = [];
  for (let node = leaf.node; node >= 0; node = tree.parent[node]) nodes.push(node);
  const functions = nodes.map((node) => tree.func[node]);
  const frames = functions.map((func) => [tree.names[func], tree.binaries[func]]);
  const deciding = nodes.indexOf(decidingNode(view, tree, leaf.stack));
  const rule = view.strings[view.stacks.rules[view.stacks.rule[leaf.stack]]?.[0]];
  const badge = make("span", { className: `badge engine-${view.engines[leaf.engine]}`, "aria-hidden": "true" });
  const name = functions.length === 0 ? "no stack" : functionName(view, tree, functions[0], 120);
  const head = [
    ...(deciding > 0 ? [`in ${functionName(view, tree, functions[deciding], 120)}`] : []),
    formatPercent(leaf.weight / weight),
    ...(view.unit === "samples" ? [] : [formatWeight(leaf.weight, view.unit)]),
    countOf(leaf.samples, "sample"),
    view.engines[leaf.engine],
    ...(rule ? [`rule ${rule}`] : []),
  ];
  const summary = make("summary", {}, badge, make("strong", {}, name), ` ${head.join(" · ")}`);
  return make("li", {}, make("details", { open: isOpen }, summary, frameList(view, frames, deciding)));
}

function frameList(view, frames, deciding) {
  if (frames.length === 0) return make("p", { className: "note" }, "no stack");
  const list = make("ol", { className: "frames" });
  frames.slice(0, MOST_FRAMES).forEach(([symbol, binary], index) => {
    const name = cleanText(view.strings[symbol], 300);
    const binaryName = make("span", { className: "binary" }, `  ${cleanText(view.strings[binary], 80)}`);
    const mark = index === deciding ? "▸ " : "";
    const item = make("li", { className: index === deciding ? "deciding" : "", title: name }, mark + name, binaryName);
    if (index === deciding) item.append(make("span", { className: "unseen" }, " (decided the engine)"));
    list.append(item);
  });
  if (frames.length > MOST_FRAMES) list.append(make("li", {}, `… ${formatCount(frames.length - MOST_FRAMES)} more`));
  return list;
}

/** The node of the tree that is the frame by which a stack's engine was decided; -1 where a transform hides it. */
function decidingNode(view, tree, stack) {
  let node = stack < 0 || view.stacks.deciding[stack] < 0 ? -1 : view.stacks.node[stack];
  for (let above = 0; node >= 0 && above < view.stacks.deciding[stack]; above += 1) node = view.nodes.parent[node];
  if (node < 0 || !tree.newNode) return node;
  const place = tree.newNode[node];
  // A hidden function's samples go to its caller, which did not decide.
  const isSame = place >= 0 && tree.names[tree.func[place]] === view.nodes.name[node] && tree.binaries[tree.func[place]] === view.nodes.binary[node];
  return isSame ? place : -1;
}
