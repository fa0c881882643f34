// The edge of the column of names, which changes the column's width by dragging or by keys.
import { make } from "../shared/dom.js";

const NARROWEST_PX = 60;
const KEY_STEP_PX = 16;
const WIDEST_PART = 0.6;

/** Returns { element, apply() }; `apply` sets the column's width, also for screen readers. */
export function createNamesWidth(container, store) {
  const element = make("div", { className: "names-edge", role: "separator", tabIndex: 0, "aria-orientation": "vertical" });
  element.setAttribute("aria-label", "Width of the lanes' names");
  element.title = "Drag, or press ← and →, to change the width; double click resets it";
  const widest = () => Math.max(NARROWEST_PX, Math.floor(container.clientWidth * WIDEST_PART));
  const shown = () => Math.round(element.previousElementSibling.getBoundingClientRect().width);
  let drag = null;

  function widen(pixels) {
    store.set({ namesWidth: Math.round(Math.min(widest(), Math.max(NARROWEST_PX, pixels))) });
  }

  const keys = {
    ArrowLeft: () => widen(shown() - KEY_STEP_PX),
    ArrowRight: () => widen(shown() + KEY_STEP_PX),
    Home: () => widen(NARROWEST_PX),
    End: () => widen(widest()),
  };
  element.addEventListener("keydown", (event) => {
    if (!keys[event.key] || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    event.stopPropagation(); // the timeline would pan
    keys[event.key]();
  });
  element.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    element.setPointerCapture(event.pointerId);
    drag = { x: event.clientX, width: shown() };
  });
  element.addEventListener("pointermove", (event) => {
    if (drag && event.clientX !== drag.x) widen(drag.width + event.clientX - drag.x);
  });
  const finish = () => {
    drag = null;
  };
  element.addEventListener("pointerup", finish);
  element.addEventListener("pointercancel", finish);
  element.addEventListener("dblclick", () => store.set({ namesWidth: 0 }));

  return {
    element,
    apply() {
      const { namesWidth } = store.state;
      if (namesWidth === 0) container.style.removeProperty("--names");
      else container.style.setProperty("--names", `${Math.min(widest(), Math.max(NARROWEST_PX, namesWidth))}px`);
      element.setAttribute("aria-valuemin", String(NARROWEST_PX));
      element.setAttribute("aria-valuemax", String(widest()));
      element.setAttribute("aria-valuenow", String(shown()));
      element.setAttribute("aria-valuetext", `${shown()} pixels`);
    },
  };
}
