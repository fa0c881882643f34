// The time-ordered chart: the stacks of threads from left to right, over the timeline's visible time.
import { fitCanvas, make } from "../shared/dom.js";
import { drawAxis } from "../timeline/draw.js";
import { listenToGestures } from "../timeline/gestures.js";
import { depthOfBoxes, layoutLane } from "./lane_stacks.js";
import { pannedView, zoomedView } from "../timeline/keys.js";
import { cleanText, formatCount, formatDuration, formatTime } from "../shared/numbers.js";
import { panRange } from "../shared/scale.js";
import { boxName, drawStackChart, ROW_HEIGHT } from "./stack_chart_draw.js";
import { boxOfTime, nodeIn, sampleAtTime } from "./stack_chart_layout.js";
import { oncePerFrame } from "../shared/store.js";

const MOST_LANES = 3;
const CHART_AXIS_HEIGHT = 20;
const SUMMED_UP = "The samples of this page are summed up, so their order is not known. The dashboard has it, and a report made with --full.";

/** `page` = { palette(), tooltip, announce(text) }. Shown instead of `others` while the state says so. */
export function createStackChart(section, source, store, page) {
  const lanesElement = make("div", { className: "stack-lanes" });
  const axis = make("canvas", { className: "axis", "aria-hidden": "true" });
  const note = make("p", { className: "note", role: "status" });
  const crosshair = make("div", { className: "crosshair", "aria-hidden": "true", hidden: true });
  const chart = make("div", { className: "stack-chart live-only", hidden: true }, axis, lanesElement, crosshair, note);
  const choice = orderSwitch(store);
  section.querySelector("h2").after(choice.element);
  section.append(chart);
  let charts = [];

  function arrange() {
    const isOn = store.state.stackOrder === "time";
    choice.mark();
    for (const element of section.querySelectorAll(":scope > .flame")) element.hidden = isOn;
    chart.hidden = !isOn;
    if (!isOn) return;
    const lanes = shownLanes(source.view, store.state);
    if (charts.map(({ lane }) => lane).join() !== lanes.join()) {
      charts = lanes.map((lane) => createLane(lane, source, store, page, (text) => (note.textContent = text)));
      lanesElement.replaceChildren(...charts.map(({ element }) => element));
    }
    draw();
  }

  const draw = oncePerFrame(() => {
    if (chart.hidden || chart.clientWidth === 0) return;
    const width = alignChart(chart, section);
    const head = fitCanvas(axis, width, CHART_AXIS_HEIGHT);
    drawAxis({ context: head.context, view: store.state.view, width, height: CHART_AXIS_HEIGHT, palette: page.palette() });
    const notes = charts.map((lane) => lane.draw(width)).filter(Boolean);
    const others = store.state.lanes.length - charts.length;
    if (others > 0) notes.push(`${formatCount(others)} more of the selected threads are not drawn.`);
    if (store.state.lanes.length === 0 && source.view.lanes.length > charts.length) notes.push("Select threads in the timeline to see others.");
    note.textContent = [...new Set(notes)].join(" ");
  });

  /** The time that is pointed at, here or in the timeline. */
  function markPointed() {
    const { pointed, view } = store.state;
    const share = pointed === null ? -1 : (pointed - view.from) / (view.to - view.from);
    crosshair.hidden = chart.hidden || share < 0 || share > 1;
    crosshair.style.left = `calc(var(--offset) + ${share} * var(--width))`;
  }

  store.on(["pointed", "view"], markPointed);
  store.on(["stackOrder", "lanes"], arrange);
  store.on(["view", "joined", "transforms", "cursor", "search"], draw);
  source.listen(draw);
  new ResizeObserver(draw).observe(chart);
  arrange();
  return { redraw: draw };
}

/** Gives the chart the timeline's axis, where its place permits that: the same left edge and width. Returns the width. */
function alignChart(chart, section) {
  const pane = document.querySelector("#timeline .timeline-pane")?.getBoundingClientRect();
  const room = chart.getBoundingClientRect();
  const offset = pane ? pane.left - room.left : -1;
  const isAligned = offset >= 0 && pane.width > 0 && pane.right <= section.getBoundingClientRect().right + 1;
  const width = Math.max(60, Math.floor(isAligned ? pane.width : room.width));
  chart.classList.toggle("aligned", isAligned);
  chart.style.setProperty("--offset", `${isAligned ? offset : 0}px`);
  chart.style.setProperty("--width", `${width}px`);
  return width;
}

function shownLanes(view, { lanes, cursor }) {
  if (lanes.length > 0) return lanes.slice(0, MOST_LANES);
  const first = view.lanes.map((_, lane) => lane).slice(0, MOST_LANES);
  return cursor && cursor.lane >= 0 && !first.includes(cursor.lane) ? [cursor.lane, ...first.slice(0, MOST_LANES - 1)] : first;
}

function orderSwitch(store) {
  const button = (value, text) => {
    const element = make("button", { type: "button", onclick: () => store.set({ stackOrder: value }) }, text);
    return { element, mark: () => element.setAttribute("aria-pressed", String(store.state.stackOrder === value)) };
  };
  const buttons = [button("weight", "Flame graph"), button("time", "Time order")];
  const aria = { role: "group", "aria-label": "Order of the stacks" };
  const element = make("div", { className: "controls stack-order live-only", ...aria }, ...buttons.map((one) => one.element));
  return { element, mark: () => buttons.forEach((one) => one.mark()) };
}

