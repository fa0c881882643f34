// Dragging a lane by its name, with the mouse or with a finger that is held for a moment first.
import { make } from "../shared/dom.js";
import { HOLD_MS } from "./gestures.js";

const START_PX = 5;
const EDGE_PX = 26;
const SCROLL_PX = 12;

/** `handlers`: siblings(target) returns the labels among which it can move; drop(label, neighbour, isAfter). */
export function listenToLaneDrag(element, handlers) {
  const line = make("div", { className: "drop-line", hidden: true });
  let drag = null;
  let justDropped = false;

  function lift() {
    drag.isLifted = true;
    drag.label.classList.add("dragged");
    element.append(line);
    element.setPointerCapture(drag.pointer);
  }

  function finish() {
    clearTimeout(drag?.timer);
    drag?.label.classList.remove("dragged");
    line.hidden = true;
    drag = null;
  }

  element.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || drag?.isLifted || event.target.closest(".pin")) return;
    finish();
    const labels = handlers.siblings(event.target);
    const label = labels.find((candidate) => candidate.contains(event.target));
    if (!label) return;
    drag = { label, labels, pointer: event.pointerId, y: event.clientY, isTouch: event.pointerType === "touch" };
    if (drag.isTouch) drag.timer = setTimeout(lift, HOLD_MS);
  });
  element.addEventListener("pointermove", (event) => {
    if (event.pointerId !== drag?.pointer) return;
    if (event.buttons === 0) return finish(); // released outside of the page
    const hasMoved = Math.abs(event.clientY - drag.y) > START_PX;
    if (!drag.isLifted && hasMoved) {
      if (drag.isTouch) return finish(); // the finger scrolls
      lift();
    }
    if (drag.isLifted) {
      scrollAtEdges(element, event.clientY);
      showLine(line, element, dropTarget(drag, event.clientY));
    }
  });
  element.addEventListener("pointerup", (event) => {
    if (event.pointerId !== drag?.pointer) return;
    const { label, isLifted } = drag;
    const target = isLifted && dropTarget(drag, event.clientY);
    finish();
    if (!isLifted) return;
    justDropped = true; // the browser sends a click after the drop, which must not count
    setTimeout(() => {
      justDropped = false;
    });
    if (target) handlers.drop(label, target.neighbour, target.isAfter);
  });
  element.addEventListener("pointercancel", finish);
  element.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !drag?.isLifted) return;
    event.stopPropagation();
    finish();
  });
  element.addEventListener("click", (event) => justDropped && event.stopPropagation(), { capture: true });
  element.addEventListener("contextmenu", (event) => drag?.isLifted && event.preventDefault());
  element.addEventListener("touchmove", (event) => drag?.isLifted && event.preventDefault(), { passive: false });
}

/** The neighbour that the label would get at a height, and on which side; null without neighbours. */
function dropTarget({ label, labels }, y) {
  const siblings = labels.filter((candidate) => candidate !== label);
  if (siblings.length === 0) return null;
  const below = siblings.find((sibling) => {
    const box = sibling.getBoundingClientRect();
    return y < box.top + box.height / 2;
  });
  return below ? { neighbour: below, isAfter: false } : { neighbour: siblings.at(-1), isAfter: true };
}

function showLine(line, element, target) {
  line.hidden = target === null;
  if (!target) return;
  const box = target.neighbour.getBoundingClientRect();
  line.style.top = `${(target.isAfter ? box.bottom : box.top) - element.getBoundingClientRect().top - 1}px`;
}

function scrollAtEdges(element, y) {
  const scroll = element.closest(".timeline-scroll");
  const box = scroll.getBoundingClientRect();
  if (y < box.top + EDGE_PX) scroll.scrollTop -= SCROLL_PX;
  else if (y > box.bottom - EDGE_PX) scroll.scrollTop += SCROLL_PX;
}
