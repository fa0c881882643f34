// The budgets of calls: the pieces that tile each call, and sums of their parts.

/** True for a view whose calls have budgets. */
export const hasBudget = ({ budget, windows }) => windows.count > 0 && budget?.parts.length > 0;

/** The pieces of a call in order of time: `{ part, start, end }`, where `part` is a position in `view.budget.parts`. */
export function listPieces(view, call) {
  const { budget, windows } = view;
  const pieces = [];
  let start = windows.start[call];
  for (let row = firstPieces(view)[call]; row < firstPieces(view)[call + 1]; row += 1) {
    pieces.push({ part: budget.part[row], start, end: start + budget.length[row] });
    start += budget.length[row];
  }
  return pieces;
}

/** The time of each part in some calls. */
export function sumParts(view, calls) {
  const sums = view.budget.parts.map(() => 0);
  for (const call of calls) {
    for (let row = firstPieces(view)[call]; row < firstPieces(view)[call + 1]; row += 1) sums[view.budget.part[row]] += view.budget.length[row];
  }
  return sums;
}

/** The time of each part in what some calls have of a range. */
export function sumPartsInRange(view, calls, start, end) {
  const sums = view.budget.parts.map(() => 0);
  for (const call of calls) {
    for (const piece of listPieces(view, call)) sums[piece.part] += Math.max(Math.min(piece.end, end) - Math.max(piece.start, start), 0);
  }
  return sums;
}

/** A part is equal in two calls where it differs by less than this share of the longer call. */
const EQUAL_SHARE = 0.01;

/** How a call differs from another one: `{ part, difference }` by position, the largest first; equal parts are left out. */
export function compareBudgets(view, call, other) {
  const { start, end } = view.windows;
  const least = EQUAL_SHARE * Math.max(end[call] - start[call], end[other] - start[other]);
  const sums = sumParts(view, [call]);
  const others = sumParts(view, [other]);
  return sums
    .map((sum, part) => ({ part, difference: sum - others[part] }))
    .filter(({ difference }) => difference !== 0 && Math.abs(difference) >= least)
    .sort((one, two) => Math.abs(two.difference) - Math.abs(one.difference));
}

/** The class of an element that has the colour and pattern of a part; `page.css` has the classes. */
export function partClass(view, part) {
  const { key, engine } = view.budget.parts[part];
  return `budget-part part-${key}${engine ? ` engine-${engine}` : ""}`;
}

const firsts = new WeakMap();

/** The position of the first piece of each call, and the number of all pieces. */
function firstPieces(view) {
  if (!firsts.has(view)) {
    const positions = new Float64Array(view.windows.count + 1);
    view.budget.counts.forEach((count, call) => { positions[call + 1] = positions[call] + count; });
    firsts.set(view, positions);
  }
  return firsts.get(view);
}
