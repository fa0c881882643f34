// The edge between the timeline and the tabs, which changes the timeline's height by dragging or by keys.
import { make } from "/report-assets/shared/dom.js";

const LEAST = 15;
const MOST = 85;
const KEY_STEP = 4;

/** Returns { element, connect(store) }; the timeline's height is a share of the element's parent's, in percent. */
export function createSplitter() {
  const element = make("div", { className: "splitter", role: "separator", tabIndex: 0, "aria-orientation": "horizontal" });
  element.setAttribute("aria-label", "Height of the timeline");
  element.title = "Drag, or press ↑ and ↓, to change the timeline's height; double click gives the tabs the room, or resets it";

  function connect(store) {
    const main = element.parentElement;
    const partAt = (y) => {
      const { top, height } = main.getBoundingClientRect();
      return (100 * (y - top)) / Math.max(1, height);
    };
    const shown = () => Math.round(partAt(element.getBoundingClientRect().top));
    const resize = (share) => store.set({ timelineShare: Math.round(Math.min(MOST, Math.max(LEAST, share))) });
    const apply = () => {
      const { timelineShare } = store.state;
      if (timelineShare === 0) main.style.removeProperty("--share");
      else main.style.setProperty("--share", `${timelineShare}%`);
      element.setAttribute("aria-valuemin", String(LEAST));
      element.setAttribute("aria-valuemax", String(MOST));
      element.setAttribute("aria-valuenow", String(timelineShare || shown()));
    };
    const keys = {
      ArrowUp: () => resize(shown() - KEY_STEP),
      ArrowDown: () => resize(shown() + KEY_STEP),
      Home: () => resize(LEAST),
      End: () => resize(MOST),
    };
    element.addEventListener("keydown", (event) => {
      if (!keys[event.key] || event.altKey || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      event.stopPropagation();
      keys[event.key]();
    });
    element.addEventListener("pointerdown", (event) => {
      if (event.button === 0) element.setPointerCapture(event.pointerId);
    });
    element.addEventListener("pointermove", (event) => {
      if (!element.hasPointerCapture(event.pointerId)) return;
      resize(partAt(event.clientY));
    });
    element.addEventListener("dblclick", () => store.set({ timelineShare: store.state.timelineShare === 0 ? LEAST : 0 }));
    store.on(["timelineShare"], apply);
    apply();
  }

  return { element, connect };
}
