// Draws what Dash describes as components, and draws it anew without touching what stays: Dash itself makes every
// element below a new `children` anew, so that focus and a pressed button are lost.

const NAMES = { className: "class", tabIndex: "tabindex", colSpan: "colspan", rowSpan: "rowspan" };
const NOT_ATTRIBUTES = new Set(["children", "key", "id", "n_clicks", "n_clicks_timestamp", "setProps"]);
const OF_LINKS = /^\/(?!\/)/; // within this site

/** `wanted` is what `parent` shall hold: texts and components. A component's id, a plain object, becomes `asks`. */
export function patch(parent, wanted) {
  const list = [wanted].flat(Infinity).filter((one) => one !== null && one !== undefined && one !== false);
  const keys = new Set(list.map(keyOf));
  const known = new Map();
  for (const node of [...parent.childNodes]) {
    if (node.patchKey === undefined) continue;
    if (keys.has(node.patchKey)) known.set(node.patchKey, node);
    else node.remove();
  }
  let at = parent.firstChild;
  for (const one of list) {
    const node = fitting(one, at, known) ?? made(one);
    if (node === at) at = at.nextSibling;
    else parent.insertBefore(node, at);
    fill(node, one);
  }
  while (at) {
    const next = at.nextSibling;
    at.remove();
    at = next;
  }
}

function fitting(one, at, known) {
  const key = keyOf(one);
  const node = key === undefined ? at : known.get(key);
  return node && node.patchKey === key && node.nodeName.toLowerCase() === nameOf(one) ? node : null;
}

function made(one) {
  if (typeof one !== "object") return document.createTextNode("");
  const element = document.createElement(nameOf(one));
  element.patchKey = keyOf(one);
  return element;
}

function nameOf(one) {
  return typeof one === "object" ? one.type.toLowerCase() : "#text";
}

function keyOf({ props }) {
  return props?.key ?? (props?.id && JSON.stringify(props.id));
}

function fill(node, one) {
  if (typeof one !== "object") {
    if (node.data !== String(one)) node.data = String(one);
    return;
  }
  node.asks = one.props.id;
  setAttributes(node, one.props);
  patch(node, one.props.children);
}

function setAttributes(element, props) {
  const wanted = new Map();
  for (const [name, value] of Object.entries(props)) {
    if (NOT_ATTRIBUTES.has(name) || /^on/i.test(name) || value === null || value === false) continue;
    if (name === "href" && !OF_LINKS.test(value)) continue;
    wanted.set(NAMES[name] ?? name.toLowerCase(), value === true ? "" : String(value));
  }
  for (const [name, value] of wanted) if (element.getAttribute(name) !== value) element.setAttribute(name, value);
  for (const name of element.patched ?? []) if (!wanted.has(name)) element.removeAttribute(name);
  element.patched = [...wanted.keys()];
}
