// Advice of the page that names options of the command line: a button does the same here.
import { make } from "/report-assets/shared/dom.js";
import { SOURCE_NAMES } from "./options_dialog.js";

const LISTS = ["window", "window-signpost"];
const PLAIN = ["run", "process", "thread", "samples", "windows", "compute-units"];
const TEXTS = "#evidence td, #issues li, #verdict li, #findings li";

/** Adds the buttons to the sections; `bar` is that of the options (options.js). */
export function linkAdvice(bar) {
  for (const row of document.querySelectorAll(":is(#findings, #issues) .command-row")) {
    const options = commandOptions(row.querySelector("pre").textContent);
    if (options) row.append(adviceButton("Analyze here", () => bar.analyse(options), "Analyze the recording so on this page"));
  }
  for (const element of document.querySelectorAll(TEXTS)) {
    if (element.querySelector("li, td, button, pre")) continue;
    const changed = adviceIn(element.textContent, element.parentElement.querySelector("th, td")?.textContent ?? "");
    if (!changed) continue;
    const [[name, value]] = Object.entries(changed);
    const isChoice = value === null;
    const act = () => (isChoice ? bar.open(name) : bar.analyseWith(changed));
    element.append(" ", adviceButton(isChoice ? "Choose" : "Analyze so", act, `Analyze again with ${name} ${value ?? ""}`.trim()));
  }
}

function adviceButton(text, onclick, label) {
  return make("button", { type: "button", className: "advice", onclick, "aria-label": `${text}: ${label}` }, text);
}

/** The option that a sentence names; `{ name: null }` if its value is still to be chosen; null for none. */
export function adviceIn(text, subject) {
  const [, name, value = ""] = /--(windows|samples|window-signpost)(?: ([a-z-]+))?/.exec(text) ?? [];
  if (name === "window-signpost") return { "window-signpost": null };
  if (name === "windows") return value in SOURCE_NAMES ? { windows: value } : null;
  if (name !== "samples") return null;
  const table = /^[a-z]+(?:-[a-z]+)+$/.test(value) ? value : subject.trim();
  return /^[a-z]+(?:-[a-z]+)+$/.test(table) ? { samples: table } : null;
}

/** The options of a `tracekit analyze` command; null for another command, or one with options that the page lacks. */
export function commandOptions(command) {
  const words = shellWords(command.trim());
  if (words[0] !== "tracekit" || words[1] !== "analyze") return null;
  const options = {};
  const rest = words.slice(2);
  while (rest.length > 0) {
    const word = rest.shift();
    if (!word.startsWith("--")) continue; // the recording
    const [name, ...given] = word.slice(2).split("=");
    const value = given.length > 0 ? given.join("=") : rest.shift();
    if (value === undefined) return null;
    if (LISTS.includes(name)) options[name] = [...(options[name] ?? []), value];
    else if (PLAIN.includes(name)) options[name] = value;
    else return null;
  }
  return options;
}

/** The words of a command as a shell separates them; quotes of both kinds join. */
export function shellWords(command) {
  const parts = command.match(/(?:'[^']*'|"[^"]*"|[^\s'"])+/g) ?? [];
  return parts.map((part) => part.replace(/'([^']*)'|"([^"]*)"/g, (_, single, double) => single ?? double));
}
