// Elements made without markup in strings, so that text from a recording can never become markup.

/** Makes an element. `on…` are listeners, names with a hyphen attributes, others properties; children are nodes or texts. */
export function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) setProperty(element, name, value);
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

function setProperty(element, name, value) {
  if (value === null || value === undefined) return;
  if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
  else if (name.includes("-") || name === "role" || name === "for") element.setAttribute(name, String(value));
  else element[name] = value;
}

/** Makes an SVG element; all its `attributes` are attributes. */
export function makeSvg(tag, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  element.append(...children);
  return element;
}

/** Sizes a canvas for the page and the screen's resolution; drawing coordinates are page pixels. */
export function fitCanvas(canvas, width, height) {
  const ratio = window.devicePixelRatio || 1;
  const columns = Math.max(1, Math.round(width * ratio));
  const rows = Math.max(1, Math.round(height * ratio));
  if (canvas.width !== columns || canvas.height !== rows) {
    canvas.width = columns;
    canvas.height = rows;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
  }
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  return { context, ratio };
}

/** The text cut to about `width` pixels; "" if not even two letters fit. Measuring each text would be too slow. */
export function clipText(text, width, letterWidth = 6.4) {
  const letters = Math.floor(width / letterWidth);
  if (letters < 2) return "";
  return text.length > letters ? `${text.slice(0, Math.max(1, letters - 1))}…` : text;
}
