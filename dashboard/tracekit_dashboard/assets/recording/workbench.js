// The workbench: the timeline and the inspector keep their place, the other sections are tabs below the timeline.
import { make } from "/report-assets/shared/dom.js";
import { createSplitter } from "./splitter.js";

/** Tabs from left to right: the id, the name, and the ids of their sections in order. */
const TABS = [
  ["summary", "Summary", ["findings", "notes", "operators", "requests", "threads", "engines", "latency", "submissions", "counters"]],
  ["calls", "Calls", ["windows"]],
  ["calltree", "Call tree", ["calltree"]],
  ["flame", "Flame graph", ["flame"]],
  ["samples", "Samples", ["samples", "stacks"]],
  ["tables", "Tables", ["tables"]],
  ["questions", "Questions", ["questions"]],
  ["evidence", "Evidence", ["evidence", "symbols", "overlays", "model", "recording", "issues"]],
];
const WIDE = "(min-width: 1800px)";
const HAS_PANES = "(min-width: 900px) and (min-height: 560px)"; // as in workbench.css

/** Places the sections; returns { arrange(store, page), placeTools() }: the first connects the tabs with the page's state. */
export function createWorkbench(container, sections) {
  const byId = new Map(sections.map((section) => [section.id, section]));
  const timeline = byId.get("timeline");
  const inspector = make("aside", { id: "inspector", "aria-labelledby": "inspector-heading" });
  const panels = TABS.map(([id, name, ids]) => createPanel(id, name, ids.map((section) => byId.get(section)).filter(Boolean)));
  const tabs = panels.filter(({ element }) => [...element.children].some((part) => !part.hidden));
  const list = make("div", { className: "tabs", role: "tablist", "aria-label": "Parts of the analysis" }, ...tabs.map(({ button }) => button));
  const beside = make("select", { "aria-label": "Tab beside this one" }, make("option", { value: "" }, "one tab"));
  for (const { id, name } of tabs) beside.append(make("option", { value: id }, `beside: ${name}`));
  const bar = make("div", { className: "tab-bar" }, list, beside);
  // Parts of the page that this recording leaves empty have no tab, but the page's script looks for them.
  for (const { element } of panels) element.hidden = true;
  const body = make("div", { className: "panels" }, ...panels.map(({ element }) => element));
  const lower = make("div", { className: "bench-lower" }, bar, body);
  const splitter = createSplitter();
  const upper = timeline ? [make("div", { className: "bench-upper" }, timeline), splitter.element] : [];
  container.append(make("div", { className: "bench-main" }, ...upper, lower), inspector);

  function connect(store, page) {
    page.timelineHeight = roomFor;
    const open = (id) => store.set({ tab: id, ...(store.state.beside === id ? { beside: "" } : {}) });
    const show = () => {
      showTabs(tabs, store.state);
      const { button } = tabs.find((entry) => entry.button.tabIndex === 0);
      list.scrollLeft = Math.min(button.offsetLeft, Math.max(list.scrollLeft, button.offsetLeft + button.offsetWidth - list.clientWidth));
    };
    for (const { id, button } of tabs) button.addEventListener("click", () => open(id));
    list.addEventListener("keydown", (event) => moveFocus(event, tabs));
    beside.addEventListener("change", () => store.set({ beside: beside.value === store.state.tab ? "" : beside.value }));
    document.addEventListener("keydown", (event) => {
      const tab = tabs[Number(event.key) - 1];
      const isTyping = event.target.closest?.("input, select, textarea, dialog[open]");
      if (!tab || isTyping || event.altKey || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      open(tab.id);
    });
    store.on(["tab", "beside"], () => {
      beside.value = store.state.beside;
      show();
    });
    matchMedia(WIDE).addEventListener("change", show);
    beside.value = store.state.beside;
    if (timeline) splitter.connect(store);
    show();
  }

  return {
    arrange: connect,
    /** Moves the tools of the view from the bar at the top to the timeline's. */
    placeTools: () => timeline?.querySelector(".lane-finder")?.append(document.querySelector(".view-tools")),
  };
}

function createPanel(id, name, sections) {
  const button = make("button", { type: "button", id: `tab-${id}`, role: "tab", "aria-controls": `panel-${id}`, tabIndex: -1 }, name);
  const element = make("div", { className: "panel", id: `panel-${id}`, role: "tabpanel", tabIndex: 0, "aria-labelledby": `tab-${id}` }, ...sections);
  return { id, name, button, element };
}

/** The height that the timeline's pane leaves for its lanes; undefined where the page scrolls as a whole. */
function roomFor(lanes) {
  return matchMedia(HAS_PANES).matches ? lanes.clientHeight : undefined;
}

/** Shows the open tab, and on a wide screen the one beside it. */
function showTabs(tabs, { tab, beside }) {
  const open = tabs.some(({ id }) => id === tab) ? tab : tabs[0].id;
  const second = matchMedia(WIDE).matches && beside !== open ? beside : "";
  for (const { id, button, element } of tabs) {
    button.setAttribute("aria-selected", String(id === open));
    button.tabIndex = id === open ? 0 : -1;
    element.hidden = id !== open && id !== second;
    element.classList.toggle("second", id === second);
  }
}

/** Arrow keys move between the tabs, as screen readers announce for a list of tabs. */
function moveFocus(event, tabs) {
  const index = tabs.findIndex(({ button }) => button === document.activeElement);
  const next = { ArrowLeft: index - 1, ArrowRight: index + 1, Home: 0, End: tabs.length - 1 }[event.key];
  if (index < 0 || next === undefined) return;
  event.preventDefault();
  event.stopPropagation();
  const { button } = tabs[(next + tabs.length) % tabs.length];
  button.focus();
  button.click();
}
