// What the inspector shows of each kind of thing.
import { findingSpans } from "../data/finding_spans.js";
import { hasBudget } from "../data/budget.js";
import { callName, callTitle } from "../data/calls.js";
import { make } from "../shared/dom.js";
import { cleanText, countOf, formatDuration, formatPercent, formatTime, formatWeight } from "../shared/numbers.js";
import { readLaneId } from "../timeline/lanes.js";
import { callsOfInterval, ownerOf, OWNER_WORDS } from "../data/owners.js";
import { describeStack } from "../data/described_samples.js";
import { heaviestLeaves } from "../stacks/stacks.js";
import { callBudget, typicalDifference } from "./budget_details.js";
import { buttonLine, callButtons, engineBadge, factList, linkButton, placeButtons } from "./facts.js";
import { describeRange } from "./range_details.js";
import { stackDetail } from "./stack_detail.js";

const DETAIL_STEP_NS = 1000;
const SERVING = ["ANE", "GPU", "CPU"];

/** A call of a model: `index` is its row in the view. */
export function callDetails({ index }, context) {
  const { view } = context;
  const { windows, strings } = view;
  if (index >= windows.count) return null;
  const text = (column) => cleanText(strings[windows[column][index]] ?? "", 400);
  const [start, end] = [windows.start[index], windows.end[index]];
  const verdict = text("verdict");
  const facts = [
    ["Engine", engineBadge(view, verdict)],
    ["Label", text("label") === callName(view, index) ? "" : text("label")],
    ["Start", formatTime(start, DETAIL_STEP_NS)],
    ["Length", `${formatDuration(end - start)}${comparedWithModel(windows, index)}`],
    ...busyFacts(view, index, end - start),
    ...sampleFacts(windows, index),
    ["Edges", text("basis")],
  ];
  const first = windows.first[index] ? make("p", {}, "The first call of its model: it may include loading and compiling.") : null;
  const why = text("why") ? make("p", {}, make("strong", {}, "Why: "), text("why")) : null;
  const nodes = [...callBudget(index, context), factList(facts), ...typicalDifference(index, context), why, first, placeButtons({ from: start, to: end }, context), ...heaviestStack({ index, start, end, verdict }, context)];
  return { title: callTitle(view, index), nodes: nodes.filter(Boolean) };
}

/** How the call's length compares with the median of its model's other calls. */
function comparedWithModel(windows, index) {
  const others = [];
  for (let row = 0; row < windows.count; row += 1) {
    if (row !== index && windows.group[row] === windows.group[index] && !windows.first[row]) others.push(windows.end[row] - windows.start[row]);
  }
  if (others.length < 2) return "";
  others.sort((left, right) => left - right);
  const median = others[Math.ceil(others.length / 2) - 1];
  if (!(median > 0)) return "";
  const change = (windows.end[index] - windows.start[index]) / median - 1;
  const amount = Math.abs(change) < 0.005 ? "as long as" : `${formatPercent(Math.abs(change))} ${change > 0 ? "longer" : "shorter"} than`;
  return `, ${amount} the median of its model's other calls (${formatDuration(median)})`;
}

/** Times of the engines; the time of waiting is among the parts of the budget, if there is one. */
function busyFacts(view, index, length) {
  const { windows } = view;
  const facts = [];
  for (const { kind, key, head, note } of windows.columns) {
    const time = windows.values[key][index];
    const share = length > 0 ? ` (${formatPercent(time / length)})` : "";
    if (kind === "busy") facts.push([head, Number.isNaN(time) ? "not measured" : `${formatDuration(time)}${share}, ${note}`]);
    if (kind === "waiting" && time > 0 && !hasBudget(view)) facts.push([head, `${formatDuration(time)}, ${note}`]);
  }
  return facts;
}

function sampleFacts(windows, index) {
  return windows.columns.filter(({ kind }) => kind === "part").map(({ head, parts }) => {
    const counts = Object.entries(parts).map(([engine, name]) => [engine, windows.values[name][index]]);
    return [head, counts.filter(([, count]) => count > 0).map((entry) => entry.join(" ")).join(", ") || "none"];
  });
}

/** The heaviest stack of an ML engine's work during this call, if it is what is selected. */
function heaviestStack({ index, start, end, verdict }, { page }) {
  const { view, rows, range } = page.selection();
  const isThisCall = range && Math.abs(range.from - start) <= 1 && Math.abs(range.to - end) <= 1; // addresses have whole nanoseconds
  if (!isThisCall) return [];
  const wanted = SERVING.includes(verdict) ? [verdict] : [...SERVING, "RUNTIME"];
  const working = rows.filter((row) => wanted.includes(view.engines[view.samples.engine[row]]));
  const [leaf] = heaviestLeaves(view, working, 1);
  if (!leaf || leaf.node < 0) return [];
  const title = make("h3", {}, `Heaviest stack during this call: ${countOf(leaf.samples, "sample")}, ${formatWeight(leaf.weight, view.unit)}`);
  const { windows } = view;
  const isShared = windows.start.some((from, row) => row !== index && from < end && windows.end[row] > start);
  return [title, isShared && make("p", { className: "note" }, "Other calls overlap this one: the stack may be of one of them."), ...stackDetail(describeStack(view, leaf))];
}

