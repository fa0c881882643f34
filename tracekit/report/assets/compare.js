// The comparison's entry: the timelines of both sides, one below the other, aligned at a window of each.
import { decodeView } from "./decode.js";
import { make } from "./dom.js";
import { createLegend } from "./legend.js";
import { formatDuration, formatTime } from "./numbers.js";
import { readPalette } from "./palette.js";
import { memorySource } from "./source.js";
import { createStore } from "./store.js";
import { createTimeline } from "./timeline.js";
import { createTooltip } from "./tooltip.js";

const SIDES = ["base", "new"];
const MOST_CHOICES = 2000;

async function startComparison() {
  const views = await Promise.all(
    SIDES.map((name) => decodeView(document.getElementById(`tracekit-data-${name}`).textContent)),
  );
  document.documentElement.classList.add("live");
  const tooltip = createTooltip();
  const sides = views.map((view, index) => showSide(SIDES[index], view, tooltip));
  followEachOther(sides);
  showBoth(sides);
  document.documentElement.dataset.ready = "true";
}

/** A side's timeline with its choice of the window that both are aligned at. */
function showSide(name, view, tooltip) {
  const store = createStore({ view: { from: 0, to: view.duration_ns } });
  const status = document.getElementById("status");
  let palette = readPalette(view.engines);
  const page = {
    palette: () => palette,
    mask: () => null,
    tooltip,
    help() {},
    filter() {},
    say: (text) => {
      status.textContent = text;
    },
  };
  const live = document.getElementById(`timeline-${name}`).appendChild(make("div", { className: "live-only" }));
  const choice = windowChoice(view);
  live.append(make("label", {}, "Aligned at window ", choice));
  const timeline = createTimeline(live.appendChild(make("div", { className: "timeline" })), memorySource(view), store, page);
  live.append(createLegend(view));
  const recolour = () => {
    palette = readPalette(view.engines);
    timeline.recolour();
  };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", recolour);
  return { view, store, choice, anchor: () => anchorOf(view, choice) };
}

/** The windows of a side, the first that is no model's first chosen: it is not cold. */
function windowChoice(view) {
  const { windows, strings } = view;
  const count = Math.min(windows.count, MOST_CHOICES);
  const choice = make("select", {});
  for (let index = 0; index < count; index += 1) {
    const length = formatDuration(windows.end[index] - windows.start[index]);
    const model = strings[windows.model[index]] || strings[windows.label[index]];
    const start = formatTime(windows.start[index], view.duration_ns / 1000);
    choice.append(make("option", { value: String(index) }, `${index}: ${model.slice(0, 60)}, ${length} at ${start}`));
  }
  const warm = Array.from(windows.first).findIndex((isFirst) => !isFirst);
  choice.value = String(warm >= 0 && warm < count ? warm : 0);
  choice.disabled = count === 0;
  return choice;
}

function anchorOf(view, choice) {
  return view.windows.count > 0 ? view.windows.start[Number(choice.value)] : 0;
}

function followEachOther(sides) {
  let isFollowing = false;
  const follow = (leader, other) => {
    if (isFollowing) return;
    isFollowing = true;
    const shift = other.anchor() - leader.anchor();
    const { from, to } = leader.store.state.view;
    other.store.set({ view: { from: from + shift, to: to + shift } });
    isFollowing = false;
  };
  sides.forEach((side, index) => {
    const other = sides[1 - index];
    side.store.on(["view"], () => follow(side, other));
    side.choice.addEventListener("change", () => follow(sides[0], sides[1]));
  });
}

/** Both whole runs, to one scale. */
function showBoth([base, other]) {
  const before = Math.max(base.anchor(), other.anchor());
  const after = Math.max(base.view.duration_ns - base.anchor(), other.view.duration_ns - other.anchor());
  base.store.set({ view: { from: base.anchor() - before, to: base.anchor() + after } });
  other.store.set({ view: { from: other.anchor() - before, to: other.anchor() + after } });
}

startComparison().catch((error) => {
  document.documentElement.classList.remove("live");
  document.getElementById("status").textContent =
    `The interactive part could not start (${error.message}). The tables and pictures below stand.`;
  throw error;
});
