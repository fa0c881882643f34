// Two runs on one scale: times are counted from the window of each run that both are aligned at.

const RANGE = /^(-?\d{1,15})\.\.(-?\d{1,15})$/;

export function shifted(range, by) {
  return range && { ...range, from: range.from + by, to: range.to + by };
}

/** What shows both runs whole; a side is { anchor, duration }. */
export function wholeOfBoth(sides) {
  return {
    from: -Math.max(...sides.map(({ anchor }) => anchor)),
    to: Math.max(...sides.map(({ anchor, duration }) => duration - anchor)),
  };
}

/** The first window that is not its model's first, which is cold; else the first. -1 where there is none. */
export function warmWindow(windows, most) {
  if (windows.count === 0) return -1;
  const warm = Array.from(windows.first.slice(0, most)).findIndex((isFirst) => !isFirst);
  return Math.max(0, warm);
}

/** `state`: { view, range } in aligned time, null where it is as at the start, and the windows' numbers. */
export function writeAligned({ view, range, windows }) {
  const parameters = new URLSearchParams();
  for (const [key, number] of Object.entries(windows)) if (number !== null) parameters.set(key, String(number));
  for (const [key, { from, to }] of [["t", view], ["s", range]].filter(([, each]) => each)) {
    parameters.set(key, `${Math.floor(from)}..${Math.ceil(to)}`);
  }
  return parameters.toString();
}

/** What a link names; what makes no sense is null. `counts`: how many windows a side has, by its name. */
export function readAligned(text, counts) {
  const parameters = new URLSearchParams(text.replace(/^#/, ""));
  const windows = {};
  for (const [name, count] of Object.entries(counts)) {
    const given = parameters.get(name) ?? "";
    windows[name] = /^\d{1,9}$/.test(given) && Number(given) < count ? Number(given) : null;
  }
  return { view: readAlignedRange(parameters.get("t")), range: readAlignedRange(parameters.get("s")), windows };
}

function readAlignedRange(text) {
  const found = RANGE.exec(text ?? "");
  if (!found || Number(found[1]) >= Number(found[2])) return null;
  return { from: Number(found[1]), to: Number(found[2]), isDone: true };
}

/** A link that shows the same with the sides in each other's places. */
export function swapAligned(text) {
  const parameters = new URLSearchParams(text.replace(/^#/, ""));
  const [base, other] = ["base", "new"].map((name) => parameters.get(name));
  for (const [name, value] of [["base", other], ["new", base]]) {
    if (value === null) parameters.delete(name);
    else parameters.set(name, value);
  }
  return parameters.toString();
}
