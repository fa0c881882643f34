// The page of one recording, in the report and in the dashboard: fills the sections and connects the parts.
import { showBars } from "./tables/bars.js";
import { make } from "./shared/dom.js";
import { createArrows } from "./timeline/draw_arrows.js";
import { linkFindings } from "./inspector/findings.js";
import { linkStrips } from "./inspector/operator_strip.js";
import { createFlame } from "./stacks/flame.js";
import { readHash } from "./shared/hash.js";
import { createLatency } from "./tables/histogram.js";
import { keepHistory } from "./shared/history.js";
import { createInspector } from "./inspector/inspector.js";
import { createLegend, foldLegend } from "./timeline/legend.js";
import { addressKeeper, createNotes, notesOfView } from "./inspector/notes.js";
import { formatCount, formatDuration, formatTime } from "./shared/numbers.js";
import { readPalette } from "./shared/palette.js";
import { measuredTime, sumSamples } from "./data/selection.js";
import { createSource } from "./data/source.js";
import { createStackModel, isShown } from "./stacks/stack_model.js";
import { createStackChart } from "./stacks/stack_chart.js";
import { showStacks } from "./stacks/stacks.js";
import { createStore, oncePerFrame } from "./shared/store.js";
import { rememberedTheme, rememberTheme, setTheme } from "./shared/theme.js";
import { createTimeline } from "./timeline/timeline.js";
import { timelineActions } from "./timeline/timeline_actions.js";
import { createToolbar } from "./toolbar.js";
import { createTooltip } from "./shared/tooltip.js";
import { createCallTree } from "./stacks/tree_section.js";
import { createWindowsTable } from "./tables/windows_table.js";

/**
 * Starts the interactive parts of a page for a view (readView); returns its store, source and state. `arrange(store, page)` places
 * the sections before they are filled; without it they stay one below the other. `keeper` keeps the notes (notes.js); without
 * it they are in the address.
 */
export function startPage(view, source = createSource(view), arrange = () => {}, keeper = null) {
  const duration = view.duration_ns;
  const fromHash = readHash(location.hash, duration, view.lanes.length);
  const store = createStore({ view: { from: 0, to: duration }, ...rememberedTheme(), ...fromHash });
  store.set({ notes: (keeper ? null : store.state.ownNotes) ?? notesOfView(view) });
  const page = createPage(source, store);
  document.documentElement.classList.add("live");
  arrange(store, page);
  const timeline = fillSections(source, store, page);
  if (!view.timeless) {
    const notes = document.getElementById("notes") ?? sectionAfter(document.getElementById("timeline"), "notes");
    createNotes(notes, { store, view, page, actions: timeline.actions, bar: timeline.bar, keeper: keeper ?? addressKeeper(store) });
  }
  followTheme(store, page);
  keepHistory(store, duration, view.lanes.length);
  document.documentElement.dataset.ready = "true";
  performance.mark("tracekit-ready");
  return { store, source, page };
}

/** The state that the parts share: colours, the filter's mask, the selection, the tooltip, the status line. */
function createPage(source, store) {
  setTheme(store.state.theme);
  let palette = readPalette(source.view.engines);
  let mask = source.mask(store.state.filter);
  const status = document.getElementById("status");
  const selectedOf = () => [store.state.range, store.state.lanes, mask, source.hasSamples()];
  let selected = selectedOf();
  let selection = source.select(store.state, mask);
  const listeners = [];
  const page = {
    palette: () => palette,
    mask: () => mask,
    selection: () => selection,
    tooltip: createTooltip(),
    announce: (text) => {
      status.textContent = text;
    },
    recolour() {
      palette = readPalette(source.view.engines);
    },
    refilter() {
      mask = source.mask(store.state.filter);
    },
    /** Adds up what is selected, unless it is the same as before. */
    reselect() {
      const latest = selectedOf();
      if (latest.every((value, index) => value === selected[index])) return;
      selected = latest;
      selection = source.select(store.state, mask);
      for (const listener of listeners) listener();
    },
    /** Calls `listener()` after each new selection. */
    onSelection: (listener) => listeners.push(listener),
    help() {}, // set by fillSections, as the toolbar's two functions
    filter() {},
  };
  page.stacks = createStackModel(store, page);
  return page;
}

/**
 * A part of the page that follows the selection: `section`, `show(selection, sums)`, and `isQuick` if it is updated while
 * the reader drags. A part that is not on the screen, because its tab is closed, is updated when it appears.
 */
function createParts(parts) {
  const pending = new Map(parts.map((part) => [part, null]));
  let latest = null;
  const update = (part) => {
    if (!isShown(part.section)) return;
    pending.delete(part);
    part.show(...latest);
  };
  return {
    show(selection, sums, isDragged) {
      latest = [selection, sums];
      for (const part of parts) {
        pending.set(part, null);
        if (part.isQuick || !isDragged) update(part);
      }
    },
    appear() {
      if (latest) for (const part of [...pending.keys()]) update(part);
    },
  };
}

