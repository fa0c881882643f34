// The branches of the call tree that the page does not have and an answer needs.
import { nodesWith } from "/report-assets/calltree.js";

/** Returns what makes the `nodes` of an answer's selection, whose texts join those of the view. */
export function createBranches(view) {
  let known = null;

  function numberOf(text) {
    known ??= new Map(view.strings.map((each, number) => [each, number]));
    if (!known.has(text)) known.set(text, view.strings.push(text) - 1);
    return known.get(text);
  }

  return ({ extra, functions, strings }) => {
    if (!extra) return view.nodes;
    const numbers = Uint32Array.from(strings, numberOf);
    const named = (texts) => texts.map((text) => numbers[text]);
    return nodesWith(view, extra, { ...functions, name: named(functions.name), binary: named(functions.binary) });
  };
}
