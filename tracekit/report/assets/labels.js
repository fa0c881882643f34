// The names at the left of the timeline: real buttons, so that everything works without a mouse.
import { make, makeSvg } from "./dom.js";
import { listenToLaneDrag } from "./lane_drag.js";
import { createLaneFinder } from "./lane_finder.js";
import { groupOfLane, laneId, moveLane } from "./lanes.js";
import { formatCount } from "./numbers.js";
import { laneIntervals } from "./steps.js";

const PIN = "M9.8 1.5 14.5 6.2 13 7.1 10.9 9.2 10.7 12 9.5 13.2 6.2 9.9 2.2 13.8 6.1 9.8 2.8 6.5 4 5.3 6.8 5.1 8.9 3Z";

/**
 * `stepIn(id)` selects a lane's next interval. The answer: { element, bar, show(rows), mark(), find(), tell(text),
 * inFocus(), reveal(id) }; `bar` stands above the timeline, `inFocus` is the lane whose name or pin has the focus.
 */
export function createLabels(source, store, stepIn) {
  const fixed = make("div", { className: "fixed-labels" });
  const element = make("div", { className: "timeline-labels" }, fixed);
  const finder = createLaneFinder(source, store);
  let labels = [];

  function mark() {
    const { lanes, cursor } = store.state;
    const sought = cursor && laneId("thread", cursor.lane);
    for (const { row, label } of labels) {
      if (row.kind !== "thread") continue;
      label.firstChild.setAttribute("aria-pressed", String(lanes.includes(row.index)));
      if (row.id === sought) label.firstChild.setAttribute("aria-current", "true");
      else label.firstChild.removeAttribute("aria-current");
    }
  }

  /** Moves a lane, and tells where it is now; a label that has been made anew meanwhile stands for none. */
  function move(row, neighbour, isAfter) {
    if (!row) return;
    if (!neighbour) {
      finder.tell(`${row.label} is already the ${isAfter ? "last" : "first"} of its group.`);
      return;
    }
    store.set(moveLane(source.view, store.state, row.id, neighbour.id, isAfter));
    const ids = siblings(row).map(({ row: each }) => each.id);
    finder.tell(`${row.label}: place ${ids.indexOf(row.id) + 1} of ${ids.length}`);
    labelOfRow(row.id)?.label.scrollIntoView({ block: "nearest" });
  }

  /** A lane that is no longer there leaves the focus to its group, and that, where it cannot have it, to the bar. */
  function focusAgain({ id, part }) {
    const label = (labelOfRow(id) ?? labelOfRow(groupOfLane(source.view, id)))?.label;
    const again = label && (partsOf(label)[part] ?? partsOf(label)[0]);
    if (again) again.focus({ preventScroll: true });
    else finder.focus();
  }

  const siblings = (row) => labels.filter(({ row: other }) => other.group !== undefined && other.group === row.group);
  const labelOfRow = (id) => labels.find(({ row }) => row.id === id);
  const rowOf = (target) => labels.find(({ label }) => label.contains(target))?.row;

  element.addEventListener("keydown", (event) => {
    const step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    const row = rowOf(event.target);
    if (!event.altKey || !step || row?.group === undefined) return;
    event.preventDefault();
    const rows = siblings(row).map(({ row: each }) => each);
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
    tell: finder.tell,
    inFocus: () => {
      const row = rowOf(document.activeElement);
      return row?.group === undefined ? null : row.id;
    },
    reveal: (id) => labelOfRow(id)?.label.scrollIntoView({ block: "nearest" }),
    show(rows) {
      const focused = focusedPart(labels);
      const step = (id) => (laneIntervals(source, id) ? () => stepIn(id) : null);
      labels = rows.map((row) => ({ row, label: labelOf(row, store, step) }));
      const elements = (isFixed) => labels.filter(({ row }) => Boolean(row.isFixed) === isFixed).map(({ label }) => label);
      fixed.replaceChildren(...elements(true));
      element.replaceChildren(fixed, ...elements(false));
      mark();
      finder.show(rows);
      if (focused) focusAgain(focused);
    },
  };
}

/** Which of a row's buttons has the focus, as it is made anew with its row. */
function focusedPart(labels) {
  const found = labels.find(({ label }) => label.contains(document.activeElement));
  return found && { id: found.row.id, part: partsOf(found.label).indexOf(document.activeElement) };
}

/** What of a label can have the focus. */
function partsOf(label) {
  return label.matches("button") ? [label] : [...label.querySelectorAll("button")];
}

function labelOf(row, store, step) {
  const label = LABELS[row.kind]?.(row, store) ?? (row.group ? laneLabel(row, store, step(row.id)) : plainLabel(row));
  label.style.top = `${row.y}px`;
  label.style.height = `${row.height}px`;
  return label;
}

const LABELS = {
  group(row, store) {
    if (!row.isFoldable) return make("div", { className: "label group" }, make("span", {}, row.label));
    const toggle = () => store.set({ closed: toggled(store.state.closed, row.key) });
    const button = make("button", { type: "button", className: "label group", onclick: toggle });
    button.setAttribute("aria-expanded", String(!row.folded));
    button.append(make("span", {}, row.label), comma(), make("small", {}, formatCount(row.count)));
    return button;
  },
  thread(row, store) {
    const toggle = () => store.set({ lanes: toggled(store.state.lanes, row.index) });
    const button = make("button", { type: "button", className: "name thread", onclick: toggle });
    button.title = `${row.label}\n${row.detail}`;
    button.append(make("span", {}, row.label), comma(), make("small", {}, row.detail));
    return make("div", { className: "label lane" }, button, pinButton(row, store));
  },
  more(row, store) {
    const toggle = () => store.set({ allThreads: !store.state.allThreads });
    return make("button", { type: "button", className: "label more", onclick: toggle }, row.label);
  },
};

/** Keeps a name and what is said of it apart where they are read aloud. */
function comma() {
  return make("span", { className: "unseen" }, ", ");
}

/** Lanes of intervals are stepped through by their name: `step` selects the next one. */
function laneLabel(row, store, step) {
  const name = make(step ? "button" : "div", { className: "name", title: row.label }, make("span", {}, row.label));
  if (step) {
    name.type = "button";
    name.title = `${row.label}\nSelects its next interval; , and . step through them`;
    name.addEventListener("click", step);
  }
  return make("div", { className: "label lane" }, name, pinButton(row, store));
}

function plainLabel(row) {
  return make("div", { className: "label", title: row.label }, make("span", {}, row.label));
}

function pinButton(row, store) {
  const isPinned = store.state.pinned.includes(row.id);
  const onclick = () => store.set({ pinned: toggled(store.state.pinned, row.id) });
  const icon = makeSvg("svg", { viewBox: "0 0 16 16", "aria-hidden": "true" }, makeSvg("path", { d: PIN }));
  const named = { "aria-label": `Pin ${row.label}`, "aria-pressed": isPinned };
  const title = `${isPinned ? "Unpin" : "Pin to the top"}; Alt + ↑ or ↓ moves the lane`;
  return make("button", { type: "button", className: "pin", onclick, title, ...named }, icon);
}

/** The list with the entry, or without it if it was there. */
export function toggled(list, entry) {
  return list.includes(entry) ? list.filter((each) => each !== entry) : [...list, entry];
}
