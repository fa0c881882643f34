// The page's state in the browser's history: Back undoes a zoom, a selection, a tab.
import { readHash, writeHash } from "./hash.js";
import { INITIAL_STATE } from "./store.js";

const HISTORY_PAUSE_MS = 400;

/** Changes of these fields are steps of their own; changes of others replace the present entry. */
const STEPS = ["view", "range", "chosen", "tab", "filter", "focus", "transforms", "lanes"];

/** Writes the state to the address, and restores the state that an address has when the reader goes back or forward. */
export function keepHistory(store, duration, lanes) {
  let pause = 0;
  let isStep = false;
  let isRestoring = false;
  const write = () => {
    clearTimeout(pause);
    pause = 0;
    const text = writeHash(store.state, duration);
    if (`#${text}` === (location.hash || "#")) return;
    const address = text ? `#${text}` : location.pathname + location.search;
    if (isStep) history.pushState(null, "", address);
    else history.replaceState(null, "", address);
    isStep = false;
  };
  const follow = (step) => () => {
    if (isRestoring || store.state.range?.isDone === false) return;
    isStep ||= step;
    clearTimeout(pause);
    pause = setTimeout(write, HISTORY_PAUSE_MS); // many small steps of a wheel or a drag become one
  };
  const keys = Object.keys(store.state);
  store.on(keys.filter((key) => STEPS.includes(key)), follow(true));
  store.on(keys.filter((key) => !STEPS.includes(key)), follow(false));
  addEventListener("popstate", () => {
    clearTimeout(pause); // what was not written yet is gone, as is a half-drawn selection
    isStep = false;
    isRestoring = true;
    const { theme, notes, ownNotes } = store.state; // belong to the reader, not to a step
    store.set({ ...INITIAL_STATE, view: { from: 0, to: duration }, theme, ...readHash(location.hash, duration, lanes), notes, ownNotes });
    isRestoring = false;
    follow(false)(); // an earlier address lacks later notes
  });
}
