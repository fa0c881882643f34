// The names at the left of the timeline: buttons, so that everything works without a mouse.
import { make, makeSvg } from "../shared/dom.js";
import { listenToLaneDrag } from "./lane_drag.js";
import { createLaneFinder } from "./lane_finder.js";
import { groupOfLane, laneId, moveLane } from "./lanes.js";
import { CANVAS_FONT } from "./draw.js";
import { countOf, formatCount } from "../shared/numbers.js";
import { shortNames } from "../stacks/short_names.js";
import { laneIntervals } from "./steps.js";

const PIN = "M9.8 1.5 14.5 6.2 13 7.1 10.9 9.2 10.7 12 9.5 13.2 6.2 9.9 2.2 13.8 6.1 9.8 2.8 6.5 4 5.3 6.8 5.1 8.9 3Z";

const LABEL_FONT = CANVAS_FONT.replace("11px", "12px");
const TWO_LINES = "(max-width: 640px)"; // as in page.css
const BUTTON_PX = 26;
const NAME_MARGIN_PX = 8 + BUTTON_PX; // left of the name, and the pin
let measuring = null;

/**
 * `stepIn(id)` selects a lane's next interval. Returns { element, bar, show(rows), mark(), find(), announce(text),
 * inFocus(), reveal(id) }; `bar` goes above the timeline, `inFocus` returns the lane whose name or pin has the focus.
 */
export function createLabels(source, store, stepIn) {
  const fixed = make("div", { className: "fixed-labels" });
  const element = make("div", { className: "timeline-labels" }, fixed);
  const finder = createLaneFinder(source, store);
  let labels = [];

  function mark() {
    const { lanes, cursor } = store.state;
    const cursorLane = cursor && laneId("thread", cursor.lane);
    for (const { row, label } of labels) {
      if (row.kind !== "thread") continue;
      label.firstChild.setAttribute("aria-pressed", String(lanes.includes(row.index)));
      if (row.id === cursorLane) label.firstChild.setAttribute("aria-current", "true");
      else label.firstChild.removeAttribute("aria-current");
    }
  }

  /** Moves a lane and announces its position. `row` is undefined if the labels were rebuilt during a drag. */
  function move(row, neighbour, isAfter) {
    if (!row) return;
    if (!neighbour) {
      finder.announce(`${row.label} is already the ${isAfter ? "last" : "first"} of its group.`);
      return;
    }
    store.set(moveLane(source.view, store.state, row.id, neighbour.id, isAfter));
    const ids = siblings(row).map(({ row: sibling }) => sibling.id);
    finder.announce(`${row.label}: position ${ids.indexOf(row.id) + 1} of ${ids.length}`);
    labelOfRow(row.id)?.label.scrollIntoView({ block: "nearest" });
  }

  /** Restores the focus to a rebuilt label, else to its group, else to the bar above the timeline. */
  function restoreFocus({ id, part }) {
    const label = (labelOfRow(id) ?? labelOfRow(groupOfLane(source.view, id)))?.label;
    const target = label && (partsOf(label)[part] ?? partsOf(label)[0]);
    if (target) target.focus({ preventScroll: true });
    else finder.focus();
  }

  const siblings = (row) => labels.filter(({ row: candidate }) => candidate.group !== undefined && candidate.group === row.group);
  const labelOfRow = (id) => labels.find(({ row }) => row.id === id);
  const rowOf = (target) => labels.find(({ label }) => label.contains(target))?.row;

  element.addEventListener("keydown", (event) => {
    const step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    const row = rowOf(event.target);
    if (!event.altKey || !step || row?.group === undefined) return;
    event.preventDefault();
    const rows = siblings(row).map(({ row: sibling }) => sibling);
    const neighbour = rows[rows.indexOf(row) + step];
    move(row, neighbour, step > 0);
  });
  listenToLaneDrag(element, {
    siblings: (target) => {
      const row = rowOf(target);
      return row?.group === undefined ? [] : siblings(row).map(({ label }) => label);
    },
    drop: (label, neighbour, isAfter) => move(rowOf(label), rowOf(neighbour), isAfter),
  });

  return {
    element,
    bar: finder.element,
    find: finder.focus,
    mark,
    announce: finder.announce,
    inFocus: () => {
      const row = rowOf(document.activeElement);
      return row?.group === undefined ? null : row.id;
    },
    reveal: (id) => labelOfRow(id)?.label.scrollIntoView({ block: "nearest" }),
    /** Shows the labels of `rows` in a column of `width` pixels. */
    show(rows, width) {
      const focused = focusedPart(labels);
      const step = (id) => (laneIntervals(source, id) ? () => stepIn(id) : null);
      const shorts = shortLabels(rows, width);
      labels = rows.map((row, index) => ({ row, label: labelOf({ ...row, short: shorts[index], action: source.laneAction?.(row) ?? null }, store, step) }));
      const elements = (isFixed) => labels.filter(({ row }) => Boolean(row.isFixed) === isFixed).map(({ label }) => label);
      fixed.replaceChildren(...elements(true));
      element.replaceChildren(fixed, ...elements(false));
      mark();
      finder.show(rows);
      if (focused) restoreFocus(focused);
    },
  };
}

