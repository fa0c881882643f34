// The samples of a view, lane by lane in order of time. A row is a sample or, where samples are summed up, those of one stack
// between two edges.
import { lowerBound, upperBound } from "../shared/scale.js";

/**
 * The rows of `view`'s samples: { first, time, stack, weight, number, … }; lane n has those from first[n] to below
 * first[n + 1]. `stack` is a row of `view.stacks`; `weight` and `number` are null where all rows have the `weightOf` and
 * `numberOf` of any. Null as long as the page has no samples.
 */
export function laneSamples(view, samples = view.samples) {
  if (!samples.of_lane) return null;
  const { stack } = samples;
  const first = runningCounts(samples.of_lane);
  const binned = samples.edges ? piecesOf(samples) : null;
  const time = binned?.start ?? timesOf(samples);
  const [weight, weightOf] = columnOf(samples.weight);
  const [number, numberOf] = columnOf(samples.number);
  const lengthOf = view.unit === "ns" ? weightOf : (row) => numberOf(row) * view.period_ns;
  const endOf = binned ? (row) => binned.end[row] : (row) => time[row] + lengthOf(row);
  const firstAt = (lane, from, times = time) => lowerBound(times, from, first[lane], first[lane + 1]);
  const longest = view.lanes.map((_, lane) => longestRow(lane));

  function longestRow(lane) {
    if (binned) return view.bin_ns;
    const isSame = view.unit === "ns" ? !weight : !number;
    const end = isSame ? Math.min(first[lane] + 1, first[lane + 1]) : first[lane + 1];
    let most = 0;
    for (let row = first[lane]; row < end; row += 1) most = Math.max(most, lengthOf(row));
    return most;
  }

  return {
    first, time, stack, weight, weightOf, number, numberOf, isExact: view.exact, edges: samples.edges,
    /** The time that a row represents: its weight if that is time, else a period per sample. */
    lengthOf,
    /** The time by which a row belongs to a range: the middle of a sum. */
    momentOf: binned ? (row) => binned.middle[row] : (row) => time[row],
    /** Where a row is drawn to: a summed one is spread over its bin. */
    endOf,
    firstAt,
    /** The first row that may still run at a time. */
    reachingFrom: (lane, from) => firstAt(lane, from - longest[lane]),
    /** The first and the end of a lane's rows of a range. A row that is a sum belongs to the range with its middle. */
    between: (lane, from, to) => [firstAt(lane, from, binned?.middle), firstAt(lane, to, binned?.middle)],
    laneOf: (row) => upperBound(first, row) - 1,
  };
}

function columnOf(values) {
  return typeof values === "number" ? [null, () => values] : [values, (row) => values[row]];
}

function runningCounts(counts) {
  const first = new Uint32Array(counts.length + 1);
  counts.forEach((count, lane) => {
    first[lane + 1] = first[lane] + count;
  });
  return first;
}

/** Times from the steps between rows; some rows begin anew, with a time of their own. */
function timesOf({ step, jump_row: jumpRow, jump_time: jumpTime }) {
  const times = new Float64Array(step.length);
  for (let jump = 0, row = 0, time = 0; row < times.length; jump += 1) {
    const next = jump < jumpRow.length ? jumpRow[jump] : times.length;
    for (; row < next; row += 1) times[row] = time += step[row];
    if (jump < jumpRow.length) time = jumpTime[jump];
  }
  return times;
}

/** The piece of time of each row that sums up several samples: it begins at one edge and ends at the next. */
function piecesOf({ edges, edge }) {
  const start = Float64Array.from(edge, (index) => edges[index]);
  const end = Float64Array.from(edge, (index) => edges[Math.min(index + 1, edges.length - 1)]);
  return { start, end, middle: start.map((time, row) => (time + end[row]) / 2) };
}
