// The page's state in the address, so that a link shows the same. Only values other than the initial ones are written.
import { readLaneIds } from "../timeline/lanes.js";
import { readNotes, writeNotes } from "../inspector/notes.js";
import { INITIAL_STATE } from "./store.js";
import { parseChain } from "../stacks/transforms.js";

const TABLE_ID = /^\d{1,9}-\d{1,9}$/;
const DRAWN_LANE = /^\d{1,9}-\d{1,9}(?:v\d{1,4})?(?:g\d{1,4}(?:m\d{1,9})?)?$/;
const MOST_DRAWN = 100;
const NUMBERS = /^\d+(?:\.\d+)?(?:e[+-]?\d+)?$/;

/** What the inspector can show, and the fields that name it in the address. A sample's time and lane are the cursor's. */
const CHOSEN_PARTS = {
  call: ["index"],
  interval: ["lane", "index"],
  signpost: ["lane", "index"],
  sample: [],
  finding: ["index"],
  function: ["key"],
  pair: ["index", "other"],
  piece: ["index", "piece"],
  gap: ["lane", "from", "to"],
  row: ["table", "row"],
};

const CHOSEN_PATTERNS = { lane: /^[a-z]\d{1,6}$/, key: /^[0-9a-z]{1,7}$/, table: TABLE_ID };

const FIELDS = [
  ["t", "view", writeRange, readRange],
  ["s", "range", writeRange, readRange],
  ["lanes", "lanes", (list) => list.join("."), readLanes],
  ["at", "cursor", writeCursor, readCursor],
  ["q", "filter", String, String],
  ["invert", "invert", Number, (text) => text === "1"],
  ["chart", "stackOrder", String, (text) => (text === "time" ? "time" : "weight")],
  ["joined", "joined", Number, (text) => text === "1"],
  ["stacks", "transforms", String, (text) => (parseChain(text) === null ? null : text)],
  ["fn", "selectedFunction", String, (text) => (/^[0-9a-z]{1,7}$/.test(text) ? text : null)],
  ["unit", "treeUnit", String, (text) => (text === "percent" ? "percent" : "weight")],
  ["colour", "colourBy", String, (text) => (["binary", "engine"].includes(text) ? text : "auto")],
  ["find", "search", String, String],
  ["focus", "focus", (list) => list.join("."), (text) => readNumbers(text)],
  ["theme", "theme", String, (text) => (["light", "dark"].includes(text) ? text : "auto")],
  ["all", "allThreads", Number, (text) => text === "1"],
  ["closed", "closed", (list) => list.join("."), (text) => text.split(".").filter(Boolean)],
  ["pin", "pinned", (list) => list.join("."), readLaneIds],
  ["order", "order", (list) => list.join("."), readLaneIds],
  ["names", "shownLanes", String, String],
  ["rows", "unfolded", (list) => list.join("."), readLaneIds],
  ["scale", "scale", String, (text) => (text === "same" ? "same" : "own")],
  ["pick", "chosen", writeChosen, readChosen],
  ["tab", "tab", String, readName],
  ["beside", "beside", String, readName],
  ["table", "openTable", String, (text) => (TABLE_ID.test(text) ? text : null)],
  ["search", "tableText", String, String],
  ["where", "tableWhere", JSON.stringify, readConditions],
  ["sort", "tableSort", String, (text) => (/^-?\d{1,4}$/.test(text) ? text : null)],
  ["columns", "tableColumns", (list) => list.join("."), readNumbers],
  ["scope", "tableScope", String, (text) => (text === "whole" ? text : null)],
  ["draw", "drawn", (list) => list.join("."), (text) => text.split(".").filter((entry) => DRAWN_LANE.test(entry)).slice(0, MOST_DRAWN)],
  ["split", "timelineShare", String, (text) => (/^[1-9]\d$/.test(text) ? Number(text) : null)],
  ["notes", "ownNotes", writeNotes, readNotes],
  ["width", "namesWidth", String, (text) => (/^\d{2,4}$/.test(text) ? Number(text) : null)],
];

export function writeHash(state, duration) {
  const parameters = new URLSearchParams();
  for (const [key, field, write] of FIELDS) {
    const value = state[field];
    const isWhole = field === "view" && value.from === 0 && value.to === duration;
    if (value === null || isWhole || isSame(value, INITIAL_STATE[field])) continue;
    parameters.set(key, write(value));
  }
  return parameters.toString();
}

/** The state's fields in a hash, without invalid ones. */
export function readHash(text, duration, lanes) {
  const parameters = new URLSearchParams(text.replace(/^#/, ""));
  const state = {};
  for (const [key, field, , read] of FIELDS) {
    if (!parameters.has(key)) continue;
    const value = read(parameters.get(key));
    if (value !== null) state[field] = value;
  }
  if (parameters.get("hide") === "1") state.transforms ??= "system"; // links of earlier versions
  for (const field of ["view", "range"]) if (state[field] && state[field].to > duration * 1.001) delete state[field];
  if (state.cursor && (state.cursor.time > duration || state.cursor.lane >= lanes)) delete state.cursor;
  if (state.lanes) state.lanes = state.lanes.filter((lane) => lane < lanes);
  if (state.range) state.range.isDone = true;
  return state;
}

function isSame(left, right) {
  return left === right || (Array.isArray(left) && left.length === 0 && Array.isArray(right));
}

function writeRange({ from, to }) {
  return `${Math.floor(from)}-${Math.ceil(to)}`;
}

function readRange(text) {
  const parts = text.split("-");
  if (parts.length !== 2 || !parts.every((part) => NUMBERS.test(part))) return null;
  const [from, to] = parts.map(Number);
  return from < to ? { from, to } : null;
}

function readLanes(text) {
  const lanes = readNumbers(text);
  return lanes && [...new Set(lanes)];
}

function writeCursor({ time, lane }) {
  return `${Math.round(time)}.${lane}`;
}

function readCursor(text) {
  const [time, lane, ...more] = readNumbers(text) ?? [];
  return lane === undefined || more.length > 0 ? null : { time, lane };
}

/** `call.6`, `interval.m0.12`, `finding.0`: the kind, then its numbers and lane ids. */
function writeChosen({ kind, ...parts }) {
  return [kind, ...(CHOSEN_PARTS[kind] ?? []).map((name) => parts[name])].join(".");
}

function readChosen(text) {
  const [kind, ...values] = text.split(".");
  const names = Object.hasOwn(CHOSEN_PARTS, kind) ? CHOSEN_PARTS[kind] : null; // "constructor" is a property of every object
  if (!names || names.length !== values.length) return null;
  const chosen = { kind };
  for (const [index, name] of names.entries()) {
    const pattern = CHOSEN_PATTERNS[name] ?? /^\d{1,15}$/;
    if (!pattern.test(values[index])) return null;
    chosen[name] = name in CHOSEN_PATTERNS ? values[index] : Number(values[index]);
  }
  return chosen;
}

function readName(text) {
  return /^[a-z]{1,20}$/.test(text) ? text : null;
}

/** Conditions of a table's columns: { number: text }; null if they are none. */
function readConditions(text) {
  try {
    const entries = Object.entries(JSON.parse(text));
    return entries.every(([column, condition]) => /^\d{1,4}$/.test(column) && typeof condition === "string") ? Object.fromEntries(entries) : null;
  } catch {
    return null;
  }
}

function readNumbers(text) {
  const parts = text.split(".").filter(Boolean);
  return parts.every((part) => /^\d+$/.test(part)) ? parts.map(Number) : null;
}