/** A measured interval: its lane, and `index`, its row there. */
export function intervalDetails({ lane, index }, context) {
  const { view } = context;
  const span = view.spans[readLaneId(lane).index];
  if (!span?.start || index >= span.start.length) return null;
  const [start, end] = [span.start[index], span.end[index]];
  const name = cleanText(view.strings[span.name[index]] ?? "", 300);
  const facts = [
    ["Engine", engineBadge(view, view.engines[span.engine])],
    ["Start", formatTime(start, DETAIL_STEP_NS)],
    ["Length", `${formatDuration(end - start)}, ${span.basis}`],
    ["Table", cleanText(view.strings[span.source] ?? "", 80)],
  ];
  const nodes = [factList(facts), ownerDetails(span, index, context), placeButtons({ from: start, to: end }, context)];
  return { title: name || cleanText(view.strings[span.label], 80), nodes };
}

/** A signpost: its lane, and `index`, its row there. */
export function signpostDetails({ lane, index }, context) {
  const { view } = context;
  const signposts = view.signposts[readLaneId(lane).index];
  if (!signposts?.start || index >= signposts.start.length) return null;
  const [start, end] = [signposts.start[index], signposts.end[index]];
  const facts = [
    ["Lane", cleanText(view.strings[signposts.label], 200)],
    ["Start", formatTime(start, DETAIL_STEP_NS)],
    ["Length", formatDuration(end - start)],
  ];
  const nodes = [factList(facts), placeButtons({ from: start, to: end }, context), callsDuring(start, end, context)];
  return { title: cleanText(view.strings[signposts.name[index]], 200) || "Signpost", nodes };
}

/** The sample at the cursor; `load` promises it where it was chosen from a list, since several may have one time. */
export async function sampleDetails({ load }, { source, view, store }) {
  const { cursor } = store.state;
  if (!cursor || (cursor.lane < 0 && !load)) return null;
  const sample = load ? load() : source.sampleAt({ ...cursor, within: 0 });
  if (!sample) return null;
  const thread = view.lanes[sample.lane];
  const facts = [
    ["Function", cleanText(sample.leaf ?? "no stack", 300)],
    ["Thread", thread ? cleanText(view.strings[thread.label], 120) : ""],
    ["Time", formatTime(sample.time_ns, DETAIL_STEP_NS)],
    ["Weight", `${formatWeight(sample.weight, view.unit)}${sample.number > 1 ? ` of ${countOf(sample.number, "sample")}` : ""}`],
  ];
  return { title: "Sample", nodes: [factList(facts), ...stackDetail(sample.stack)] };
}

/** A finding: what it is about in the timeline. Its text stands in the list of findings, once on the page. */
export function findingDetails({ index }, context) {
  const { view, store } = context;
  const item = document.querySelector(`.finding[data-finding="${index}"]`);
  if (!item) return null;
  const read = () => {
    if (item.closest("[role=tabpanel]")) store.set({ tab: "summary" });
    item.scrollIntoView({ block: "nearest" });
  };
  const spans = findingSpans(view, index);
  const length = spans.reduce((sum, { from, to }) => sum + to - from, 0);
  const marked = spans.length > 0 ? make("p", {}, `Marked in the timeline: ${countOf(spans.length, "span")}, ${formatDuration(length)} in all.`) : null;
  const nodes = view.findings?.[index] && store.state.range ? describeRange(store.state.range, context) : [];
  return { title: `Finding ${index + 1}: its time`, nodes: [marked, buttonLine(linkButton("Read the finding", read)), ...nodes].filter(Boolean) };
}

/** Whose work an interval is by the analysis' own assignment: its calls, each with a button that shows it, and why. */
function ownerDetails(span, index, context) {
  const owner = ownerOf(context.view, span, index);
  const calls = callsOfInterval(span, index);
  if (owner === "") return callsDuring(span.start[index], span.end[index], context);
  const why = cleanText(context.view.strings[span.why[index]] ?? "", 200);
  const buttons = owner === "contested" && calls.length === 0 ? ["several calls"] : callButtons(calls, context);
  const end = why ? ` (${why})` : "";
  return make("p", { className: "inspector-links" }, make("strong", {}, OWNER_WORDS[owner]), ...buttons, end);
}

/** The calls that run during a signpost, each with a button that shows it. */
function callsDuring(start, end, context) {
  const { windows } = context.view;
  if (windows.count === 0) return make("p", { className: "note" }, "This run has no calls.");
  const rows = [];
  for (let row = 0; row < windows.count; row += 1) if (windows.start[row] < end && windows.end[row] > start) rows.push(row);
  if (rows.length === 0) return make("p", { className: "note" }, "No call runs during this time.");
  return make("p", { className: "inspector-links" }, "During ", ...callButtons(rows, context));
}
