// Samples and stacks as the inspector and the lists show them: frames, engine, and the frame that decided it.
import { CUT_OFF } from "../stacks/calltree.js";

const MOST_FRAMES_OF_SAMPLE = 400;

/** Instead of a function: what a pruned tree lacks below a node. */
export const LIGHT_BRANCHES = "rest: branches too light to be kept";

/** [symbol, binary] of a node and its callers, leaf first. */
export function framesOf({ nodes, strings }, leaf) {
  const frames = [];
  for (let node = leaf; node >= 0; node = nodes.parent[node]) {
    const symbol = nodes.flags[node] & CUT_OFF ? LIGHT_BRANCHES : strings[nodes.name[node]];
    frames.push([symbol, strings[nodes.binary[node]]]);
  }
  return frames;
}

/**
 * The frames above a leaf (of heaviestLeaves), with the rule and the frame that decided the engine, for stackDetail; null for no
 * frames.
 */
export function describeStack(view, { node, engine, stack }) {
  const { phase, rule, rules, deciding: decidingOf } = view.stacks;
  const names = framesOf(view, node);
  if (names.length === 0) return null;
  const deciding = stack < 0 ? -1 : decidingOf[stack];
  // A recursion has thousands of frames: those around the deciding one are shown, but never fewer than fit.
  const above = Math.max(0, Math.min(deciding - MOST_FRAMES_OF_SAMPLE / 2, names.length - MOST_FRAMES_OF_SAMPLE));
  const frames = names.slice(above, above + MOST_FRAMES_OF_SAMPLE);
  const [id, why] = (rules[rule[stack]] ?? []).map((text) => view.strings[text]);
  return {
    frames, above, below: names.length - above - frames.length, deciding: deciding < 0 ? -1 : deciding - above,
    engine: view.engines[engine], phase: view.phases[phase[stack]] ?? null, rule: id ?? "", why: why ?? "",
  };
}

/** A row of `samples` (samples.js) as the sample of a source's sampleAt. */
export function describeSample(view, samples, row) {
  const stack = samples.stack[row];
  const [node, engine] = [view.stacks.node[stack], view.stacks.engine[stack]];
  const [leaf, binary] = framesOf(view, node)[0] ?? [null, null];
  const described = describeStack(view, { node, engine, stack });
  return {
    time_ns: samples.time[row], lane: samples.laneOf(row), engine: view.engines[engine], phase: view.phases[view.stacks.phase[stack]],
    weight: samples.weightOf(row), number: samples.numberOf(row), leaf, binary, rule: described?.rule ?? "", stack: described,
  };
}
