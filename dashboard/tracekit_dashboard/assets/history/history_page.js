// The history page: filters, one row per series, and what is selected.
import { make, makeSvg } from "/report-assets/shared/dom.js";
import { countOf } from "/report-assets/shared/numbers.js";
import { pointLines, showMark, showPicked } from "./history_inspector.js";
import { buildAt, buildScale, drawHistoryRow, markKind, marksOf, markText, pointsByBuild, HISTORY_LEFT, HISTORY_ROW_HEIGHT } from "./history_rows.js";
import { fetchResult } from "../shared/requests.js";

const HISTORY_AXIS_HEIGHT = 34;
const LABEL_SPACE = 84;
const HISTORY_NAMES_WIDTH = 190;
const BUILD_COUNTS = ["36", "72", "150", "all"];
const RESIZE_MS = 120;
const LEGEND = [["ane", "Neural Engine"], ["gpu", "GPU"], ["cpu", "CPU"], ["unknown", "not determined"]];

export async function showHistory(element) {
  const body = element.querySelector("#history-body");
  try {
    await startHistory(body, new URLSearchParams(location.search));
  } catch (error) {
    body.replaceChildren(make("p", { className: "problem card", role: "alert" }, error.message));
  }
  document.documentElement.dataset.ready = "";
}

async function startHistory(body, query) {
  const view = await fetchResult(`/api/history?${new URLSearchParams({ app: query.get("app") ?? "" })}`, (response) => response.json());
  const rows = view.rows.map((row, number) => ({ ...row, number, points: pointsByBuild(row), marks: marksOf(view.changes.filter((change) => change.row === number)) }));
  const page = {
    view,
    rows,
    state: { model: query.get("model") ?? "", device: query.get("device") ?? "", builds: BUILD_COUNTS.includes(query.get("builds")) ? query.get("builds") : "36", changed: query.has("changed") },
    picked: { row: -1, builds: [] },
    aside: make("aside", { className: "history-inspector", "aria-label": "Selection" }),
    list: make("div", { className: "history-rows" }),
    count: make("p", { className: "note", role: "status" }),
    tip: make("div", { className: "history-tip", hidden: true }),
  };
  body.replaceChildren(historyFilters(page), page.count, make("div", { className: "history-main" }, page.list, page.aside), page.tip, hatching());
  showHint(page);
  drawAll(page);
  let timer = 0;
  let width = page.list.clientWidth;
  new ResizeObserver(() => {
    if (page.list.clientWidth === width) return;
    width = page.list.clientWidth;
    clearTimeout(timer);
    timer = setTimeout(() => drawAll(page), RESIZE_MS);
  }).observe(page.list);
}

