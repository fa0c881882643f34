// The timeline: overview, axis, lanes. It depends on a source (source.js) and a store (store.js) only.
import { describeAt, describeTimeline } from "./describe.js";
import { fitCanvas, make } from "../shared/dom.js";
import { drawAxis, drawCursor, drawOverlay, drawRows } from "./draw.js";
import { drawNoteLines } from "./draw_notes.js";
import { listenToGestures } from "./gestures.js";
import { runKey } from "./keys.js";
import { markedSpans } from "../data/finding_spans.js";
import { createLabels } from "./labels.js";
import { laneId } from "./lanes.js";
import { createNamesWidth } from "./names_width.js";
import { createOverview, overviewContent } from "./overview.js";
import { createPeek } from "./peek.js";
import { rowAt, scrolledRows, timelineRows } from "./rows.js";
import { panRange } from "../shared/scale.js";
import { oncePerFrame } from "../shared/store.js";
import { withStacks } from "./thread_stacks.js";
import { timelineActions } from "./timeline_actions.js";

const AXIS_HEIGHT = 22;
const MOST_OF_THE_SCREEN = 0.7;
const DOUBLE_CLICK_MS = 500;
const DOUBLE_CLICK_PX = 4;
const NOTHING_DRAWN = "This recording has no samples, calls, intervals or signposts to draw.";
const TAKES_KEYS = "input, select, textarea, dialog, canvas, .timeline";

/**
 * `page` = { palette(), mask(), tooltip, help(), filter(), announce(text) }, and if it has them extent(), timelineHeight(scroll)
 * and nothingDrawn, the text in place of lanes.
 */
