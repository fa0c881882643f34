// Lanes for a recording of which the timeline would show nothing: those of its tables that show most over time.
import { loadTables } from "./table_client.js";

const MOST_DEFAULT_LANES = 4;
/** Of tables that no list names, so many are read to find those with times. */
const MOST_TABLES_TRIED = 6;
/** Tables that are drawn first: what a user saw, then what kept it waiting, then loads. A column's name draws its values. */
const DRAWN_FIRST = new Map([
  ["potential-hangs", ""],
  ["hitches", ""],
  ["core-animation-fps-estimate", "fps"],
  ["disk-io-latency", ""],
  ["disk-usage", ""],
  ["fs-syscall", ""],
  ["syscall", ""],
  ["core-data-fetch", ""],
  ["com-apple-cfnetwork-task-intervals", ""],
  ["activity-monitor-system", "cpu-total-load"],
  ["hang-risks", ""],
]);
/** Lists of names, whose times are those of their writing. */
const NAMES_ONLY = /-info$|-strings$|^tick$/;

/** Draws some tables, unless the timeline has other lanes or the address names some; `announce(text)` while they are read. */
export async function drawDefaultLanes({ address, source, store, drawn, announce }) {
  const { view } = source;
  const isEmpty = [view.lanes, view.spans, view.signposts, view.tracks].every((lanes) => lanes.length === 0) && view.windows.count === 0;
  if (!isEmpty || store.state.drawn.length > 0) return;
  const contents = await loadTables(address, "");
  const tables = contents.runs.find(({ run }) => run === contents.run)?.tables.filter(({ rows }) => rows > 0) ?? [];
  const entries = [];
  for (const { number, schema } of mostTelling(tables)) {
    if (entries.length >= MOST_DEFAULT_LANES) break;
    const id = `${contents.run}-${number}`;
    const { has_time: hasTime, columns } = await loadTables(address, `/${id}`, { onProgress: (text) => announce(`${schema}, to draw it: ${text}`) });
    const value = DRAWN_FIRST.get(schema) ? columns.findIndex(({ name, is_value: isValue }) => isValue && name === DRAWN_FIRST.get(schema)) : -1;
    if (hasTime) entries.push(value < 0 ? id : `${id}v${value}`);
  }
  announce("");
  if (store.state.drawn.length === 0) drawn.add(entries);
}

function mostTelling(tables) {
  const order = [...DRAWN_FIRST.keys()];
  const first = tables.filter(({ schema }) => DRAWN_FIRST.has(schema)).sort((left, right) => order.indexOf(left.schema) - order.indexOf(right.schema));
  if (first.length > 0) return first;
  const others = tables.filter(({ schema }) => !NAMES_ONLY.test(schema));
  return others.sort((left, right) => right.rows - left.rows).slice(0, MOST_TABLES_TRIED);
}
