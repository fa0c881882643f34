// The report's markup, which the server sends as a tree (routes/markup.py), because it has checked every element of it.

/** Makes nodes of texts and of elements as [name, attributes, children]. */
export function buildNodes(tree) {
  return tree.map((node) => {
    if (typeof node === "string") return document.createTextNode(node);
    const [name, attributes, children] = node;
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.append(...buildNodes(children));
    return element;
  });
}
