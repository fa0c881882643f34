// A row of a table in the inspector: every cell in full, and the frames of its stacks.
import { make } from "/report-assets/shared/dom.js";
import { cleanText, formatCount, formatDuration, formatTime } from "/report-assets/shared/numbers.js";
import { headingOf, exactText } from "./table_cells.js";
import { loadTables } from "./table_client.js";

const STEP_NS = 1000;
const OPEN_NS = 2 ** 62;

/** Returns the function that describes { table, row } for the inspector. */
export function rowDetails(address) {
  return async ({ table, row }, { store }) => {
    const [about, document] = await Promise.all([loadTables(address, `/${table}`), loadTables(address, `/${table}/rows/${row}`)]);
    const facts = about.columns.flatMap((column, number) => {
      const value = document.cells[number];
      if (value === null || column.kind === "stack") return [];
      return [make("dt", { title: cleanText(column.name, 80) }, headingOf({ ...column, unit: "" })), make("dd", {}, exactText(value, column))];
    });
    const stacks = about.columns.flatMap((column, number) => (document.stacks[number] ? stackNodes(column, document.stacks[number]) : []));
    const { start_ns: start, end_ns: end } = document;
    const isLong = start !== null && end > start && end < OPEN_NS;
    const select = isLong ? make("button", { type: "button", onclick: () => store.set({ range: { from: start, to: end, isDone: true } }) }, "Select its time") : null;
    const open = store.state.openTable === table ? null : make("button", { type: "button", onclick: () => store.set({ openTable: table, tab: "tables" }) }, "Open the table");
    const place = start === null ? "" : `at ${formatTime(start, STEP_NS)}${isLong ? `, ${formatDuration(end - start)}` : ""}`;
    return {
      title: `${cleanText(about.schema, 60)}, row ${formatCount(row)}`,
      nodes: [make("p", { className: "note" }, place), make("p", { className: "actions" }, ...[select, open].filter(Boolean)), make("dl", { className: "row-facts" }, ...facts), ...stacks],
    };
  };
}

function stackNodes(column, { frames, more }) {
  const list = make("ol", { className: "frames" });
  for (const [symbol, binary, address] of frames) {
    const name = cleanText(symbol || address || "", 300) || "no symbol";
    list.append(make("li", { title: address ? `${name} ${address}` : name }, name, make("span", { className: "binary" }, `  ${cleanText(binary ?? "", 80)}`)));
  }
  if (more) list.append(make("li", {}, `… ${formatCount(more)} more`));
  return [make("h3", {}, headingOf({ ...column, unit: "" })), make("p", { className: "note" }, "Innermost frame first."), list];
}
