// The bar above the timeline: finds lanes by name, and resets their order and pins.
import { make } from "../shared/dom.js";
import { viewLanes } from "./lanes.js";
import { formatCount } from "../shared/numbers.js";

const INITIAL_LANES = { pinned: [], order: [], shownLanes: "", unfolded: [] };

/** Returns { element, show(rows), focus(), announce(text) }. */
export function createLaneFinder(source, store) {
  const all = Object.values(viewLanes(source.view)).flat().length;
  const count = make("span", { className: "note" });
  const announcement = make("span", { className: "unseen", role: "status" });
  const box = make("input", { type: "search", value: store.state.shownLanes, placeholder: "Find lanes" });
  box.setAttribute("aria-label", "Find lanes by thread, process or name");
  const search = (text) => {
    box.value = text;
    store.set({ shownLanes: text });
  };
  box.addEventListener("input", () => search(box.value));
  box.addEventListener("keydown", (event) => {
    if (event.key === "Escape") search("");
  });
  const onclick = () => {
    box.value = "";
    store.set(INITIAL_LANES);
    announce("All lanes are in their initial order.");
    box.focus({ preventScroll: true });
  };
  const scale = make("button", { type: "button" }, "Same scale");
  scale.title = "Draw all threads on one scale of 0 to 100 %, instead of each as high as its activity";
  scale.addEventListener("click", () => store.set({ scale: store.state.scale === "same" ? "own" : "same" }));
  const markScale = () => scale.setAttribute("aria-pressed", String(store.state.scale === "same"));
  store.on(["scale"], markScale);
  markScale();
  scale.hidden = source.view.lanes.length === 0;
  const reset = make("button", { type: "button", onclick, hidden: true }, "Reset lanes");
  reset.title = "Show all lanes in their initial order, none pinned";

  function announce(text) {
    announcement.textContent = text;
  }

  return {
    element: make("div", { className: "controls lane-finder" }, box, count, reset, scale, announcement),
    focus: () => box.focus(),
    announce,
    /** Shows the number of lanes found, while lanes are searched for. */
    show(rows) {
      const { pinned, order, shownLanes, unfolded } = store.state;
      if (document.activeElement !== box) box.value = shownLanes;
      const shown = rows.filter(({ group }) => group !== undefined).length;
      count.textContent = shownLanes.trim() ? `${formatCount(shown)} of ${formatCount(all)} lanes` : "";
      if (shownLanes.trim()) announce(count.textContent);
      reset.hidden = pinned.length === 0 && order.length === 0 && unfolded.length === 0 && shownLanes === "";
    },
  };
}
