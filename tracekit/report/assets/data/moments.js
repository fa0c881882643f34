// Samples by their time: the pauses of a lane, and the samples during calls.

/** The pause of a lane around a time, see `gapAt` of a source. */
export function findGap(samples, lane, time, duration) {
  const [first, end] = [samples.first[lane], samples.first[lane + 1]];
  const next = samples.firstAt(lane, time);
  let from = 0;
  for (let row = Math.min(samples.reachingFrom(lane, time), next - 1); row < next; row += 1) if (row >= first) from = Math.max(from, samples.endOf(row));
  const to = next < end ? samples.time[next] : duration;
  return from <= time && time < to ? { from, to } : null;
}

/** The number of samples whose stack is marked, during each call. */
export function countInCalls({ windows, lanes }, samples, isMarked) {
  const counts = new Float64Array(windows.count);
  for (let call = 0; call < windows.count; call += 1) {
    for (let lane = 0; lane < lanes.length; lane += 1) {
      const [begin, end] = samples.between(lane, windows.start[call], windows.end[call]);
      for (let row = begin; row < end; row += 1) if (isMarked[samples.stack[row]] === 1) counts[call] += samples.numberOf(row);
    }
  }
  return counts;
}
