// The lanes of calls: one for each model, as the numbers of calls count them.

/** Models beyond these share a last lane: more lanes than fit on a screen help nobody. */
const MOST_MODELS = 12;
const LANES_OF_VIEW = new WeakMap();

/**
 * One lane per model in order of its first call: { name, models, rows } with the number of its name in `view.strings` and its
 * `rows` of `view.windows`. Models with the fewest calls share the last lane, whose `name` is null; `models` counts them.
 */
export function callLanes(view) {
  if (!LANES_OF_VIEW.has(view)) LANES_OF_VIEW.set(view, lanesOfCalls(view.windows));
  return LANES_OF_VIEW.get(view);
}

function lanesOfCalls({ count, start, group }) {
  const rowsOf = new Map();
  for (let row = 0; row < count; row += 1) {
    if (!rowsOf.has(group[row])) rowsOf.set(group[row], []);
    rowsOf.get(group[row]).push(row);
  }
  const firstOf = (rows) => rows.reduce((first, row) => Math.min(first, start[row]), Infinity);
  const busiest = [...rowsOf].sort(([, left], [, right]) => right.length - left.length);
  const alone = busiest.slice(0, busiest.length > MOST_MODELS ? MOST_MODELS - 1 : MOST_MODELS);
  const shared = busiest.slice(alone.length);
  const lanes = alone
    .map(([number, rows]) => ({ name: number, models: 1, rows, first: firstOf(rows) }))
    .sort((left, right) => left.first - right.first);
  if (shared.length > 0) lanes.push({ name: null, models: shared.length, rows: shared.flatMap(([, rows]) => rows).sort((left, right) => left - right) });
  return lanes;
}
