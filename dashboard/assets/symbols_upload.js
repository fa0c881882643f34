// The section in which a visitor adds files of symbols: the recording is analysed again with the names.
import { make } from "/report-assets/dom.js";

const BASE64_START = /^data:[^,]*,/;

/** Fills the section; `analyseWithFile(option, file)` requests the analysis, { name, base64 } being the file. */
export function showSymbolsUpload(section, analyseWithFile) {
  const control = make("input", { type: "file", accept: ".zip,.symbols,.txt,.dylib,application/octet-stream,*/*" });
  const button = make("button", { type: "button", disabled: true }, "Analyze with these symbols");
  const problem = make("p", { className: "problem", role: "alert", hidden: true });
  control.addEventListener("change", () => (button.disabled = control.files.length === 0));
  button.addEventListener("click", async () => {
    button.disabled = true;
    problem.hidden = true;
    try {
      const [file] = control.files;
      await analyseWithFile("symbols", { name: file.name, base64: await encodedFile(file) });
    } catch (error) {
      problem.hidden = false;
      problem.textContent = error.message;
    }
    button.disabled = false;
  });
  const note = "A zip of dSYMs, a binary, or a symbol map, of up to 11 MB; larger ones with --symbols on the command line. Files of other builds are not used.";
  const label = make("label", {}, "File of symbols ", control);
  section.append(make("p", {}, "Functions that the recording holds as addresses get names from files of the same build."), make("p", { className: "actions" }, label, " ", button), problem, make("p", { className: "note" }, note));
}

/** The content of a file as JSON can carry it. */
function encodedFile(file) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result.replace(BASE64_START, ""));
    reader.onerror = () => reject(new Error(`${file.name} cannot be read.`));
    reader.readAsDataURL(file);
  });
}
