// Advice for a filter that matches nothing: the names and numbers in it that this recording lacks.
import { make } from "../shared/dom.js";
import { callRange, FILTER_KEYS, parseFilter } from "./filter.js";
import { cleanText, formatCount } from "../shared/numbers.js";

const MOST_SENTENCES = 2;
const QUOTED_LENGTH = 40;

/** A sentence for each value of the filter that cannot match anything. */
export function filterAdvice(view, text) {
  const advisers = { "": adviseWord, thread: adviseThread, engine: adviseEngine, phase: advisePhase, call: adviseCall, window: adviseWindow };
  return parseFilter(text).flatMap(({ key, values }) =>
    values.map((value) => advisers[key]?.(view, value, quoted(text, value))).filter(Boolean),
  );
}

/** A note below the filter with its problems. */
export function createFilterNote(input, store, view) {
  const note = make("p", { className: "note problem filter-note", id: "filter-note", role: "status" });
  input.setAttribute("aria-describedby", note.id);
  const show = () => {
    const sentences = filterAdvice(view, store.state.filter);
    note.textContent = sentences.slice(0, MOST_SENTENCES).join(" ");
    input.setAttribute("aria-invalid", String(sentences.length > 0));
  };
  store.on(["filter"], show);
  show();
  return note;
}

/** A value as it was typed, if the text contains it unchanged. */
function quoted(text, value) {
  const start = text.toLowerCase().indexOf(value);
  return `“${cleanText(start < 0 ? value : text.slice(start, start + value.length), QUOTED_LENGTH)}”`;
}

/** A word such as `std::vector` is no key; an unknown key gets advice only if no name contains it. */
function adviseWord(view, value, name) {
  const key = /^([a-z]+):(?!:)/u.exec(value)?.[1];
  if (!key || view.strings.some((text) => text.toLowerCase().includes(value))) return null;
  return `There is no key ${key}:, so ${name} is searched for as a word. Keys: ${FILTER_KEYS.map((filterKey) => `${filterKey}:`).join(" ")}`;
}

function adviseThread({ lanes, strings }, value, name) {
  const isKnown = lanes.some(
    ({ label, process, tid }) => tid === value || [label, process].some((number) => strings[number].toLowerCase().includes(value)),
  );
  return isKnown ? null : `No thread or process is called ${name}.`;
}

function adviseEngine({ engines }, value, name) {
  if (engines.some((engine) => engine.toLowerCase().startsWith(value))) return null;
  return `No engine is called ${name}: ${engines.join(", ")}.`;
}

function advisePhase({ phases }, value, name) {
  const names = phases.map((phase) => phase ?? "none");
  if (names.some((phase) => phase.startsWith(value))) return null;
  return `No phase is called ${name}: ${names.join(", ")}.`;
}

/** A number of a call in its model; the advice names the calls that there are. */
function adviseCall(view, value, name) {
  const { windows, strings } = view;
  if (windows.start.length === 0) return "This recording has no calls.";
  const names = [...new Set(windows.group)].map((number) => strings[number].toLowerCase());
  const range = callRange(value, names);
  if (range === null) return isNameOfCall(view, value) ? null : `No call or model is named ${name}.`;
  if (range.high < range.low) return `Calls ${name}: put the smaller number first.`;
  const numbers = windows.call.filter((_, row) => range.isMeant(strings[windows.group[row]].toLowerCase()));
  if (numbers.length === 0) return `No model is named so: ${name}.`;
  const most = numbers.reduce((left, right) => Math.max(left, right));
  const last = most === 1 ? "the only call is 1" : `calls are numbered 1 to ${formatCount(most)}`;
  return range.high >= 1 && range.low <= most ? null : `There is no call ${name}: ${last}.`;
}

function isNameOfCall({ windows, strings }, value) {
  const names = new Set([...windows.label, ...windows.model, ...windows.group]);
  return [...names].some((number) => strings[number].toLowerCase().includes(value));
}

/** A number over the whole recording, from 0, in links of earlier versions. */
function adviseWindow(view, value, name) {
  const count = view.windows.start.length;
  if (count === 0) return "This recording has no calls.";
  const numbers = count === 1 ? "the only one is 0" : `they are numbered 0 to ${formatCount(count - 1)} over all models`;
  const [, low, high] = /^(\d+)(?:-(\d+))?$/u.exec(value) ?? [];
  if (low === undefined) return isNameOfCall(view, value) ? null : `No call or model is named ${name}.`;
  if (Number(high ?? low) < Number(low)) return `Windows ${name}: put the smaller number first.`;
  return Number(low) < count ? null : `There is no window ${name}: ${numbers}. call:1 is the first call of each model.`;
}
