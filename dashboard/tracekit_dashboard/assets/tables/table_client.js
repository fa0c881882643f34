// Requests for tables: a table that is being read is asked for again until it is there.
import { errorMessage, pause } from "../shared/requests.js";

const TABLE_POLL_MS = 300;

/** The JSON below `address`/tables; `onProgress(text)` is called while the table is being read. */
export async function loadTables(address, path, { signal, onProgress = () => {} } = {}) {
  for (;;) {
    const response = await fetch(`${address}/tables${path}`, { credentials: "same-origin", signal });
    if (!response.ok) throw new Error(await errorMessage(response));
    const answer = await response.json();
    if (response.status !== 202) return answer;
    onProgress(progressText(answer));
    await pause(TABLE_POLL_MS, signal);
  }
}

function progressText({ stage, progress }) {
  const part = progress === null || progress === undefined ? "" : `, ${Math.floor(100 * progress)} %`;
  return `Reading: ${stage || "waiting for its turn"}${part} …`;
}

/** The query of a table's rows: { text, where: { column: condition }, sort, columns, range }. */
export function rowsQuery({ text, where, sort, columns, range }) {
  const query = new URLSearchParams();
  if (text.trim()) query.set("text", text);
  for (const [column, condition] of Object.entries(where)) if (condition.trim()) query.append("where", `${column}:${condition}`);
  if (sort) query.set("sort", sort);
  if (columns) query.set("columns", columns.join("."));
  if (range) {
    query.set("from", wholeNs(range.from));
    query.set("to", wholeNs(range.to));
  }
  return query.toString();
}

/** A time as digits: JavaScript writes large and small numbers with an exponent. */
export function wholeNs(time) {
  return BigInt(Math.ceil(time)).toString();
}
