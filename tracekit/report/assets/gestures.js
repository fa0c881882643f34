// Mouse, trackpad and touch as what they mean: zoom, pan, select, click. Plain wheel stays the page's own scrolling.

const CLICK_PX = 4;
const STRONGEST_STEP = 0.6;
const MIDDLE_BUTTON = 1;

/** A finger that has been held this long drags; one that moves before scrolls or moves the picture. */
export const HOLD_MS = 350;

/** `to` has zoom(factor, x), pan(pixels), select(x, x, isDone), click(x, y), doubleClick(x, y), hover(x, y), leave(). */
export function listenToGestures(element, to) {
  const pointers = new Map();
  let drag = null;
  const place = (event) => {
    const box = element.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };

  element.addEventListener("wheel", (event) => onWheel(event, place(event), to), { passive: false });
  element.addEventListener("dblclick", (event) => to.doubleClick(place(event).x, place(event).y));
  element.addEventListener("pointerdown", (event) => {
    if (event.button > MIDDLE_BUTTON) return;
    element.setPointerCapture(event.pointerId);
    pointers.set(event.pointerId, place(event));
    const pans = event.button === MIDDLE_BUTTON || event.shiftKey || event.pointerType === "touch";
    clearTimeout(drag?.timer);
    drag = { start: place(event), last: place(event), pans, moved: false, held: false };
    if (event.pointerType === "touch") drag.timer = setTimeout(hold, HOLD_MS, drag);
    if (event.button === MIDDLE_BUTTON) event.preventDefault();
  });
  element.addEventListener("pointermove", (event) => {
    const now = place(event);
    if (!pointers.has(event.pointerId)) {
      to.hover(now.x, now.y);
      return;
    }
    if (pointers.size === 2) {
      clearTimeout(drag.timer);
      drag.moved = true;
      drag.pans = true;
      pinch(pointers, event.pointerId, now, to);
    } else onDrag(drag, now, to);
    pointers.set(event.pointerId, now);
  });
  const hold = (held) => {
    if (held !== drag || held.moved || pointers.size > 1) return;
    Object.assign(held, { held: true, pans: false });
    to.hover(held.start.x, held.start.y); // the finger learns that it was noticed
  };
  const finish = (event) => {
    clearTimeout(drag?.timer);
    if (!pointers.delete(event.pointerId) || pointers.size > 0 || !drag) return;
    const now = place(event);
    if (!drag.moved && event.type === "pointerup") to.click(now.x, now.y);
    else if (drag.moved && !drag.pans) to.select(drag.start.x, now.x, true);
    drag = null;
  };
  element.addEventListener("pointerup", finish);
  element.addEventListener("pointercancel", finish);
  element.addEventListener("pointerleave", () => to.leave());
  element.addEventListener("touchmove", (event) => drag?.held && event.preventDefault(), { passive: false });
  element.addEventListener("contextmenu", (event) => drag?.held && event.preventDefault());
}

function onWheel(event, { x }, to) {
  if (event.ctrlKey || event.metaKey) {
    event.preventDefault();
    const pixels = event.deltaMode === 1 ? event.deltaY * 33 : event.deltaY;
    // A trackpad's pinch comes as many small steps, a wheel's notch as one of 100 and more.
    to.zoom(2 ** Math.max(-STRONGEST_STEP, Math.min(STRONGEST_STEP, pixels * 0.01)), x);
  } else if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
    event.preventDefault();
    to.pan(event.deltaX);
  } else if (event.shiftKey) {
    event.preventDefault();
    to.pan(event.deltaY);
  }
}

function onDrag(drag, now, to) {
  if (Math.abs(now.x - drag.start.x) + Math.abs(now.y - drag.start.y) > CLICK_PX) drag.moved = true;
  if (!drag.moved) return;
  if (drag.pans) to.pan(drag.last.x - now.x);
  else to.select(drag.start.x, now.x, false);
  drag.last = now;
}

function pinch(pointers, moving, now, to) {
  const [still] = [...pointers].filter(([id]) => id !== moving).map(([, where]) => where);
  const before = pointers.get(moving);
  const distance = Math.max(8, Math.abs(before.x - still.x));
  const wider = Math.max(8, Math.abs(now.x - still.x));
  to.zoom(distance / wider, still.x);
}
