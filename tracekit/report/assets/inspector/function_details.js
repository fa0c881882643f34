// A function in the inspector: how much of the selection it is, on which engines, and during which calls it ran.
import { callLanes } from "../data/call_lanes.js";
import { callName } from "../data/calls.js";
import { baseTree } from "../stacks/calltree.js";
import { functionName, libraryName } from "../stacks/stack_model.js";
import { functionOfKey } from "../stacks/transforms.js";
import { formatCount, formatPercent, formatWeight } from "../shared/numbers.js";
import { make } from "../shared/dom.js";
import { sumSamples } from "../data/selection.js";
import { buttonLine, callButtons, engineBadge, factList, linkButton, numberTable, titled } from "./facts.js";

/** `key` is the function's, in letters and digits, as the address has it. */
export function functionDetails({ key }, context) {
  const { page, store, source } = context;
  const { view, rows, isWhole } = page.selection();
  const tree = baseTree(view);
  const func = functionOfKey(view, tree, parseInt(key, 36));
  if (func < 0) return null;
  const holds = nodesWith(tree, func);
  const { node } = view.samples;
  const all = sumSamples(view, rows).weight;
  const total = sumSamples(view, rows.filter((row) => node[row] >= 0 && holds[node[row]] === 1));
  const own = sumSamples(view, rows.filter((row) => node[row] >= 0 && tree.func[node[row]] === func));
  const shown = ({ weight }) => `${formatWeight(weight, view.unit)} (${formatPercent(all > 0 ? weight / all : 0)})`;
  const facts = [["Library", libraryName(view, tree, func)], ["In all", shown(total)], ["Itself", shown(own)], ["Samples", formatCount(total.samples)], ["Of", isWhole ? "the whole run" : "the selection"]];
  const engines = total.engines.map((sum, engine) => ({ ...sum, engine })).filter(({ samples }) => samples > 0).sort((left, right) => right.weight - left.weight);
  const cells = engines.map(({ engine, samples, weight }) => [engineBadge(view, view.engines[engine]), formatCount(samples), formatWeight(weight, view.unit)]);
  const lead = () => {
    store.set({ selectedFunction: key });
    page.openCallTree?.();
  };
  return {
    title: functionName(view, tree, func),
    nodes: [
      factList(facts),
      buttonLine(linkButton("Callers and callees", lead)),
      ...titled("By engine", numberTable(["", "samples", "time"], cells)),
      ...callSections(source.callsWith(Uint8Array.from(view.stacks.node, (leaf) => (leaf >= 0 ? holds[leaf] : 0))), context),
    ],
  };
}

/** 1 for each node with the function at it or above. */
function nodesWith({ parent, func: funcs }, func) {
  const holds = new Uint8Array(parent.length);
  for (let node = 0; node < holds.length; node += 1) holds[node] = funcs[node] === func || (parent[node] >= 0 && holds[parent[node]] === 1) ? 1 : 0;
  return holds;
}

/** `counts` has the samples with the function during each call; null as long as there are no samples. */
function callSections(counts, context) {
  const { view } = context;
  if (counts === null || view.windows.count === 0) return [];
  const rows = callLanes(view).flatMap(({ rows: all, name, models }) => {
    const here = all.filter((row) => counts[row] > 0);
    const title = name === null ? `${formatCount(models)} other models` : callName(view, all[0]);
    return here.length === 0 ? [] : [[title, `${formatCount(here.length)} of ${formatCount(all.length)}`, formatCount(here.reduce((sum, row) => sum + counts[row], 0))]];
  });
  const heaviest = [...counts.keys()].filter((row) => counts[row] > 0).sort((left, right) => counts[right] - counts[left]).slice(0, 3);
  const none = make("p", { className: "note" }, "No sample with it is in the time of a call.");
  return titled("During calls", numberTable(["", "calls", "samples"], rows) ?? none, heaviest.length > 0 ? buttonLine("Most in ", ...callButtons(heaviest, context)) : null);
}
