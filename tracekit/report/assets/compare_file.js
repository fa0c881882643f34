// Entry of a comparison as a file: the page contains both views.
import { showCompareProblem, SIDES, startComparison } from "./comparison/compare.js";
import { decodeView, DIFFERENCE_FORMAT } from "./data/decode.js";
import { createSource } from "./data/source.js";

async function startFile() {
  const textOf = (name) => document.getElementById(`tracekit-data-${name}`).textContent;
  const views = await Promise.all(SIDES.map((name) => decodeView(textOf(name))));
  startComparison(views.map((view) => createSource(view)), await decodeView(textOf("difference"), DIFFERENCE_FORMAT));
}

startFile().catch((error) => {
  showCompareProblem(error);
  throw error;
});
