// The samples of a lane in order of time, for the time-ordered chart. Where there are too many for the picture, each column
// has one: the one in the middle of those of the engine that has most.

/** Up to so many samples per column are all drawn. */
export const PER_COLUMN = 2;

/**
 * The rows of a lane for `columns` pixels over [from, to): { view, rows, lengths, inRange }. `rows` are rows of the `samples` of
 * `view`, which has those of the picture only, in order of time; `lengths` is how long each is, `inRange` how many there are
 * in the range. Null if samples are summed up and have no order.
 */
export function rowsOfLane(view, samples, lane, from, to, columns) {
  if (!samples.isExact) return null;
  const [begin, end] = [samples.firstAt(lane, from), samples.firstAt(lane, to)];
  const isThinned = end - begin > PER_COLUMN * columns;
  const chosen = isThinned ? thinned(view, samples, begin, end, { from, to, columns }) : rowsTouching(samples, lane, from, { begin, end, columns });
  return { view: { ...view, samples: pictured(view.stacks, samples, chosen) }, rows: chosen.map((_, index) => index), lengths: Float64Array.from(chosen, samples.lengthOf), inRange: end - begin };
}

/** The columns of the rows that are drawn. */
function pictured({ node, joined, engine }, { time, stack }, rows) {
  const of = (Column, values) => Column.from(rows, (row) => values[stack[row]]);
  return { time: Float64Array.from(rows, (row) => time[row]), node: of(Int32Array, node), engine: of(Uint8Array, engine), joined: joined && of(Int32Array, joined) };
}

/** The rows from `begin` to `end`, after those that began earlier and reach into the range. */
function rowsTouching(samples, lane, from, { begin, end, columns }) {
  const rows = [];
  for (let row = Math.max(samples.reachingFrom(lane, from), begin - columns, samples.first[lane]); row < end; row += 1) {
    if (row >= begin || samples.endOf(row) > from) rows.push(row);
  }
  return rows;
}

function thinned({ stacks, engines }, { time, stack }, begin, end, { from, to, columns }) {
  const rows = [];
  let next = begin;
  for (let column = 0; column < columns && next < end; column += 1) {
    const edge = from + ((column + 1) * (to - from)) / columns;
    const ofEngine = engines.map(() => []);
    for (; next < end && (time[next] < edge || column === columns - 1); next += 1) ofEngine[stacks.engine[stack[next]]].push(next);
    const most = ofEngine.reduce((best, candidates) => (candidates.length > best.length ? candidates : best));
    if (most.length > 0) rows.push(most[Math.floor(most.length / 2)]);
  }
  return rows;
}
