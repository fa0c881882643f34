// Entry of a comparison as a file: the page contains both views.
import { showCompareProblem, SIDES, startComparison } from "./compare.js";
import { decodeView } from "./decode.js";
import { memorySource } from "./source.js";

async function startFile() {
  const views = await Promise.all(
    SIDES.map((name) => decodeView(document.getElementById(`tracekit-data-${name}`).textContent)),
  );
  startComparison(views.map((view) => memorySource(view)));
}

startFile().catch((error) => {
  showCompareProblem(error);
  throw error;
});
