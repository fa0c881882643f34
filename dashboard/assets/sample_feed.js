// The selection's samples as the server gives them, a hundred at a time: the newest question counts.

/**
 * `load(query, cursor, signal)` promises { rows, next, selected, total }; `changed(state)` hears of every change.
 * A state: { kind: "loading" | "ready" | "failed", rows, next, selected, total, message, isNew }. While it loads or
 * could not get more, the rows are those from before; `isNew` says that they are others than in the state before.
 */
export function createSampleFeed(load, changed) {
  let state = { kind: "loading", rows: [], next: null, selected: 0, total: 0, message: "", isNew: true };
  let asked = null; // { query, cursor }: what is or was last asked for
  let running = null;

  function become(patch) {
    state = { ...state, isNew: false, message: "", ...patch };
    changed(state);
  }

  async function run(query, cursor) {
    running?.abort();
    const controller = new AbortController();
    running = controller;
    asked = { query, cursor };
    become({ kind: "loading" });
    let answer;
    try {
      answer = await load(query, cursor, controller.signal);
    } catch (error) {
      const kept = cursor === null ? { rows: [], next: null, isNew: true } : {}; // others than what is now selected
      if (running === controller) become({ kind: "failed", message: error.message, ...kept });
      return;
    }
    if (running !== controller) return;
    const rows = cursor === null ? answer.rows : [...state.rows, ...answer.rows];
    const { next, selected, total } = answer;
    become({ kind: "ready", rows, next, selected, total, isNew: cursor === null });
  }

  return {
    /** Asks for what a query selects, unless that is what is there or on its way, which is told then. */
    ask(query) {
      if (asked?.query !== query || state.kind === "failed") run(query, null);
      else become({});
    },
    more() {
      if (state.kind === "ready" && state.next !== null) run(asked.query, state.next);
    },
    retry() {
      if (state.kind === "failed") run(asked.query, asked.cursor);
    },
  };
}

/** Keeps what `load(key)` answered, the `most` used last; the same key asked twice at once is loaded once. */
export function remembered(load, most) {
  const answers = new Map();
  return (key) => {
    const answer = answers.get(key) ?? load(key);
    answers.delete(key);
    answers.set(key, answer);
    answer.catch(() => answers.delete(key));
    if (answers.size > most) answers.delete(answers.keys().next().value);
    return answer;
  };
}

/** The part of the run around a time: as long as what is shown, but no longer than some hundred samples. */
export function viewAround(time, shown, view) {
  const length = Math.min(shown.to - shown.from, Math.max(100 * (view.period_ns || 0), view.duration_ns / 1000));
  const from = Math.max(0, Math.min(view.duration_ns - length, time - length / 2));
  return { from, to: from + length };
}

/** What is said above the list. */
export function feedSummary({ rows, selected, total }, count) {
  const samples = `${count(selected)} of ${count(total)} samples`;
  return rows.length < selected ? `${samples}, the first ${count(rows.length)} listed` : samples;
}