/** The focused button as { row id, index in the label }, since rebuilding the labels replaces the element. */
function focusedPart(labels) {
  const entry = labels.find(({ label }) => label.contains(document.activeElement));
  return entry && { id: entry.row.id, part: partsOf(entry.label).indexOf(document.activeElement) };
}

/** The parts of a label that can have the focus. */
function partsOf(label) {
  return label.matches("button") ? [label] : [...label.querySelectorAll("button")];
}

function labelOf(row, store, step) {
  const label = LABELS[row.kind]?.(row, store) ?? (row.group ? laneLabel(row, store, step(row.id)) : plainLabel(row));
  label.style.top = `${row.y}px`;
  label.style.height = `${row.height}px`;
  return label;
}

/** The labels as they fit into the column: those of a kind are shortened at the start that they share. */
function shortLabels(rows, width) {
  const context = (measuring ??= make("canvas").getContext("2d"));
  context.font = LABEL_FONT;
  const isNarrow = matchMedia(TWO_LINES).matches;
  const shorts = new Map();
  for (const kind of new Set(rows.map((row) => row.kind))) {
    const isThread = kind === "thread"; // with a button that unfolds its stacks
    const lines = isThread && isNarrow ? 1.7 : 1; // two lines, broken anywhere
    const room = (width - NAME_MARGIN_PX - (isThread ? BUTTON_PX : 0)) * lines;
    const fits = (text) => context.measureText(text).width <= room;
    const same = rows.filter((row) => row.kind === kind && row.group !== undefined);
    const names = shortNames(same.map((row) => row.label), fits);
    same.forEach((row, index) => shorts.set(row, names[index]));
  }
  return rows.map((row) => shorts.get(row) ?? row.label);
}

const LABELS = {
  group(row, store) {
    if (!row.isFoldable) return make("div", { className: "label group" }, make("span", {}, row.label));
    const toggle = () => store.set({ closed: toggled(store.state.closed, row.key) });
    const button = make("button", { type: "button", className: "label group", onclick: toggle });
    button.setAttribute("aria-expanded", String(!row.folded));
    button.append(make("span", {}, row.label), comma(), make("small", {}, formatCount(row.count)));
    if (row.detail) button.append(comma(), make("small", { className: "process", title: row.detail }, row.detail));
    return button;
  },
  thread(row, store) {
    const toggle = () => store.set({ lanes: toggled(store.state.lanes, row.index) });
    const button = make("button", { type: "button", className: "name thread", onclick: toggle });
    button.title = [row.label, row.process, row.detail].filter(Boolean).join("\n");
    button.append(...shownName(row), comma(), make("small", {}, row.detail));
    return make("div", { className: `label lane${row.isQuiet ? " quiet" : ""}` }, button, stacksButton(row, store), pinButton(row, store));
  },
  more(row, store) {
    const toggle = () => store.set({ allThreads: !store.state.allThreads });
    return make("button", { type: "button", className: "label more", onclick: toggle }, row.label);
  },
};

