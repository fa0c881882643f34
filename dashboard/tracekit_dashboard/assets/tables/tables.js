// The section of tables: the list, or the table that is open, scoped to the selected time.
import { make } from "/report-assets/shared/dom.js";
import { cleanText, countOf, formatCount } from "/report-assets/shared/numbers.js";
import { isShown } from "/report-assets/stacks/stack_model.js";
import { createDrawForm } from "./draw_form.js";
import { loadTables, rowsQuery } from "./table_client.js";
import { createGrid } from "./table_grid.js";
import { createTableList } from "./table_list.js";

const CONDITION_PAUSE_MS = 300;
const MOST_SHOWN_AT_FIRST = 14;
const QUERY_FIELDS = ["tableText", "tableWhere", "tableSort", "tableColumns", "tableScope"];
const NO_QUERY = { tableText: "", tableWhere: null, tableSort: "", tableColumns: null, tableScope: "" };

/** Fills a section; `address` is the recording's. `drawn` is the part that draws lanes (drawn_lanes.js). */
export function showTables(section, { address, store, drawn }) {
  const list = createTableList((id) => store.set({ openTable: id, ...NO_QUERY }));
  const status = make("p", { className: "note", role: "status" });
  const again = make("button", { type: "button", hidden: true, onclick: () => refresh(true) }, "Try again");
  const place = make("div", { className: "table-place" });
  section.append(make("div", { className: "table-status" }, status, again), place);
  let contents = null;
  let shown = null; // the id of what is on the page, "" for the list
  let view = null;
  let running = null;

  /** The table's run must be the page's: times of another run are others. */
  const isOfThisRun = (id) => contents === null || id.startsWith(`${contents.run}-`);

  async function refresh(isAgain = false) {
    const { openTable: id } = store.state;
    if (!isShown(section) || (shown === id && !isAgain)) return view?.follow();
    running?.abort();
    const controller = new AbortController();
    running = controller;
    shown = id;
    view = null;
    again.hidden = true;
    status.classList.remove("problem");
    place.replaceChildren(...(id && contents ? [backButton(store)] : []));
    section.setAttribute("aria-busy", "true");
    const options = { signal: controller.signal, onProgress: (text) => (status.textContent = text) };
    const suffix = isAgain ? "?again=1" : "";
    try {
      contents ??= await loadTables(address, suffix, options);
      const about = id ? await loadTables(address, `/${id}${suffix}`, options) : null;
      if (running !== controller) return null;
      status.textContent = "";
      if (!id) {
        place.replaceChildren(list.element);
        list.show(contents);
      } else {
        view = createOpenTable({ address, id, about, contents, store, drawn, isOfThisRun: isOfThisRun(id), status });
        place.replaceChildren(...view.elements);
        view.follow(true);
      }
    } catch (error) {
      if (running !== controller) return null;
      status.textContent = error.message;
      status.classList.add("problem");
      again.hidden = false;
      place.replaceChildren(...(id ? [backButton(store)] : []));
    }
    section.setAttribute("aria-busy", "false");
    return null;
  }

  store.on(["openTable", "tab", "beside", "range", ...QUERY_FIELDS], () => refresh());
  store.on(["chosen"], ({ chosen }) => view?.mark(chosen));
  new IntersectionObserver(() => refresh()).observe(section); // where sections stand one below the other
  refresh();
}

function backButton(store) {
  return make("button", { type: "button", className: "table-back", onclick: () => store.set({ openTable: "", ...NO_QUERY }) }, "‹ All tables");
}

