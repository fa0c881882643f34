// The function of the sample under the pointer, for a tooltip: shown once the pointer rests.
import { cleanText } from "../shared/numbers.js";

const PEEK_PAUSE_MS = 60;
const MOST_NAME_LETTERS = 200;

/** Returns a function that passes the name of the function of a place's sample (`source.sampleAt`) to `show`. */
export function createPeek(source, page) {
  let pause = 0;
  let latest = { key: "", name: "" };
  return (place, show) => {
    const key = `${place.lane} ${place.time} ${place.within}`;
    clearTimeout(pause);
    if (key === latest.key) {
      if (latest.name) show(latest.name);
      return;
    }
    pause = setTimeout(() => {
      const sample = source.sampleAt(place, page.mask());
      const binary = sample?.binary ? ` (${cleanText(sample.binary, 80)})` : "";
      const name = sample?.leaf ? `in ${cleanText(sample.leaf, MOST_NAME_LETTERS)}${binary}` : "";
      latest = { key, name };
      if (name) show(name);
    }, PEEK_PAUSE_MS);
  };
}
