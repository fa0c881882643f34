// The report's entry: the page of a recording whose view stands in the markup.
import { decodeView } from "./decode.js";
import { showProblem, startPage } from "./page.js";

async function startReport() {
  startPage(await decodeView(document.getElementById("tracekit-data").textContent));
}

startReport().catch((error) => {
  showProblem(error);
  throw error;
});
