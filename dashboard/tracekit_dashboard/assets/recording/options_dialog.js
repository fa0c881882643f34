// The dialog in which the options of another analysis are chosen.
import { make } from "/report-assets/shared/dom.js";
import { countOf, formatCount } from "/report-assets/shared/numbers.js";

export const SOURCE_NAMES = {
  coreml: "Core ML",
  coreai: "Core AI",
  "foundation-models": "Foundation Models",
  ane: "Neural Engine",
  stacks: "stacks",
  run: "whole run",
};
const COMPUTE_UNITS = ["all", "cpuAndGPU", "cpuAndNeuralEngine", "cpuOnly"]; // as Core ML spells them
const SIGNPOSTS = "window-signpost";
const RANGES = "window";
const WINDOWS_CSV = "windows-csv";
const RULES_FILE = "markers";

/** `analyse(options, files)` requests the analysis; it throws the sentence of a refusal. Returns { open(state, name) }. */
export function createOptionsDialog(analyse) {
  const dialog = make("dialog", { className: "options-dialog", "aria-labelledby": "options-dialog-heading" });

  function open({ choices, options }, name) {
    const fields = createFields(choices, options);
    const problem = make("p", { className: "problem", role: "alert", hidden: true });
    const submit = make("button", { type: "submit", className: "main" }, "Analyze");
    const close = make("button", { type: "button", onclick: () => dialog.close() }, "Close");
    const heading = make("h2", { id: "options-dialog-heading" }, "Analyze again");
    const note = make("p", { className: "note" }, "The present analysis stays in the list of this recording's analyses.");
    const form = make("form", { className: "record-form" }, heading, ...fields.elements, problem, make("p", { className: "actions" }, submit, close), note);
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      submit.disabled = true;
      try {
        await analyse(fields.options(), fields.files());
        dialog.close();
      } catch (error) {
        problem.hidden = false;
        problem.textContent = error.message;
      }
      submit.disabled = false;
    });
    dialog.replaceChildren(form);
    if (!dialog.isConnected) document.body.append(dialog);
    dialog.showModal();
    fields.focus(name);
  }

  return { open };
}

function createFields(choices, options) {
  const run = listField("Run", runChoices(choices), options.run ?? "");
  const process = listField("Process", [["", "all"], ...(choices.processes ?? []).map(([pid, name, samples]) => [pid, `${name} (${pid}), ${countOf(samples, "sample")}`])], options.process ?? "");
  const thread = listField("Thread", [["", "all"], ...(choices.threads ?? []).map(([tid, name, , samples]) => [tid, `${name} (0x${tid.toString(16)}), ${countOf(samples, "sample")}`])], options.thread ?? "");
  const samples = listField("Samples", [["", "the best available"], ...(choices.samples ?? []).map(([schema, rows]) => [schema, rows > 0 ? `${schema}, ${formatCount(rows)} rows` : schema])], options.samples ?? "");
  const source = listField("Calls from", sourceChoices(choices), chosenSource(options));
  const signposts = signpostField(choices, options);
  const ranges = labelled("Ranges", make("input", { type: "text", value: (options[RANGES] ?? []).join(", "), placeholder: "12.5ms-18ms, 20ms-24ms" }));
  const csv = fileField("CSV file", ".csv,text/csv", options[WINDOWS_CSV], "start_ns, end_ns and maybe label in the first line");
  const rules = fileField("Rules", ".toml", options[RULES_FILE], "Your own rules (TOML), tried before the built-in ones");
  const units = listField("Compute units", [["", "as recorded"], ...COMPUTE_UNITS.map((name) => [name, name])], options["compute-units"] ?? "");
  const offset = labelled("Move laid-over texts by", make("input", { type: "text", value: options.offset ?? "", placeholder: "1.5s, -200ms" }));
  offset.element.hidden = !("with" in options);
  const ofSource = { [SIGNPOSTS]: signposts, [RANGES]: ranges, [WINDOWS_CSV]: csv };

  function show() {
    for (const [name, { element }] of Object.entries(ofSource)) element.hidden = source.control.value !== name;
    // Processes, threads and signposts are those of the shown run.
    const isOther = run.control.value !== "" && Number(run.control.value) !== choices.run;
    for (const { control } of [process, thread]) {
      control.disabled = isOther;
      if (isOther) control.value = "";
    }
  }
  source.control.addEventListener("change", show);
  run.control.addEventListener("change", show);
  show();
  const byName = { run, process, thread, samples, offset, windows: source, [RULES_FILE]: rules, "compute-units": units };
  return {
    elements: [run, process, thread, samples, source, signposts, ranges, csv, rules, units, offset].map(({ element }) => element),
    focus: (name) => (byName[name] ?? source).control.focus(),
    options() {
      const chosen = { run: run.control.value, process: process.control.value, thread: thread.control.value, samples: samples.control.value, "compute-units": units.control.value };
      const from = source.control.value;
      if (from === SIGNPOSTS) chosen[SIGNPOSTS] = signposts.chosen();
      else if (from === RANGES) chosen[RANGES] = ranges.control.value.split(/[,;\s]+/).filter(Boolean);
      else if (from === WINDOWS_CSV) chosen[WINDOWS_CSV] = csv.kept();
      else chosen.windows = from;
      chosen[RULES_FILE] = rules.kept();
      for (const name of ["symbols", "with", "model", "plan"]) chosen[name] = options[name]; // added and removed elsewhere on the page
      chosen.offset = offset.control.value.trim();
      if (from in ofSource && isNothing(chosen[from]) && !(from === WINDOWS_CSV && csv.control.files.length > 0)) throw new Error("Choose the calls: a signpost, a range or a file.");
      return Object.fromEntries(Object.entries(chosen).filter(([, value]) => !isNothing(value)));
    },
    files() {
      const files = {};
      if (source.control.value === WINDOWS_CSV) addFile(files, WINDOWS_CSV, csv.control);
      addFile(files, RULES_FILE, rules.control);
      return files;
    },
  };
}

