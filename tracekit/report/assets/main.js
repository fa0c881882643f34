// Entry of the report: the page contains the recording's view.
import { decodeView } from "./data/decode.js";
import { showProblem, startPage } from "./page.js";

async function startReport() {
  startPage(await decodeView(document.getElementById("tracekit-data").textContent));
}

startReport().catch((error) => {
  showProblem(error);
  throw error;
});
