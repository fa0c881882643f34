// Which rows the page's filter keeps: `node filter_rows.mjs VIEW FILTERS`, a view's block and a JSON list of texts.
// Prints a JSON list with, for each text, its terms, and null or the numbers of the rows.

import { readFileSync } from "node:fs";
import { readView } from "../../../tracekit/report/assets/decode.js";
import { parseFilter, sampleMask } from "../../../tracekit/report/assets/filter.js";

const [view, filters] = process.argv.slice(2);
const bytes = readFileSync(view);
const read = readView(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
const kept = JSON.parse(readFileSync(filters, "utf-8")).map((text) => {
  const terms = parseFilter(text);
  const mask = sampleMask(read, terms);
  return [JSON.stringify(terms.map(({ key, values, isNegated }) => [key, values, isNegated])), mask && [...mask].flatMap((each, row) => (each ? [row] : []))];
});
process.stdout.write(JSON.stringify(kept));
