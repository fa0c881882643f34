// Branches of the call tree that are not in the page's view but in the sums of a selection.
import { nodesWith } from "/report-assets/calltree.js";

/** Returns a function that makes a selection's `nodes`; its new texts are added to the view's strings. */
export function createBranches(view) {
  let numbersOfTexts = null;

  function numberOf(text) {
    numbersOfTexts ??= new Map(view.strings.map((text, number) => [text, number]));
    if (!numbersOfTexts.has(text)) numbersOfTexts.set(text, view.strings.push(text) - 1);
    return numbersOfTexts.get(text);
  }

  return ({ extra, functions, strings }) => {
    if (!extra) return view.nodes;
    const numbers = Uint32Array.from(strings, numberOf);
    const namesOf = (texts) => texts.map((text) => numbers[text]);
    return nodesWith(view, extra, { ...functions, name: namesOf(functions.name), binary: namesOf(functions.binary) });
  };
}
