// The bar above the timeline: finds lanes by their name, and takes back what was done to them.
import { make } from "./dom.js";
import { viewLanes } from "./lanes.js";
import { formatCount } from "./numbers.js";

const AS_GIVEN = { pinned: [], order: [], shownLanes: "" };

/** The answer: { element, show(rows), focus(), tell(text) }. */
export function createLaneFinder(source, store) {
  const all = Object.values(viewLanes(source.view)).flat().length;
  const found = make("span", { className: "note" });
  const told = make("span", { className: "unseen", role: "status" });
  const box = make("input", { type: "search", value: store.state.shownLanes, placeholder: "Find lanes" });
  box.setAttribute("aria-label", "Find lanes by thread, process or name");
  const look = (text) => {
    box.value = text;
    store.set({ shownLanes: text });
  };
  box.addEventListener("input", () => look(box.value));
  box.addEventListener("keydown", (event) => {
    if (event.key === "Escape") look("");
  });
  const onclick = () => {
    box.value = "";
    store.set(AS_GIVEN);
    tell("All lanes stand as they came.");
    box.focus({ preventScroll: true });
  };
  const reset = make("button", { type: "button", onclick, hidden: true }, "Reset lanes");
  reset.title = "Shows all lanes in their own order, none pinned";

  function tell(text) {
    told.textContent = text;
  }

  return {
    element: make("div", { className: "controls lane-finder" }, box, found, reset, told),
    focus: () => box.focus(),
    tell,
    /** Says how many of the lanes are shown, where that is asked for. */
    show(rows) {
      const { pinned, order, shownLanes } = store.state;
      if (document.activeElement !== box) box.value = shownLanes;
      const shown = rows.filter(({ group }) => group !== undefined).length;
      found.textContent = shownLanes.trim() ? `${formatCount(shown)} of ${formatCount(all)} lanes` : "";
      if (shownLanes.trim()) tell(found.textContent);
      reset.hidden = pinned.length === 0 && order.length === 0 && shownLanes === "";
    },
  };
}
