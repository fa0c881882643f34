// The page's state: the reader's choices in one object, with listeners for changes of its fields.

export const INITIAL_STATE = {
  view: null, // { from, to }: the visible time
  range: null, // { from, to }: the selected time, or null; `lane` and `position` if it is an interval (steps.js)
  cursor: null, // { time, lane }: a sample chosen from a list; `isSought`: scroll to its lane
  pointed: null, // the time under the pointer, in the timeline or in the time-ordered chart
  lanes: [], // the selected threads; none means all
  filter: "",
  invert: false,
  stackOrder: "weight", // or "time": the time-ordered chart instead of the flame graph
  joined: false, // workers' stacks below the calls that they served
  transforms: "", // the chain of transforms of stacks (transforms.js)
  selectedFunction: "", // the key of the function whose callers and callees are shown
  treeUnit: "weight", // or "percent"
  colourBy: "auto", // "engine" or "binary"; "auto": by engine if the recording shows work of a model
  search: "",
  focus: null, // the path of functions to which the flame graph is zoomed
  theme: "auto", // or "light", "dark"
  allThreads: false,
  closed: [], // closed groups of the timeline
  pinned: [], // ids of lanes (lanes.js) at the top, in this order
  order: [], // ids of lanes that come first in their groups, in this order
  shownLanes: "", // the search for lanes by name or process
  unfolded: [], // ids of lanes that show all rows of their overlapping intervals
  scale: "own", // each thread's lane is as high as its activity; "same": all have one scale
  notes: [], // { id, time, text }: pinned to times (notes.js), in order of time
  ownNotes: null, // those that the address has, which replace the view's; null: none were changed
  namesWidth: 0, // the width of the lanes' names in pixels; 0: the style sheet's
  chosen: null, // { kind, … }: what the inspector shows (inspector.js)
  tab: "summary", // the open tab of the workbench
  beside: "", // the tab beside it on a wide screen
  openTable: "", // the table that is open, as run-number; "": the list of tables
  tableText: "", // the search in the open table
  tableWhere: null, // conditions of its columns: { number: text }
  tableSort: "", // its sorting column's number, with - for descending
  tableColumns: null, // the numbers of the columns that are shown; null: the first ones
  tableScope: "", // "whole": rows of the whole run whatever is selected
  drawn: [], // tables drawn as lanes (the dashboard's drawn_lanes.js)
  drawnLanes: 0, // counts changes of these lanes, which are in view.drawn
  drawnData: 0, // counts arrivals of their data
  timelineShare: 0, // the timeline's part of the workbench's height in percent; 0: the style sheet's
};

export function createStore(initial) {
  const listeners = [];
  const store = {
    state: { ...INITIAL_STATE, ...initial },
    /** Sets some fields and calls the listeners of those that changed. */
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

/** Returns a function that schedules one call of `draw` for the next frame, however often it is called. */
export function oncePerFrame(draw) {
  let isScheduled = false;
  return () => {
    if (isScheduled) return;
    isScheduled = true;
    requestAnimationFrame(() => {
      isScheduled = false;
      draw();
    });
  };
}
