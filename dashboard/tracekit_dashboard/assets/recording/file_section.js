// The sections in which a visitor adds files to a recording, which is analysed again with them: names for addresses,
// a text that is laid over the recording, or the model of its calls.
import { make } from "/report-assets/shared/dom.js";

/** By the section's id: what it says, and the label and the endings of each option's file. */
const FILE_SECTIONS = {
  symbols: {
    files: { symbols: ["File of symbols", ".zip,.symbols,.txt,.dylib,application/octet-stream,*/*"] },
    action: "Analyze with these symbols",
    about: "Functions that the recording holds as addresses get names from files of the same build.",
    note: "A zip of dSYMs, a binary, or a symbol map of the recorded build. A file of other builds is refused.",
  },
  overlays: {
    files: { with: ["Text", ".txt,.log,.ndjson,.json,.plist,.ips,.zip,text/plain,*/*"] },
    action: "Lay over the recording",
    about: "A log, power samples or a spindump of the same time are joined with the recording by wall clock.",
    note: "The output of log show, log stream, powermetrics, sample or spindump, or a zip of several. A text of another time is refused.",
  },
  model: {
    files: { model: ["Model", ".zip,.mlmodel,*/*"], plan: ["Plan", ".zip,.mil,.json,.log,.txt,.plist,*/*"] },
    action: "Hold against the calls",
    about: "The operations of a model and its plan are held against the calls: which leave the Neural Engine, why, and what that costs.",
    note: "The file of a model, its plan (such as analytics.mil), or both. A folder (.mlpackage, .mlmodelc, .aimodel, a cache) comes as a zip. A plan of another model is refused.",
  },
};

/** Fills a section; `analyseWithFiles(files)` requests the analysis with files by the names of their options. */
export function showFileSection(section, analyseWithFiles) {
  const words = FILE_SECTIONS[section.id];
  const controls = Object.entries(words.files).map(([option, [label, accept]]) => ({ option, label, input: make("input", { type: "file", accept }) }));
  const button = make("button", { type: "button", disabled: true }, words.action);
  const problem = make("p", { className: "problem", role: "alert", hidden: true });
  const chosen = () => Object.fromEntries(controls.flatMap(({ option, input }) => [...input.files].map((file) => [option, file])));
  for (const { input } of controls) input.addEventListener("change", () => (button.disabled = Object.keys(chosen()).length === 0));
  button.addEventListener("click", async () => {
    button.disabled = true;
    problem.hidden = true;
    try {
      await analyseWithFiles(chosen());
    } catch (error) {
      problem.hidden = false;
      problem.textContent = error.message;
    }
    button.disabled = false;
  });
  const labels = controls.flatMap(({ label, input }) => [make("label", {}, `${label} `, input), " "]);
  section.append(make("p", {}, words.about), make("p", { className: "actions" }, ...labels, button), problem, make("p", { className: "note" }, words.note));
}
