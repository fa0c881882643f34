// The sections of an analysis or a comparison: the report's own markup, in which Python has escaped every text.
import { fetchResult } from "./requests.js";

/** The sections at an address, as elements in the order of the page. */
export async function fetchSections(address) {
  const sections = await fetchResult(address, (response) => response.json());
  return Object.values(sections).flatMap(parsedElements);
}

/** A parsed document runs no script, and the page's Content-Security-Policy allows none that came in markup. */
function parsedElements(markup) {
  return [...new DOMParser().parseFromString(markup, "text/html").body.children];
}
