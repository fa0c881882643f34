// The list of a recording's tables: search, and a window onto it, since there may be thousands.
import { make } from "/report-assets/shared/dom.js";
import { cleanText, countOf, formatCount } from "/report-assets/shared/numbers.js";
import { oncePerFrame } from "/report-assets/shared/store.js";

const ITEM_PX = 44;
const SPARE_ITEMS = 6;

/** `open(id)` opens a table. Returns { element, show(contents) }; ids are `run-number`. */
export function createTableList(open) {
  const search = make("input", { type: "search", placeholder: "Search tables by schema, meaning, attributes", spellcheck: false });
  search.setAttribute("aria-label", "Search tables");
  const runs = make("select", { "aria-label": "Run" });
  const empty = make("input", { type: "checkbox", checked: false });
  const summary = make("span", { className: "note", role: "status" });
  const controls = make("div", { className: "controls" }, search, runs, make("label", {}, empty, " also tables without rows"), summary);
  const issues = make("div", {});
  const items = make("ul", { className: "table-items" });
  const space = make("div", { className: "grid-space" }, items);
  const scroll = make("div", { className: "grid-scroll table-list", tabIndex: 0, role: "region", "aria-label": "Tables of the recording" }, space);
  let contents = null;
  let matching = [];

  function refresh() {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const run = contents.runs.find((candidate) => String(candidate.run) === runs.value) ?? contents.runs[0];
    const tables = run?.tables ?? [];
    const text = (table) => `${table.schema} ${contents.meanings[table.schema] ?? ""} ${table.attributes}`.toLowerCase();
    matching = tables.filter((table) => (empty.checked || table.rows > 0) && words.every((word) => text(table).includes(word))).map((table) => ({ ...table, run: run.run }));
    const withRows = tables.filter((table) => table.rows > 0).length;
    summary.textContent = tables.length === 0 ? "This recording has no table." : `${formatCount(matching.length)} shown; ${countOf(withRows, "table")} with rows, ${formatCount(tables.length)} in all`;
    scroll.scrollTop = 0;
    draw();
  }

  const draw = oncePerFrame(() => {
    const first = Math.max(0, Math.floor(scroll.scrollTop / ITEM_PX) - SPARE_ITEMS);
    const last = Math.min(matching.length, Math.ceil((scroll.scrollTop + scroll.clientHeight) / ITEM_PX) + SPARE_ITEMS);
    const focused = items.contains(document.activeElement) ? document.activeElement.dataset.id : null;
    space.style.height = `${matching.length * ITEM_PX}px`;
    items.style.transform = `translateY(${first * ITEM_PX}px)`;
    items.replaceChildren(...matching.slice(first, last).map((table) => itemOf(table, contents.meanings[table.schema] ?? "", open)));
    if (focused) items.querySelector(`[data-id="${focused}"]`)?.focus({ preventScroll: true });
  });

  search.addEventListener("input", refresh);
  runs.addEventListener("change", refresh);
  empty.addEventListener("change", refresh);
  scroll.addEventListener("scroll", draw);
  new ResizeObserver(draw).observe(scroll);
  return {
    element: make("div", { className: "table-part" }, controls, issues, scroll),
    show(loaded) {
      contents = loaded;
      runs.hidden = contents.runs.length < 2;
      runs.replaceChildren(...contents.runs.map(({ run, process }) => make("option", { value: run }, cleanText(process ? `Run ${run}: ${process}` : `Run ${run}`, 60))));
      runs.value = String(contents.run);
      issues.replaceChildren(...contents.issues.map((issue) => make("p", { className: "note" }, cleanText(issue, 1000))));
      refresh();
    },
  };
}

function itemOf({ run, number, schema, rows, attributes }, meaning, open) {
  const counted = rows === null ? "rows not in this input" : countOf(rows, "row");
  const details = [meaning, cleanText(attributes, 200)].filter(Boolean).join(" · ");
  const button = make("button", { type: "button", className: "plain", onclick: () => open(`${run}-${number}`) }, cleanText(schema, 120));
  button.dataset.id = `${run}-${number}`;
  button.disabled = rows === null;
  const line = make("div", { className: "table-item-head" }, button, make("span", { className: "note" }, counted));
  return make("li", {}, line, make("div", { className: "note clip-line", title: details }, details));
}
