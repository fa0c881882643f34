// What is selected, added up by the server: the newest question counts.
import { readView } from "/report-assets/decode.js";
import { countSamples } from "/report-assets/selection.js";
import { createBranches } from "./branches.js";

const SUMS_FORMAT = "tracekit-sums/1";

/** The parameters of a selection in the server's words; "" is everything. */
export function selectionQuery({ range, lanes }, filter) {
  const query = new URLSearchParams();
  if (range) {
    // A sample counts from the first whole nanosecond inside to the last.
    query.set("from", String(Math.max(0, Math.ceil(range.from))));
    query.set("to", String(Math.max(0, Math.ceil(range.to))));
  }
  if (lanes.length > 0) query.set("lanes", [...lanes].sort((left, right) => left - right).join("."));
  if (filter !== null) query.set("filter", filter);
  return query.toString();
}

/**
 * `load(query, signal)` promises a block of sums; `arrived()` and `failed(error)` say how it ended. `select` and its
 * answer are a source's (source.js).
 */
export function createSums(view, { load, arrived, failed }) {
  const total = countSamples(view);
  const nodesOf = createBranches(view);
  const selectionOf = (answer, { range, lanes }) => {
    const { samples } = answer;
    const rows = new Uint32Array(samples.node.length);
    for (let row = 0; row < rows.length; row += 1) rows[row] = row;
    return { view: { ...view, samples, nodes: nodesOf(answer) }, rows, range, lanes, total };
  };
  const whole = { ...selectionOf({ samples: view.samples }, { range: null, lanes: [] }), isWhole: true };
  let latest = { query: "", selection: whole };
  let running = null;
  let next = null;
  let refused = null; // what is not asked for again as it is
  let failing = null; // what could not be had yet, also while it is asked for again

  function ask(question) {
    if (running?.query === question.query) {
      next = null;
      return;
    }
    // While the pointer drags, answers must come through; what is chosen in the end need not wait for them.
    if (running && question.isDragged) {
      next = question;
      return;
    }
    stop();
    run(question);
  }

  function stop() {
    running?.controller.abort();
    running = null;
    next = null;
  }

  async function run({ query, state }) {
    const controller = new AbortController();
    const mine = { query, controller };
    running = mine;
    let problem = null;
    let selection = null;
    try {
      const answer = readView(await load(query, controller.signal), SUMS_FORMAT);
      selection = { ...selectionOf(answer, state), isWhole: false };
    } catch (error) {
      problem = error;
    }
    if (running !== mine) return;
    running = null;
    if (problem) refused = failing = query;
    else latest = { query, selection };
    if (!problem) failing = null;
    const waiting = next;
    next = null;
    if (waiting) run(waiting);
    if (!problem) arrived();
    else if (!waiting) failed(problem);
  }

  return {
    select(state, filter) {
      const query = selectionQuery(state, filter);
      if (query === "") latest = { query, selection: whole };
      if (query === latest.query) {
        stop();
        refused = failing = null;
        return { selection: latest.selection, isCurrent: true };
      }
      if (query !== refused) {
        refused = null;
        if (query !== failing) failing = null;
        ask({ query, state, isDragged: state.range?.isDone === false });
      }
      return { selection: latest.selection, isCurrent: false, isRefused: failing !== null };
    },
    /** What failed may be asked for once more; true if there is such a thing. */
    forgive() {
      const had = refused !== null;
      refused = null;
      return had;
    },
  };
}
