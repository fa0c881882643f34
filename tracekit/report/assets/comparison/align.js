// Two runs on one time scale: times are relative to the start of one chosen window of each run.

const RANGE = /^(-?\d{1,15})\.\.(-?\d{1,15})$/;

export function shifted(range, by) {
  return range && { ...range, from: range.from + by, to: range.to + by };
}

/** The range that shows both runs whole; a side is { anchor, duration }. */
export function wholeOfBoth(sides) {
  return {
    from: -Math.max(...sides.map(({ anchor }) => anchor)),
    to: Math.max(...sides.map(({ anchor, duration }) => duration - anchor)),
  };
}

/** The first warm window (not its model's first, which is cold), else the first; -1 without windows. */
export function warmWindow(windows, most) {
  if (windows.count === 0) return -1;
  const warm = Array.from(windows.first.slice(0, most)).findIndex((isFirst) => !isFirst);
  return Math.max(0, warm);
}

/** Writes { view, range } in aligned time (null: as at the start) and the windows' numbers as an address's hash. */
export function writeAligned({ view, range, windows }) {
  const parameters = new URLSearchParams();
  for (const [key, number] of Object.entries(windows)) if (number !== null) parameters.set(key, String(number));
  for (const [key, { from, to }] of [["t", view], ["s", range]].filter(([, value]) => value)) {
    parameters.set(key, `${Math.floor(from)}..${Math.ceil(to)}`);
  }
  return parameters.toString();
}

/** Reads a hash; invalid values are null. `counts` is the number of windows of each side. */
export function readAligned(text, counts) {
  const parameters = new URLSearchParams(text.replace(/^#/, ""));
  const windows = {};
  for (const [name, count] of Object.entries(counts)) {
    const number = parameters.get(name) ?? "";
    windows[name] = /^\d{1,9}$/.test(number) && Number(number) < count ? Number(number) : null;
  }
  return { view: readAlignedRange(parameters.get("t")), range: readAlignedRange(parameters.get("s")), windows };
}

function readAlignedRange(text) {
  const match = RANGE.exec(text ?? "");
  if (!match || Number(match[1]) >= Number(match[2])) return null;
  return { from: Number(match[1]), to: Number(match[2]), isDone: true };
}

/** A hash that shows the same with both sides swapped. */
export function swapAligned(text) {
  const parameters = new URLSearchParams(text.replace(/^#/, ""));
  const [base, compared] = ["base", "new"].map((name) => parameters.get(name));
  for (const [name, value] of [["base", compared], ["new", base]]) {
    if (value === null) parameters.delete(name);
    else parameters.set(name, value);
  }
  return parameters.toString();
}
