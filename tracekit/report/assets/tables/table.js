// A table that sorts, filters and has pages. Rows are numbers; their elements are made only when they are shown.
import { make } from "../shared/dom.js";
import { formatCount } from "../shared/numbers.js";

export const PAGE_ROWS = 100; // twice as many take twice as long to lay out, which each selection waits for

const COLLATOR = new Intl.Collator("en", { numeric: true });

/** Row numbers in order of a value; unknown values (null, NaN) come last in both directions. */
export function sortedRows(rows, value, descending) {
  const keys = new Map(rows.map((row) => [row, value(row)]));
  const sign = descending ? -1 : 1;
  return [...rows].sort((left, right) => compareValues(keys.get(left), keys.get(right), sign) || left - right);
}

function compareValues(left, right, sign) {
  const leftUnknown = isUnknown(left);
  if (leftUnknown || isUnknown(right)) return leftUnknown - isUnknown(right);
  return sign * (typeof left === "string" ? COLLATOR.compare(left, right) : left - right);
}

function isUnknown(value) {
  return value === null || value === undefined || Number.isNaN(value);
}

/** Rows whose text contains every word of the filter. */
export function filteredRows(rows, text, filter) {
  const words = filter.toLowerCase().split(/\s+/).filter((word) => word !== "");
  if (words.length === 0) return rows;
  return rows.filter((row) => {
    const lower = text(row).toLowerCase();
    return words.every((word) => lower.includes(word));
  });
}

/**
 * `columns`: { key, title, isNumber, value(row), show(row) → text or element }; one with a number that `isText` or
 * `isPicture` sorts as a number and is drawn as those are. With `onChoose(row)` the first cell of a
 * row is a button named `chooseLabel(row, text)`; Tab reaches one of these buttons, arrow keys move to the next ones.
 * `isIncluded(row)` chooses the rows that are listed, `marked(row)` highlights rows, and `current()` is the one with aria-current.
 */
