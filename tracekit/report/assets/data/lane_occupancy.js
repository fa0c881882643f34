// How busy a lane is in each pixel: from the view's planes where pixels are longer than their bins, else from the samples.
import { NOTHING } from "./filter.js";
import { capPixels, coverPixels, resamplePlane } from "./occupancy.js";
import { rowsOf } from "./selection.js";

/**
 * Returns `occupancy(samples, lane, from, to, pixels, filter)`: { engines, planes }, a plane of `pixels` values for each engine of the
 * lane. `samples` are those of samples.js, null as long as there are none: then planes are what the view has.
 */
export function laneOccupancy(view) {
  const binNs = view.duration_ns / view.bins;
  const planesOfFilter = new WeakMap();

  /** The planes of a whole lane under a filter, in the bins of the view's own; made once. */
  function filteredPlanes(samples, lane, filter) {
    if (!planesOfFilter.has(filter)) planesOfFilter.set(filter, new Map());
    const ofLanes = planesOfFilter.get(filter);
    if (!ofLanes.has(lane)) ofLanes.set(lane, fromSamples(view, samples, lane, { from: 0, to: view.duration_ns, pixels: view.bins, filter }));
    return ofLanes.get(lane);
  }

  return (samples, lane, from, to, pixels, filter = null) => {
    const { engines, occupancy } = view.lanes[lane];
    const isNarrow = samples?.isExact && (to - from) / pixels < binNs;
    if (isNarrow) return { engines, planes: fromSamples(view, samples, lane, { from, to, pixels, filter }) };
    const planes = filter && samples ? filteredPlanes(samples, lane, filter) : occupancy;
    return { engines, planes: resampled(planes, engines.length, binNs, from, to, pixels) };
  };
}

function resampled(planes, count, binNs, from, to, pixels) {
  const out = new Float32Array(count * pixels);
  const bins = planes.length / count;
  for (let index = 0; index < count; index += 1) {
    resamplePlane(planes.subarray(index * bins, (index + 1) * bins), binNs, from, to, out.subarray(index * pixels, (index + 1) * pixels));
  }
  return out;
}

function fromSamples(view, samples, lane, { from, to, pixels, filter }) {
  const { engines } = view.lanes[lane];
  const planes = new Float32Array(engines.length * pixels);
  const table = filter ? filter.tableOf(lane) : null;
  if (table === NOTHING) return planes;
  const offsets = new Int32Array(view.engines.length).fill(-1);
  engines.forEach((code, index) => {
    offsets[code] = index * pixels;
  });
  const step = (to - from) / pixels;
  const { time, stack } = samples;
  // One that begins before the range may still reach into it.
  const range = { from: time[samples.reachingFrom(lane, from)] ?? from, to };
  for (const [begin, end] of rowsOf(samples, lane, filter?.times ? range : null, filter)) {
    const last = Math.min(end, samples.firstAt(lane, to));
    for (let row = Math.max(begin, samples.reachingFrom(lane, from)); row < last; row += 1) {
      const offset = offsets[view.stacks.engine[stack[row]]];
      if (offset < 0 || (table && table[stack[row]] === 0)) continue;
      const length = samples.lengthOf(row);
      const until = samples.endOf(row);
      // A row that is a sum is spread over its bin, at the density that keeps its length.
      coverPixels(planes, offset, pixels, from, step, time[row], until, length / (until - time[row]));
    }
  }
  capPixels(planes, pixels);
  return planes;
}
