// The heaviest stacks of the selection; the deciding frame is marked if the analysis listed the stack.
import { DROPPED } from "./calltree.js";
import { make } from "./dom.js";
import { cleanText, countOf, formatCount, formatPercent, formatWeight } from "./numbers.js";
import { functionName } from "./stack_model.js";
import { transformedTree } from "./transform_tree.js";

const MOST_FRAMES = 60;
const MOST_LISTED = 8;

/** The heaviest leaves: { node, weight, samples, engine }, heaviest first; `newNode` maps nodes to those of another tree. */
export function heaviestLeaves(view, rows, most = MOST_LISTED, newNode = null) {
  const sums = new Map();
  const { node, weight, number, engine } = view.samples;
  for (const row of rows) {
    const leaf = newNode && node[row] >= 0 ? newNode[node[row]] : node[row];
    if (leaf === DROPPED) continue;
    const sum = sums.get(leaf);
    if (sum) {
      sum.weight += weight[row];
      sum.samples += number[row];
    } else sums.set(leaf, { node: leaf, weight: weight[row], samples: number[row], engine: engine[row] });
  }
  return [...sums.values()].sort((left, right) => right.weight - left.weight).slice(0, most);
}

/** [symbol, binary] of a node and its callers, as string numbers, leaf first. */
export function framesOf(view, leaf) {
  const frames = [];
  for (let node = leaf; node >= 0; node = view.nodes.parent[node]) {
    frames.push([view.nodes.name[node], view.nodes.binary[node]]);
  }
  return frames;
}

/** The frames that are shown of a stack, and how many are left out; a recursion has thousands. */
export function innermostFrames(names) {
  return { frames: names.slice(0, MOST_FRAMES), above: 0, below: Math.max(0, names.length - MOST_FRAMES) };
}

/** A row of `view.samples` as the sample of a source's sampleAt. */
export function describeSample(view, row) {
  const { time, lane, engine, weight, number, node } = view.samples;
  const frames = framesOf(view, node[row]);
  const key = stackKey(frames);
  const analysed = view.heaviest.find((stack) => stackKey(stack.frames) === key);
  const names = frames.map((frame) => frame.map((text) => view.strings[text]));
  const name = view.engines[engine[row]];
  const { rule = "", phase = null, deciding = -1 } = analysed ?? {};
  const stack = { ...innermostFrames(names), deciding, engine: name, phase, rule, why: "" };
  const [leaf, binary] = names[0] ?? [null, null];
  const about = { time_ns: time[row], lane: lane[row], engine: name, phase, weight: weight[row], number: number[row], leaf, binary };
  return { ...about, stack: names.length > 0 ? stack : null };
}

/** `selection` is a source's, `chain` the transforms, `weight` the weight of all its samples. */
export function showStacks(container, { view, rows, isWhole }, chain, weight) {
  const tree = transformedTree(view, chain);
  const analysed = new Map(view.heaviest.map((stack) => [stackKey(stack.frames), stack]));
  const leaves = heaviestLeaves(view, rows, MOST_LISTED, tree.newNode);
  const list = make("ol", { className: "stacks" });
  leaves.forEach((leaf, index) => list.append(stackItem(view, tree, leaf, weight, analysed, index === 0)));
  const of = isWhole ? "the whole run" : "the selection";
  const none = isWhole ? "No sample has a stack." : "No samples in the selection.";
  const about =
    `The heaviest stacks of ${of}${chain === "" ? "" : ", after the transforms of the call tree"}, innermost frame first. ` +
    "Those of machine learning name their rule, and ▸ marks the frame that decided the engine.";
  container.replaceChildren(make("p", { className: "note" }, leaves.length === 0 ? none : about), list);
}

function stackItem(view, tree, leaf, weight, analysed, isOpen) {
  const functions = [];
  for (let node = leaf.node; node >= 0; node = tree.parent[node]) functions.push(tree.func[node]);
  const frames = functions.map((func) => [tree.names[func], tree.binaries[func]]);
  const stack = analysed.get(stackKey(frames));
  const deciding = stack?.deciding ?? -1;
  const badge = make("span", { className: `badge engine-${view.engines[leaf.engine]}`, "aria-hidden": "true" });
  const name = functions.length === 0 ? "no stack" : functionName(view, tree, functions[0], 120);
  const head = [
    ...(deciding > 0 ? [`in ${functionName(view, tree, functions[deciding], 120)}`] : []),
    formatPercent(leaf.weight / weight),
    ...(view.unit === "samples" ? [] : [formatWeight(leaf.weight, view.unit)]),
    countOf(leaf.samples, "sample"),
    view.engines[leaf.engine],
    ...(stack?.rule ? [`rule ${stack.rule}`] : []),
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

function stackKey(frames) {
  return frames.map((frame) => frame.join(":")).join(" ");
}
