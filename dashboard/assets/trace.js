// The page of a recording: the report's sections and the report's code, with a view from the server.
import { readView } from "/report-assets/decode.js";
import { make } from "/report-assets/dom.js";
import { showProblem, startPage } from "/report-assets/page.js";
import { SERVER_IS_BACK } from "./alive.js";
import { fetchChecked } from "./requests.js";
import { showSampleList } from "./sample_list.js";
import { sourceOf } from "./sources.js";
import { buildNodes } from "./tree.js";

export async function showRecording(element) {
  const address = `/api/recordings/${encodeURIComponent(element.dataset.recording)}`;
  const status = document.getElementById("status");
  status.textContent = "Loading the recording …";
  try {
    const view = fetchChecked(`${address}/view`).then((response) => response.arrayBuffer());
    view.catch(() => {}); // reported below, once the sections are shown
    const sections = await (await fetchChecked(`${address}/sections`)).json();
    document.getElementById("sections").append(...withTimeline(sections.flatMap(buildNodes)));
    const block = await view;
    status.textContent = "";
    const read = readView(block);
    const { store, source } = startPage(read, sourceOf(read, address));
    addEventListener(SERVER_IS_BACK, () => source.retry());
    addSampleList({ address, view: read, store });
  } catch (error) {
    showProblem(error);
  }
}

/** Adds the list of samples, which only the dashboard has, after the stacks. */
function addSampleList(options) {
  const heading = make("h2", { id: "samples-heading" }, "Samples");
  const section = make("section", { id: "samples", "aria-labelledby": "samples-heading" }, heading);
  document.getElementById("stacks").after(section);
  showSampleList(section, options);
}

/** Adds the timeline's section after the findings. The report's own has a static picture, which is not needed here. */
function withTimeline([verdict, findings, ...rest]) {
  const heading = make("h2", { id: "timeline-heading" }, "Timeline");
  const waiting = make("p", { className: "note no-script" }, "Loading …");
  return [verdict, findings, make("section", { id: "timeline", "aria-labelledby": "timeline-heading" }, heading, waiting), ...rest];
}
