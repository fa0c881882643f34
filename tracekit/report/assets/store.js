// What the reader of the page chose: one object, changed in one place, told to whoever asked.

export const INITIAL_STATE = {
  view: null, // { from, to }: what the timeline shows
  range: null, // { from, to }: the selected time, or null; `lane` and `place` say which interval it is (steps.js)
  cursor: null, // { time, lane }: the sample that was chosen from a list; `isSought`: its lane is to be brought into sight
  lanes: [], // the selected lanes; none means all
  filter: "",
  invert: false,
  hideSystem: false,
  colourBy: "engine", // or "binary"
  search: "",
  focus: null, // what the flame graph is zoomed to
  theme: "auto", // or "light", "dark"
  allThreads: false,
  closed: [], // names of the timeline's groups that are folded up
  pinned: [], // lanes (lanes.js says how they are named) that stand at the top, in this order
  order: [], // lanes that come first in their groups, in this order
  shownLanes: "", // only lanes with this in their name or process are shown
  namesWidth: 0, // of the column of lanes' names in pixels; 0: as the page is made
};

export function createStore(initial) {
  const listeners = [];
  const store = {
    state: { ...INITIAL_STATE, ...initial },
    /** Changes some fields and tells the listeners of those that differ. */
    set(patch) {
      const changed = Object.keys(patch).filter((key) => patch[key] !== store.state[key]);
      if (changed.length === 0) return;
      store.state = { ...store.state, ...patch };
      for (const { keys, listener } of listeners) {
        if (changed.some((key) => keys.includes(key))) listener(store.state);
      }
    },
    on(keys, listener) {
      listeners.push({ keys, listener });
    },
  };
  return store;
}

/** Calls `draw` once before the next picture, however often it is asked for. */
export function oncePerFrame(draw) {
  let asked = false;
  return () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => {
      asked = false;
      draw();
    });
  };
}
