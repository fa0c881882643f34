// The tab's title, and the mark on the current page's link in the bar on top.

export function setTitle() {
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

/** "page" for a link to the current page, "true" for the library's link on pages below it, else null. */
export function currentOf(href, path) {
  if (href === path) return "page";
  return href === "/" && /^\/(recordings|compare)(\/|$)/.test(path) ? "true" : null;
}
