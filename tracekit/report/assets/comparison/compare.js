// A comparison's timelines, in the report and in the dashboard: one below the other, aligned at a call of each run.
import { readAligned, shifted, warmWindow, wholeOfBoth, writeAligned } from "./align.js";
import { createDifferenceFlame } from "./difference_flame.js";
import { make } from "../shared/dom.js";
import { addCopyButtons } from "../inspector/findings.js";
import { createHelpSheet } from "../help_sheet.js";
import { createLegend } from "../timeline/legend.js";
import { formatDuration, formatTime } from "../shared/numbers.js";
import { readPalette } from "../shared/palette.js";
import { createStore } from "../shared/store.js";
import { createTimeline } from "../timeline/timeline.js";
import { createTooltip } from "../shared/tooltip.js";
import { callTitle } from "../data/calls.js";

export const SIDES = ["base", "new"];
const MOST_CHOICES = 2000;
const LINK_PAUSE_MS = 400;
const MARGIN_PART = 0.5;

/** Starts both timelines; `sources` are those of BASE and NEW (source.js), `difference` the data of difference_tree.js or null. */
export function startComparison(sources, difference = null) {
  if (!document.getElementById("timeline-base")) return startWithoutTimes(sources, difference);
  const counts = SIDES.map((name, index) => [name, Math.min(sources[index].view.windows.count, MOST_CHOICES)]);
  const link = readAligned(location.hash, Object.fromEntries(counts));
  document.documentElement.classList.add("live");
  const tooltip = createTooltip();
  const help = createHelpSheet({
    scope: "Keys apply to the timeline with the focus, or to the first one if nothing has the focus.",
    without: ["/", "n"], // a comparison has no filter and no notes
  });
  const both = { whole: null };
  // The sides need the extent of both runs, which is known once the sides are: `both.whole` is filled in below.
  const sides = sources.map((source, index) => showSide(SIDES[index], source, link, { tooltip, help, both }));
  const whole = () => wholeOfBoth(sides.map((side) => ({ anchor: side.anchor(), duration: side.duration })));
  both.whole = whole;
  // A link that shows a part of the timelines is about them.
  if (link.view || link.range) document.querySelector("#timelines > details").open = true;
  const joint = createStore({ view: link.view ?? whole(), range: link.range });
  followEachOther(sides, joint);
  showControls(sides, joint, whole);
  addCopyButtons(document.getElementById("findings"));
  keepLink(sides, joint, whole);
  if (difference) showDifference(difference, sources[0].view.engines, tooltip);
  document.documentElement.dataset.ready = "true";
}

/** Texts without times have no timelines; a text and a recording have no samples to compare either. */
function startWithoutTimes(sources, difference) {
  document.documentElement.classList.add("live");
  addCopyButtons(document.getElementById("findings"));
  if (document.getElementById("difference")) showDifference(difference, sources[0].view.engines, createTooltip());
  document.documentElement.dataset.ready = "true";
}

function showDifference(difference, engines, tooltip) {
  let palette = readPalette(engines);
  const draw = createDifferenceFlame(document.querySelector("#difference > details"), difference, { palette: () => palette, tooltip, announce: announceComparison });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    palette = readPalette(engines);
    draw();
  });
}

/** A side's timeline with a choice of the call at which both are aligned. */
function showSide(name, source, link, { tooltip, help, both }) {
  const { view } = source;
  const store = createStore({ view: { from: 0, to: view.duration_ns } });
  const { windows } = view;
  const chosen = () => (windows.count > 0 ? Number(choice.value) : null);
  const anchor = () => (windows.count > 0 ? windows.start[chosen()] : 0);
  let palette = readPalette(view.engines);
  const page = {
    palette: () => palette,
    mask: () => null,
    tooltip,
    help,
    filter() {},
    announce: announceComparison,
    /** Both overview strips span both runs, so that these can be compared as well. */
    extent: () => (both.whole ? shifted(both.whole(), anchor()) : { from: 0, to: view.duration_ns }),
  };
  const live = document.getElementById(`timeline-${name}`).appendChild(make("div", { className: "live-only" }));
  const choice = windowChoice(view, link.windows[name]);
  live.append(
    windows.count > 0
      ? make("label", { className: "aligned-at" }, "Aligned at call ", choice)
      : make("p", { className: "aligned-at note" }, "This run has no calls. It is aligned at its start."),
  );
  const timeline = createTimeline(live.appendChild(make("div", { className: "timeline" })), source, store, page);
  live.append(createLegend(view));
  const recolour = () => {
    palette = readPalette(view.engines);
    timeline.recolour();
  };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", recolour);
  return {
    name,
    store,
    choice,
    duration: view.duration_ns,
    anchor,
    length: () => (windows.count > 0 ? windows.end[chosen()] - windows.start[chosen()] : 0),
    /** The window's number, null for the default one. */
    number: () => (chosen() === warmWindow(windows, MOST_CHOICES) ? null : chosen()),
  };
}