export function createTimeline(container, source, store, page) {
  const actions = timelineActions(source, store, page);
  const overview = createOverview(source, (view, middle) => actions.show(view, middle), page.extent);
  const axis = make("canvas", { className: "axis", "aria-hidden": "true" });
  const lanes = make("canvas", { role: "img", "aria-label": describeTimeline(source.view) });
  const overlay = make("canvas", { className: "overlay", "aria-hidden": "true" });
  const pane = make("div", { className: "timeline-pane" }, lanes, overlay);
  const labels = createLabels(source, store, (id) => actions.stepIn(id, 1));
  Object.assign(actions, { findLanes: labels.find, laneInFocus: labels.inFocus, announce: labels.announce });
  const namesWidth = createNamesWidth(container, store);
  const inner = make("div", { className: "timeline-rows" }, labels.element, namesWidth.element, pane);
  const scroll = make("div", { className: "timeline-scroll", tabIndex: 0, role: "group" }, inner);
  scroll.setAttribute("aria-label", "Timeline; press ? for its keys");
  const nothing = make("p", { className: "note nothing-drawn" }, page.nothingDrawn ?? NOTHING_DRAWN);
  container.replaceChildren(
    labels.bar,
    make("div", { className: "timeline-head" }, make("span", { className: "corner", title: overviewContent(source) }, "whole run", make("small", {}, overviewContent(source))), overview.element),
    make("div", { className: "timeline-head" }, make("span", { className: "corner" }, "time"), axis),
    scroll,
    nothing,
  );
  const size = { width: 1, height: 1 };
  let layout = { rows: [], height: 0 };
  let pointer = null;
  let clicked = null; // the last click: { x, y, moment, range }
  const layers = [];

  /** Rows follow the cursor where its lane would be hidden, and the chosen call; mostly they stay as they are. */
  function followChoice() {
    const { rows, height } = timelineRows(source, store.state);
    const isSame = height === layout.height && rows.length === layout.rows.length && rows.every(({ id }, index) => id === layout.rows[index].id);
    if (!isSame) return arrange();
    labels.mark();
    return redrawOverlays();
  }

  function arrange() {
    const { rows, height: rowsHeight } = timelineRows(source, store.state);
    layout = { rows: rows.map((row) => withStacks(row, source, store)), height: rowsHeight };
    namesWidth.apply();
    labels.show(layout.rows, labels.element.clientWidth);
    nothing.hidden = layout.rows.length > 0 || store.state.shownLanes !== "";
    inner.style.height = `${layout.height}px`;
    scroll.style.height = `${layout.height}px`;
    const most = page.timelineHeight?.(scroll) ?? Math.max(240, Math.round(window.innerHeight * MOST_OF_THE_SCREEN));
    const height = Math.min(layout.height, most);
    if (!page.timelineHeight?.(scroll)) scroll.style.height = `${height}px`;
    const width = Math.max(60, Math.floor(pane.clientWidth));
    pane.style.height = `${height}px`;
    const changed = size.width !== width;
    Object.assign(size, { width, height });
    if (changed) overview.prepare(width, page.palette());
    redraw();
  }

  function drawAll() {
    const { view, lanes: selected, scale } = store.state;
    const palette = page.palette();
    const top = scroll.scrollTop; // read before anything changes, else it forces a layout of the page
    const { context, ratio } = fitCanvas(lanes, size.width, size.height);
    const rows = scrolledRows(layout.rows, top);
    const frame = { context, ratio, source, rows, view, palette, lanes: selected, mask: page.mask(), scale };
    drawRows({ ...frame, ...size, top });
    for (const draw of layers) draw({ ...frame, ...size, top, rowOf: (id) => placeOf(rows, id, top) });
    drawNoteLines({ ...frame, ...size }, store.state.notes);
    const head = fitCanvas(axis, size.width, AXIS_HEIGHT);
    drawAxis({ context: head.context, view, width: size.width, height: AXIS_HEIGHT, palette });
    drawSelection();
  }

  /** Draws what a selection changes: the lanes stay as they are. */
  function drawSelection() {
    const { view, range } = store.state;
    overview.draw(view, range, page.palette());
    drawOverlays();
  }

  function drawOverlays() {
    const { context } = fitCanvas(overlay, size.width, size.height);
    const { view, cursor, pointed } = store.state;
    const palette = page.palette();
    const xOfPointed = pointed === null ? null : ((pointed - view.from) / (view.to - view.from)) * size.width;
    drawOverlay({ context, ...size, view, palette, spans: markedSpans(source.view, store.state), pointer: pointer?.x ?? xOfPointed });
    const top = cursor ? scroll.scrollTop : 0;
    drawCursor({ context, ...size, rows: scrolledRows(layout.rows, top), top, view, palette, cursor });
    if (pointer) hover(pointer);
  }

  const redraw = oncePerFrame(drawAll);
  const redrawOverlays = oncePerFrame(drawOverlays);
  const redrawSelection = oncePerFrame(drawSelection);
  const timeAt = (x) => store.state.view.from + (x / size.width) * (store.state.view.to - store.state.view.from);

  function describePoint(x, y) {
    const height = y + scroll.scrollTop;
    const row = rowAt(scrolledRows(layout.rows, scroll.scrollTop), height);
    const inside = row ? height - row.y : 0;
    const description = describeAt(source, row, timeAt(x), inside, store.state.view, size.width);
    return { ...description, range: description.range && { ...description.range, lane: row.id } };
  }

  /** While the reader drags or scrolls, nothing is pointed at: a tooltip would cover what is being selected. */
  function unpoint() {
    if (!pointer) return;
    pointer = null;
    store.set({ pointed: null });
    page.tooltip.hide();
    redrawOverlays();
  }

  function hover({ x, y }) {
    const box = pane.getBoundingClientRect();
    const { lines, sample } = describePoint(x, y);
    const show = (more) => page.tooltip.show([...lines, ...more], box.left + x, box.top + y);
    show([]);
    if (sample) peek(sample, (name) => pointer?.x === x && pointer?.y === y && show([name]));
  }

  const peek = createPeek(source, page);

  listenToGestures(pane, {
    zoom: (factor, x) => actions.zoom(factor, timeAt(x)),
    pan: (pixels) => {
      const { view } = store.state;
      const distance = (pixels / size.width) * (view.to - view.from);
      store.set({ view: panRange(view, distance, source.view.duration_ns) });
    },
    select: (from, to, isDone) => actions.select(timeAt(Math.min(from, to)), timeAt(Math.max(from, to)), isDone),
    click(x, y, isSecond) {
      if (isSameClick(clicked, x, y)) return; // the second of a double click: the inspector may have changed the scale
      const described = describePoint(x, y);
      clicked = { x, y, moment: performance.now(), range: described.range };
      unpoint(); // what was pointed at is now in the inspector
      if (described.note) page.editNote(described.note);
      else if (isSecond && actions.choosePair(described.chosen)) return;
      else actions.choose(described);
    },
    doubleClick: () => actions.zoomTo(clicked?.range),
    hover: (x, y) => {
      pointer = { x, y };
      store.set({ pointed: timeAt(x) });
      redrawOverlays();
    },
    drag: unpoint,
    leave: unpoint,
  });
  scroll.addEventListener("keydown", (event) => {
    if (event.target.closest("button") && event.key === "Enter") return;
    if (runKey(event, actions)) event.preventDefault();
  });
  // Where nothing else takes keys, they apply to the timeline, except for arrows, which scroll or move the focus.
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.target.closest?.(TAKES_KEYS) || event.key.startsWith("Arrow")) return;
    if (runKey(event, actions)) event.preventDefault();
  });
  scroll.addEventListener("scroll", () => {
    unpoint();
    redraw();
  });
  addEventListener("scroll", unpoint, { passive: true });
  new ResizeObserver(oncePerFrame(arrange)).observe(container);
  store.on(["view", "lanes", "scale", "drawnData"], redraw);
  store.on(["chosen"], followChoice);
  store.on(["range", "chosen"], redrawSelection);
  source.listen(oncePerFrame(arrange)); // with their samples, threads can show their stacks
  store.on(["closed", "allThreads", "pinned", "order", "shownLanes", "namesWidth", "unfolded", "notes", "drawnLanes", "joined", "transforms"], arrange);
  store.on(["cursor"], ({ cursor }) => {
    followChoice();
    if (cursor?.isSought) labels.reveal(laneId("thread", cursor.lane));
  });
  store.on(["pointed"], () => pointer === null && redrawOverlays());
  store.on(["lanes"], () => labels.mark());
  arrange();
  drawAll();
  return {
    actions,
    bar: labels.bar,
    redraw,
    /** Draws something over the lanes with each picture: `draw(frame)` as drawRows, with rowOf(id): { y, height } or null. */
    addLayer(draw) {
      layers.push(draw);
      redraw();
    },
    recolour() {
      overview.prepare(size.width, page.palette());
      redraw();
    },
  };
}

/** Where a lane is drawn, without the stacks below it; null if it is not among the rows. */
function placeOf(rows, id, top) {
  const row = rows.find((candidate) => candidate.id === id);
  return row ? { y: row.y - top, height: row.height - (row.stacksPx ?? 0) } : null;
}

/** True for a click at the place of the one before, and soon after it. */
function isSameClick(before, x, y) {
  return before !== null && performance.now() - before.moment < DOUBLE_CLICK_MS && Math.hypot(x - before.x, y - before.y) <= DOUBLE_CLICK_PX;
}
