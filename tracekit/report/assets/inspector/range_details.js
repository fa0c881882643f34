// A range of time in the inspector: its calls, its engines, its functions, and how it differs from the rest of the run.
import { callLanes } from "../data/call_lanes.js";
import { callName } from "../data/calls.js";
import { baseTree } from "../stacks/calltree.js";
import { functionName } from "../stacks/stack_model.js";
import { functionKey } from "../stacks/transforms.js";
import { cleanText, formatCount, formatDuration, formatPercent, formatTime, formatWeight } from "../shared/numbers.js";
import { make } from "../shared/dom.js";
import { measuredTime, sumSamples, windowsInside } from "../data/selection.js";
import { rangeBudget } from "./budget_details.js";
import { buttonLine, engineBadge, factList, linkButton, numberTable, titled } from "./facts.js";
import { readLaneId } from "../timeline/lanes.js";
import { workDuring } from "./work_during.js";

const MOST_HEAVY_FUNCTIONS = 5;
const EDGE_STEP_NS = 1000;

/** The selected range; null as long as none is. */
export function rangeDetails(_, context) {
  const { range } = context.store.state;
  return range && { title: `Selection: ${formatDuration(range.to - range.from)}`, nodes: describeRange(range, context) };
}

/** A pause between two samples of a thread: `lane`, and its edges. */
export function gapDetails({ lane, from, to }, context) {
  const { view } = context;
  const thread = view.lanes[readLaneId(lane).index];
  if (!thread || !(from < to)) return null;
  const facts = [["Thread", cleanText(view.strings[thread.label], 120)], ["From", formatTime(from, EDGE_STEP_NS)], ["To", formatTime(to, EDGE_STEP_NS)]];
  const about = make("p", { className: "note" }, "The thread has no sample in this time: it did not run, or its samples are missing.");
  const parts = titled("What the calls did then", ...rangeBudget(callsIn(view, { from, to }), { from, to }, context));
  return { title: `No sample for ${formatDuration(to - from)}`, nodes: [factList(facts), about, ...parts, ...workDuring({ from, to }, context)] };
}

export function describeRange(range, context) {
  const { view, store, actions } = context;
  const calls = callsIn(view, range);
  const facts = [["From", formatTime(range.from, EDGE_STEP_NS)], ["To", formatTime(range.to, EDGE_STEP_NS)]];
  return [
    factList(facts),
    buttonLine(linkButton("Zoom to it", () => actions.zoomTo(range)), linkButton("Clear the selection", () => actions.clear())),
    ...titled("Calls", callTable(view, range)),
    ...titled("Time of these calls", ...rangeBudget(calls, range, context)),
    ...titled("Engines", engineTable(range, context)),
    ...functionSections(range, context, store),
  ];
}

/** The calls that run in a range, of which a part is enough. */
function callsIn({ windows }, { from, to }) {
  const rows = [];
  for (let row = 0; row < windows.count; row += 1) if (windows.start[row] < to && windows.end[row] > from) rows.push(row);
  return rows;
}

/** By model: the calls of which most lies in the range, and how long they are against the model's others. */
function callTable(view, range) {
  const inside = windowsInside(view, range);
  const { start, end } = view.windows;
  const median = (rows) => {
    const lengths = rows.map((row) => end[row] - start[row]).sort((left, right) => left - right);
    return lengths.length > 0 ? formatDuration(lengths[Math.ceil(lengths.length / 2) - 1]) : "–";
  };
  const rows = callLanes(view).flatMap(({ rows: all, name, models }) => {
    const here = all.filter((row) => inside[row] === 1);
    if (here.length === 0) return [];
    const title = name === null ? `${formatCount(models)} other models` : callName(view, here[0]);
    return [[title, `${formatCount(here.length)} of ${formatCount(all.length)}`, median(here), median(all.filter((row) => inside[row] === 0))]];
  });
  return numberTable(["", "calls", "median", "others"], rows);
}

/** The share of the time that each engine is busy, here and in the rest of the run. */
function engineTable(range, { source }) {
  const { view } = source;
  const [length, duration] = [range.to - range.from, view.duration_ns];
  const whole = measuredTime(source, null);
  const rows = measuredTime(source, range).map(({ span, length: busy, isRough }, index) => {
    const rest = duration > length ? formatPercent((whole[index].length - busy) / (duration - length)) : "–";
    return [view.engines[span.engine], [engineBadge(view, view.engines[span.engine]), `${isRough ? "about " : ""}${formatDuration(busy)}`, formatPercent(busy / length), rest], whole[index].length];
  });
  return numberTable(["", "busy", "here", "rest"], rows.filter(([engine, , time]) => engine !== "RUNTIME" && time > 0).map(([, cells]) => cells));
}

/** Samples by engine, here and in the rest, and the functions with most time of their own; nothing before samples have arrived. */
function functionSections(range, { page }, store) {
  const selection = page.selection();
  if (selection.range !== range) return [];
  const { view, rows } = selection;
  const here = sumSamples(view, rows);
  if (here.samples === 0) return [make("p", { className: "note" }, "No sample is in this selection.")];
  const { stacks } = view;
  const whole = sumSamples({ engines: view.engines, samples: stacks }, stacks.node.keys());
  const rest = whole.weight - here.weight;
  const shares = here.engines.map(({ weight }, engine) => [engine, weight, whole.engines[engine].weight - weight]).filter(([, weight, other]) => weight > 0 || other > 0);
  const table = shares.map(([engine, weight, other]) => [engineBadge(view, view.engines[engine]), formatPercent(weight / here.weight), rest > 0 ? formatPercent(other / rest) : "–"]);
  return [
    ...titled("Samples", numberTable(["", "here", "rest"], table)),
    ...titled("Heaviest functions", numberTable(["", "own time", ""], heaviestFunctions(view, rows, here.weight, store))),
  ];
}

function heaviestFunctions(view, rows, all, store) {
  const tree = baseTree(view);
  const { node, weight } = view.samples;
  const sums = new Map();
  for (const row of rows) if (node[row] >= 0) sums.set(tree.func[node[row]], (sums.get(tree.func[node[row]]) ?? 0) + weight[row]);
  const heaviest = [...sums].filter(([func]) => func !== tree.less).sort((left, right) => right[1] - left[1]).slice(0, MOST_HEAVY_FUNCTIONS);
  return heaviest.map(([func, sum]) => {
    const show = () => store.set({ chosen: { kind: "function", key: functionKey(view, tree, func).toString(36) } });
    const name = functionName(view, tree, func, 120);
    return [make("button", { type: "button", className: "plain", title: name, onclick: show }, name), formatWeight(sum, view.unit), formatPercent(sum / all)];
  });
}
