// The timeline's keys, like Perfetto's, in one list, which the help sheet shows.
import { panRange, zoomRange } from "../shared/scale.js";

const ZOOM_STEP = 1.4;
const PAN_PART = 0.15;

/** Each entry: the keys, the help text, and the action to run (timeline_actions.js). */
export const TIMELINE_KEYS = [
  { keys: ["w", "+", "="], help: "Zoom in", run: (actions) => actions.zoom(1 / ZOOM_STEP) },
  { keys: ["s", "-"], help: "Zoom out", run: (actions) => actions.zoom(ZOOM_STEP) },
  { keys: ["a", "ArrowLeft"], help: "Earlier", run: (actions) => actions.pan(-PAN_PART) },
  { keys: ["d", "ArrowRight"], help: "Later", run: (actions) => actions.pan(PAN_PART) },
  { keys: ["0"], help: "The whole run", run: (actions) => actions.fit() },
  { keys: ["r"], help: "Select what is shown", run: (actions) => actions.selectShown() },
  { keys: ["f"], help: "Zoom to the selection", run: (actions) => actions.fitSelection() },
  { keys: ["["], help: "Previous call", run: (actions) => actions.stepCall(-1) },
  { keys: ["]"], help: "Next call", run: (actions) => actions.stepCall(1) },
  {
    keys: [","],
    help: "Previous interval or signpost of the lane whose name has the focus, or of the last such lane",
    run: (actions) => actions.stepInterval(-1),
  },
  { keys: ["."], help: "Next interval or signpost of that lane", run: (actions) => actions.stepInterval(1) },
  { keys: ["n"], help: "Pin a note to the start of the selection", run: (actions) => actions.note() },
  { keys: ["Escape"], help: "Clear the selection", run: (actions) => actions.clear() },
  { keys: ["/"], help: "Filter", run: (actions) => actions.filter() },
  { keys: ["l"], help: "Find lanes by name", run: (actions) => actions.findLanes() },
  { keys: ["?"], help: "These keys", run: (actions) => actions.help() },
];

/** Names of keys that are no letters. */
export const KEY_NAMES = { ArrowLeft: "←", ArrowRight: "→", Escape: "Esc" };

export const MOUSE_HELP = [
  ["Ctrl or ⌘ + wheel, pinch", "Zoom at the pointer"],
  ["Drag", "Select a range of time"],
  ["Shift + drag, middle button, one finger", "Move"],
  ["Hold a finger, then drag", "Select a range of time"],
  ["Click on a call or interval", "Select its time"],
  ["Double click", "Zoom to it, or to the selection"],
  ["Click on a thread's name", "Select or deselect the thread"],
  ["Click on the name of a lane of intervals", "Select the next one"],
  ["Drag a lane's name (on a touch screen: hold, then drag)", "Move the lane within its group"],
  ["Alt + ↑, Alt + ↓ on a lane's name or pin", "Move the lane up or down"],
  ["Click on a note's flag", "Change or delete the note"],
  ["Pin beside a lane's name", "Keep the lane at the top"],
  ["Drag the edge of the names, or ← and → on it", "Change the names' width; double click resets it"],
];

/** Runs a key's action; false if it has none. */
export function runKey(event, actions) {
  if (event.ctrlKey || event.metaKey || event.altKey) return false;
  const entry = TIMELINE_KEYS.find(({ keys }) => keys.includes(event.key));
  if (!entry) return false;
  entry.run(actions);
  return true;
}

export function zoomedView(view, factor, anchor, source) {
  return zoomRange(view, factor, anchor, source.view.duration_ns, source.smallestSpan);
}

export function pannedView(view, part, source) {
  return panRange(view, part * (view.to - view.from), source.view.duration_ns);
}
