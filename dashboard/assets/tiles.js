// The grid of tiles: level L splits the run into 2^L tiles of equally many bins. All times are nanoseconds.
import { sumOfBins } from "/report-assets/occupancy.js";

/** The grid for `tiles` of a view's header. */
export function tileGrid({ bins, levels }, durationNs) {
  const tileNs = (level) => durationNs / 2 ** level;
  return {
    bins,
    tileNs,
    binNs: (level) => tileNs(level) / bins,
    /** The coarsest level whose bins are no longer than a pixel, else the finest. */
    levelFor(pixelNs) {
      const level = Math.ceil(Math.log2(durationNs / (bins * pixelNs)) - 1e-9);
      return Math.min(levels - 1, Math.max(0, level));
    },
    /** The indexes of the tiles in [from, to), limited to the run. */
    between(level, from, to) {
      const length = tileNs(level);
      const first = Math.max(0, Math.floor(from / length));
      const end = Math.min(2 ** level, Math.ceil(to / length));
      return Array.from({ length: Math.max(0, end - first) }, (_, offset) => first + offset);
    },
    levels,
  };
}

/**
 * The finest available tiles for [from, to), as pieces { from, to, start, binNs, data }, one after the other. `find(level,
 * index)` returns a tile's data or null. A piece without a tile down to level `coarsest` has no data.
 *
 *     level 2  |████|    |    |████|      a missing tile is drawn from the tile above it,
 *     level 1  |█████████|         |      which covers twice the time with as many bins
 */
export function coverage(grid, level, from, to, find, coarsest = 0) {
  const length = grid.tileNs(level);
  return grid.between(level, from, to).map((index) => {
    const piece = { from: Math.max(from, index * length), to: Math.min(to, (index + 1) * length) };
    for (let candidate = level; candidate >= coarsest; candidate -= 1) {
      const above = Math.floor(index / 2 ** (level - candidate));
      const data = find(candidate, above);
      if (data) return { ...piece, start: above * grid.tileNs(candidate), binNs: grid.binNs(candidate), data };
    }
    return { ...piece, start: 0, binNs: 0, data: null };
  });
}

/** Adds a piece's plane, which begins at `piece.start`, to the pixels of [from, to), within the piece only. */
export function addPiece(out, from, to, piece, plane) {
  const pixels = out.length;
  const step = (to - from) / pixels;
  const first = Math.max(0, Math.floor((piece.from - from) / step));
  const end = Math.min(pixels, Math.ceil((piece.to - from) / step));
  const perStep = piece.binNs / step;
  for (let pixel = first; pixel < end; pixel += 1) {
    const left = Math.max(piece.from, from + pixel * step);
    const right = Math.min(piece.to, from + (pixel + 1) * step);
    const low = Math.max(0, (left - piece.start) / piece.binNs);
    const high = Math.min(plane.length, (right - piece.start) / piece.binNs);
    if (high > low) out[pixel] += sumOfBins(plane, low, high) * perStep;
  }
}

/** The block and offset in its tiles of each lane's planes and each unlisted span's; `bytes` is a tile's size by block. */
export function tileBlocks(view, grid, lanesPerBlock) {
  const bytes = new Map();
  const allocate = (block, planes) => {
    const offset = bytes.get(block) ?? 0;
    bytes.set(block, offset + planes * grid.bins);
    return { block, offset };
  };
  const lanes = view.lanes.map(({ engines }, lane) => allocate(Math.floor(lane / lanesPerBlock), engines.length));
  const spans = view.spans.map(({ start, others }) => (start ? null : allocate("spans", others ? 2 : 1)));
  return { lanes, spans, bytes };
}
