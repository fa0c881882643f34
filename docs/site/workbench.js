// Entry of a workbench without a server: the page contains the sections and the view of a recording.
import { decodeView } from "/report-assets/data/decode.js";
import { createSource } from "/report-assets/data/source.js";
import { showProblem, startPage } from "/report-assets/page.js";
import { showHeadline } from "/assets/recording/headline.js";
import { showSampleList } from "/assets/recording/sample_list.js";
import { createWorkbench } from "/assets/recording/workbench.js";

async function startWorkbench() {
  const sections = [...document.getElementById("bench").children];
  const bench = createWorkbench(document.getElementById("bench"), sections);
  showHeadline(document.getElementById("headline"), sections);
  const view = await decodeView(document.getElementById("tracekit-data").textContent);
  const { store, source, page } = startPage(view, createSource(view), bench.arrange);
  bench.placeTools();
  showSampleList(document.getElementById("samples"), { source, page, store });
}

startWorkbench().catch((error) => {
  showProblem(error);
  throw error;
});
