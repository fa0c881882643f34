// The samples of a lane in order of time from the server, for the time-ordered chart.
import { readView } from "/report-assets/decode.js";
import { createBranches } from "./branches.js";

const STACKS_FORMAT = "tracekit-stacks/1";
const MOST_ANSWERS = 24;

/**
 * Returns `stacksIn` of a source: what it has for a lane at once, the exact picture or the one before, and notifies when the
 * exact one has arrived. `load(path, signal)` promises a block.
 */
export function remoteStacks(view, { load, arrived, failed }) {
  const nodesOf = createBranches(view);
  const answers = new Map();
  const shown = new Map(); // lane → the last answer
  const running = new Map(); // lane → { path, controller }

  async function fetchStacks(lane, path) {
    running.get(lane)?.controller.abort();
    const current = { path, controller: new AbortController() };
    running.set(lane, current);
    try {
      const answer = readView(await load(path, current.controller.signal), STACKS_FORMAT);
      if (running.get(lane) !== current) return;
      const { samples, in_range: inRange } = answer;
      const rows = Uint32Array.from(samples.node, (_, row) => row);
      answers.set(path, { view: { ...view, samples, nodes: nodesOf(answer) }, rows, lengths: samples.weight, inRange });
      if (answers.size > MOST_ANSWERS) answers.delete(answers.keys().next().value);
      running.delete(lane);
      arrived();
    } catch (error) {
      if (running.get(lane) !== current) return; // a newer request replaced it
      failed(error); // stays in `running`, so that the same picture is not requested again and again
    }
  }

  return (lane, from, to, columns) => {
    const path = `stack-chart?lane=${lane}&from=${Math.max(0, Math.floor(from))}&to=${Math.ceil(to)}&columns=${Math.min(4000, columns)}`;
    if (answers.has(path)) shown.set(lane, answers.get(path));
    else if (running.get(lane)?.path !== path) fetchStacks(lane, path);
    return shown.get(lane) ?? { view, rows: [], lengths: [], inRange: 0, isMissing: true };
  };
}