/** Separates a name from its details for screen readers. */
function comma() {
  return make("span", { className: "unseen" }, ", ");
}

/** The label of a lane of intervals: its name is a button that selects the next interval (`step`). */
function laneLabel(row, store, step) {
  const full = [row.label, row.detail].filter(Boolean).join("\n");
  const name = make(step ? "button" : "div", { className: "name", title: full }, ...shownName(row));
  if (step) {
    name.type = "button";
    name.title = `${full}\nSelects its next interval; , and . step through them`;
    name.addEventListener("click", step);
  }
  return make("div", { className: "label lane" }, name, row.action, foldButton(row, store), removeButton(row), pinButton(row, store));
}

/** The name as it fits; the full one for screen readers, if it is another. */
function shownName({ label, short }) {
  if (short === label) return [make("span", {}, label)];
  return [make("span", { "aria-hidden": "true" }, short), make("span", { className: "unseen" }, label)];
}

/** Folds the rows of a lane whose intervals overlap, or unfolds them; without any that could be folded, nothing. */
function foldButton(row, store) {
  const left = row.left > 0 && row.folded === 0 ? `; ${countOf(row.left, "interval")} more overlap still` : "";
  if (!row.folded && !row.isUnfolded) return null;
  const text = row.folded ? `+${formatCount(row.folded)} ${row.folded === 1 ? "row" : "rows"}` : `fewer rows${left}`;
  const button = make("button", { type: "button", className: "fold", "aria-expanded": row.isUnfolded }, text);
  button.setAttribute("aria-label", `${row.label}: ${row.folded ? `show ${formatCount(row.folded)} more rows` : text}`);
  button.addEventListener("click", () => store.set({ unfolded: toggled(store.state.unfolded, row.id) }));
  return button;
}

/** Shows a thread's stacks below its lane, or hides them; where their order is not known, nothing. */
function stacksButton(row, store) {
  if (!row.hasStacks) return null;
  const button = make("button", { type: "button", className: "pin show-stacks", title: "Stacks of this thread over time" }, row.isUnfolded ? "▾" : "▸");
  button.setAttribute("aria-expanded", String(row.isUnfolded));
  button.setAttribute("aria-label", `Stacks of ${row.label}`);
  button.addEventListener("click", () => store.set({ unfolded: toggled(store.state.unfolded, row.id) }));
  return button;
}

/** Takes a lane away that the reader added. */
function removeButton({ label, remove }) {
  return remove ? make("button", { type: "button", className: "pin remove", "aria-label": `Remove ${label}`, title: "Remove this lane", onclick: remove }, "✕") : null;
}

function plainLabel(row) {
  return make("div", { className: "label", title: row.label }, make("span", {}, row.label));
}

function pinButton(row, store) {
  const isPinned = store.state.pinned.includes(row.id);
  const onclick = () => store.set({ pinned: toggled(store.state.pinned, row.id) });
  const icon = makeSvg("svg", { viewBox: "0 0 16 16", "aria-hidden": "true" }, makeSvg("path", { d: PIN }));
  const aria = { "aria-label": `Pin ${row.label}`, "aria-pressed": isPinned };
  const title = `${isPinned ? "Unpin" : "Pin to the top"}; Alt + ↑ or ↓ moves the lane`;
  return make("button", { type: "button", className: "pin", onclick, title, ...aria }, icon);
}

/** The list with the entry added, or removed if it was in it. */
export function toggled(list, entry) {
  return list.includes(entry) ? list.filter((existing) => existing !== entry) : [...list, entry];
}
