// The actions of the timeline's gestures and keys: changes of the page's state.
import { pannedView, zoomedView } from "./keys.js";
import { readLaneId } from "./lanes.js";
import { clampRange } from "../shared/scale.js";
import { chosenInterval, firstLaneOfIntervals, intervalRange, intervalWords, laneIntervals, nextCall, nextPosition, placeOfCall } from "./steps.js";

const MARGIN = 0.1;
const BLURRED = "Samples are summed up in bins longer than the visible time. Calls and intervals are exact.";

export function timelineActions(source, store, page) {
  const duration = source.view.duration_ns;
  const run = { from: 0, to: duration };
  const middle = (range) => (range.from + range.to) / 2;
  const show = (view) => store.set({ view: clampRange(view, duration, source.smallestSpan) });
  const actions = {
    /** Shows a view, or moves the present one so that `centre` is in its middle. */
    show(view, centre) {
      if (view) return show(view);
      const half = (store.state.view.to - store.state.view.from) / 2;
      const from = Math.min(duration - 2 * half, Math.max(0, centre - half));
      return store.set({ view: { from, to: from + 2 * half } });
    },
    zoom(factor, anchor = middle(store.state.view)) {
      const before = store.state.view;
      const view = zoomedView(before, factor, anchor, source);
      store.set({ view });
      const stuck = factor < 1 && view.to - view.from === before.to - before.from;
      if (stuck) page.announce("This is the deepest zoom.");
      else if (!source.isExact && view.to - view.from < source.view.bin_ns) page.announce(BLURRED);
    },
    pan(part) {
      store.set({ view: pannedView(store.state.view, part, source) });
    },
    fit() {
      store.set({ view: run });
    },
    fitSelection() {
      if (store.state.range) actions.zoomTo(store.state.range);
    },
    select(from, to, isDone) {
      const whole = { from: Math.max(0, Math.floor(from)), to: Math.min(duration, Math.ceil(to)) }; // as links hold it
      store.set({ range: { ...whole, isDone }, ...(isDone ? { chosen: null } : {}) });
    },
    /** Selects an interval and shows it in the inspector; without one, clears the selection. */
    choose({ range, chosen, sample }) {
      if (sample) actions.chooseSample(sample);
      else if (range) store.set({ range: { ...range, isDone: true }, chosen });
      else if (chosen) store.set({ chosen });
      else store.set({ range: null, cursor: null, chosen: null });
    },
    /** Shows the call chosen before beside another one; false if either is no call. */
    choosePair(chosen) {
      const { chosen: before } = store.state;
      if (chosen?.kind !== "call" || !["call", "pair"].includes(before?.kind) || before.index === chosen.index) return false;
      store.set({ chosen: { kind: "pair", index: before.index, other: chosen.index } });
      return true;
    },
    /** Shows the sample nearest to a time in a thread's lane: { lane, time, within }. The selection stays. */
    chooseSample(place) {
      const sample = source.sampleAt(place, page.mask());
      if (sample) store.set({ cursor: { time: sample.time_ns, lane: place.lane }, chosen: { kind: "sample", load: () => sample } });
    },
    zoomTo(range) {
      const target = range ?? store.state.range;
      if (!target) return;
      const margin = (target.to - target.from) * MARGIN;
      show({ from: target.from - margin, to: target.to + margin });
    },
    /** Selects the visible time; together with zooming, a way to select any range by keys. */
    selectShown() {
      actions.select(store.state.view.from, store.state.view.to, true);
    },
    /** Selects the next (1) or previous (-1) interval of a lane. */
    stepIn(id, direction) {
      const { kind, index } = readLaneId(id);
      if (kind === "table") return actions.stepRow(id, source.view.drawn[index], direction);
      const intervals = laneIntervals(source, id);
      if (!intervals) return actions.announce("This lane has no intervals to step through.");
      const position = nextPosition(intervals, id, store.state, direction);
      if (position < 0) return actions.announce(direction > 0 ? "There is no later interval." : "There is no earlier interval.");
      return actions.goTo(intervals, id, position);
    },
    /** Selects the next or previous row of a table that is drawn as a lane: the server has all, also those that share a mark. */
    async stepRow(id, lane, direction) {
      const next = await lane.next(store.state, direction).catch((error) => actions.announce(error.message));
      if (next === undefined) return;
      if (next === null) return actions.announce(direction > 0 ? "There is no later row." : "There is no earlier row.");
      const { table, row, from, to } = next;
      store.set({ range: { from, to, isDone: true, lane: id }, chosen: { kind: "row", table, row } });
      const { view } = store.state;
      if (from < view.from || to > view.to) actions.show(null, (from + to) / 2);
      actions.announce(`${lane.label}, row ${row}`);
    },
    /** Selects an interval of a lane, brings it into view and announces it. */
    goTo(intervals, id, position) {
      const range = intervalRange(intervals, id, position);
      const { view } = store.state;
      store.set({ range, chosen: chosenInterval(source, id, position) });
      if (range.from < view.from || range.to > view.to) actions.show(null, middle(range));
      return actions.announce(intervalWords(source, id, position));
    },
    /** Selects the next (1) or previous (-1) call, of whichever model. */
    stepCall(direction) {
      const next = nextCall(source, store.state, direction);
      if (next < 0) return actions.announce(direction > 0 ? "There is no later call." : "There is no earlier call.");
      const { id, position } = placeOfCall(source, source.windows.row[next]);
      return actions.goTo(laneIntervals(source, id), id, position);
    },
    /** Steps in the lane whose name has the focus, else in the lane of the selected interval. */
    stepInterval(direction) {
      actions.stepIn(actions.laneInFocus() ?? store.state.range?.lane ?? firstLaneOfIntervals(source), direction);
    },
    clear() {
      store.set({ range: null, lanes: [], cursor: null, chosen: null });
    },
    /** Both are replaced once the labels exist. */
    laneInFocus: () => null,
    announce() {},
    note: () => page.addNote?.(),
    help: () => page.help(),
    filter: () => page.filter(),
  };
  return actions;
}
