// The findings of a page: a link to each finding's calls in the timeline, and a button that copies a command.
import { make } from "../shared/dom.js";
import { writeHash } from "../shared/hash.js";
import { INITIAL_STATE } from "../shared/store.js";

const SHOWN_AROUND = 0.1;
const COPIED_MS = 1500;

/** Adds links to the findings of a recording in some sections; `choose` selects a range of time and shows it. */
export function linkFindings(sections, view, store, choose) {
  const shown = sections.filter(Boolean);
  shown.forEach(addCopyButtons);
  const items = shown.flatMap((section) => [...section.querySelectorAll(".finding")]);
  const places = view.findings ?? [];
  const ranges = items.map((item) => {
    const place = places[Number(item.dataset.finding)];
    return place ? { from: place[0], to: Math.max(place[1], place[0] + 1) } : null;
  });
  items.forEach((item, position) => {
    const range = ranges[position];
    const index = Number(item.dataset.finding);
    if (!range) return;
    const onclick = (event) => {
      if (event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey) return; // a tab or window of its own
      event.preventDefault();
      choose(range, { kind: "finding", index });
    };
    const href = `#${writeHash({ ...INITIAL_STATE, range, view: withMargin(range, view.duration_ns) }, view.duration_ns)}`;
    for (const step of item.querySelectorAll("[data-place]")) replaceStep(step, href, range, choose, store, index);
    const title = item.querySelector("h3");
    const label = `Show in the timeline: ${title.lastChild.textContent}`;
    const link = make("a", { href, onclick, className: "live-only", "aria-label": label }, "Show in the timeline");
    (item.querySelector(":scope > .cost") ?? title).append(" ", link);
  });
  const mark = ({ range }) =>
    items.forEach((item, position) => {
      const isChosen = range !== null && ranges[position]?.from === range.from && ranges[position]?.to === range.to;
      item.classList.toggle("chosen", isChosen);
    });
  store.on(["range"], mark);
  mark(store.state);
}

/** A step whose place is on this page needs no command: the timeline has its link, the flame graph gets one. */
function replaceStep(step, href, range, choose, store, index) {
  step.classList.add("replaced");
  if (step.dataset.place !== "flame") return;
  const onclick = (event) => {
    event.preventDefault();
    choose(range, { kind: "finding", index });
    store.set({ tab: "flame" });
    document.getElementById("flame")?.scrollIntoView({ block: "nearest" });
  };
  step.after(make("p", { className: "next live-only" }, make("a", { href, onclick }, "See the functions in the flame graph")));
}

function withMargin({ from, to }, duration) {
  const margin = (to - from) * SHOWN_AROUND;
  return { from: Math.max(0, from - margin), to: Math.min(duration, to + margin) };
}

/** Adds a button to each command, which copies it; where the browser does not permit that, it selects the command. */
export function addCopyButtons(section) {
  for (const command of section?.querySelectorAll("pre.command") ?? []) {
    const copy = async () => {
      try {
        await navigator.clipboard.writeText(command.textContent);
        button.textContent = "Copied";
      } catch {
        getSelection().selectAllChildren(command);
        button.textContent = "Selected";
      }
      setTimeout(() => {
        button.textContent = "Copy";
      }, COPIED_MS);
    };
    const button = make("button", { type: "button", className: "copy live-only", "aria-label": "Copy the command", onclick: copy }, "Copy");
    const row = make("div", { className: "command-row" });
    command.replaceWith(row);
    row.append(command, button);
  }
}
