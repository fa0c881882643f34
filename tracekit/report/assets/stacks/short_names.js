// Names shortened where they are alike: at a start that they share with others, else in their middle, never at their end.

const AFTER = /[ ./:_/-]/;
const MOST_STARTS = 40;
const END_PART = 0.6;
const SHORTEST = 4;
const WASTED = 6;

/** The names, those that do not fit without the start that they share with another one; `fits(text)` is true for what fits. */
export function shortNames(names, fits) {
  const counts = new Map();
  for (const name of names) {
    for (const end of startsOf(name)) {
      const start = name.slice(0, end);
      counts.set(start, (counts.get(start) ?? 0) + 1);
    }
  }
  return names.map((name) => (fits(name) ? name : shortName(name, (end) => counts.get(name.slice(0, end)) > 1, fits)));
}

/** The lengths of the starts at which a name can be cut: behind a space, a dot, a slash. */
function startsOf(name) {
  const ends = [];
  for (let end = 1; end < name.length && ends.length < MOST_STARTS; end += 1) if (AFTER.test(name[end - 1])) ends.push(end);
  return ends;
}

/** Cuts as little as possible of the shared start; if what remains is still too long, its middle as well. */
function shortName(name, isShared, fits) {
  const cuts = startsOf(name).filter(isShared);
  const enough = cuts.find((end) => fits(`…${name.slice(end)}`));
  if (enough !== undefined) return `…${name.slice(fullerCut(name, cuts[cuts.indexOf(enough) - 1] ?? 0, enough, fits))}`;
  const rest = name.slice(cuts.at(-1) ?? 0);
  const prefix = cuts.length > 0 ? "…" : "";
  let [low, high] = [SHORTEST, rest.length - 1];
  while (low < high) {
    const letters = Math.ceil((low + high) / 2);
    if (fits(prefix + withoutMiddle(rest, letters))) low = letters;
    else high = letters - 1;
  }
  return prefix + withoutMiddle(rest, low);
}

/** A cut inside the last word, if at a word's start much more of the name would be lost than has to be. */
function fullerCut(name, tooEarly, enough, fits) {
  let [low, high] = [tooEarly + 1, enough];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (fits(`…${name.slice(middle)}`)) high = middle;
    else low = middle + 1;
  }
  return enough - high > WASTED ? high : enough;
}

function withoutMiddle(name, letters) {
  const end = Math.round(letters * END_PART);
  return `${name.slice(0, letters - end)}…${name.slice(name.length - end)}`;
}
