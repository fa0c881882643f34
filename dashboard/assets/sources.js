// The source of a recording's pictures and sums: a small recording has them in its view, a large one on the server.
import { resamplePlane } from "/report-assets/occupancy.js";
import { intervalsOf, memorySource } from "/report-assets/source.js";
import { filterQuery } from "./filter_query.js";
import { errorMessage, fetchChecked } from "./requests.js";
import { remoteStacks } from "./remote_stacks.js";
import { createRetry } from "./retry.js";
import { createSums } from "./sums.js";
import { createTileStore } from "./tile_store.js";
import { addPiece, coverage, tileBlocks, tileGrid } from "./tiles.js";

const MOST_SPARE_TILES = 12;
const ANSWER_TIMEOUT_MS = 60_000;

/** The source for a view; `address` is the recording's, below which its tiles and sums are. */
export function sourceOf(view, address) {
  const source = view.tiles ? remoteSource(view, address) : memorySource(view);
  return { ...source, sampleAt: (place, _mask, filter) => fetchSample(address, place, filter) };
}

/** Only the server has all stacks with the frames that decided their engines, also of a small recording. */
async function fetchSample(address, { lane, time, within }, filter = "") {
  const query = new URLSearchParams({ lane, time: Math.floor(time), within: Math.ceil(within) });
  const terms = filterQuery(filter);
  if (terms !== null) query.set("filter", terms);
  return (await fetchChecked(`${address}/sample?${query}`)).json();
}

/** A source (source.js) whose samples stay on the server. */
export function remoteSource(view, address, { fetch = (...all) => globalThis.fetch(...all), pauses = {}, ...limits } = {}) {
  const grid = tileGrid(view.tiles, view.duration_ns);
  const blocks = tileBlocks(view, grid, view.tiles.lanes);
  const planeNs = view.duration_ns / view.bins;
  const listeners = [];
  const notify = (event, ...values) => {
    for (const listener of listeners) listener[event]?.(...values);
  };
  const load = async (path, cancelled) => {
    const signal = AbortSignal.any([cancelled, AbortSignal.timeout(ANSWER_TIMEOUT_MS)]);
    const response = await fetch(`${address}/${path}`, { credentials: "same-origin", signal });
    if (response.ok) return response.arrayBuffer();
    const isRefused = response.status >= 400 && response.status < 500; // a retry would be refused as well
    throw Object.assign(new Error(await errorMessage(response)), { isRefused });
  };
  const pictureRetry = createRetry(() => notify("picture"), pauses);
  const sumsRetry = createRetry(() => sums.allowRetry() && notify("sums"), pauses);
  const reportFailure = (topic, text, error, retry) => {
    notify("problem", `${text}: ${describeError(error)}`, topic);
    if (!error.isRefused) retry.failed();
  };
  const tiles = createTileStore({
    ...limits,
    load: async (path, signal) => checkedTile(blocks, path, new Uint8Array(await load(path, signal))),
    arrived() {
      notify("picture");
      clearPictureProblem();
    },
    failed(error) {
      isBroken = true;
      reportFailure("picture", "This part of the timeline could not be fetched", error, pictureRetry);
    },
  });
  function clearPictureProblem() {
    if (isBroken) notify("resolved", "picture");
    isBroken = false;
    pictureRetry.succeeded();
  }

  const sums = createSums(view, {
    load: (query, signal) => load(`sums?${query}`, signal),
    arrived() {
      sumsRetry.succeeded();
      notify("sums");
    },
    failed: (error) => reportFailure("sums", "The selection could not be added up", error, sumsRetry),
  });
  let isBroken = false;
  let shown = { pixelNs: Infinity, level: 0 };

  /** The level for a pixel's length. Pixels under the pointer may be a little longer than the picture's, whose level counts. */
  function levelOf(pixelNs) {
    const level = grid.levelFor(pixelNs);
    return pixelNs < 4 * shown.pixelNs ? Math.max(level, shown.level) : level;
  }

  /** True if the view's planes are fine enough, so that no tile is needed. */
  const isWide = (from, to, pixels) => (to - from) / pixels >= planeNs;

  /**
   * Writes the plane at `offset` of a block, over [from, to), into `out`: from the finest tiles available, else from the
   * view's plane. With a mask there is no plane in the view.
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

  function addressesOf(request) {
    const { from, to, columns, lanes, spans, mask } = request;
    const lanesOf = [...new Set(lanes.map((lane) => blocks.lanes[lane].block))];
    const hasSpans = spans.some((span) => blocks.spans[span]);
    const all = [];
    if (!isWide(from, to, columns)) {
      for (const block of [...lanesOf, ...(hasSpans ? ["spans"] : [])]) all.push(...tilesFor(block, request, null));
    }
    if (mask) for (const block of lanesOf) all.push(...tilesFor(block, request, mask));
    return all;
  }

  return {
    ...intervalsOf(view),
    isExact: true,
    listen: (listener) => listeners.push(listener),
    mask: filterQuery,
    select: (state, mask) => sums.select(state, mask),
    stacksIn: remoteStacks(view, {
      load,
      arrived: () => notify("stacks"),
      failed: (error) => notify("stacks", describeError(error)),
    }),
    retry() {
      if (sums.allowRetry()) notify("sums");
      if (isBroken) notify("picture");
    },
    prepare(request) {
      const pixelNs = (request.to - request.from) / request.columns;
      shown = { pixelNs, level: grid.levelFor(pixelNs) };
      if (sums.allowRetry()) queueMicrotask(() => notify("sums"));
      const spare = nearby(request).flatMap(addressesOf);
      const isSharp = tiles.request(addressesOf(request), spare.length > MOST_SPARE_TILES ? [] : spare);
      if (isSharp) clearPictureProblem();
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
      const place = blocks.spans[span];
      if (!place) resamplePlane(plane, planeNs, from, to, out);
      else fill(out, { ...place, offset: place.offset + (which === "others" ? grid.bins : 0) }, plane, from, to, null);
      return out;
    },
  };
}

/** The pictures that are likely next: the same in more detail, and wider by half on both sides. */
function nearby(request) {
  const { from, to, columns } = request;
  const half = (to - from) / 2;
  return [
    { ...request, columns: 2 * columns },
    { ...request, from: from - half, to: to + half, columns: 2 * columns },
  ];
}

function tilePath(level, index, block, mask) {
  const filter = mask ? `&filter=${encodeURIComponent(mask)}` : "";
  return `tile?level=${level}&index=${index}&block=${block}${filter}`;
}

function checkedTile(blocks, path, tile) {
  const block = new URLSearchParams(path.slice(path.indexOf("?"))).get("block");
  const bytes = blocks.bytes.get(block === "spans" ? block : Number(block));
  if (tile.byteLength !== bytes) throw new Error("the server sent an unexpected number of planes. Reload the page.");
  return tile;
}

function describeError(error) {
  if (error.name === "TimeoutError") return `the dashboard did not answer within ${ANSWER_TIMEOUT_MS / 1000} s.`;
  return error instanceof TypeError ? "the dashboard does not answer." : error.message;
}
