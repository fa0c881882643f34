// The filter's grammar: terms that must all match. `word`, `"two words"`, `-word` for not, `a,b` for either; the keys
// `thread:`, `engine:`, `phase:`, `call:`, `binary:` limit a term to that field, and so does `window:` of earlier links.
import { lowerBound } from "./scale.js";

export const FILTER_KEYS = ["thread", "engine", "phase", "call", "binary"];
const EARLIER_KEYS = ["window"];

const TERM = /(-?)(?:([a-z]+):)?((?:"[^"]*"?|[^\s"])*)/giu;

/** A list of { key, values, isNegated }; key "" searches threads, symbols and binaries. Values are lower case. */
export function parseFilter(text) {
  const terms = [];
  for (const [, minus, prefix, value] of text.matchAll(TERM)) {
    const key = prefix?.toLowerCase() ?? "";
    const isKey = key === "" || FILTER_KEYS.includes(key) || EARLIER_KEYS.includes(key);
    const values = alternatives(isKey ? value : `${prefix}:${value}`);
    if (values.length > 0) terms.push({ key: isKey ? key : "", values, isNegated: minus === "-" });
  }
  return terms;
}

/** The parts between commas, except for commas in quotes. */
function alternatives(text) {
  const parts = text.match(/(?:"[^"]*"?|[^,"])+/gu) ?? [];
  return parts.map((part) => part.replaceAll('"', "").toLowerCase()).filter((part) => part !== "");
}

/** 1 for each sample that all terms match; null without terms. */
export function sampleMask(view, terms) {
  if (terms.length === 0) return null;
  const mask = new Uint8Array(view.samples.time.length).fill(1);
  for (const term of terms) {
    const isMatch = MATCHERS[term.key](view, term.values);
    for (let row = 0; row < mask.length; row += 1) if (isMatch(row) === term.isNegated) mask[row] = 0;
  }
  return mask;
}

const MATCHERS = { "": matchAnything, thread: matchThread, engine: matchEngine, phase: matchPhase, call: matchCall, window: matchWindow, binary: matchBinary };

function matchAnything(view, values) {
  const strings = stringsWith(view.strings, values);
  const { name, binary, parent } = view.nodes;
  const nodes = onPath(parent, (node) => strings[name[node]] || strings[binary[node]]);
  const lanes = view.lanes.map((lane) => strings[lane.label] === 1 || strings[lane.process] === 1);
  const { node, lane } = view.samples;
  return (row) => nodes[node[row]] === 1 || lanes[lane[row]];
}

function matchBinary(view, values) {
  const strings = stringsWith(view.strings, values);
  const nodes = onPath(view.nodes.parent, (node) => strings[view.nodes.binary[node]]);
  return (row) => nodes[view.samples.node[row]] === 1;
}

function matchThread(view, values) {
  const strings = stringsWith(view.strings, values);
  const lanes = view.lanes.map(
    ({ label, process, tid }) => strings[label] === 1 || strings[process] === 1 || (tid !== null && values.includes(tid)),
  );
  return (row) => lanes[view.samples.lane[row]];
}

function matchEngine(view, values) {
  const matches = view.engines.map((name) => values.some((value) => name.toLowerCase().startsWith(value)));
  return (row) => matches[view.samples.engine[row]];
}

function matchPhase(view, values) {
  const matches = view.phases.map((name) => values.some((value) => (name ?? "none").startsWith(value)));
  return (row) => matches[view.samples.phase[row]] ?? values.includes("none");
}

/** Calls by number in their model (`6`, `3-9`, `6 of enc`) or part of a name: matches samples of all threads at that time. */
function matchCall(view, values) {
  const { call, group } = view.windows;
  const names = [...new Set(group)].map((number) => view.strings[number].toLowerCase());
  const ranges = values.map((value) => callRange(value, names)).filter((range) => range !== null);
  const fits = (row) => ranges.some(({ low, high, isMeant }) => call[row] >= low && call[row] <= high && isMeant(view.strings[group[row]].toLowerCase()));
  const named = stringsWith(view.strings, values);
  return matchTimes(view, values, (row) => fits(row) || named[group[row]] === 1);
}

/** Windows by number over the whole recording, from 0 (`12`, `3-9`), or part of a name, as links of earlier versions have it. */
function matchWindow(view, values) {
  const ranges = values.map(numberRange).filter((range) => range !== null);
  return matchTimes(view, values, (row) => ranges.some(([low, high]) => row >= low && row <= high));
}

/** The samples in the time of the windows that are named so, or that fit. */
function matchTimes(view, values, fits) {
  const { start, end, label, model } = view.windows;
  const strings = stringsWith(view.strings, values);
  const inside = new Uint8Array(view.samples.time.length);
  for (let window = 0; window < start.length; window += 1) {
    const named = strings[label[window]] || strings[model[window]];
    if (!named && !fits(window)) continue;
    const [first, last] = rowsBetween(view, start[window], end[window]);
    inside.fill(1, first, last);
  }
  return (row) => inside[row] === 1;
}

/** `6 of enc` as { low, high, isMeant }: a name that is one of `names` means this one alone, else all that contain it. */
export function callRange(text, names) {
  const [, numbers, name] = /^(\d+(?:-\d+)?)(?: of (.+))?$/su.exec(text) ?? [];
  if (numbers === undefined) return null;
  const [low, high] = numberRange(numbers);
  const isWhole = names.includes(name);
  const isMeant = (group) => name === undefined || (isWhole ? group === name : group.includes(name));
  return { low, high, isMeant };
}

function numberRange(text) {
  const match = /^(\d+)(?:-(\d+))?$/.exec(text);
  return match && [Number(match[1]), Number(match[2] ?? match[1])];
}

function stringsWith(strings, values) {
  return Uint8Array.from(strings, (text) => {
    const lower = text.toLowerCase();
    return values.some((value) => lower.includes(value)) ? 1 : 0;
  });
}

/** 1 for nodes that match or are below one that does; parents come before their children. */
function onPath(parent, isMatch) {
  const nodes = new Uint8Array(parent.length);
  for (let node = 0; node < parent.length; node += 1) {
    nodes[node] = isMatch(node) || (parent[node] >= 0 && nodes[parent[node]]) ? 1 : 0;
  }
  return nodes;
}

/** The first and the end of the sample rows of a range. A binned row belongs to the range with its middle. */
export function rowsBetween(view, from, to) {
  const times = view.exact ? view.samples.time : view.samples.middle;
  return [lowerBound(times, from), lowerBound(times, to)];
}
