// The tab is called by its page, and the bar on top says which of its links leads there.

export function tellWhere() {
  const page = document.getElementById("page");
  const name = page?.querySelector("[data-title]")?.dataset.title ?? page?.querySelector("h1")?.textContent;
  const title = name ? `${name} – tracekit` : "tracekit";
  if (document.title !== title) document.title = title;
  for (const link of document.querySelectorAll(".site .place")) {
    const current = currentOf(link.getAttribute("href"), location.pathname);
    if (link.getAttribute("aria-current") === current) continue;
    if (current) link.setAttribute("aria-current", current);
    else link.removeAttribute("aria-current");
  }
}

/** "page" for the link's own page, "true" for one below the library, null for others. */
export function currentOf(href, path) {
  if (href === path) return "page";
  return href === "/" && /^\/(recordings|compare)(\/|$)/.test(path) ? "true" : null;
}
