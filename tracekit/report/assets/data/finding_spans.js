// The times that a finding is about: its calls, or the parts of them, or the times between them, that its sentence names.
import { hasBudget, listPieces } from "./budget.js";

/** Parts of a call's budget that a kind of finding is about. */
const PARTS_OF_KIND = {
  "gaps-in-calls": ["idle"],
  "engine-contention": ["other_process", "other_call"],
  "models-serialized": ["other_call"],
  "gpu-shared-with-rendering": ["other_process", "other_call"],
  "copies-around-engine": ["copy"],
};
/** Kinds about the time from one call to the next one of its model. */
const KINDS_BETWEEN = ["work-beside-calls", "conversions", "allocations", "load-per-call"];

/** [{ from, to }] in order of time; the finding's whole time where no calls are named, empty where it has none. */
export function findingSpans(view, index) {
  const { kind, calls } = view.finding_calls?.[index] ?? { kind: "", calls: [] };
  const rows = calls.flatMap(([first, last]) => Array.from({ length: last - first + 1 }, (_, place) => first + place));
  const spans = spansOfKind(view, kind, rows).sort((left, right) => left.from - right.from);
  if (spans.length > 0) return spans;
  const place = view.findings?.[index];
  return place ? [{ from: place[0], to: Math.max(place[1], place[0] + 1) }] : [];
}

function spansOfKind(view, kind, rows) {
  const { start, end } = view.windows;
  if (KINDS_BETWEEN.includes(kind)) return rows.map((row) => timeBefore(view.windows, row)).filter(Boolean);
  const pieces = PARTS_OF_KIND[kind] && hasBudget(view) ? rows.flatMap((row) => piecesOfKind(view, kind, row)) : [];
  return pieces.length > 0 ? pieces : rows.map((row) => ({ from: start[row], to: end[row] }));
}

function piecesOfKind(view, kind, row) {
  const isOfKind = ({ part }) => PARTS_OF_KIND[kind].includes(view.budget.parts[part].key);
  return listPieces(view, row).filter(isOfKind).map(({ start, end }) => ({ from: start, to: end }));
}

/** From the end of the call before, of the same model, to the start of a call; null for none. */
function timeBefore({ start, end, group }, row) {
  let before = row - 1;
  while (before >= 0 && (group[before] !== group[row] || end[before] > start[row])) before -= 1;
  return before >= 0 && end[before] < start[row] ? { from: end[before], to: start[row] } : null;
}

/** What the timeline marks as selected: the times of the chosen finding, else the selected range. */
export function markedSpans(view, { range, chosen }) {
  if (!range) return [];
  return chosen?.kind === "finding" ? findingSpans(view, chosen.index) : [range];
}
