// What the timeline's gestures and keys do to the page's state.
import { pannedView, zoomedView } from "./keys.js";
import { clampRange, lowerBound } from "./scale.js";

const MARGIN = 0.1;
const BLURRED = "Samples are known only to their bin, which is longer than what is shown; windows and intervals are exact.";

export function timelineActions(source, store, page) {
  const duration = source.view.duration_ns;
  const whole = { from: 0, to: duration };
  const middle = (range) => (range.from + range.to) / 2;
  const show = (view) => store.set({ view: clampRange(view, duration, source.smallestSpan) });
  const actions = {
    /** A view, or the present one moved so that `centre` is in its middle. */
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
      if (stuck) page.say("No deeper zoom.");
      else if (!source.isExact && view.to - view.from < source.view.bin_ns) page.say(BLURRED);
    },
    pan(part) {
      store.set({ view: pannedView(store.state.view, part, source) });
    },
    fit() {
      store.set({ view: whole });
    },
    fitSelection() {
      if (store.state.range) actions.zoomTo(store.state.range);
    },
    select(from, to, isDone) {
      store.set({ range: { from: Math.max(0, from), to: Math.min(duration, to), isDone } });
    },
    /** Selects an interval; null clears the selection. */
    choose(range) {
      store.set({ range: range && { ...range, isDone: true } });
    },
    zoomTo(range) {
      const target = range ?? store.state.range;
      if (!target) return;
      const margin = (target.to - target.from) * MARGIN;
      show({ from: target.from - margin, to: target.to + margin });
    },
    stepWindow(direction) {
      const { start, end } = source.windows;
      if (start.length === 0) return;
      const { range, view } = store.state;
      const at = range ? range.from : middle(view);
      const next = direction > 0 ? lowerBound(start, at + 1) : lowerBound(start, at) - 1;
      const place = Math.min(start.length - 1, Math.max(0, next));
      const chosen = { from: start[place], to: Math.max(end[place], start[place] + 1), isDone: true };
      store.set({ range: chosen });
      if (chosen.from < view.from || chosen.to > view.to) actions.show(null, middle(chosen));
    },
    clear() {
      store.set({ range: null, lanes: [] });
    },
    help: () => page.help(),
    filter: () => page.filter(),
  };
  return actions;
}
