// The function of the sample under the pointer, for a tooltip. It may have to be fetched, so it comes a moment later.
import { cleanText } from "./numbers.js";

const PEEK_PAUSE_MS = 60;
const MOST_NAME_LETTERS = 200;

/** Returns a function that passes the name of the function of a place's sample (`source.sampleAt`) to `show`. */
export function createPeek(source, store, page) {
  let pause = 0;
  let latest = { key: "", name: "" };
  return (place, show) => {
    const key = `${place.lane} ${place.time} ${place.within}`;
    clearTimeout(pause);
    if (key === latest.key) {
      if (latest.name) show(latest.name);
      return;
    }
    pause = setTimeout(async () => {
      const sample = await source.sampleAt(place, page.mask(), store.state.filter).catch(() => null); // a click on the lane reports the reason
      const binary = sample?.binary ? ` (${cleanText(sample.binary, 80)})` : "";
      const name = sample?.leaf ? `in ${cleanText(sample.leaf, MOST_NAME_LETTERS)}${binary}` : "";
      latest = { key, name };
      if (name) show(name);
    }, PEEK_PAUSE_MS);
  };
}
