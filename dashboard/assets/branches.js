// Branches of the call tree that are not in the page's view but in the sums of a selection.
import { nodesWith, textNumber } from "/report-assets/calltree.js";

/** Returns a function that makes a selection's `nodes`; its new texts are added to the view's strings. */
export function createBranches(view) {
  return ({ extra, functions, strings, steps }) => {
    if (!extra) return view.nodes;
    const numbers = Uint32Array.from(strings, (text) => textNumber(view, text));
    const namesOf = (texts) => texts.map((text) => numbers[text]);
    // With transforms, the answer has the whole tree: the view's nodes are of the stacks as they were recorded.
    return nodesWith(view, extra, { ...functions, name: namesOf(functions.name), binary: namesOf(functions.binary) }, Boolean(steps));
  };
}
