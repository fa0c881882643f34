// The samples of a lane in order of time, for the time-ordered chart. Where there are too many for the picture, each column
// has one: the one in the middle of those of the engine that has most.

/** Up to so many samples per column are all drawn. */
export const PER_COLUMN = 2;

/**
 * Returns `stacksIn(lane, from, to, columns)` of a source: { view, rows, lengths, inRange }, rows of `view.samples` in order
 * of time, how long each sample is, and how many the range has; null if samples are summed up and have no order.
 * `firstAt(lane, time)` and `reachingFrom(lane, time)` are positions in `order`, lane by lane in order of time, of the first
 * sample that begins, or that may still be running, at a time.
 */
export function memoryStacks(view, order, { firstAt, reachingFrom, lengthOf }) {
  return (lane, from, to, columns) => {
    if (!view.exact) return null;
    const [begin, end] = [firstAt(lane, from), firstAt(lane, to)];
    const isThinned = end - begin > PER_COLUMN * columns;
    const rows = isThinned ? thinned(view, order, begin, end, { from, to, columns }) : [...earlier(lane, from, begin - columns), ...order.subarray(begin, end)];
    return { view, rows, lengths: Float64Array.from(rows, lengthOf), inRange: end - begin };
  };

  /** Samples that began before a time and reach beyond it. */
  function earlier(lane, from, least) {
    const candidates = order.subarray(Math.max(reachingFrom(lane, from), least), firstAt(lane, from));
    return candidates.filter((row) => view.samples.time[row] + lengthOf(row) > from);
  }
}

function thinned({ samples, engines }, order, begin, end, { from, to, columns }) {
  const rows = [];
  let next = begin;
  for (let column = 0; column < columns && next < end; column += 1) {
    const edge = from + ((column + 1) * (to - from)) / columns;
    const ofEngine = engines.map(() => []);
    for (; next < end && (samples.time[order[next]] < edge || column === columns - 1); next += 1) {
      ofEngine[samples.engine[order[next]]].push(order[next]);
    }
    const most = ofEngine.reduce((best, candidates) => (candidates.length > best.length ? candidates : best));
    if (most.length > 0) rows.push(most[Math.floor(most.length / 2)]);
  }
  return rows;
}
