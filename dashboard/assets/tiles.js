// How tiles divide the run: level L splits it into 2^L tiles of as many bins each. All times are nanoseconds.
import { sumOfBins } from "/report-assets/occupancy.js";

/** `tiles` of a view's header. */
export function tileGrid({ bins, levels }, durationNs) {
  const tileNs = (level) => durationNs / 2 ** level;
  return {
    bins,
    tileNs,
    binNs: (level) => tileNs(level) / bins,
    /** The widest level whose bins are no longer than a pixel; the finest where none is. */
    levelFor(pixelNs) {
      const level = Math.ceil(Math.log2(durationNs / (bins * pixelNs)) - 1e-9);
      return Math.min(levels - 1, Math.max(0, level));
    },
    /** The indexes of the tiles that lie in [from, to), as far as the run goes. */
    between(level, from, to) {
      const length = tileNs(level);
      const first = Math.max(0, Math.floor(from / length));
      const end = Math.min(2 ** level, Math.ceil(to / length));
      return Array.from({ length: Math.max(0, end - first) }, (_, place) => first + place);
    },
    levels,
  };
}

/**
 * The finest that is there for [from, to): pieces { from, to, start, binNs, data } one after the other. `find(level,
 * index)` gives a tile's data or null. Where there is none down to `coarsest`, a piece has no data.
 */
export function coverage(grid, level, from, to, find, coarsest = 0) {
  const length = grid.tileNs(level);
  return grid.between(level, from, to).map((index) => {
    const piece = { from: Math.max(from, index * length), to: Math.min(to, (index + 1) * length) };
    for (let at = level; at >= coarsest; at -= 1) {
      const above = Math.floor(index / 2 ** (level - at));
      const data = find(at, above);
      if (data) return { ...piece, start: above * grid.tileNs(at), binNs: grid.binNs(at), data };
    }
    return { ...piece, start: 0, binNs: 0, data: null };
  });
}

/** Adds to each pixel of [from, to) its share of a plane that begins at `piece.start`, inside the piece only. */
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

/** Where the planes of each lane, or of each span without rows, stand in a tile; `bytes` of a tile per block. */
export function tileBlocks(view, grid, lanesPerBlock) {
  const bytes = new Map();
  const place = (block, planes) => {
    const offset = bytes.get(block) ?? 0;
    bytes.set(block, offset + planes * grid.bins);
    return { block, offset };
  };
  const lanes = view.lanes.map(({ engines }, lane) => place(Math.floor(lane / lanesPerBlock), engines.length));
  const spans = view.spans.map(({ start, others }) => (start ? null : place("spans", others ? 2 : 1)));
  return { lanes, spans, bytes };
}
