// A comparison's timelines, in the report as in the dashboard: one below the other, aligned at a window of each.
import { readAligned, shifted, warmWindow, wholeOfBoth, writeAligned } from "./align.js";
import { make } from "./dom.js";
import { createHelpSheet } from "./help_sheet.js";
import { createLegend } from "./legend.js";
import { formatDuration, formatTime } from "./numbers.js";
import { readPalette } from "./palette.js";
import { createProblems } from "./problems.js";
import { createStore } from "./store.js";
import { createTimeline } from "./timeline.js";
import { createTooltip } from "./tooltip.js";

export const SIDES = ["base", "new"];
const MOST_CHOICES = 2000;
const LINK_PAUSE_MS = 400;
const AROUND = 0.5;

/** Brings both timelines to life; `sources` are of BASE and NEW, see source.js. */
export function startComparison(sources) {
  const counts = SIDES.map((name, index) => [name, Math.min(sources[index].view.windows.count, MOST_CHOICES)]);
  const link = readAligned(location.hash, Object.fromEntries(counts));
  document.documentElement.classList.add("live");
  const tooltip = createTooltip();
  const help = createHelpSheet({
    where: "Keys are heard in a timeline that has the focus, and in the first wherever nothing else has it.",
    without: ["/"], // a comparison has no filter
  });
  const both = { whole: null };
  const sides = sources.map((source, index) => showSide(SIDES[index], source, link, { tooltip, help, both }));
  const whole = () => wholeOfBoth(sides.map((side) => ({ anchor: side.anchor(), duration: side.duration })));
  both.whole = whole;
  const joint = createStore({ view: link.view ?? whole(), range: link.range });
  followEachOther(sides, joint);
  showControls(sides, joint, whole);
  keepLink(sides, joint, whole);
  document.documentElement.dataset.ready = "true";
}

/** A side's timeline with its choice of the window that both are aligned at. */
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
    say: sayOfSides,
    /** The strips above both timelines are as long as both runs together, so that they can be compared, too. */
    extent: () => (both.whole ? shifted(both.whole(), anchor()) : { from: 0, to: view.duration_ns }),
  };
  const live = document.getElementById(`timeline-${name}`).appendChild(make("div", { className: "live-only" }));
  const choice = windowChoice(view, link.windows[name]);
  live.append(
    windows.count > 0
      ? make("label", { className: "aligned-at" }, "Aligned at window ", choice)
      : make("p", { className: "aligned-at note" }, "Without windows, so it is aligned at its start."),
  );
  const timeline = createTimeline(live.appendChild(make("div", { className: "timeline" })), source, store, page);
  live.append(createLegend(view));
  const problems = createProblems(live, () => source.retry());
  source.listen({ problem: (text, about) => problems.tell(about, text), mended: (about) => problems.mend(about) });
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
    /** The window's number, null where it is the one chosen at the start. */
    number: () => (chosen() === warmWindow(windows, MOST_CHOICES) ? null : chosen()),
  };
}

function sayOfSides(text) {
  document.getElementById("status").textContent = text;
}

function windowChoice(view, given) {
  const { windows, strings } = view;
  const count = Math.min(windows.count, MOST_CHOICES);
  const choice = make("select", {});
  for (let index = 0; index < count; index += 1) {
    const length = formatDuration(windows.end[index] - windows.start[index]);
    const model = strings[windows.model[index]] || strings[windows.label[index]];
    const start = formatTime(windows.start[index], view.duration_ns / 1000);
    choice.append(make("option", { value: String(index) }, `${index}: ${model.slice(0, 60)}, ${length} at ${start}`));
  }
  choice.value = String(given ?? warmWindow(windows, MOST_CHOICES));
  return choice;
}

/** `joint` holds what both show, in aligned time; what is done to a side is done to the other as well. */
function followEachOther(sides, joint) {
  let isFollowing = false;
  const show = (side, { view, range }) => side.store.set({ view: shifted(view, side.anchor()), range: shifted(range, side.anchor()) });
  const showAll = (but) => {
    isFollowing = true;
    for (const side of sides) if (side !== but) show(side, joint.state);
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
      joint.set({ view: { ...joint.state.view } }); // the link names the window
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
    const margin = (range.to - range.from) * AROUND;
    joint.set({ view: { from: range.from - margin, to: range.to + margin } });
  };
  const longest = () => Math.max(...sides.map((side) => side.length()));
  const windows = button("Aligned windows", () => around({ from: 0, to: longest() }));
  windows.disabled = longest() === 0;
  const zoom = button("Zoom to selection", () => around(joint.state.range));
  const clear = button("Clear selection", () => joint.set({ range: null }));
  const told = make("span", { className: "note" });
  const mark = ({ range }) => {
    zoom.disabled = clear.disabled = !range;
    told.textContent = range ? selectionOf(range, sides) : "What you show or select in one is shown in the other.";
    if (range?.isDone) sayOfSides(told.textContent);
  };
  joint.on(["range"], mark);
  mark(joint.state);
  const controls = make("div", { className: "controls live-only", role: "group", "aria-label": "Both timelines" });
  controls.append(button("Both runs whole", () => joint.set({ view: whole() })), windows, zoom, clear, told);
  document.getElementById("timelines-heading").after(controls);
}

function selectionOf(range, sides) {
  const length = range.to - range.from;
  const starts = sides.map((side) => `${side.name.toUpperCase()} from ${formatTime(range.from + side.anchor(), length / 100)}`);
  return `Selected ${formatDuration(length)}: ${starts.join(", ")}`;
}

/** The address names what is shown, so that a link shows the same. */
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

/** Says why there is only what stands in the markup. */
export function showCompareProblem(error) {
  document.documentElement.classList.remove("live");
  sayOfSides(`The interactive part could not start (${error.message}). The tables and pictures below stand.`);
}
