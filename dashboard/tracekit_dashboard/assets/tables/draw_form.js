// The form that draws a table's rows, or a column of its numbers, as lanes of the timeline.
import { make } from "/report-assets/shared/dom.js";
import { cleanText, formatCount } from "/report-assets/shared/numbers.js";
import { loadTables } from "./table_client.js";

const MOST_DRAWN_AT_ONCE = 12;
const GROUPED = ["thread", "process", "text"];

/** `drawn` = { add(entries) }; returns { element, status }. */
export function createDrawForm({ address, id, about, drawn, isOfThisRun }) {
  const status = make("p", { className: "note", role: "status" });
  const numbers = about.columns.filter((column) => column.is_value);
  const groups = about.columns.filter((column) => GROUPED.includes(column.kind));
  const rowsName = about.is_timed ? "the rows, from start to end" : "the rows, as points in time";
  const what = select("Draw", [["", rowsName], ...numbers.map(({ number, title }) => [number, `values of ${title}`])]);
  const per = select("One lane", [["", "for all rows"], ...groups.map(({ number, title }) => [number, `per ${title}`])]);
  const which = select("Lanes", []);
  which.label.hidden = true;
  const button = make("button", { type: "button" }, "Draw");
  const body = make("div", { className: "table-menu-body" }, what.label, per.label, which.label, button);
  const element = make("details", { className: "table-menu" }, make("summary", {}, "Draw in the timeline"), body);
  element.hidden = !about.has_time || !isOfThisRun || about.rows === 0;
  const initial = about.columns.find(({ kind }) => kind === "thread");
  if (about.schema === "thread-state" && initial) per.input.value = String(initial.number);
  let members = null;

  async function showMembers() {
    const group = per.input.value;
    members = null;
    which.label.hidden = group === "";
    if (group === "") return;
    which.input.replaceChildren(make("option", {}, "…"));
    try {
      const loaded = await loadTables(address, `/${id}/members/${group}`);
      if (per.input.value !== group) return;
      members = loaded.members.filter(([code]) => code >= 0);
      const first = members.length > MOST_DRAWN_AT_ONCE ? `the ${MOST_DRAWN_AT_ONCE} with most rows, of ${formatCount(loaded.count)}` : `all ${formatCount(members.length)}`;
      const options = members.map(([code, text, rows]) => [code, `${cleanText(text, 60) || "(empty)"} · ${formatCount(rows)}`]);
      which.input.replaceChildren(...[["", first], ...options].map(([value, text]) => make("option", { value }, text)));
    } catch (error) {
      status.textContent = error.message;
    }
  }

  per.input.addEventListener("change", showMembers);
  element.addEventListener("toggle", () => element.open && members === null && showMembers());
  button.addEventListener("click", () => {
    const value = what.input.value === "" ? "" : `v${what.input.value}`;
    const group = per.input.value;
    if (group !== "" && members === null) return;
    const codes = which.input.value === "" ? members?.slice(0, MOST_DRAWN_AT_ONCE).map(([code]) => code) : [which.input.value];
    const entries = group === "" ? [`${id}${value}`] : codes.map((code) => `${id}${value}g${group}m${code}`);
    const added = drawn.add(entries);
    status.textContent = added > 0 ? `${formatCount(added)} ${added === 1 ? "lane" : "lanes"} drawn in the timeline, in its group Tables.` : "That is drawn already.";
    element.open = false;
  });
  return { element, status };
}

function select(name, options) {
  const input = make("select", { "aria-label": name }, ...options.map(([value, text]) => make("option", { value }, cleanText(String(text), 60))));
  return { input, label: make("label", {}, `${name} `, input) };
}
