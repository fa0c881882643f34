// The page's tooltip, beside the pointer. The tables contain the same, so it is hidden from screen readers.
import { make } from "./dom.js";

const DISTANCE = 14;
const MOST_LETTERS = 300;

export function createTooltip(root = document.body) {
  const element = make("div", { className: "tooltip", "aria-hidden": "true", hidden: true });
  root.append(element);
  const hide = () => {
    element.hidden = true;
  };
  // It would stay where it was, over something else.
  addEventListener("scroll", hide, { capture: true, passive: true });
  return {
    /** Shows lines of text, the first as the heading; without any, nothing. */
    show(lines, x, y) {
      if (lines.length === 0) return hide();
      element.replaceChildren(...lines.map((line) => make("div", {}, line.slice(0, MOST_LETTERS))));
      element.hidden = false;
      const { width, height } = element.getBoundingClientRect();
      const { right, bottom } = freeRoom(x, y);
      const left = x + DISTANCE + width > right ? x - DISTANCE - width : x + DISTANCE;
      const top = y + DISTANCE + height > bottom ? y - DISTANCE - height : y + DISTANCE;
      element.style.left = `${Math.max(4, left)}px`;
      element.style.top = `${Math.max(4, top)}px`;
    },
    hide,
  };
}

/** Where the tooltip may reach to the right and below: the inspector, which explains more, stays in sight. */
function freeRoom(x, y) {
  const inspector = document.getElementById("inspector")?.getBoundingClientRect();
  const isThere = inspector?.width > 0;
  return {
    right: isThere && inspector.left > x ? inspector.left : window.innerWidth,
    bottom: isThere && inspector.top > y ? inspector.top : window.innerHeight,
  };
}