export function createTable({ caption, columns, rowCount, isIncluded = () => true, sort, onChoose, chooseLabel, marked, current = () => -1, filterLabel }) {
  let order = sort ?? { key: columns[0].key, descending: false };
  let page = 0;
  let elements = new Map();
  let stop = -1; // the row whose button is in the Tab order
  const body = make("tbody");
  const heads = columns.map((column) => headOf(column, () => sortBy(column)));
  const filter = make("input", { type: "search", placeholder: filterLabel ?? "", "aria-label": filterLabel ?? caption });
  const matchCount = make("span", { className: "note" });
  const pages = pageButtons((change) => {
    page += change;
    refresh();
  });
  filter.addEventListener("input", () => {
    page = 0;
    refresh();
  });
  const controls = make("div", { className: "controls" }, filterLabel ? filter : null, matchCount, ...pages.elements);
  const head = make("thead", {}, make("tr", {}, ...heads));
  const table = make("table", {}, make("caption", { className: "unseen" }, caption), head, body);
  const scroll = make("div", { className: "table-scroll", tabIndex: 0, role: "region", "aria-label": caption }, table);

  function sortBy({ key, isNumber }) {
    const isSame = order.key === key;
    order = { key, descending: isSame ? !order.descending : Boolean(isNumber) };
    page = 0;
    refresh();
  }

  function allRows() {
    return Array.from({ length: rowCount() }, (_, row) => row).filter(isIncluded);
  }

  /** The rows that match the filter, sorted. */
  function matchingRows() {
    const column = columns.find(({ key }) => key === order.key);
    const matching = filterLabel ? filteredRows(allRows(), (row) => rowText(columns, row), filter.value) : allRows();
    return sortedRows(matching, column.value, order.descending);
  }

  function refresh() {
    const rows = matchingRows();
    const last = Math.max(0, Math.ceil(rows.length / PAGE_ROWS) - 1);
    page = Math.min(last, Math.max(0, page));
    const shown = rows.slice(page * PAGE_ROWS, (page + 1) * PAGE_ROWS);
    elements = new Map(shown.map((row) => [row, rowElement(row)]));
    body.replaceChildren(...elements.values());
    mark();
    moveStop(elements.has(stop) ? stop : shown[0]);
    heads.forEach((head, index) => {
      const isSorted = columns[index].key === order.key;
      if (isSorted) head.setAttribute("aria-sort", order.descending ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    });
    matchCount.textContent = rows.length < rowCount() ? `${formatCount(rows.length)} of ${formatCount(rowCount())}` : "";
    pages.show(page, last);
  }

  function rowElement(row) {
    const cells = columns.map((column, index) => {
      const content = column.show ? column.show(row) : column.value(row);
      const isButton = onChoose && index === 0;
      const inside = isButton
        ? make("button", { type: "button", className: "plain", tabIndex: -1, "aria-label": chooseLabel(row, String(content)) }, String(content))
        : content;
      return make("td", { className: cellClass(column) }, inside);
    });
    const element = make("tr", { className: onChoose ? "choosable" : "" }, ...cells);
    if (onChoose) element.addEventListener("click", () => onChoose(row));
    return element;
  }

  /** Updates the highlights without rebuilding the rows. */
  function mark() {
    if (marked) elements.forEach((element, row) => element.classList.toggle("inside", marked(row)));
    elements.forEach((element, row) => {
      if (row === current()) element.setAttribute("aria-current", "true");
      else element.removeAttribute("aria-current");
    });
  }

  /** Shows the page with a row, unless the filter hides it. */
  function reveal(row) {
    const index = elements.has(row) ? -1 : matchingRows().indexOf(row);
    if (index >= 0) {
      page = Math.floor(index / PAGE_ROWS);
      refresh();
    }
    if (elements.has(row)) moveStop(row);
  }

  const buttonOf = (row) => elements.get(row)?.querySelector("td button");

  function moveStop(row) {
    if (!onChoose) return;
    for (const changed of [stop, row]) buttonOf(changed)?.setAttribute("tabindex", changed === row ? "0" : "-1");
    stop = row;
  }

  body.addEventListener("focusin", (event) => {
    const row = [...elements].find(([, element]) => element.contains(event.target))?.[0];
    if (row !== undefined) moveStop(row);
  });
  body.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey || !buttonOf(stop)?.contains(event.target)) return;
    const rows = [...elements.keys()];
    const index = { ArrowUp: rows.indexOf(stop) - 1, ArrowDown: rows.indexOf(stop) + 1, Home: 0, End: rows.length - 1 }[event.key];
    if (index === undefined) return;
    event.preventDefault();
    buttonOf(rows[index])?.focus();
  });

  return { element: make("div", {}, controls, scroll), refresh, mark, reveal };
}

function rowText(columns, row) {
  return columns.map(({ value }) => value(row)).filter((value) => typeof value === "string").join("\n");
}

/** A picture takes the width that is left; numbers are aligned to the right. */
function cellClass({ isNumber, isText, isPicture }) {
  if (isPicture) return "picture";
  return isNumber && !isText ? "number" : "text";
}

function headOf(column, sort) {
  const { title, note } = column;
  const button = make("button", { type: "button", onclick: sort, title: note ?? "" }, title);
  return make("th", { scope: "col", className: cellClass(column) }, button);
}

function pageButtons(turn) {
  const back = make("button", { type: "button", onclick: () => turn(-1), "aria-label": "Previous page" }, "‹");
  const next = make("button", { type: "button", onclick: () => turn(1), "aria-label": "Next page" }, "›");
  const position = make("span", { className: "note" });
  return {
    elements: [back, position, next],
    show(page, last) {
      for (const element of [back, position, next]) element.hidden = last === 0;
      back.disabled = page === 0;
      next.disabled = page === last;
      position.textContent = `page ${formatCount(page + 1)} of ${formatCount(last + 1)}`;
    },
  };
}