/** An open table: { elements, follow(isFirst), mark(chosen) }. */
function createOpenTable({ address, id, about, contents, store, drawn, isOfThisRun, status }) {
  const columns = about.columns.map((column, number) => ({ ...column, number }));
  const isLinked = about.has_time && isOfThisRun;
  const count = make("span", { className: "table-count", role: "status" });
  const scope = make("button", { type: "button", hidden: true, onclick: () => store.set({ tableScope: store.state.tableScope === "whole" ? "" : "whole" }) });
  const search = make("input", { type: "search", placeholder: "Search all columns", spellcheck: false, "aria-label": "Search all columns" });
  const files = ["csv", "parquet"].map((ending) => [ending, make("a", { className: "button", download: "" }, ending === "csv" ? "CSV" : "Parquet")]);
  const chooser = createColumnChooser(columns, (numbers) => store.set({ tableColumns: numbers }));
  const form = createDrawForm({ address, id, about: { ...about, columns }, drawn, isOfThisRun });
  let asked = null; // the query of the rows that are shown
  let shownColumns = "";
  let timer = 0;

  /** Filters wait for the next key; the fields of the store are set together. */
  const later = (patch) => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      timer = 0;
      store.set(patch());
    }, CONDITION_PAUSE_MS);
  };
  let where = store.state.tableWhere ?? {};
  const grid = createGrid({
    load: (first, number) => loadPage(first, number),
    choose,
    sort: (column) => store.set({ tableSort: nextSort(store.state.tableSort, String(column)) }),
    filter(column, text) {
      where = { ...where, [column]: text };
      if (text.trim() === "") delete where[column];
      later(() => ({ tableWhere: Object.keys(where).length > 0 ? where : null, tableText: search.value }));
    },
  });
  search.addEventListener("input", () => later(() => ({ tableText: search.value, tableWhere: Object.keys(where).length > 0 ? where : null })));

  const visible = () => {
    const chosen = store.state.tableColumns?.filter((number) => number < columns.length) ?? [];
    return chosen.length > 0 ? chosen : columns.slice(0, MOST_SHOWN_AT_FIRST).map(({ number }) => number);
  };
  const range = () => (isLinked && store.state.tableScope !== "whole" && store.state.range?.isDone !== false ? store.state.range : null);
  const query = () => rowsQuery({ text: store.state.tableText, where: store.state.tableWhere ?? {}, sort: store.state.tableSort, columns: visible(), range: range() });

  async function loadPage(first, number, more = "") {
    const current = asked;
    try {
      const page = await loadTables(address, `/${id}/page?${current}&first=${first}&count=${number}${more}`);
      if (current === asked) showCount(page);
      return page;
    } catch (error) {
      if (current === asked) showProblem(error.message);
      throw error;
    }
  }

  function showCount({ total, matching, selected }) {
    status.textContent = "";
    status.classList.remove("problem");
    const isFiltered = matching < total;
    const what = isFiltered ? `${formatCount(matching)} of ${countOf(total, "row")} match` : countOf(total, "row");
    count.textContent = range() ? `${formatCount(selected)} of ${countOf(matching, "row")} in the selection` : what;
  }

  function showProblem(text) {
    status.textContent = text;
    status.classList.add("problem");
    count.textContent = "";
    grid.reset(0);
  }

  async function choose(row) {
    store.set({ chosen: { kind: "row", table: id, row } });
    if (!isLinked) return;
    const { start_ns: start } = await loadTables(address, `/${id}/rows/${row}`).catch(() => ({ start_ns: null }));
    const { chosen, view } = store.state;
    if (start === null || chosen?.kind !== "row" || chosen.row !== row) return;
    const half = (view.to - view.from) / 2;
    const isInView = start >= view.from && start <= view.to;
    store.set({ cursor: { time: start, lane: -1 }, ...(isInView ? {} : { view: { from: Math.max(0, start - half), to: Math.max(0, start - half) + 2 * half } }) });
  }

  async function follow(isFirst = false) {
    if (store.state.range?.isDone === false) return;
    if (timer === 0) {
      search.value = store.state.tableText;
      where = store.state.tableWhere ?? {};
    }
    scope.hidden = !isLinked || !store.state.range;
    scope.textContent = store.state.tableScope === "whole" ? "Only the selection" : "Whole table";
    const numbers = visible();
    const head = JSON.stringify([numbers, store.state.tableSort]);
    const isTyping = document.activeElement?.closest?.(".grid-filters");
    if (head !== shownColumns && !(isTyping && shownColumns !== "")) grid.show(numbers.map((number) => columns[number]), { sort: store.state.tableSort, where });
    shownColumns = head;
    chooser.show(numbers);
    const text = query();
    if (text === asked) return;
    asked = text;
    for (const [ending, link] of files) link.href = `${address.replace("/api", "")}/table/${id}.${ending}?${text}`;
    const { chosen } = store.state;
    const isRow = isFirst && chosen?.kind === "row" && chosen.table === id;
    const page = await loadPage(0, 1, isRow ? `&row=${chosen.row}` : "").catch(() => null);
    if (page === null || asked !== text) return;
    grid.reset(page.selected);
    if (isRow) grid.mark(chosen.row, page.place);
  }

  const hidden = about.hidden.length > 0 ? make("p", { className: "note" }, `Private text is hidden: ${about.hidden.map((name) => cleanText(name, 60)).join(", ")}. On the command line, tracekit tables with --private shows it.`) : null;
  const notes = about.notes.map((note) => make("p", { className: "note" }, cleanText(note, 1000)));
  const noTime = about.has_time ? null : make("p", { className: "note" }, "The rows of this table have no time: it has no place in the timeline.");
  const otherRun = isOfThisRun ? null : make("p", { className: "note" }, `This is a table of run ${id.split("-")[0]}; the timeline shows run ${contents.run}.`);
  const meaning = contents.meanings[about.schema] ? make("span", { className: "note" }, contents.meanings[about.schema]) : null;
  const title = make("h3", { className: "table-title" }, cleanText(about.schema, 120));
  const controls = make("div", { className: "controls" }, search, count, scope, chooser.element, form.element, ...files.map(([, link]) => link));
  return {
    elements: [make("div", { className: "table-head" }, backButton(store), title, meaning), controls, ...[hidden, noTime, otherRun, ...notes].filter(Boolean), form.status, grid.element],
    follow,
    mark(chosen) {
      grid.mark(chosen?.kind === "row" && chosen.table === id ? chosen.row : null);
    },
  };
}

/** Unsorted, ascending, descending, and unsorted again. */
function nextSort(sort, column) {
  if (sort === column) return `-${column}`;
  return sort === `-${column}` ? "" : column;
}

/** The boxes that choose the columns. */
function createColumnChooser(columns, changed) {
  const summary = make("summary", {}, "Columns");
  const boxes = columns.map(({ title, name, number }) => {
    const box = make("input", { type: "checkbox", value: number });
    box.addEventListener("change", () => changed(boxes.filter(([other]) => other.checked).map(([other]) => Number(other.value))));
    return [box, make("label", { title: cleanText(name, 80) }, box, ` ${cleanText(title, 60)}`)];
  });
  const all = make("button", { type: "button", onclick: () => changed(columns.map(({ number }) => number)) }, "All");
  const element = make("details", { className: "table-menu" }, summary, make("div", { className: "table-menu-body" }, all, ...boxes.map(([, label]) => label)));
  return {
    element,
    show(numbers) {
      summary.textContent = `Columns: ${numbers.length} of ${columns.length}`;
      for (const [box] of boxes) {
        box.checked = numbers.includes(Number(box.value));
        box.disabled = box.checked && numbers.length === 1; // a table without columns would show nothing
      }
    },
  };
}

