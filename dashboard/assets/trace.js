// The page of a recording: the report's sections and the report's code, on a view that the server sends.
import { readView } from "/report-assets/decode.js";
import { make } from "/report-assets/dom.js";
import { showProblem, startPage } from "/report-assets/page.js";
import { ANSWERS_AGAIN } from "./alive.js";
import { asked } from "./answer.js";
import { showSampleList } from "./sample_list.js";
import { sourceOf } from "./sources.js";
import { buildNodes } from "./tree.js";

export async function showRecording(element) {
  const address = `/api/recordings/${encodeURIComponent(element.dataset.recording)}`;
  const status = document.getElementById("status");
  status.textContent = "Loading the recording …";
  try {
    const view = asked(`${address}/view`).then((response) => response.arrayBuffer());
    view.catch(() => {}); // told below, once the sections stand
    const sections = await (await asked(`${address}/sections`)).json();
    document.getElementById("sections").append(...withTimeline(sections.flatMap(buildNodes)));
    const block = await view;
    status.textContent = "";
    const read = readView(block);
    const { store, source } = startPage(read, sourceOf(read, address));
    addEventListener(ANSWERS_AGAIN, () => source.retry());
    addSampleList({ address, view: read, store });
  } catch (error) {
    showProblem(error);
  }
}

/** The samples one by one, which only the dashboard has, come after the stacks. */
function addSampleList(options) {
  const heading = make("h2", { id: "samples-heading" }, "Samples");
  const section = make("section", { id: "samples", "aria-labelledby": "samples-heading" }, heading);
  document.getElementById("stacks").after(section);
  showSampleList(section, options);
}

/** The timeline, which is drawn here alone, comes after the verdict. */
function withTimeline([verdict, ...rest]) {
  const heading = make("h2", { id: "timeline-heading" }, "Timeline");
  const waiting = make("p", { className: "note no-script" }, "It is drawn as soon as its data are here.");
  return [verdict, make("section", { id: "timeline", "aria-labelledby": "timeline-heading" }, heading, waiting), ...rest];
}
