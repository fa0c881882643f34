// The selection's samples from the server, a hundred at a time; a new query cancels the one before.

/**
 * `load(query, cursor, signal)` promises { rows, next, selected, total }; `changed(state)` is called on every change.
 * A state: { kind: "loading" | "ready" | "failed", rows, next, selected, total, message, isNew }. While more rows load, or
 * if they could not be loaded, the previous rows stay; `isNew` is true if the rows replace those of the previous state.
 */
export function createSampleFeed(load, changed) {
  let state = { kind: "loading", rows: [], next: null, selected: 0, total: 0, message: "", isNew: true };
  let latest = null; // { query, cursor } of the latest request
  let running = null;

  function update(patch) {
    state = { ...state, isNew: false, message: "", ...patch };
    changed(state);
  }

  async function run(query, cursor) {
    running?.abort();
    const controller = new AbortController();
    running = controller;
    latest = { query, cursor };
    update({ kind: "loading" });
    let page;
    try {
      page = await load(query, cursor, controller.signal);
    } catch (error) {
      const cleared = cursor === null ? { rows: [], next: null, isNew: true } : {}; // rows of another selection
      if (running === controller) update({ kind: "failed", message: error.message, ...cleared });
      return;
    }
    if (running !== controller) return;
    const rows = cursor === null ? page.rows : [...state.rows, ...page.rows];
    const { next, selected, total } = page;
    update({ kind: "ready", rows, next, selected, total, isNew: cursor === null });
  }

  return {
    /** Requests a query's samples. If they are there or on their way, only `changed` is called. */
    request(query) {
      if (latest?.query !== query || state.kind === "failed") run(query, null);
      else update({});
    },
    more() {
      if (state.kind === "ready" && state.next !== null) run(latest.query, state.next);
    },
    retry() {
      if (state.kind === "failed") run(latest.query, latest.cursor);
    },
  };
}

/** Caches the promises of `load(key)`, the `most` recently used; a failed one is dropped. */
export function cachePromises(load, most) {
  const promises = new Map();
  return (key) => {
    const promise = promises.get(key) ?? load(key);
    promises.delete(key); // to move it to the end: the oldest is the first
    promises.set(key, promise);
    promise.catch(() => promises.delete(key));
    if (promises.size > most) promises.delete(promises.keys().next().value);
    return promise;
  };
}

/** The view around a time: as long as the present view, but no longer than some hundred samples. */
export function viewAround(time, shown, view) {
  const length = Math.min(shown.to - shown.from, Math.max(100 * (view.period_ns || 0), view.duration_ns / 1000));
  const from = Math.max(0, Math.min(view.duration_ns - length, time - length / 2));
  return { from, to: from + length };
}

/** The text above the list. */
export function feedSummary({ rows, selected, total }, count) {
  const samples = `${count(selected)} of ${count(total)} samples`;
  return rows.length < selected ? `${samples}, the first ${count(rows.length)} listed` : samples;
}
