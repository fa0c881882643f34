// A table that sorts, filters and comes in pages, for rows that are only numbers until they are shown.
import { make } from "./dom.js";
import { formatCount } from "./numbers.js";

export const PAGE_ROWS = 200;

const COLLATOR = new Intl.Collator("en", { numeric: true });

/** Row numbers in order of a value; what is not known (null, not a number) comes last either way. */
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

/** Rows in whose text every word of the filter stands. */
export function filteredRows(rows, text, wanted) {
  const words = wanted.toLowerCase().split(/\s+/).filter((word) => word !== "");
  if (words.length === 0) return rows;
  return rows.filter((row) => {
    const lower = text(row).toLowerCase();
    return words.every((word) => lower.includes(word));
  });
}

/**
 * `columns`: { key, title, isNumber, value(row), show(row) → text or element }. `onChoose(row)` makes rows
 * choosable: the first cell is then a button named by `chooseLabel(row)`, Tab reaches one of them and arrows the others.
 * `marked(row)` highlights; the one that is `current()` is marked as such.
 */
export function createTable({ caption, columns, rowCount, sort, onChoose, chooseLabel, marked, current = () => -1, filterLabel }) {
  let order = sort ?? { key: columns[0].key, descending: false };
  let page = 0;
  let elements = new Map();
  let stop = -1; // the row whose button Tab reaches
  const body = make("tbody");
  const heads = columns.map((column) => headOf(column, () => sortBy(column)));
  const filter = make("input", { type: "search", placeholder: filterLabel ?? "", "aria-label": filterLabel ?? caption });
  const found = make("span", { className: "note" });
  const pages = pageButtons((change) => {
    page += change;
    refresh();
  });
  filter.addEventListener("input", () => {
    page = 0;
    refresh();
  });
  const controls = make("div", { className: "controls" }, filterLabel ? filter : null, found, ...pages.elements);
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
    return Array.from({ length: rowCount() }, (_, row) => row);
  }

  /** The rows that the filter lets through, in order. */
  function keptRows() {
    const column = columns.find(({ key }) => key === order.key);
    const kept = filterLabel ? filteredRows(allRows(), (row) => rowText(columns, row), filter.value) : allRows();
    return sortedRows(kept, column.value, order.descending);
  }

  function refresh() {
    const rows = keptRows();
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
    found.textContent = rows.length < rowCount() ? `${formatCount(rows.length)} of ${formatCount(rowCount())}` : "";
    pages.show(page, last);
  }

  function rowElement(row) {
    const cells = columns.map((column, index) => {
      const content = column.show ? column.show(row) : column.value(row);
      const isButton = onChoose && index === 0;
      const inside = isButton
        ? make("button", { type: "button", className: "plain", tabIndex: -1, "aria-label": chooseLabel(row) }, String(content))
        : content;
      return make("td", { className: column.isNumber ? "number" : "text" }, inside);
    });
    const element = make("tr", { className: onChoose ? "choosable" : "" }, ...cells);
    if (onChoose) element.addEventListener("click", () => onChoose(row));
    return element;
  }

  /** Highlights anew, without making the rows anew. */
  function mark() {
    if (marked) elements.forEach((element, row) => element.classList.toggle("inside", marked(row)));
    elements.forEach((element, row) => {
      if (row === current()) element.setAttribute("aria-current", "true");
      else element.removeAttribute("aria-current");
    });
  }

  /** Turns to the page on which a row is, unless the filter hides it. */
  function reveal(row) {
    const place = elements.has(row) ? -1 : keptRows().indexOf(row);
    if (place >= 0) {
      page = Math.floor(place / PAGE_ROWS);
      refresh();
    }
    if (elements.has(row)) moveStop(row);
  }

  const buttonOf = (row) => elements.get(row)?.querySelector("td button");

  function moveStop(row) {
    if (!onChoose) return;
    for (const each of [stop, row]) buttonOf(each)?.setAttribute("tabindex", each === row ? "0" : "-1");
    stop = row;
  }

  body.addEventListener("focusin", (event) => {
    const row = [...elements].find(([, element]) => element.contains(event.target))?.[0];
    if (row !== undefined) moveStop(row);
  });
  body.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey || !buttonOf(stop)?.contains(event.target)) return;
    const rows = [...elements.keys()];
    const place = { ArrowUp: rows.indexOf(stop) - 1, ArrowDown: rows.indexOf(stop) + 1, Home: 0, End: rows.length - 1 }[event.key];
    if (place === undefined) return;
    event.preventDefault();
    buttonOf(rows[place])?.focus();
  });

  return { element: make("div", {}, controls, scroll), refresh, mark, reveal };
}

function rowText(columns, row) {
  return columns.map(({ value }) => value(row)).filter((value) => typeof value === "string").join("\n");
}

function headOf({ title, isNumber, note }, sort) {
  const button = make("button", { type: "button", onclick: sort, title: note ?? "" }, title);
  return make("th", { scope: "col", className: isNumber ? "number" : "text" }, button);
}

function pageButtons(turn) {
  const back = make("button", { type: "button", onclick: () => turn(-1), "aria-label": "Previous page" }, "‹");
  const on = make("button", { type: "button", onclick: () => turn(1), "aria-label": "Next page" }, "›");
  const where = make("span", { className: "note" });
  return {
    elements: [back, where, on],
    show(page, last) {
      for (const element of [back, where, on]) element.hidden = last === 0;
      back.disabled = page === 0;
      on.disabled = page === last;
      where.textContent = `page ${formatCount(page + 1)} of ${formatCount(last + 1)}`;
    },
  };
}