function announceComparison(text) {
  document.getElementById("status").textContent = text;
}

function windowChoice(view, number) {
  const { windows } = view;
  const count = Math.min(windows.count, MOST_CHOICES);
  const choice = make("select", {});
  for (let index = 0; index < count; index += 1) {
    const length = formatDuration(windows.end[index] - windows.start[index]);
    const start = formatTime(windows.start[index], view.duration_ns / 1000);
    choice.append(make("option", { value: String(index) }, `${callTitle(view, index)}, ${length} at ${start}`));
  }
  choice.value = String(number ?? warmWindow(windows, MOST_CHOICES));
  return choice;
}

/** Keeps both sides in step: `joint` is the common view and range in aligned time. */
function followEachOther(sides, joint) {
  let isFollowing = false;
  const show = (side, { view, range }) => side.store.set({ view: shifted(view, side.anchor()), range: shifted(range, side.anchor()) });
  // A side that is set calls its listeners, which would set the others again: isFollowing breaks that circle.
  const showAll = (except) => {
    isFollowing = true;
    for (const side of sides) if (side !== except) show(side, joint.state);
    isFollowing = false;
  };
  for (const side of sides) {
    side.store.on(["view", "range"], ({ view, range }) => {
      if (isFollowing) return;
      isFollowing = true;
      joint.set({ view: shifted(view, -side.anchor()), range: shifted(range, -side.anchor()) });
      showAll(side);
    });
    side.choice.addEventListener("change", () => {
      showAll();
      joint.set({ view: { ...joint.state.view } }); // a new object, so that the link is written with the window
    });
  }
  joint.on(["view", "range"], () => {
    if (!isFollowing) showAll();
  });
  showAll();
}

function showControls(sides, joint, whole) {
  const button = (text, onclick) => make("button", { type: "button", onclick }, text);
  const around = (range) => {
    const margin = (range.to - range.from) * MARGIN_PART;
    joint.set({ view: { from: range.from - margin, to: range.to + margin } });
  };
  const longest = () => Math.max(...sides.map((side) => side.length()));
  const windows = button("Aligned calls", () => around({ from: 0, to: longest() }));
  windows.disabled = longest() === 0;
  const zoom = button("Zoom to selection", () => around(joint.state.range));
  const clear = button("Clear selection", () => joint.set({ range: null }));
  const note = make("span", { className: "note" });
  const mark = ({ range }) => {
    zoom.disabled = clear.disabled = !range;
    note.textContent = range ? selectionOf(range, sides) : "Both timelines show the same time and selection.";
    if (range?.isDone) announceComparison(note.textContent);
  };
  joint.on(["range"], mark);
  mark(joint.state);
  const controls = make("div", { className: "controls live-only", role: "group", "aria-label": "Both timelines" });
  controls.append(button("Both runs whole", () => joint.set({ view: whole() })), windows, zoom, clear, note);
  document.getElementById("timeline-base").before(controls);
}

function selectionOf(range, sides) {
  const length = range.to - range.from;
  const starts = sides.map((side) => `${side.name.toUpperCase()} from ${formatTime(range.from + side.anchor(), length / 100)}`);
  return `Selected ${formatDuration(length)}: ${starts.join(", ")}`;
}

/** Keeps view, selection and windows in the address, so that a link shows the same. */
function keepLink(sides, joint, whole) {
  let pause = 0;
  const isWhole = ({ from, to }) => from === whole().from && to === whole().to;
  const write = () => {
    const { view, range } = joint.state;
    const windows = Object.fromEntries(sides.map((side) => [side.name, side.number()]));
    const text = writeAligned({ view: isWhole(view) ? null : view, range, windows });
    history.replaceState(null, "", text ? `#${text}` : location.pathname + location.search);
  };
  joint.on(["view", "range"], () => {
    clearTimeout(pause);
    pause = setTimeout(write, LINK_PAUSE_MS);
  });
  addEventListener("hashchange", () => location.reload());
}

/** Reports why the interactive part is missing. */
export function showCompareProblem(error) {
  document.documentElement.classList.remove("live");
  announceComparison(`The interactive part could not start (${error.message}). The tables and pictures below are complete.`);
}
