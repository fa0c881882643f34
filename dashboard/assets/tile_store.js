// Tiles that have arrived, up to so many bytes, and those on their way: only what is wanted now is asked for.

const MOST_BYTES = 96 * 1024 * 1024;
const MOST_AT_ONCE = 4;

/**
 * `load(address, signal)` promises a tile's bytes. `arrived()` is called when one has come, `failed(error)` when one
 * could not and none of the others is on its way.
 */
export function createTileStore({ load, arrived, failed, mostBytes = MOST_BYTES, mostAtOnce = MOST_AT_ONCE }) {
  const kept = new Map(); // those looked at last stand last
  const running = new Map();
  let wanted = new Set();
  let waiting = [];
  let bytes = 0;

  /** The tile's bytes if they are there, else null. */
  function get(address) {
    const tile = kept.get(address);
    if (!tile) return null;
    kept.delete(address);
    kept.set(address, tile);
    return tile;
  }

  /**
   * Asks for the tiles that are not there, in this order; true if there are none. `spare` are worth having, too, once
   * those are there. What was asked for before and is in neither list makes way.
   */
  function want(addresses, spare = []) {
    wanted = new Set(addresses);
    const missing = addresses.filter((address) => !kept.has(address));
    if (missing.some((address) => !running.has(address))) dropAllBut(wanted);
    const asked = new Set([...missing, ...spare]);
    waiting = [...asked].filter((address) => !kept.has(address) && !running.has(address));
    send();
    return missing.length === 0;
  }

  function dropAllBut(some) {
    for (const [address, controller] of running) {
      if (some.has(address)) continue;
      running.delete(address);
      controller.abort();
    }
  }

  function send() {
    while (waiting.length > 0 && running.size < mostAtOnce) fetchOne(waiting.shift());
  }

  async function fetchOne(address) {
    const controller = new AbortController();
    running.set(address, controller);
    let problem = null;
    try {
      const tile = await load(address, controller.signal);
      if (running.get(address) === controller) keep(address, tile);
    } catch (error) {
      problem = error;
    }
    if (running.get(address) !== controller) return; // given up, and perhaps asked for again
    running.delete(address);
    if (problem) waiting = []; // asked for again at the next look
    else send();
    if (!wanted.has(address)) return;
    if (!problem) arrived();
    else if (![...running.keys()].some((each) => wanted.has(each))) failed(problem);
  }

  function keep(address, tile) {
    kept.set(address, tile);
    bytes += tile.byteLength;
    for (const [oldest, old] of kept) {
      if (bytes <= mostBytes) break;
      if (wanted.has(oldest)) continue;
      kept.delete(oldest);
      bytes -= old.byteLength;
    }
  }

  return { get, want };
}