function fillSections(source, store, page) {
  const { view } = source;
  const section = (id) => document.getElementById(id);
  const timeline = view.timeless ? noTimeline(source, store, page) : fillTimeline(section("timeline"), source, store, page);
  const toolbar = createToolbar(section("toolbar"), view, store, timeline.actions);
  page.help = toolbar.showHelp;
  page.filter = toolbar.focusFilter;
  const choose = (range, chosen) => {
    store.set({ range: { ...range, isDone: true }, chosen });
    timeline.actions.zoomTo(range);
    section("timeline").scrollIntoView({ block: "nearest" });
  };
  const inspected = section("inspector") ?? (view.timeless ? make("section") : sectionAfter(section("timeline"), "inspector"));
  const inspector = createInspector(inspected, { source, store, page, actions: timeline.actions, kinds: page.kinds });
  linkFindings([section("findings"), section("issues")], view, store, choose);
  linkStrips(section("operators"), choose);
  const timed = section("windows") === null ? [] : timedParts(section, view, store, choose);
  const bars = section("engines").appendChild(make("div", { className: "live-only" }));
  const callTree = createCallTree(section("calltree"), view, store, page);
  const flame = createFlame(section("flame"), view, store, page);
  const stacks = livePlace(section("stacks"));
  const stackChart = view.timeless ? { redraw() {} } : createStackChart(section("flame"), source, store, page);
  const parts = createParts([
    {
      section: section("engines"),
      isQuick: true,
      show({ range }, sums) {
        showBars(bars, view, sums, measuredTime(source, range), range ? range.to - range.from : view.duration_ns);
      },
    },
    { section: inspected, show: () => inspector.refresh() },
    ...timed,
    { section: section("calltree"), show: () => callTree.weigh() },
    { section: section("flame"), show: () => flame.weigh() },
    { section: section("stacks"), show: (selection, sums) => showStacks(stacks, selection, store.state.transforms, sums.weight) },
  ]);

  function showSelection(isDragged) {
    const selection = page.selection();
    const sums = sumSamples(selection.view, selection.rows);
    const text = selectionText(source, selection, sums.samples);
    toolbar.setSummary(text);
    if (!isDragged) page.stacks.refresh();
    parts.show(selection, sums, isDragged);
    return text;
  }

  function followNow() {
    const isDragged = store.state.range?.isDone === false;
    page.reselect();
    const text = showSelection(isDragged);
    if (!isDragged) page.announce(text);
  }
  const follow = oncePerFrame(followNow);
  const refilter = () => {
    page.refilter();
    timeline.redraw();
  };
  store.on(["filter"], refilter);
  store.on(["range", "lanes", "filter", "transforms"], follow);
  store.on(["tab", "beside"], parts.appear);
  source.listen(() => {
    refilter();
    followNow();
  });
  page.redraw = () => {
    timeline.recolour();
    flame.redraw();
    stackChart.redraw();
  };
  showSelection(false);
  return timeline;
}

function fillTimeline(section, source, store, page) {
  const live = section.appendChild(make("div", { id: "timeline-live" }));
  const timeline = createTimeline(live.appendChild(make("div", { className: "timeline" })), source, store, page);
  const legend = createLegend(source.view);
  timeline.bar.append(foldLegend(legend));
  timeline.bar.after(legend);
  timeline.addLayer(createArrows(source, store));
  store.on(["chosen"], timeline.redraw);
  return timeline;
}

/** What the page needs of a timeline where samples have no times: nothing is drawn, and nothing selects a time. */
function noTimeline(source, store, page) {
  document.documentElement.classList.add("timeless");
  return { actions: timelineActions(source, store, page), redraw() {}, recolour() {} };
}

/** The parts that need times: the table of calls, and the histogram of their lengths. */
function timedParts(section, view, store, choose) {
  const windowsLive = make("div", { id: "windows-live" });
  section("windows").insertBefore(windowsLive, section("windows").querySelector(":scope > .limits")); // its notes stay below
  const windows = createWindowsTable(windowsLive, view, store, choose);
  const latency = createLatency(section("latency"), view);
  return [
    { section: section("windows"), show: () => windows.refresh() },
    { section: section("latency"), show: ({ range }) => latency.show(range) },
  ];
}

function selectionText(source, { range, lanes, total }, samples) {
  const { view } = source;
  const parts = [`${formatCount(samples)} of ${formatCount(total)} samples`];
  if (range) {
    const length = range.to - range.from;
    parts.push(`${formatTime(range.from, length / 100)} – ${formatTime(range.to, length / 100)} (${formatDuration(length)})`);
  }
  if (lanes.length > 0) parts.push(`${formatCount(lanes.length)} of ${formatCount(view.lanes.length)} threads`);
  if (range && !source.isSharp(range)) parts.push(`samples to the nearest ${formatDuration(view.bin_ns)}`);
  return parts.join(" · ");
}

/** Where sections stand one below the other, the inspector and the notes follow the timeline. */
function sectionAfter(timeline, id) {
  const section = make("section", { id, className: "live-only", "aria-labelledby": `${id}-heading` });
  timeline.after(section);
  return section;
}

/** The place of a live list, instead of the one in the markup, which is of the whole run; a folded section stays folded. */
function livePlace(section) {
  const place = section.querySelector(":scope > details") ?? section;
  for (const child of [...place.children]) if (!["H2", "SUMMARY"].includes(child.tagName)) child.classList.add("replaced");
  return place.appendChild(make("div", { className: "live-only" }));
}

function followTheme(store, page) {
  const recolour = () => {
    setTheme(store.state.theme);
    page.recolour();
    page.redraw();
  };
  store.on(["theme"], recolour);
  store.on(["theme"], ({ theme }) => rememberTheme(theme));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", recolour);
}

/** Reports why the interactive part is missing. */
export function showProblem(error) {
  document.documentElement.classList.remove("live");
  const status = document.getElementById("status");
  status.classList.add("problem");
  status.textContent = `The interactive part could not start (${error.message}). The tables and pictures below are complete.`;
}
