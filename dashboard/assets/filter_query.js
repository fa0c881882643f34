// The filter of a request: the server gets the parsed terms, so that the grammar is in filter.js alone.
import { parseFilter } from "/report-assets/filter.js";

/** A filter's terms as JSON, [key, values, isNegated] each; null without terms. Texts of one meaning are fetched once. */
export function filterQuery(text) {
  const terms = parseFilter(text);
  return terms.length > 0 ? JSON.stringify(terms.map(({ key, values, isNegated }) => [key, values, isNegated])) : null;
}
