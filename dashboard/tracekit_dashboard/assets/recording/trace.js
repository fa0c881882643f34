// The page of a recording: the report's sections and the report's code, with a view from the server.
import { readView } from "/report-assets/data/decode.js";
import { make } from "/report-assets/shared/dom.js";
import { showProblem, startPage } from "/report-assets/page.js";
import { createSource } from "/report-assets/data/source.js";
import { linkAdvice } from "./advice.js";
import { libraryKeeper } from "./notes_keeper.js";
import { callsButton, showOptions } from "./options.js";
import { showHeadline } from "./headline.js";
import { showCounters } from "./counter_chart.js";
import { fetchResult } from "../shared/requests.js";
import { drawDefaultLanes } from "../tables/default_lanes.js";
import { createDrawnLanes } from "../tables/drawn_lanes.js";
import { rowDetails } from "../tables/row_detail.js";
import { loadSamples } from "./sample_block.js";
import { showSampleList } from "./sample_list.js";
import { fetchSections } from "../shared/sections.js";
import { showTables } from "../tables/tables.js";
import { showFileSection } from "./file_section.js";
import { createWorkbench } from "./workbench.js";

export async function showRecording(element) {
  const address = `/api/recordings/${encodeURIComponent(element.dataset.recording)}`;
  const status = document.getElementById("status");
  status.textContent = "Loading the recording …";
  try {
    const view = fetchResult(`${address}/view`, (response) => response.arrayBuffer());
    view.catch(() => {}); // reported below, once the sections are shown
    const report = await fetchSections(`${address}/sections`);
    const isTimeless = report.some(({ id }) => id === "threads"); // samples without times: nothing is drawn over time
    const timed = [sectionOf("timeline", "Timeline", make("p", { className: "note no-script" }, "Loading …")), sectionOf("samples", "Samples"), make("section", { id: "notes", "aria-labelledby": "notes-heading" })];
    const own = [...(isTimeless ? [] : timed), sectionOf("tables", "Tables"), sectionOf("symbols", "Symbols"), sectionOf("overlays", "Laid over"), sectionOf("model", "Model and plan")];
    const bench = createWorkbench(document.getElementById("bench"), [...report, ...own]);
    showHeadline(document.getElementById("headline"), report);
    const read = readView(await view);
    status.textContent = "";
    const arrange = (newStore, newPage) => {
      newPage.kinds = { row: rowDetails(address) };
      newPage.nothingDrawn = "This recording has no samples, calls, intervals or signposts to draw. Tables with times can be drawn here: open one under Tables.";
      bench.arrange(newStore, newPage);
    };
    let options = null; // of the bar in the header, once the page stands
    const given = { ...createSource(read), laneAction: (row) => callsButton(row, () => options) };
    const { store, source, page } = startPage(read, given, arrange, libraryKeeper(address.split(".")[0]));
    bench.placeTools();
    options = showOptions(document.getElementById("options"), { analysis: element.dataset.recording, awaited: element.dataset.awaited, store });
    linkAdvice(options);
    for (const id of ["symbols", "overlays", "model"]) showFileSection(document.getElementById(id), options.analyseWithFiles);
    if (!isTimeless) showSampleList(document.getElementById("samples"), { source, page, store });
    loadSamples(source, address, document.getElementById("toolbar"));
    const announce = (text) => (status.textContent = text);
    const drawn = createDrawnLanes({ address, source, store, announce });
    showTables(document.getElementById("tables"), { address, store, drawn });
    if (!isTimeless) drawDefaultLanes({ address, source, store, drawn, announce }).catch(() => announce("")); // the tab of tables reports why one cannot be read
    if (!isTimeless) showCounters(document.getElementById("counters"), address);
  } catch (error) {
    showProblem(error);
  }
}

/** A section that only the dashboard has, or whose content in the report is a picture. */
function sectionOf(id, title, ...children) {
  return make("section", { id, "aria-labelledby": `${id}-heading` }, make("h2", { id: `${id}-heading` }, title), ...children);
}
