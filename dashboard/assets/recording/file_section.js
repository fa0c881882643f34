// The sections in which a visitor adds a file to a recording, which is analysed again with it: names for addresses,
// or a text that is laid over the recording.
import { make } from "/report-assets/shared/dom.js";

/** What each option's section says. */
const FILE_OPTIONS = {
  symbols: {
    label: "File of symbols",
    accept: ".zip,.symbols,.txt,.dylib,application/octet-stream,*/*",
    action: "Analyze with these symbols",
    about: "Functions that the recording holds as addresses get names from files of the same build.",
    note: "A zip of dSYMs, a binary, or a symbol map of the recorded build. A file of other builds is refused.",
  },
  with: {
    label: "Text",
    accept: ".txt,.log,.ndjson,.json,.plist,.ips,.zip,text/plain,*/*",
    action: "Lay over the recording",
    about: "A log, power samples or a spindump of the same time are joined with the recording by wall clock.",
    note: "The output of log show, log stream, powermetrics, sample or spindump, or a zip of several. A text of another time is refused.",
  },
};

/** Fills the section of an option; `analyseWithFile(option, file)` requests the analysis. */
export function showFileSection(section, option, analyseWithFile) {
  const words = FILE_OPTIONS[option];
  const control = make("input", { type: "file", accept: words.accept });
  const button = make("button", { type: "button", disabled: true }, words.action);
  const problem = make("p", { className: "problem", role: "alert", hidden: true });
  control.addEventListener("change", () => (button.disabled = control.files.length === 0));
  button.addEventListener("click", async () => {
    button.disabled = true;
    problem.hidden = true;
    try {
      const [file] = control.files;
      await analyseWithFile(option, file);
    } catch (error) {
      problem.hidden = false;
      problem.textContent = error.message;
    }
    button.disabled = false;
  });
  const label = make("label", {}, `${words.label} `, control);
  section.append(make("p", {}, words.about), make("p", { className: "actions" }, label, " ", button), problem, make("p", { className: "note" }, words.note));
}
