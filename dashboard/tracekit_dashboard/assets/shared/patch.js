// Draws Dash's components and updates them in place. Dash itself rebuilds every element below new `children`, which
// loses the focus and the button being pressed.

const NAMES = { className: "class", tabIndex: "tabindex", colSpan: "colspan", rowSpan: "rowspan" };
const NOT_ATTRIBUTES = new Set(["children", "key", "id", "n_clicks", "n_clicks_timestamp", "setProps"]);
const OWN_SITE = /^\/(?!\/)/;

/**
 * Makes `children` (texts and components) the content of `parent`. Elements with a key are reused by key, others by
 * position. A component's id, a plain object, becomes the element's property `componentId`.
 */
export function patch(parent, children) {
  const list = [children].flat(Infinity).filter((component) => component !== null && component !== undefined && component !== false);
  const keys = new Set(list.map(keyOf));
  const keyed = new Map();
  for (const node of [...parent.childNodes]) {
    if (node.patchKey === undefined) continue;
    if (keys.has(node.patchKey)) keyed.set(node.patchKey, node);
    else node.remove();
  }
  let next = parent.firstChild;
  for (const component of list) {
    const node = reusable(component, next, keyed) ?? created(component);
    if (node === next) next = next.nextSibling;
    else parent.insertBefore(node, next);
    fill(node, component);
  }
  while (next) {
    const surplus = next;
    next = next.nextSibling;
    surplus.remove();
  }
}

function reusable(component, next, keyed) {
  const key = keyOf(component);
  const node = key === undefined ? next : keyed.get(key);
  return node && node.patchKey === key && node.nodeName.toLowerCase() === nameOf(component) ? node : null;
}

function created(component) {
  if (typeof component !== "object") return document.createTextNode("");
  const element = document.createElement(nameOf(component));
  element.patchKey = keyOf(component);
  return element;
}

function nameOf(component) {
  return typeof component === "object" ? component.type.toLowerCase() : "#text";
}

function keyOf({ props }) {
  return props?.key ?? (props?.id && JSON.stringify(props.id));
}

function fill(node, component) {
  if (typeof component !== "object") {
    if (node.data !== String(component)) node.data = String(component);
    return;
  }
  node.componentId = component.props.id;
  setAttributes(node, component.props);
  patch(node, component.props.children);
}

function setAttributes(element, props) {
  const attributes = new Map();
  for (const [name, value] of Object.entries(props)) {
    if (NOT_ATTRIBUTES.has(name) || /^on/i.test(name) || value === null || value === false) continue;
    if (name === "href" && !OWN_SITE.test(value)) continue;
    if (name === "style") {
      Object.assign(element.style, value); // names as in Dash, which are those of the browser
      continue;
    }
    attributes.set(NAMES[name] ?? name.toLowerCase(), value === true ? "" : String(value));
  }
  for (const [name, value] of attributes) if (element.getAttribute(name) !== value) element.setAttribute(name, value);
  for (const name of element.patched ?? []) if (!attributes.has(name)) element.removeAttribute(name);
  element.patched = [...attributes.keys()];
}
