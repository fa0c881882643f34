// A table of any length: only the rows in sight are elements, and only the blocks around them are fetched.
import { make } from "/report-assets/shared/dom.js";
import { formatCount } from "/report-assets/shared/numbers.js";
import { oncePerFrame } from "/report-assets/shared/store.js";
import { cellText, conditionHint, headingOf, isNumber } from "./table_cells.js";

const GRID_ROW_PX = 22;
/** Browsers draw no element of more than some 10^7 pixels: beyond this height, the scroll bar stands for parts of the table. */
const MOST_PX = 6_000_000;
const BLOCK_ROWS = 100;
const MOST_BLOCKS = 60;
const WIDTHS = { time: 136, duration: 112, size: 112, number: 104, hex: 130, boolean: 72 };
const KIND_WIDTHS = { stack: 260, thread: 220, process: 180, parts: 260 };
const TEXT_WIDTH = 170;
const LETTER_PX = 7.2; // of a heading, which is bold; the sign of an order has room too
const MOST_OF_HEADING = 260;

/**
 * `handlers`: load(first, count) promises { rows, cells }; choose(row); sort(column); filter(column, text).
 * Returns { element, show(table, columns, state), reset(count), mark(row), reveal(place) }.
 */
export function createGrid(handlers) {
  const head = make("thead");
  const body = make("tbody");
  const table = make("table", { className: "grid-table" }, head, body);
  const pane = make("div", { className: "grid-window" }, table);
  const space = make("div", { className: "grid-space" }, pane);
  const element = make("div", { className: "grid-scroll", tabIndex: 0, role: "region", "aria-label": "Rows of the table" }, space);
  let columns = [];
  let count = 0;
  let top = 0; // the first row in sight; not always a whole number where the scroll bar is coarse
  let marked = null;
  let blocks = new Map();
  let generation = 0;

  const headHeight = () => head.offsetHeight;
  const inSight = () => Math.max(1, Math.floor((element.clientHeight - headHeight()) / GRID_ROW_PX));
  const lastTop = () => Math.max(0, count - inSight());
  const height = () => Math.min(MOST_PX, count * GRID_ROW_PX + headHeight() + 2);
  const isCoarse = () => count * GRID_ROW_PX > MOST_PX - 1000;
  const reach = () => Math.max(1, height() - element.clientHeight);
  const scrollOf = (row) => (isCoarse() ? (row / Math.max(1, lastTop())) * reach() : row * GRID_ROW_PX);

  function go(row) {
    top = Math.max(0, Math.min(lastTop(), row));
    element.scrollTop = scrollOf(top);
    draw();
  }

  element.addEventListener("scroll", () => {
    const shown = scrollOf(top);
    if (Math.abs(element.scrollTop - shown) > 1) top = isCoarse() ? (element.scrollTop / reach()) * lastTop() : element.scrollTop / GRID_ROW_PX;
    draw();
  });
  element.addEventListener(
    "wheel",
    (event) => {
      if (!isCoarse() || event.ctrlKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) return;
      event.preventDefault(); // a step of the wheel would skip thousands of rows
      go(top + (event.deltaMode === 1 ? event.deltaY : event.deltaY / GRID_ROW_PX));
    },
    { passive: false },
  );
  element.addEventListener("keydown", (event) => {
    if (event.target !== element || event.altKey || event.ctrlKey || event.metaKey) return;
    const place = marked && marked.place >= 0 ? marked.place : Math.floor(top) - 1;
    const steps = { ArrowDown: place + 1, ArrowUp: place - 1, PageDown: place + inSight(), PageUp: place - inSight(), Home: 0, End: count - 1 };
    if (!(event.key in steps) || count === 0) return;
    event.preventDefault();
    event.stopPropagation();
    choose(Math.max(0, Math.min(count - 1, steps[event.key])));
  });
  body.addEventListener("click", (event) => {
    const place = event.target.closest("tr")?.dataset.place;
    if (place !== undefined) choose(Number(place));
  });

  async function choose(place) {
    reveal(place);
    const block = await fetchBlock(Math.floor(place / BLOCK_ROWS));
    const row = block?.rows[place % BLOCK_ROWS];
    if (row === undefined) return;
    marked = { row, place };
    draw();
    handlers.choose(row);
  }

  function reveal(place) {
    if (place < top) go(place);
    else if (place >= Math.floor(top) + inSight()) go(place - inSight() + 1);
  }

  function fetchBlock(number) {
    const known = blocks.get(number);
    if (known) return known.promise;
    const started = generation;
    const block = { data: null, promise: null };
    block.promise = handlers.load(number * BLOCK_ROWS, BLOCK_ROWS).then(
      (data) => {
        block.data = data;
        if (started === generation) draw();
        return data;
      },
      () => {
        if (started === generation) blocks.delete(number); // reported by the handler; fetched again when it is in sight
        return null;
      },
    );
    blocks.set(number, block);
    if (blocks.size > MOST_BLOCKS) blocks.delete(blocks.keys().next().value);
    return block.promise;
  }

  const draw = oncePerFrame(() => {
    const first = Math.min(Math.floor(top), lastTop());
    const shown = Math.min(count - first, inSight() + 1);
    space.style.height = `${height()}px`;
    for (let number = Math.floor(first / BLOCK_ROWS); number <= Math.floor((first + shown - 1) / BLOCK_ROWS); number += 1) {
      if (shown > 0) fetchBlock(number);
    }
    const rows = Array.from({ length: Math.max(0, shown) }, (_, index) => rowElement(first + index));
    body.replaceChildren(...rows);
    table.setAttribute("aria-rowcount", String(count + 2));
  });

  function rowElement(place) {
    const data = blocks.get(Math.floor(place / BLOCK_ROWS))?.data;
    const cells = data?.cells[place % BLOCK_ROWS];
    const row = data?.rows[place % BLOCK_ROWS];
    const isMarked = marked !== null && row === marked.row;
    const element = make("tr", { className: isMarked ? "choosable inside" : "choosable" });
    element.dataset.place = place;
    element.setAttribute("aria-rowindex", String(place + 3));
    if (isMarked) element.setAttribute("aria-current", "true");
    columns.forEach((column, index) => {
      const text = cells ? cellText(cells[index], column) : "…";
      element.append(make("td", { className: isNumber(column) ? "number" : "text", title: text }, text));
    });
    return element;
  }

  function heads(state) {
    const numbers = columns.map((column) => headCell(column, state, handlers.sort));
    const filters = columns.map((column) => filterOf(column, state, handlers.filter));
    head.replaceChildren(make("tr", { "aria-rowindex": "1" }, ...numbers), make("tr", { className: "grid-filters", "aria-rowindex": "2" }, ...filters));
  }

  new ResizeObserver(draw).observe(element);
  return {
    element,
    /** Shows columns, each with its `number` in the table, as `state` sorts and filters them. */
    show(shownColumns, state) {
      columns = shownColumns;
      const widths = columns.map((column) => Math.max(KIND_WIDTHS[column.kind] ?? WIDTHS[column.shape] ?? TEXT_WIDTH, headingWidth(column)));
      table.style.width = `${widths.reduce((sum, width) => sum + width, 0)}px`;
      table.querySelector("colgroup")?.remove();
      table.prepend(make("colgroup", {}, ...widths.map((width) => make("col", { style: `width: ${width}px` }))));
      heads(state);
    },
    /** Forgets the rows; `rows` of them are there now. */
    reset(rows, { keepsPlace = false } = {}) {
      generation += 1;
      blocks = new Map();
      count = rows;
      if (!keepsPlace) top = 0;
      space.style.height = `${height()}px`;
      element.scrollTop = scrollOf(Math.min(top, lastTop()));
      draw();
    },
    /** Marks a row by its number in the recording, and its place in the present order, if it is known. */
    mark(row, place = null) {
      if (row === null) marked = null;
      else if (marked?.row !== row || place !== null) marked = { row, place: place ?? -1 };
      if (place !== null) reveal(place);
      draw();
    },
    describe: () => `${formatCount(count)} rows`,
  };
}

function headingWidth(column) {
  return Math.min(MOST_OF_HEADING, Math.ceil(headingOf(column).length * LETTER_PX) + 30);
}

function headCell(column, { sort }, onSort) {
  const isSorted = sort.replace("-", "") === String(column.number);
  const button = make("button", { type: "button", onclick: () => onSort(column.number) }, headingOf(column));
  button.title = `${column.name} (${column.engineering_type}); press to sort`;
  const head = make("th", { scope: "col", className: isNumber(column) ? "number" : "text" }, button);
  if (isSorted) head.setAttribute("aria-sort", sort.startsWith("-") ? "descending" : "ascending");
  return head;
}

function filterOf(column, { where }, onFilter) {
  const input = make("input", { type: "search", value: where[column.number] ?? "", placeholder: conditionHint(column), spellcheck: false });
  input.setAttribute("aria-label", `Filter of ${headingOf(column)}`);
  input.addEventListener("input", () => onFilter(column.number, input.value));
  return make("td", {}, input);
}
