// Whose work a measured interval is, by the assignment that every number of the analysis is a sum over.
import { callTitle } from "./calls.js";
import { lowerBound } from "../shared/scale.js";

export const OWNER_WORDS = {
  call: "Counted in ",
  process: "This app's, outside of its calls",
  "other process": "Another process's work",
  contested: "Contested: counted in no call. It may be of ",
};

/** "call", "process", "other process" or "contested"; "" for an interval that is no work, or not known. */
export function ownerOf({ owners }, span, row) {
  return owners?.[span.owner?.[row] ?? 0] ?? "";
}

/** The calls that own an interval, or that may own a contested one. */
export function callsOfInterval({ pairs }, row) {
  if (!pairs) return [];
  const calls = [];
  for (let place = lowerBound(pairs.row, row); pairs.row[place] === row; place += 1) calls.push(pairs.call[place]);
  return calls;
}

/** The owner in a line, for a tooltip; "" where none is known. */
export function ownerText(view, span, row) {
  const owner = ownerOf(view, span, row);
  if (owner === "") return span.own && !span.own[row] ? "another process's work" : "";
  if (owner === "process") return "this app's, outside of its calls";
  if (owner === "other process") return "another process's work";
  const calls = callsOfInterval(span, row).map((call) => callTitle(view, call));
  if (owner === "call") return `work of ${decapitalised(calls[0])}`;
  return `contested: ${calls.map(decapitalised).join(", ") || "of several calls"}, or another owner`;
}

function decapitalised(text) {
  return text.charAt(0).toLowerCase() + text.slice(1);
}
