// Occupancy: how busy a lane is in each pixel, 0 to 255 per engine, from planes of bins or from single samples.

/** Writes the mean of a plane of bins for each of `out.length` pixels over [from, to). */
export function resamplePlane(plane, binNs, from, to, out) {
  const bins = plane.length;
  const step = (to - from) / out.length / binNs;
  for (let pixel = 0; pixel < out.length; pixel += 1) {
    const low = Math.max(0, from / binNs + pixel * step);
    const high = Math.min(bins, from / binNs + (pixel + 1) * step);
    out[pixel] = high > low ? sumOfBins(plane, low, high) / step : 0;
  }
}

/**
 * The sum over bins from `low` to `high`, of the bins at the ends the covered part:
 *
 *     bins   |    0    |    1    |    2    |      low = 0.5, high = 2.25: half of 0, all of 1, a quarter of 2
 */
export function sumOfBins(plane, low, high) {
  const first = Math.floor(low);
  const last = Math.min(plane.length, Math.ceil(high)) - 1;
  if (first >= last) return plane[first] * (high - low);
  let sum = plane[first] * (first + 1 - low) + plane[last] * (high - last);
  for (let bin = first + 1; bin < last; bin += 1) sum += plane[bin];
  return sum;
}

/** Adds an interval that is `density` busy to the pixels that it overlaps, to those at its ends in part. */
export function coverPixels(out, offset, pixels, from, step, start, end, density) {
  const low = Math.max(0, (start - from) / step);
  const high = Math.min(pixels, (end - from) / step);
  if (!(high > low)) return;
  const first = Math.floor(low);
  const last = Math.min(pixels, Math.ceil(high)) - 1;
  const full = 255 * density;
  if (first >= last) {
    out[offset + first] += full * (high - low);
    return;
  }
  out[offset + first] += full * (first + 1 - low);
  for (let pixel = first + 1; pixel < last; pixel += 1) out[offset + pixel] += full;
  out[offset + last] += full * (high - last);
}

/** Limits pixels to 255: where stacked planes exceed it, because samples overlap, all shrink in proportion. */
export function capPixels(out, pixels) {
  const planes = out.length / pixels;
  for (let pixel = 0; pixel < pixels; pixel += 1) {
    let sum = 0;
    for (let plane = 0; plane < planes; plane += 1) sum += out[plane * pixels + pixel];
    if (sum <= 255) continue;
    for (let plane = 0; plane < planes; plane += 1) out[plane * pixels + pixel] *= 255 / sum;
  }
}
