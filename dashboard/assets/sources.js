// Where the page of a recording gets its pictures and sums from: a small one has them all in its view.
import { resamplePlane } from "/report-assets/occupancy.js";
import { parseFilter } from "/report-assets/filter.js";
import { intervalsOf, memorySource } from "/report-assets/source.js";
import { problemOf } from "./answer.js";
import { createRetry } from "./retry.js";
import { createSums } from "./sums.js";
import { createTileStore } from "./tile_store.js";
import { addPiece, coverage, tileBlocks, tileGrid } from "./tiles.js";

const MOST_SPARE = 12;
const PATIENCE_MS = 60_000;

/** `address` is the recording's, below which its tiles and sums are. */
export function sourceOf(view, address) {
  return view.tiles ? remoteSource(view, address) : memorySource(view);
}

/** A source (source.js) whose samples stay with the server. */
export function remoteSource(view, address, { fetch = (...all) => globalThis.fetch(...all), pauses = {}, ...limits } = {}) {
  const grid = tileGrid(view.tiles, view.duration_ns);
  const blocks = tileBlocks(view, grid, view.tiles.lanes);
  const planeNs = view.duration_ns / view.bins;
  const listeners = [];
  const tell = (what, ...words) => {
    for (const listener of listeners) listener[what]?.(...words);
  };
  const load = async (path, given) => {
    const signal = AbortSignal.any([given, AbortSignal.timeout(PATIENCE_MS)]);
    const response = await fetch(`${address}/${path}`, { credentials: "same-origin", signal });
    if (response.ok) return response.arrayBuffer();
    const isRefused = response.status >= 400 && response.status < 500; // and would be the next time
    throw Object.assign(new Error(await problemOf(response)), { isRefused });
  };
  const pictureRetry = createRetry(() => tell("picture"), pauses);
  const sumsRetry = createRetry(() => sums.forgive() && tell("sums"), pauses);
  const sayWhy = (about, words, error, retry) => {
    tell("problem", `${words}: ${inWords(error)}`, about);
    if (!error.isRefused) retry.failed();
  };
  const tiles = createTileStore({
    ...limits,
    load: async (path, signal) => checkedTile(blocks, path, new Uint8Array(await load(path, signal))),
    arrived() {
      tell("picture");
      pictureIsMended();
    },
    failed(error) {
      isBroken = true;
      sayWhy("picture", "This part of the timeline could not be fetched", error, pictureRetry);
    },
  });
  function pictureIsMended() {
    if (isBroken) tell("mended", "picture");
    isBroken = false;
    pictureRetry.mended();
  }

  const sums = createSums(view, {
    load: (query, signal) => load(`sums?${query}`, signal),
    arrived() {
      sumsRetry.mended();
      tell("sums");
    },
    failed: (error) => sayWhy("sums", "The selection could not be added up", error, sumsRetry),
  });
  let isBroken = false;
  let shown = { pixelNs: Infinity, level: 0 };

  /** Also under the pointer, whose pixels may be a little longer than those of the picture, as it was drawn. */
  function levelOf(pixelNs) {
    const level = grid.levelFor(pixelNs);
    return pixelNs < 4 * shown.pixelNs ? Math.max(level, shown.level) : level;
  }

  /** Nothing finer than the planes of the view is needed. */
  const isWide = (from, to, pixels) => (to - from) / pixels >= planeNs;

  /**
   * The plane at `offset` of a block, over [from, to) into `out`: from the finest tiles that are there, else from the
   * view's own plane. With a mask there is no such plane.
   */
  function fill(out, { block, offset }, plane, from, to, mask) {
    if (plane && isWide(from, to, out.length)) return resamplePlane(plane, planeNs, from, to, out);
    const coarsest = plane ? grid.levelFor(planeNs) : 0;
    const find = (level, index) => tiles.get(tilePath(level, index, block, mask));
    for (const piece of coverage(grid, levelOf((to - from) / out.length), from, to, find, coarsest)) {
      if (piece.data) addPiece(out, from, to, piece, piece.data.subarray(offset, offset + grid.bins));
      else if (plane) addPiece(out, from, to, { ...piece, start: 0, binNs: planeNs }, plane);
    }
  }

  function tilesFor(block, { from, to, columns }, mask) {
    const level = grid.levelFor((to - from) / columns);
    return grid.between(level, from, to).map((index) => tilePath(level, index, block, mask));
  }

  function addressesOf(look) {
    const { from, to, columns, lanes, spans, mask } = look;
    const lanesOf = [...new Set(lanes.map((lane) => blocks.lanes[lane].block))];
    const hasSpans = spans.some((span) => blocks.spans[span]);
    const all = [];
    if (!isWide(from, to, columns)) {
      for (const block of [...lanesOf, ...(hasSpans ? ["spans"] : [])]) all.push(...tilesFor(block, look, null));
    }
    if (mask) for (const block of lanesOf) all.push(...tilesFor(block, look, mask));
    return all;
  }

  return {
    ...intervalsOf(view),
    isExact: true,
    listen: (listener) => listeners.push(listener),
    mask: (text) => (parseFilter(text).length > 0 ? text : null),
    select: (state, mask) => sums.select(state, mask),
    retry() {
      if (sums.forgive()) tell("sums");
      if (isBroken) tell("picture");
    },
    prepare(look) {
      const pixelNs = (look.to - look.from) / look.columns;
      shown = { pixelNs, level: grid.levelFor(pixelNs) };
      if (sums.forgive()) queueMicrotask(() => tell("sums"));
      const spare = nearby(look).flatMap(addressesOf);
      const isSharp = tiles.want(addressesOf(look), spare.length > MOST_SPARE ? [] : spare);
      if (isSharp) pictureIsMended();
      return isSharp;
    },
    occupancy(lane, from, to, pixels, mask = null) {
      const { engines, occupancy } = view.lanes[lane];
      const planes = new Float32Array(engines.length * pixels);
      const { block, offset } = blocks.lanes[lane];
      engines.forEach((_, index) => {
        const out = planes.subarray(index * pixels, (index + 1) * pixels);
        const plane = mask ? null : occupancy.subarray(index * view.bins, (index + 1) * view.bins);
        fill(out, { block, offset: offset + index * grid.bins }, plane, from, to, mask);
      });
      return { engines, planes };
    },
    spanOccupancy(span, from, to, pixels, which = "occupancy") {
      const plane = view.spans[span][which];
      if (!plane) return null;
      const out = new Float32Array(pixels);
      const own = blocks.spans[span];
      if (!own) resamplePlane(plane, planeNs, from, to, out);
      else fill(out, { ...own, offset: own.offset + (which === "others" ? grid.bins : 0) }, plane, from, to, null);
      return out;
    },
  };
}

/** What one may look at next: the same in more detail, and what lies at its sides. */
function nearby(look) {
  const { from, to, columns } = look;
  const half = (to - from) / 2;
  return [
    { ...look, columns: 2 * columns },
    { ...look, from: from - half, to: to + half, columns: 2 * columns },
  ];
}

function tilePath(level, index, block, mask) {
  const filter = mask ? `&filter=${encodeURIComponent(mask)}` : "";
  return `tile?level=${level}&index=${index}&block=${block}${filter}`;
}

function checkedTile(blocks, path, tile) {
  const block = new URLSearchParams(path.slice(path.indexOf("?"))).get("block");
  const bytes = blocks.bytes.get(block === "spans" ? block : Number(block));
  if (tile.byteLength !== bytes) throw new Error("the server sent another number of planes; load the page again.");
  return tile;
}

function inWords(error) {
  if (error.name === "TimeoutError") return `the dashboard did not answer within ${PATIENCE_MS / 1000} s.`;
  return error instanceof TypeError ? "the dashboard does not answer." : error.message;
}