const isNothing = (value) => value === undefined || value === null || value.length === 0;

function addFile(files, name, { files: [file] }) {
  if (file) files[name] = file;
}

function runChoices({ runs = [], run }) {
  const rows = runs.map((each) => [each.run, [`Run ${each.run}`, each.process, each.template].filter(Boolean).join(" · ")]);
  return rows.length > 0 ? [["", "the first with rows"], ...rows] : [["", `${run ?? 1}`]];
}

function sourceChoices({ sources = {}, signposts = [] }) {
  const counted = Object.entries(SOURCE_NAMES).filter(([name]) => !(name in sources) || sources[name] > 0);
  const rows = counted.map(([name, text]) => [name, sources[name] ? `${text}, ${countOf(sources[name], "row")}` : text]);
  const own = [[RANGES, "ranges of your own"], [WINDOWS_CSV, "a CSV file"]];
  return [["", "automatic"], ...rows, ...(signposts.length > 0 ? [[SIGNPOSTS, "signposts"]] : []), ...own];
}

function chosenSource(options) {
  return [SIGNPOSTS, RANGES, WINDOWS_CSV].find((name) => name in options) ?? options.windows ?? "";
}

function labelled(name, control, ...notes) {
  control.setAttribute("aria-label", name); // the label's own text would include all entries of a list
  const element = make("label", { className: "field" }, make("span", { className: "name" }, name), make("span", {}, control, ...notes));
  return { element, control };
}

/** A native list; a chosen value that is not in it is added, lest the dialog change it. */
function listField(name, rows, chosen) {
  const control = make("select", {});
  const isListed = rows.some(([value]) => String(value) === String(chosen));
  for (const [value, text] of isListed ? rows : [...rows, [chosen, String(chosen)]]) control.append(make("option", { value: String(value) }, text));
  control.value = String(chosen);
  return labelled(name, control);
}

function signpostField({ signposts = [] }, options) {
  const chosen = options[SIGNPOSTS] ?? [];
  const boxes = signposts.map(([subsystem, category, name, count]) => {
    const value = [subsystem, category, name].join("/");
    const box = make("input", { type: "checkbox", value, checked: chosen.includes(value) });
    return { box, element: make("label", {}, box, ` ${value}, ${formatCount(count)}`) };
  });
  const others = chosen.filter((pattern) => !boxes.some(({ box }) => box.value === pattern));
  const list = make("div", { className: "signpost-choices", role: "group", "aria-label": "Signposts", tabIndex: 0 }, ...boxes.map(({ element }) => element));
  const element = make("div", { className: "field" }, make("span", { className: "name" }, "Signposts"), list);
  return { element, control: list, chosen: () => [...others, ...boxes.filter(({ box }) => box.checked).map(({ box }) => box.value)] };
}

/** A file of the visitor's; without another one, that of the present analysis is kept. */
function fileField(name, accept, present, note) {
  const control = make("input", { type: "file", accept });
  const keep = make("input", { type: "checkbox", checked: true });
  const kept = present ? make("span", { className: "note" }, make("label", {}, keep, ` keep ${present.name}`)) : null;
  const made = { control, kept: () => (present && keep.checked && control.files.length === 0 ? present : undefined) };
  const label = make("label", {}, make("span", { className: "unseen" }, name), control);
  made.element = make("div", { className: "field" }, make("span", { className: "name" }, name), make("div", {}, label, kept, make("span", { className: "note" }, note)));
  return made;
}
