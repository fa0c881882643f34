// Calls that are equal for a reader: neighbours of one model with one verdict that differ no more than others do.

/** The first call of each run of equal calls, by call; `counts` has the number of calls that a first one stands for. */
export function foldEqualCalls({ windows, strings }) {
  const first = new Int32Array(windows.count);
  const counts = new Uint32Array(windows.count);
  const latest = new Map();
  for (let row = 0; row < windows.count; row += 1) {
    const before = latest.get(windows.group[row]);
    const isUsual = strings[windows.difference[row]] === "";
    const isEqual = isUsual && before !== undefined && hasSameVerdict(windows, before, row);
    first[row] = isEqual ? first[before] : row;
    counts[first[row]] += 1;
    if (isUsual) latest.set(windows.group[row], row);
    else latest.delete(windows.group[row]);
  }
  return { first, counts };
}

function hasSameVerdict({ verdict, reason }, one, other) {
  return verdict[one] === verdict[other] && reason[one] === reason[other];
}
