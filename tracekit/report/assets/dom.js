// Making elements, without markup in strings: other people's text can only ever become text.

/** `children` are nodes or strings; `on…` are listeners, `data…` and `aria…` attributes, others properties. */
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

/** The same for SVG, where everything is an attribute. */
export function makeSvg(tag, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  element.append(...children);
  return element;
}

/** Fits a canvas to its size on the page and the screen's resolution; drawing is in page pixels. */
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

/** As much of the text as fits into `width` at about `letterWidth` a letter; nothing if that is next to nothing. */
export function clipText(text, width, letterWidth = 6.4) {
  const letters = Math.floor(width / letterWidth);
  if (letters < 2) return "";
  return text.length > letters ? `${text.slice(0, Math.max(1, letters - 1))}…` : text;
}
