// Sums over the selection, computed by the server. The newest selection counts.
import { readView } from "/report-assets/decode.js";
import { countSamples } from "/report-assets/selection.js";
import { parseChain } from "/report-assets/transforms.js";
import { createBranches } from "./branches.js";

const SUMS_FORMAT = "tracekit-sums/1";

/** A selection as the server's query parameters; "" is the whole run. `filter` is that of filterQuery. */
export function selectionQuery({ range, lanes }, filter) {
  const query = new URLSearchParams();
  if (range) {
    // Samples have whole nanoseconds: those inside are from ceil(from) to below ceil(to).
    query.set("from", String(Math.max(0, Math.ceil(range.from))));
    query.set("to", String(Math.max(0, Math.ceil(range.to))));
  }
  if (lanes.length > 0) query.set("lanes", [...lanes].sort((left, right) => left - right).join("."));
  if (filter !== null) query.set("filter", filter);
  return query.toString();
}

/** The chain's steps with the names that the answer has for them; undefined without a chain. */
function stepsOf({ steps }, chain) {
  return steps && parseChain(chain).map((step, index) => ({ ...step, name: steps[index] }));
}

/** With the transforms of the call tree, which change no list of samples. */
function treeQuery(state, filter) {
  const query = selectionQuery(state, filter);
  if (!state.transforms) return query;
  return `${query}${query === "" ? "" : "&"}${new URLSearchParams({ transforms: state.transforms })}`;
}

/**
 * `load(query, signal)` promises a block of sums; `arrived()` or `failed(error)` is called when it ends. `select` is that
 * of a source (source.js).
 */
export function createSums(view, { load, arrived, failed }) {
  const total = countSamples(view);
  const nodesOf = createBranches(view);
  const selectionOf = (answer, { range, lanes, transforms: chain }) => {
    const { samples } = answer;
    const rows = new Uint32Array(samples.node.length);
    for (let row = 0; row < rows.length; row += 1) rows[row] = row;
    let nodes = null; // made for the parts that show stacks: while the reader drags, none of them does
    const summed = {
      ...view,
      samples,
      steps: stepsOf(answer, chain),
      get nodes() {
        return (nodes ??= nodesOf(answer));
      },
    };
    return { view: summed, rows, range, lanes, total };
  };
  const whole = { ...selectionOf({ samples: view.samples }, { range: null, lanes: [] }), isWhole: true };
  let latest = { query: "", selection: whole };
  let running = null;
  let next = null;
  let blockedQuery = null; // the query that failed and is not sent again before allowRetry()
  let failedQuery = null; // the query that failed, also while it is being retried

  function send(request) {
    if (running?.query === request.query) {
      next = null;
      return;
    }
    // During a drag, a running request may finish, else no sums would ever arrive. The final selection cancels it.
    if (running && request.isDragged) {
      next = request;
      return;
    }
    stop();
    run(request);
  }

  function stop() {
    running?.controller.abort();
    running = null;
    next = null;
  }

  async function run({ query, state }) {
    const controller = new AbortController();
    const current = { query, controller };
    running = current;
    let problem = null;
    let selection = null;
    try {
      const answer = readView(await load(query, controller.signal), SUMS_FORMAT);
      selection = { ...selectionOf(answer, state), isWhole: query.startsWith("transforms=") };
    } catch (error) {
      problem = error;
    }
    if (running !== current) return;
    running = null;
    if (problem) blockedQuery = failedQuery = query;
    else latest = { query, selection };
    if (!problem) failedQuery = null;
    const waiting = next;
    next = null;
    if (waiting) run(waiting);
    if (!problem) arrived();
    else if (!waiting) failed(problem);
  }

  return {
    select(state, filter) {
      const query = treeQuery(state, filter);
      if (query === "") latest = { query, selection: whole };
      if (query === latest.query) {
        stop();
        blockedQuery = failedQuery = null;
        return { selection: latest.selection, isCurrent: true };
      }
      if (query !== blockedQuery) {
        blockedQuery = null;
        if (query !== failedQuery) failedQuery = null;
        send({ query, state, isDragged: state.range?.isDone === false });
      }
      return { selection: latest.selection, isCurrent: false, isRefused: failedQuery !== null };
    },
    /** Allows the failed query to be sent again; true if there is one. */
    allowRetry() {
      const canRetry = blockedQuery !== null;
      blockedQuery = null;
      return canRetry;
    },
  };
}
