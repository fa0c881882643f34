// The names at the left of the timeline: real buttons, so that everything works without a mouse.
import { make } from "./dom.js";
import { formatCount } from "./numbers.js";

export function createLabels(source, store) {
  const element = make("div", { className: "timeline-labels" });
  let buttons = [];

  function mark() {
    const { lanes } = store.state;
    for (const { row, button } of buttons) {
      if (row.kind === "thread") button.setAttribute("aria-pressed", String(lanes.includes(row.index)));
    }
  }

  return {
    element,
    mark,
    show(rows) {
      const focused = buttons.find(({ button }) => button === document.activeElement)?.row;
      buttons = rows.map((row) => ({ row, button: labelOf(row, store) }));
      element.replaceChildren(...buttons.map(({ button }) => button));
      mark();
      const again = focused && buttons.find(({ row }) => row.kind === focused.kind && row.key === focused.key);
      again?.button.focus();
    },
  };
}

function labelOf(row, store) {
  const label = LABELS[row.kind]?.(row, store) ?? plainLabel(row);
  label.style.top = `${row.y}px`;
  label.style.height = `${row.height}px`;
  return label;
}

const LABELS = {
  group(row, store) {
    const toggle = () => store.set({ closed: toggled(store.state.closed, row.key) });
    const button = make("button", { type: "button", className: "label group", onclick: toggle });
    button.setAttribute("aria-expanded", String(!row.folded));
    button.append(make("span", {}, row.label), make("small", {}, formatCount(row.count)));
    return button;
  },
  thread(row, store) {
    const toggle = () => store.set({ lanes: toggled(store.state.lanes, row.index) });
    const button = make("button", { type: "button", className: "label thread", onclick: toggle, title: row.label });
    button.append(make("span", {}, row.label), make("small", {}, row.detail));
    return button;
  },
  more(row, store) {
    const toggle = () => store.set({ allThreads: !store.state.allThreads });
    return make("button", { type: "button", className: "label more", onclick: toggle }, row.label);
  },
};

function plainLabel(row) {
  return make("div", { className: "label", title: row.label }, make("span", {}, row.label));
}

/** The list with the entry, or without it if it was there. */
export function toggled(list, entry) {
  return list.includes(entry) ? list.filter((each) => each !== entry) : [...list, entry];
}
