// The names of calls, the same in every part of the page: `call 6 of SpeechEncoder`, `range 2 (12ms-18ms)`.
import { cleanText, formatCount } from "../shared/numbers.js";

const NAME_LENGTH = 80;

/** The model of a call as answers name it, a function or a signpost where none is known; the label of a range. */
export function callName({ windows, strings }, row) {
  return cleanText(strings[(isRange(windows) ? windows.label : windows.group)[row]] ?? "", NAME_LENGTH);
}

/** `Call 6 of SpeechEncoder`: the number counts the calls of the model from 1. */
export function callTitle(view, row) {
  const number = view.windows.call[row];
  if (number === 0) return "The whole run";
  const name = callName(view, row);
  return isRange(view.windows) ? `Range ${formatCount(number)} (${name})` : `Call ${formatCount(number)} of ${name}`;
}

/** True if the user gave the windows, so that they are no calls of a model. */
export function isRange({ noun }) {
  return noun === "range";
}
