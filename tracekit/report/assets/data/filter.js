// The filter's grammar: terms that must all match. `word`, `"two words"`, `-word` for not, `a,b` for either; the keys
// `thread:`, `engine:`, `phase:`, `call:`, `binary:` limit a term to that field, and so does `window:` of earlier links.
import { upperBound } from "../shared/scale.js";

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

/**
 * The samples that all terms match, as tables of stacks and a list of times instead of a mark per sample; null without terms.
 *
 *     { tableOf(lane), times }      tableOf: 1 for each stack of the view that matches in the lane, NOTHING if none does,
 *                                   null for all; times: { start, end } that do not overlap, null for all
 */
export function sampleFilter(view, terms) {
  if (terms.length === 0) return null;
  const ofKey = (...keys) => terms.filter(({ key }) => keys.includes(key));
  const lanes = ofKey("thread").map((term) => marked(matchThreads(view, term.values), term));
  const stacks = Object.keys(STACK_MATCHERS).flatMap((key) => ofKey(key).map((term) => marked(STACK_MATCHERS[key](view, term.values), term)));
  const words = ofKey("").map((term) => matchAnything(view, term));
  const times = ofKey("call", "window").reduce((all, term) => shared(all, timesOfTerm(view, term)), null);
  const tables = new Map(); // by the words that the lane itself matches: lanes of one kind share a table
  const makeTable = (ofLane) => everyMark([...stacks, ...ofLane.filter((mark) => mark !== null)]);
  return {
    times,
    tableOf(lane) {
      const ofLane = words.map((word) => word(lane));
      if (lanes.some((table) => table[lane] === 0) || ofLane.includes(NOTHING)) return NOTHING;
      const key = ofLane.map((table) => (table ? 1 : 0)).join("");
      if (!tables.has(key)) tables.set(key, makeTable(ofLane));
      return tables.get(key);
    },
  };
}

/** Instead of a table: no sample of the lane matches. */
export const NOTHING = "nothing";

/** A function (stack, time) that is true for the samples of a lane that a filter matches; null for none at all. */
export function matcherOf(filter, lane) {
  const table = filter ? filter.tableOf(lane) : null;
  if (table === NOTHING) return null;
  const times = filter?.times ?? null;
  return (stack, time) => {
    if (table && table[stack] === 0) return false;
    return times === null || time < times.end[upperBound(times.start, time) - 1];
  };
}

/** The table with the marks that a term means: its opposite if it is negated. */
function marked(table, { isNegated }) {
  return isNegated ? table.map((mark) => 1 - mark) : table;
}

/** The stacks that all tables mark; null without tables. */
function everyMark(tables) {
  return tables.length === 0 ? null : tables[0].map((_, stack) => (tables.every((table) => table[stack] === 1) ? 1 : 0));
}

const STACK_MATCHERS = { engine: matchEngines, phase: matchPhases, binary: matchBinaries };

/** A word matches the lane, and so all of its samples, or a frame of the stack: per lane a table, null for all, NOTHING. */
function matchAnything(view, term) {
  const strings = stringsWith(view.strings, term.values);
  const { name, binary } = view.nodes;
  const table = marked(onStacks(view, (node) => strings[name[node]] || strings[binary[node]]), term);
  const lanes = view.lanes.map((lane) => strings[lane.label] === 1 || strings[lane.process] === 1);
  return (lane) => (lanes[lane] ? (term.isNegated ? NOTHING : null) : table);
}

function matchBinaries(view, values) {
  const strings = stringsWith(view.strings, values);
  return onStacks(view, (node) => strings[view.nodes.binary[node]]);
}

function matchThreads(view, values) {
  const strings = stringsWith(view.strings, values);
  const matches = ({ label, process, tid }) => strings[label] === 1 || strings[process] === 1 || (tid !== null && values.includes(tid));
  return Uint8Array.from(view.lanes, (lane) => (matches(lane) ? 1 : 0));
}

function matchEngines(view, values) {
  const matches = view.engines.map((name) => values.some((value) => name.toLowerCase().startsWith(value)));
  return Uint8Array.from(view.stacks.engine, (engine) => (matches[engine] ? 1 : 0));
}

function matchPhases(view, values) {
  const matches = view.phases.map((name) => values.some((value) => (name ?? "none").startsWith(value)));
  return Uint8Array.from(view.stacks.phase, (phase) => (matches[phase] ?? values.includes("none") ? 1 : 0));
}

/**
 * The times of the calls that a term means: by number in their model (`6`, `3-9`, `6 of enc`), all else by part of a name; as links
 * of earlier versions have them (`window:`), by number over the whole recording, from 0. Samples of all threads are meant.
 */
function timesOfTerm(view, { key, values, isNegated }) {
  const { call, group, start, end, label, model } = view.windows;
  const names = [...new Set(group)].map((number) => view.strings[number].toLowerCase());
  const ranges = values.map((value) => (key === "call" ? callRange(value, names) : windowRange(value)));
  // A number is no part of a name: call:2 is not every call of MobileNetV2.
  const strings = stringsWith(view.strings, values.filter((_, index) => ranges[index] === null));
  const isInRange = (number, row) => ranges.some((range) => range && number >= range.low && number <= range.high && range.isMeant(view.strings[group[row]].toLowerCase()));
  const isMeant = (row) => strings[label[row]] || strings[model[row]] || (key === "call" && strings[group[row]]) || isInRange(key === "call" ? call[row] : row, row);
  const rows = [];
  for (let row = 0; row < start.length; row += 1) if (isMeant(row)) rows.push(row);
  const times = unionOf(rows.map((row) => [start[row], end[row]]));
  return isNegated ? outside(times) : times;
}

/** Intervals as { start, end } that ascend and do not touch each other. */
function unionOf(intervals) {
  const union = [];
  for (const [start, end] of intervals.sort((left, right) => left[0] - right[0])) {
    const last = union.at(-1);
    if (last && start <= last[1]) last[1] = Math.max(last[1], end);
    else union.push([start, end]);
  }
  return { start: Float64Array.from(union, ([start]) => start), end: Float64Array.from(union, ([, end]) => end) };
}

function outside({ start, end }) {
  return { start: Float64Array.of(-Infinity, ...end), end: Float64Array.of(...start, Infinity) };
}

/** The times of both; null stands for all times. */
function shared(left, right) {
  if (left === null) return right;
  const both = [];
  for (let first = 0, second = 0; first < left.start.length && second < right.start.length; ) {
    const from = Math.max(left.start[first], right.start[second]);
    const to = Math.min(left.end[first], right.end[second]);
    if (from < to) both.push([from, to]);
    if (left.end[first] < right.end[second]) first += 1;
    else second += 1;
  }
  return unionOf(both);
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

function windowRange(text) {
  const range = numberRange(text);
  return range && { low: range[0], high: range[1], isMeant: () => true };
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

/** 1 for each stack with a frame that matches; parents come before their children. */
function onStacks({ nodes: { parent }, stacks }, isFrame) {
  const nodes = new Uint8Array(parent.length);
  for (let node = 0; node < parent.length; node += 1) {
    nodes[node] = isFrame(node) || (parent[node] >= 0 && nodes[parent[node]]) ? 1 : 0;
  }
  return Uint8Array.from(stacks.node, (node) => nodes[node] ?? 0);
}
