// The page of a recording: the report's sections and the report's code, on a view that the server sends.
import { readView } from "/report-assets/decode.js";
import { make } from "/report-assets/dom.js";
import { showProblem, startPage } from "/report-assets/page.js";
import { problemOf } from "./answer.js";

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
    startPage(readView(block));
  } catch (error) {
    showProblem(error);
  }
}

async function asked(address) {
  const response = await fetch(address, { credentials: "same-origin" });
  if (!response.ok) throw new Error(await problemOf(response));
  return response;
}

/** The timeline, which is drawn here alone, comes after the verdict. */
function withTimeline([verdict, ...rest]) {
  const heading = make("h2", { id: "timeline-heading" }, "Timeline");
  const waiting = make("p", { className: "note no-script" }, "It is drawn as soon as its data are here.");
  return [verdict, make("section", { id: "timeline", "aria-labelledby": "timeline-heading" }, heading, waiting), ...rest];
}

/** Texts, and elements as [name, attributes, children], which the server has looked through. */
function buildNodes(tree) {
  return tree.map((node) => {
    if (typeof node === "string") return document.createTextNode(node);
    const [name, attributes, children] = node;
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.append(...buildNodes(children));
    return element;
  });
}