/** The pattern of what is unknown; all pictures of the page use it. */
function hatching() {
  const pattern = makeSvg("pattern", { id: "history-hatching", width: 5, height: 5, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" });
  pattern.append(makeSvg("line", { class: "history-hatch", x1: 0, x2: 0, y1: 0, y2: 5 }));
  return makeSvg("svg", { width: 0, height: 0, "aria-hidden": "true" }, makeSvg("defs", {}, pattern));
}

function showHint({ view, aside }) {
  const hint = view.rows.length > 0 ? "Select a change or a build. A second build of the same series compares both." : "No recording of the dataset has both calls and a build: give recordings the label build.";
  aside.replaceChildren(make("p", { className: "note" }, hint));
}

function historyFilters(page) {
  const { view, rows, state } = page;
  const names = (key) => [...new Set(rows.map((row) => row[key]))].sort();
  const choose = (key) => (value) => {
    state[key] = value;
    keepState(page);
    drawAll(page);
  };
  const changed = make("input", { type: "checkbox", checked: state.changed, onchange: ({ target }) => choose("changed")(target.checked) });
  return make(
    "form",
    { className: "history-filters", onsubmit: (event) => event.preventDefault() },
    historySelect("App", view.apps, view.app, (app) => location.assign(`/history?${new URLSearchParams({ app })}`)),
    historySelect("Model", ["", ...names("model")], state.model, choose("model")),
    historySelect("Device", ["", ...names("device")], state.device, choose("device")),
    historySelect("Builds", BUILD_COUNTS, state.builds, choose("builds"), (count) => (count === "all" ? `all ${view.builds.length}` : `last ${count}`)),
    make("label", {}, changed, " with changes only"),
    make("span", { className: "note" }, view.summary),
    make("span", { className: "history-legend" }, ...LEGEND.flatMap(([name, text]) => [swatch(name), text])),
  );
}

function swatch(name) {
  return makeSvg("svg", { width: 12, height: 12, "aria-hidden": "true" }, makeSvg("rect", { class: `history-${name}`, width: 12, height: 12 }));
}

function historySelect(label, values, chosen, onchange, textOf = (value) => value || "all") {
  const options = values.map((value) => make("option", { value, selected: value === chosen }, textOf(value)));
  return make("label", {}, `${label} `, make("select", { onchange: ({ target }) => onchange(target.value) }, ...options));
}

function keepState({ view, state }) {
  const query = new URLSearchParams(Object.entries({ app: view.app, model: state.model, device: state.device, builds: state.builds }).filter(([, value]) => value));
  if (state.changed) query.set("changed", "");
  history.replaceState(history.state, "", `/history?${query}`);
}

function drawAll(page) {
  const { view, rows, state, list } = page;
  const first = state.builds === "all" ? 0 : Math.max(0, view.builds.length - Number(state.builds));
  const narrow = list.clientWidth < 640;
  page.scale = buildScale(first, view.builds.length, list.clientWidth - (narrow ? 0 : HISTORY_NAMES_WIDTH) - 2);
  const hasMark = (row) => row.marks.some((mark) => mark.first >= first);
  const shown = rows.filter((row) => (!state.model || row.model === state.model) && (!state.device || row.device === state.device) && (!state.changed || hasMark(row)));
  const unshown = rows.reduce((sum, row) => sum + row.marks.filter((mark) => mark.first < first).length, 0);
  page.count.textContent = `${shown.length} of ${rows.length} series.${unshown > 0 ? ` ${countOf(unshown, "change")} in earlier builds.` : ""}`;
  page.seen?.disconnect();
  page.seen = new IntersectionObserver((entries) => entries.filter(({ isIntersecting }) => isIntersecting).forEach(({ target }) => fillRow(page, target)), { rootMargin: "400px" });
  list.replaceChildren(axisOf(page), ...shown.map((row) => rowElement(page, row)));
  for (const chart of list.querySelectorAll(".history-chart")) page.seen.observe(chart);
  list.scrollLeft = list.scrollWidth; // the newest builds are at the right
}

function axisOf({ view, scale }) {
  const svg = makeSvg("svg", { width: scale.width, height: HISTORY_AXIS_HEIGHT, "aria-hidden": "true" });
  const every = Math.max(1, Math.ceil(LABEL_SPACE / scale.step));
  for (let build = scale.first; build <= scale.last; build += every) {
    svg.append(makeSvg("text", { x: scale.xOf(build), y: 13, "text-anchor": "middle" }, view.builds[build]));
    svg.append(makeSvg("text", { class: "history-day", x: scale.xOf(build), y: 28, "text-anchor": "middle" }, view.days[build]));
  }
  return make("div", { className: "history-axis" }, make("div", { className: "history-name note" }, "build, first recorded"), make("div", {}, svg));
}

function rowElement(page, row) {
  const facts = [[row.device, row.chip || row.deviceModel].filter(Boolean).join(" · "), latestText(row), row.power, [row.basis, row.source].filter(Boolean).join(", ")];
  const name = make("div", { className: "history-name" }, make("h2", {}, row.model), ...facts.filter(Boolean).map((fact) => make("p", { className: "note" }, fact)));
  const chart = make("div", { className: "history-chart", tabIndex: 0, role: "group", "aria-label": `${row.model} on ${row.device}: arrow keys move between builds, Enter selects one` });
  chart.style.cssText = `height:${HISTORY_ROW_HEIGHT}px;width:${page.scale.width}px`;
  chart.dataset.row = row.number;
  bindChart(page, row, chart);
  return make("section", { className: "history-row", "aria-label": [row.model, row.device, ...(row.metric === "p50" ? [] : [row.metric])].join(", ") }, name, make("div", { className: "history-plot" }, chart));
}

function latestText({ metric, main, p90 }) {
  const [length, high] = [main.ms?.at(-1), p90.ms?.at(-1)];
  return length ? `${metric} ${length.toPrecision(4)} ms${high ? `, p90 ${high.toPrecision(4)}` : ""}` : "";
}

function fillRow(page, chart) {
  const row = page.rows[Number(chart.dataset.row)];
  const picked = page.picked.row === row.number ? page.picked.builds : [];
  const marks = row.marks.filter((mark) => mark.first >= page.scale.first);
  const { ticks, svg } = drawHistoryRow(row.points, row.marks, page.scale, picked);
  chart.replaceChildren(make("div", { className: "history-ticks" }, ticks), svg, ...historyPlaced(marks, page.scale).map(([mark, ...place]) => markButton(page, row, mark, place)));
}

/** Labels of marks: one that would cover the last one goes a line lower, one near the end to the left of its line. */
function historyPlaced(marks, scale) {
  let end = -Infinity;
  let top = 0;
  return marks.map((mark) => {
    const x = scale.xOf(mark.first) - scale.step / 2;
    const width = markText(mark).length * 7.4 + 14;
    const isRight = x + width > scale.width;
    const begin = isRight ? Math.max(HISTORY_LEFT, x - width) : x;
    top = begin < end ? (top + 17) % 34 : 0;
    end = begin + width;
    return [mark, begin, top, width];
  });
}

function markButton(page, row, mark, [left, top, width]) {
  const { builds } = page.view;
  const button = make("button", { type: "button", className: `history-label ${markKind(mark)}`, title: `from build ${builds[mark.first]}`, onclick: (event) => {
    event.stopPropagation();
    pick(page, row.number, []);
    showMark(page.aside, { view: page.view, row, mark });
    reveal(page);
  }, onpointermove: (event) => {
    event.stopPropagation();
    page.tip.hidden = true;
  } }, markText(mark));
  button.setAttribute("aria-label", `${markText(mark)} from build ${builds[mark.first]}`);
  button.style.cssText = `top:${top}px;left:${left + 2}px;max-width:${Math.min(width, page.scale.width - left - 4)}px`;
  return button;
}

/** On a narrow page the selection is below the rows. */
function reveal({ aside, list }) {
  if (aside.getBoundingClientRect().top >= list.getBoundingClientRect().bottom) aside.scrollIntoView({ block: "start" });
}

function bindChart(page, row, chart) {
  let cursor = null;
  const show = (build) => {
    cursor = build;
    showTip(page, row, chart, build);
  };
  chart.addEventListener("pointermove", (event) => show(buildAt(page.scale, event.clientX - chart.getBoundingClientRect().left)));
  chart.addEventListener("pointerleave", () => (page.tip.hidden = true));
  chart.addEventListener("blur", () => (page.tip.hidden = true));
  chart.addEventListener("click", (event) => choosePoint(page, row, buildAt(page.scale, event.clientX - chart.getBoundingClientRect().left)));
  chart.addEventListener("keydown", (event) => {
    if (event.target !== chart) return;
    const moves = { ArrowLeft: -1, ArrowRight: 1 };
    if (event.key in moves) show(Math.min(page.scale.last, Math.max(page.scale.first, (cursor ?? page.scale.last + 1) + moves[event.key])));
    else if (event.key === "Enter" && cursor !== null) choosePoint(page, row, cursor);
    else if (event.key === "Escape") page.tip.hidden = true;
    else return;
    event.preventDefault();
  });
}

function showTip({ view, scale, tip }, row, chart, build) {
  const point = row.points.get(build);
  const lines = point ? pointLines(point) : ["no recording with calls"];
  tip.replaceChildren(make("b", {}, `Build ${view.builds[build]}`), ...lines.map((line) => make("div", {}, line)));
  const { left, top } = chart.getBoundingClientRect();
  tip.hidden = false;
  tip.setAttribute("role", "status");
  const x = Math.min(left + scale.xOf(build) + 12, document.documentElement.clientWidth - tip.offsetWidth - 8);
  tip.style.cssText = `left:${Math.max(8, x) + scrollX}px;top:${top + scrollY + 40}px`;
}

function choosePoint(page, row, build) {
  if (!row.points.has(build)) return;
  const before = page.picked.row === row.number ? page.picked.builds : [];
  const builds = before.length === 1 && before[0] !== build ? [before[0], build] : [build];
  pick(page, row.number, builds);
  showPicked(page.aside, { view: page.view, row, points: row.points, picked: builds });
  if (builds.length === 2) reveal(page);
}

function pick(page, row, builds) {
  const before = page.picked.row;
  page.picked = { row, builds };
  for (const number of new Set([before, row])) {
    const chart = page.list.querySelector(`.history-chart[data-row="${number}"]`);
    if (chart) fillRow(page, chart);
  }
}
