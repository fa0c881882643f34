// Arithmetic of time ranges. All times are nanoseconds since the start of the run.

/** `range` moved, and narrowed or widened if necessary, to lie inside [0, duration). */
export function clampRange(range, duration, smallest) {
  const span = Math.min(duration, Math.max(smallest, range.to - range.from));
  const middle = (range.from + range.to) / 2;
  const from = Math.min(duration - span, Math.max(0, middle - span / 2));
  return { from, to: from + span };
}

/** Factor 2 shows twice as much; the time `anchor` stays where it is, unless an end of the run is in the way. */
export function zoomRange(range, factor, anchor, duration, smallest) {
  const span = Math.min(duration, Math.max(smallest, (range.to - range.from) * factor));
  const part = (anchor - range.from) / (range.to - range.from);
  const from = Math.min(duration - span, Math.max(0, anchor - part * span));
  return { from, to: from + span };
}

export function panRange(range, distance, duration) {
  const span = range.to - range.from;
  const from = Math.min(duration - span, Math.max(0, range.from + distance));
  return { from, to: from + span };
}

/** About `count` round times inside the range, a step of 1, 2 or 5 times a power of ten apart. */
export function niceTicks(from, to, count) {
  const rough = (to - from) / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5].find((factor) => factor * power >= rough) ?? 10);
  const times = [];
  for (let index = Math.ceil(from / step); index * step <= to; index += 1) times.push(index * step);
  return { step, times };
}

const SHARES = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5];

/** The share of time, 1 %, 2 %, 5 % and so on, that a lane's full height stands for, so that its highest pixel fits. */
export function laneScale(planes, columns) {
  let highest = 0;
  for (let pixel = 0; pixel < columns; pixel += 1) {
    let sum = 0;
    for (let index = pixel; index < planes.length; index += columns) sum += planes[index];
    if (sum > highest) highest = sum;
  }
  return SHARES.find((share) => highest <= share * 255) ?? 1;
}

/** The first index in a sorted array whose value is at least `value`. */
export function lowerBound(sorted, value, begin = 0, end = sorted.length) {
  let low = begin;
  let high = end;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (sorted[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The first index in a sorted array whose value is greater than `value`. */
export function upperBound(sorted, value) {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (sorted[middle] <= value) low = middle + 1;
    else high = middle;
  }
  return low;
}
