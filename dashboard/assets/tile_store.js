// A cache of tiles with a limit of bytes, and the requests for missing ones: only tiles needed now are requested.

const MOST_BYTES = 96 * 1024 * 1024;
const MOST_AT_ONCE = 4;

/**
 * `load(address, signal)` promises a tile's bytes. `arrived()` is called when a needed tile has arrived, `failed(error)`
 * when one failed and no other needed tile is on its way.
 */
export function createTileStore({ load, arrived, failed, mostBytes = MOST_BYTES, mostAtOnce = MOST_AT_ONCE }) {
  const tiles = new Map(); // the least recently used tile is the first
  const running = new Map();
  let needed = new Set();
  let waiting = [];
  let bytes = 0;

  /** A tile's bytes, or null. */
  function get(address) {
    const tile = tiles.get(address);
    if (!tile) return null;
    tiles.delete(address);
    tiles.set(address, tile);
    return tile;
  }

  /**
   * Requests the missing tiles, in this order; true if none is missing. `spare` tiles follow once all of those are
   * there. If a needed tile is not even on its way, requests for tiles that are no longer needed are cancelled.
   */
  function request(addresses, spare = []) {
    needed = new Set(addresses);
    const missing = addresses.filter((address) => !tiles.has(address));
    if (missing.some((address) => !running.has(address))) cancelExcept(needed);
    const candidates = new Set([...missing, ...spare]);
    waiting = [...candidates].filter((address) => !tiles.has(address) && !running.has(address));
    send();
    return missing.length === 0;
  }

  function cancelExcept(addresses) {
    for (const [address, controller] of running) {
      if (addresses.has(address)) continue;
      running.delete(address);
      controller.abort();
    }
  }

  function send() {
    while (waiting.length > 0 && running.size < mostAtOnce) loadTile(waiting.shift());
  }

  async function loadTile(address) {
    const controller = new AbortController();
    running.set(address, controller);
    let problem = null;
    try {
      const tile = await load(address, controller.signal);
      if (running.get(address) === controller) store(address, tile);
    } catch (error) {
      problem = error;
    }
    if (running.get(address) !== controller) return; // cancelled, and perhaps requested again
    running.delete(address);
    if (problem) waiting = []; // requested again with the next picture
    else send();
    if (!needed.has(address)) return;
    if (!problem) arrived();
    else if (![...running.keys()].some((loading) => needed.has(loading))) failed(problem);
  }

  function store(address, tile) {
    tiles.set(address, tile);
    bytes += tile.byteLength;
    for (const [oldest, old] of tiles) {
      if (bytes <= mostBytes) break;
      if (needed.has(oldest)) continue;
      tiles.delete(oldest);
      bytes -= old.byteLength;
    }
  }

  return { get, request };
}