/** One thread's chart. */
function createLane(lane, source, store, page, showText) {
  const { view } = source;
  const name = cleanText(view.strings[view.lanes[lane].label], 120);
  const canvas = make("canvas", { tabIndex: 0, role: "img" });
  const scroll = make("div", { className: "stack-scroll" }, canvas);
  const element = make("div", { className: "stack-lane" }, make("h3", {}, name), scroll);
  let drawn = null; // { boxes, samples, rows, tree, width }

  function draw(width) {
    const shown = store.state.view;
    const columns = Math.max(1, Math.round(width * (window.devicePixelRatio || 1)));
    const layout = layoutLane(source, lane, store.state, columns);
    canvas.hidden = !layout;
    if (!layout) return source.hasSamples() ? SUMMED_UP : "";
    const { boxes, tree, inRange } = layout;
    const height = depthOfBoxes(boxes) * ROW_HEIGHT;
    drawn = { ...layout, width };
    const { context } = fitCanvas(canvas, width, height);
    const { cursor } = store.state;
    const look = { tree, strings: view.strings, engines: view.engines, matches: null };
    drawStackChart(boxes, { context, width, height, view: shown, palette: page.palette(), cursor: cursor?.lane === lane ? cursor.time : null, ...look });
    const count = `${formatCount(inRange)} samples`;
    canvas.setAttribute("aria-label", `Stacks of ${name} in order of time, ${count}. Arrow keys choose a sample, w and s zoom, a and d pan.`);
    if (inRange === 0) return `${name}: no samples in the visible time.`;
    return layout.isThinned ? `${name}: ${count}, more than pixels; each pixel shows one of those of the engine that has most.` : "";
  }

  const timeAt = (x) => store.state.view.from + (x / drawn.width) * (store.state.view.to - store.state.view.from);

  function choose(position) {
    if (position < 0 || position >= drawn.rows.length) return;
    const row = drawn.rows[position];
    const time = drawn.samples.time[row];
    const { tree } = drawn;
    const node = nodeIn(tree.newNode, drawn.samples.node[row]);
    const leaf = node < 0 ? "no stack" : cleanText(view.strings[tree.names[tree.func[node]]], 200);
    store.set({ cursor: { time, lane }, chosen: { kind: "sample" } });
    const text = `${name}, ${formatTime(time, 1000)}: ${leaf}`;
    showText(text);
    page.announce(text);
  }

  function hover({ x, y }) {
    const box = drawn && boxOfTime(drawn.boxes, timeAt(x), Math.floor(y / ROW_HEIGHT));
    if (!box) return page.tooltip.hide();
    const area = canvas.getBoundingClientRect();
    const func = drawn.tree.func[box.node];
    const lines = [
      boxName(box, drawn.tree, view.strings),
      `${cleanText(view.strings[drawn.tree.binaries[func]], 120)} · mostly ${view.engines[box.engine]}`,
      `${formatDuration(box.to - box.from)} from ${formatTime(box.from, 1000)}, itself ${formatDuration(box.self)}`,
    ];
    return page.tooltip.show(lines, area.left + x, area.top + y);
  }

  listenToGestures(canvas, {
    zoom: (factor, x) => store.set({ view: zoomedView(store.state.view, factor, timeAt(x), source) }),
    pan: (pixels) => store.set({ view: panRange(store.state.view, (pixels / drawn.width) * (store.state.view.to - store.state.view.from), view.duration_ns) }),
    select: (from, to, isDone) => {
      const [first, last] = [Math.min(from, to), Math.max(from, to)].map(timeAt);
      store.set({ range: { from: Math.max(0, Math.floor(first)), to: Math.min(view.duration_ns, Math.ceil(last)), isDone } });
    },
    click: (x) => choose(sampleAtTime(drawn.samples, drawn.rows, timeAt(x))),
    doubleClick() {},
    hover(x, y) {
      store.set({ pointed: timeAt(x) });
      hover({ x, y });
    },
    drag: () => page.tooltip.hide(),
    leave() {
      store.set({ pointed: null });
      page.tooltip.hide();
    },
  });
  canvas.addEventListener("keydown", (event) => {
    const { cursor } = store.state;
    const position = () => (cursor?.lane === lane ? sampleAtTime(drawn.samples, drawn.rows, cursor.time) : sampleAtTime(drawn.samples, drawn.rows, store.state.view.from));
    const keys = {
      ArrowRight: () => choose(position() + 1),
      ArrowLeft: () => choose(position() - 1),
      w: () => store.set({ view: zoomedView(store.state.view, 0.5, (store.state.view.from + store.state.view.to) / 2, source) }),
      s: () => store.set({ view: zoomedView(store.state.view, 2, (store.state.view.from + store.state.view.to) / 2, source) }),
      a: () => store.set({ view: pannedView(store.state.view, -0.25, source) }),
      d: () => store.set({ view: pannedView(store.state.view, 0.25, source) }),
    };
    if (!keys[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    keys[event.key]();
  });
  return { lane, element, draw };
}
