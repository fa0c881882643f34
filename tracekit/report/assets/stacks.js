// The heaviest stacks of the selection; the deciding frame is marked if the analysis listed the stack.
import { make } from "./dom.js";
import { cleanText, countOf, formatCount, formatPercent, formatWeight } from "./numbers.js";

const MOST_FRAMES = 60;

/** The heaviest leaves: { node, weight, samples, engine }, heaviest first. */
export function heaviestLeaves(view, rows, most = 8) {
  const sums = new Map();
  const { node, weight, number, engine } = view.samples;
  for (const row of rows) {
    const leaf = node[row];
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

/** A row of `view.samples` as the sample of a source's sampleAt. */
export function describeSample(view, row) {
  const { time, lane, engine, weight, number, node } = view.samples;
  const frames = framesOf(view, node[row]);
  const key = stackKey(frames);
  const analysed = view.heaviest.find((stack) => stackKey(stack.frames) === key);
  const names = frames.map((frame) => frame.map((text) => view.strings[text]));
  const name = view.engines[engine[row]];
  const { rule = "", phase = null, deciding = -1 } = analysed ?? {};
  const stack = { frames: names.slice(0, MOST_FRAMES), above: 0, below: Math.max(0, names.length - MOST_FRAMES), deciding, engine: name, phase, rule, why: "" };
  const [leaf, binary] = names[0] ?? [null, null];
  const about = { time_ns: time[row], lane: lane[row], engine: name, phase, weight: weight[row], number: number[row], leaf, binary };
  return { ...about, stack: names.length > 0 ? stack : null };
}

export function showStacks(container, view, rows, weight) {
  const analysed = new Map(view.heaviest.map((stack) => [stackKey(stack.frames), stack]));
  const list = make("ol", { className: "stacks" });
  for (const leaf of heaviestLeaves(view, rows)) {
    const frames = framesOf(view, leaf.node);
    const stack = analysed.get(stackKey(frames));
    const badge = make("span", { className: `badge engine-${view.engines[leaf.engine]}`, "aria-hidden": "true" });
    const head = [
      `${formatPercent(leaf.weight / weight)} · ${formatWeight(leaf.weight, view.unit)}`,
      countOf(leaf.samples, "sample"),
      view.engines[leaf.engine],
      ...(stack?.rule ? [`rule ${stack.rule}`] : []),
    ];
    const summary = make("summary", {}, badge, head.join(" · "));
    const isFirst = list.childElementCount === 0;
    const content = frameList(view, frames, stack?.deciding ?? -1);
    list.append(make("li", {}, make("details", { open: isFirst }, summary, content)));
  }
  const note = rows.length === 0 ? "No samples in the selection." : "Innermost frame first.";
  container.replaceChildren(make("p", { className: "note" }, note), list);
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
