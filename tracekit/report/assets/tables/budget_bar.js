// A call's budget as a bar: its pieces in order of time, on a scale that several calls share.
import { listPieces, partClass, sumParts } from "../data/budget.js";
import { make } from "../shared/dom.js";
import { formatDuration, formatPercent } from "../shared/numbers.js";

const MOST_PIECES = 60;
const LONGEST = 4; // times the median: a few long calls must not make all others short

/** The length that fills a bar: the longest call's, but of a few long ones. */
export function barScale({ start, end }) {
  const lengths = Float64Array.from(start, (begin, row) => end[row] - begin).sort();
  const median = lengths[lengths.length >> 1] ?? 0;
  return Math.max(Math.min(lengths.at(-1) ?? 0, median * LONGEST), 1);
}

/** The bar of a call; one that is longer than `scale` is cut, and marked so. */
export function budgetBar(view, call, scale) {
  const length = view.windows.end[call] - view.windows.start[call];
  const sums = sumParts(view, [call]);
  const bar = make("span", { className: `budget-bar${length > scale ? " cut" : ""}`, role: "img", title: describeParts(view, sums) });
  bar.setAttribute("aria-label", bar.title);
  for (const { part, size } of piecesToDraw(view, call, sums)) {
    const piece = make("span", { className: partClass(view, part) });
    piece.style.width = `${(size / scale) * 100}%`;
    bar.append(piece);
  }
  return bar;
}

/** The pieces in order of time; of a call with very many, the parts in order of precedence. */
function piecesToDraw(view, call, sums) {
  if (view.budget.counts[call] > MOST_PIECES) return sums.map((size, part) => ({ part, size })).filter(({ size }) => size > 0);
  return listPieces(view, call).map(({ part, start, end }) => ({ part, size: end - start }));
}

/** `Neural Engine 9.87 ms (40 %, measured)`, a line per part. */
export function describeParts(view, sums) {
  const length = sums.reduce((total, sum) => total + sum, 0);
  return sums
    .map((sum, part) => ({ sum, part: view.budget.parts[part] }))
    .filter(({ sum }) => sum > 0)
    .map(({ sum, part }) => `${part.name} ${formatDuration(sum)} (${formatPercent(sum / length)}${part.basis ? `, ${part.basis}` : ""})`)
    .join("\n");
}

/** The parts that any call has, each with a sample of its colour and its meaning. */
export function budgetLegend(view) {
  const entries = view.budget.parts.map((part, index) =>
    make("li", { title: part.meaning }, make("span", { className: `${partClass(view, index)} swatch`, "aria-hidden": "true" }), part.name));
  return make("ul", { className: "budget-legend" }, ...entries);
}
