// A sample's stack: its frames, with the frame and the rule that decided the engine.
import { make } from "../shared/dom.js";
import { cleanText, formatCount } from "../shared/numbers.js";

/** `stack`: { frames, deciding, above, below, engine, phase, rule, why }, leaf first; null for a sample without one. */
export function stackDetail(stack) {
  if (stack === null) return [make("p", { className: "note" }, "This sample has no stack.")];
  const badge = make("span", { className: `badge engine-${stack.engine}`, "aria-hidden": "true" });
  const parts = [stack.engine, stack.phase, stack.rule && `rule ${stack.rule}`].filter(Boolean);
  const why = stack.why ? make("p", { className: "note" }, cleanText(stack.why)) : null;
  const list = make("ol", { className: "frames" });
  if (stack.above) list.append(leftOut(stack.above));
  stack.frames.forEach((frame, index) => list.append(frameItem(frame, index === stack.deciding)));
  if (stack.below) list.append(leftOut(stack.below));
  const head = make("p", { className: "stack-engine" }, badge, parts.join(" · "));
  return [head, why, make("p", { className: "note" }, "Innermost frame first."), list].filter(Boolean);
}

function frameItem([symbol, binary], isDeciding) {
  const name = cleanText(symbol ?? "", 300) || "no symbol";
  const binaryName = make("span", { className: "binary" }, `  ${cleanText(binary ?? "", 80)}`);
  const shown = isDeciding ? `▸ ${name}` : name;
  const item = make("li", { className: isDeciding ? "deciding" : "", title: name }, shown, binaryName);
  if (isDeciding) item.append(make("span", { className: "unseen" }, " (decided the engine)"));
  return item;
}

function leftOut(count) {
  return make("li", {}, `… ${formatCount(count)} more`);
}
