// The texts of the flame graph of both sides.
import { changeOf, testsOf, DIFFERENCE_WIDTHS } from "./difference_tree.js";
import { cleanText, countOf, formatPercent, formatWeight } from "../shared/numbers.js";

const JUDGEMENTS = { higher: "shown to be higher", lower: "shown to be lower", "within the noise": "may be chance" };

/** A box's text: the sign and the amount of the change stand in it, because colour is never the only sign. */
export function boxText(data, model, box, signOf) {
  if (box.node < 0) return `rest, ${formatPercent(box.weight / model.weight)}`;
  const [base, compared] = [model.base[box.node], model.compared[box.node]];
  const sign = signOf(changeOf(model, box.node));
  let amount = `${sign}${formatPercent(Math.abs(compared / base - 1))}`;
  if (base === 0) amount = "only in NEW";
  else if (compared === 0) amount = "only in BASE";
  else if (sign === "=") amount = "the same";
  return `${sign} ${cleanText(data.strings[model.names[model.func[box.node]]], 300)}, ${amount}`;
}

export function createDifferenceWords(data) {
  const isShare = data.unit === "share";
  const amountOf = (weight) => (isShare ? `${formatPercent(weight)} of the samples` : `${formatWeight(weight, data.unit)} per call`);
  const changeBy = (difference, show) => `${difference < 0 ? "−" : "+"}${show(Math.abs(difference))}`;

  function testText({ engine, model, judgement, difference }) {
    const calls = Number.isInteger(model) ? `${engine}, in calls of ${cleanText(data.strings[model], 120)}` : engine;
    const change = changeBy(difference, (weight) => (isShare ? String(weight) : `${formatWeight(weight, data.unit)} per call`));
    return `The function as a whole (${calls}): ${change}, ${JUDGEMENTS[judgement] ?? "not tested"}. This path is not tested.`;
  }

  return {
    /** The lines of a tooltip. */
    lines(model, { node, weight, count }) {
      if (node < 0) return [`rest: ${countOf(count, "path")} too narrow to draw`, formatPercent(weight / model.weight)];
      const func = model.func[node];
      const [base, compared] = [model.base[node], model.compared[node]];
      const tests = testsOf(data, model.names[func], model.binaries[func]);
      return [
        cleanText(data.strings[model.names[func]], 300),
        cleanText(data.strings[model.binaries[func]], 120),
        `BASE ${amountOf(base)}, NEW ${amountOf(compared)}: ${changeBy(compared - base, amountOf)}`,
        ...(tests.length > 0 ? tests.map(testText) : ["Not tested."]),
      ];
    },
    summary(model, unseen, width) {
      if (!(model.weight > 0)) return "Neither side has samples with a stack in its calls.";
      const sum = (totals) => model.parent.reduce((all, above, node) => (above < 0 ? all + totals[node] : all), 0);
      const sides = `BASE ${amountOf(sum(model.base))}, NEW ${amountOf(sum(model.compared))}.`;
      const other = width === "new" ? "BASE" : "NEW";
      return unseen > 0 ? `${sides} ${amountOf(unseen)} is in paths of ${other} only, which this width does not show: choose "${DIFFERENCE_WIDTHS.both}".` : sides;
    },
  };
}
