// Translates mouse, trackpad and touch into zoom, pan, select and click. A plain wheel scrolls the page as usual.

const CLICK_PX = 4;
const STRONGEST_STEP = 0.6;
const MIDDLE_BUTTON = 1;

/** A finger held for this long starts to drag; one that moves earlier scrolls or pans. */
export const HOLD_MS = 350;

/** `handlers`: zoom(factor, x), pan(pixels), select(x, x, isDone), click(x, y, isSecond), doubleClick(x, y), hover(x, y), drag(), leave(). */
export function listenToGestures(element, handlers) {
  const pointers = new Map();
  let drag = null;
  const pointOf = (event) => {
    const box = element.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };

  element.addEventListener("wheel", (event) => onWheel(event, pointOf(event), handlers), { passive: false });
  element.addEventListener("dblclick", (event) => handlers.doubleClick(pointOf(event).x, pointOf(event).y));
  element.addEventListener("pointerdown", (event) => {
    if (event.button > MIDDLE_BUTTON) return;
    element.setPointerCapture(event.pointerId);
    pointers.set(event.pointerId, pointOf(event));
    const pans = event.button === MIDDLE_BUTTON || event.shiftKey || event.pointerType === "touch";
    clearTimeout(drag?.timer);
    drag = { start: pointOf(event), last: pointOf(event), pans, moved: false, isHeld: false };
    if (event.pointerType === "touch") drag.timer = setTimeout(hold, HOLD_MS, drag);
    if (event.button === MIDDLE_BUTTON) event.preventDefault();
  });
  element.addEventListener("pointermove", (event) => {
    const now = pointOf(event);
    if (!pointers.has(event.pointerId)) {
      handlers.hover(now.x, now.y);
      return;
    }
    if (pointers.size === 2) {
      clearTimeout(drag.timer);
      drag.moved = true;
      drag.pans = true;
      pinch(pointers, event.pointerId, now, handlers);
    } else onDrag(drag, now, handlers);
    pointers.set(event.pointerId, now);
  });
  const hold = (timed) => {
    if (timed !== drag || timed.moved || pointers.size > 1) return; // another drag, or no longer a held finger
    Object.assign(timed, { isHeld: true, pans: false });
    handlers.hover(timed.start.x, timed.start.y); // shows that holding was recognised
  };
  const finish = (event) => {
    clearTimeout(drag?.timer);
    if (!pointers.delete(event.pointerId) || pointers.size > 0 || !drag) return;
    const now = pointOf(event);
    if (!drag.moved && event.type === "pointerup") handlers.click(now.x, now.y, event.shiftKey || event.ctrlKey || event.metaKey);
    else if (drag.moved && !drag.pans) handlers.select(drag.start.x, now.x, true);
    drag = null;
  };
  element.addEventListener("pointerup", finish);
  element.addEventListener("pointercancel", finish);
  element.addEventListener("pointerleave", () => handlers.leave());
  element.addEventListener("touchmove", (event) => drag?.isHeld && event.preventDefault(), { passive: false });
  element.addEventListener("contextmenu", (event) => drag?.isHeld && event.preventDefault());
}

function onWheel(event, { x }, handlers) {
  if (event.ctrlKey || event.metaKey) {
    event.preventDefault();
    const pixels = event.deltaMode === 1 ? event.deltaY * 33 : event.deltaY; // mode 1 counts lines
    // A trackpad's pinch arrives as many small steps, a wheel's notch as one of 100 and more.
    handlers.zoom(2 ** Math.max(-STRONGEST_STEP, Math.min(STRONGEST_STEP, pixels * 0.01)), x);
  } else if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
    event.preventDefault();
    handlers.pan(event.deltaX);
  } else if (event.shiftKey) {
    event.preventDefault();
    handlers.pan(event.deltaY);
  }
}

function onDrag(drag, now, handlers) {
  if (Math.abs(now.x - drag.start.x) + Math.abs(now.y - drag.start.y) > CLICK_PX) drag.moved = true;
  if (!drag.moved) return;
  handlers.drag();
  if (drag.pans) handlers.pan(drag.last.x - now.x);
  else handlers.select(drag.start.x, now.x, false);
  drag.last = now;
}

function pinch(pointers, moving, now, handlers) {
  const [still] = [...pointers].filter(([id]) => id !== moving).map(([, point]) => point);
  const before = pointers.get(moving);
  const distance = Math.max(8, Math.abs(before.x - still.x));
  const wider = Math.max(8, Math.abs(now.x - still.x));
  handlers.zoom(distance / wider, still.x);
}
