// Dragging a lane by its name, with the mouse or, after holding it for a moment, with a finger.
import { make } from "./dom.js";
import { HOLD_MS } from "./gestures.js";

const START_PX = 5;
const EDGE_PX = 26;
const SCROLL_PX = 12;

/** `to` has siblings(target), the labels that the one pressed can be put among, and drop(label, neighbour, isAfter). */
export function listenToLaneDrag(element, to) {
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
    const labels = to.siblings(event.target);
    const label = labels.find((each) => each.contains(event.target));
    if (!label) return;
    drag = { label, labels, pointer: event.pointerId, y: event.clientY, isTouch: event.pointerType === "touch" };
    if (drag.isTouch) drag.timer = setTimeout(lift, HOLD_MS);
  });
  element.addEventListener("pointermove", (event) => {
    if (event.pointerId !== drag?.pointer) return;
    if (event.buttons === 0) return finish(); // let go of elsewhere
    const hasMoved = Math.abs(event.clientY - drag.y) > START_PX;
    if (!drag.isLifted && hasMoved) {
      if (drag.isTouch) return finish(); // the finger scrolls
      lift();
    }
    if (drag.isLifted) {
      scrollAtEdges(element, event.clientY);
      showLine(line, element, dropPlace(drag, event.clientY));
    }
  });
  element.addEventListener("pointerup", (event) => {
    if (event.pointerId !== drag?.pointer) return;
    const { label, isLifted } = drag;
    const place = isLifted && dropPlace(drag, event.clientY);
    finish();
    if (!isLifted) return;
    justDropped = true; // the click that follows is none
    setTimeout(() => {
      justDropped = false;
    });
    if (place) to.drop(label, place.neighbour, place.isAfter);
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

/** The neighbour that the label would get at a height, and on which side; null if it is the only one. */
function dropPlace({ label, labels }, y) {
  const others = labels.filter((each) => each !== label);
  if (others.length === 0) return null;
  const below = others.find((each) => {
    const box = each.getBoundingClientRect();
    return y < box.top + box.height / 2;
  });
  return below ? { neighbour: below, isAfter: false } : { neighbour: others.at(-1), isAfter: true };
}

function showLine(line, element, place) {
  line.hidden = place === null;
  if (!place) return;
  const box = place.neighbour.getBoundingClientRect();
  line.style.top = `${(place.isAfter ? box.bottom : box.top) - element.getBoundingClientRect().top - 1}px`;
}

function scrollAtEdges(element, y) {
  const scroll = element.closest(".timeline-scroll");
  const box = scroll.getBoundingClientRect();
  if (y < box.top + EDGE_PX) scroll.scrollTop -= SCROLL_PX;
  else if (y > box.bottom - EDGE_PX) scroll.scrollTop += SCROLL_PX;
}
