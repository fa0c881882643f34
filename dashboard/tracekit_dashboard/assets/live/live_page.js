// The live page: totals, a row per group of calls with its last minutes, findings, and "Keep this".
import { make } from "/report-assets/shared/dom.js";
import { errorMessage } from "../shared/requests.js";

const LIVE_MINUTES = 2;
const LIVE_MAX_CALLS = 5_000;
const LIVE_ROW_HEIGHT = 26;
const LIVE_COLORS = { ane: "--engine-ane", failed: "--more", unknown: "--engine-other" };
const LIVE_COLUMNS = [["name", "calls of"], ["process", "process"], ["rate", "calls/s"], ["calls", "calls"], ["median", "median"], ["longest", "longest"], ["engine", "engine, by the log"]];

export function showLive(element) {
  const page = {
    calls: [],
    seen: 0,
    state: null,
    headline: make("p", { className: "live-headline" }),
    status: make("p", { className: "note", role: "status" }),
    table: make("table", { className: "live-groups" }),
    strips: make("div", { className: "live-strips" }),
    findings: make("ul", { className: "live-findings" }),
    keep: make("button", { type: "button", className: "button" }, "Keep this"),
  };
  page.keep.addEventListener("click", () => keepStream(page));
  const tableBox = make("div", { className: "live-table", tabIndex: 0, role: "region", "aria-label": "Calls by signpost" }, page.table);
  const findings = make("section", { "aria-label": "Findings", "aria-live": "polite" }, make("h2", {}, "Findings"), page.findings);
  element.querySelector("#live-body").replaceChildren(page.headline, page.keep, page.status, tableBox, page.strips, findings);
  connectLive(page, element);
  document.documentElement.dataset.ready = "";
}

function connectLive(page, element) {
  const events = new EventSource(`/api/live/events?since=${page.seen}`);
  const close = (message) => {
    events.close();
    if (message !== undefined) page.status.textContent = message;
  };
  events.onmessage = ({ data }) => (element.isConnected ? takeLiveState(page, JSON.parse(data)) : close());
  events.addEventListener("end", ({ data }) => {
    takeLiveState(page, JSON.parse(data));
    close(page.state.state);
  });
  events.onerror = () => {
    // The server ends a connection after a minute; the next one begins behind the calls that were seen.
    close(element.isConnected ? "" : undefined);
    if (element.isConnected) setTimeout(() => connectLive(page, element), 1_000);
  };
}

function takeLiveState(page, state) {
  page.state = state;
  page.seen = state.calls_seen;
  page.calls = [...page.calls, ...state.calls].slice(-LIVE_MAX_CALLS).filter((call) => call.end_ms > state.now_ms - LIVE_MINUTES * 60_000);
  page.headline.textContent = [state.clock, state.headline].filter(Boolean).join("  ");
  page.status.textContent = [state.choice, ...state.problems.map((problem) => `${problem}.`)].filter(Boolean).join(" ");
  const head = make("tr", {}, ...LIVE_COLUMNS.map(([, title]) => make("th", { scope: "col" }, title)));
  const rows = state.groups.map((group) => make("tr", {}, ...LIVE_COLUMNS.map(([key]) => make("td", {}, group[key]))));
  page.table.replaceChildren(make("thead", {}, head), make("tbody", {}, ...rows));
  page.findings.replaceChildren(...(state.findings.length ? state.findings : ["None yet."]).map((finding) => make("li", {}, finding)));
  drawLiveStrips(page);
}

function drawLiveStrips(page) {
  const names = page.state.groups.slice(0, 12);
  page.strips.replaceChildren(...names.map((group) => {
    const calls = page.calls.filter((call) => call.key === group.key);
    const canvas = make("canvas", { className: "live-strip", role: "img", "aria-label": `${group.lane}: ${group.engine}; the last ${LIVE_MINUTES} minutes` });
    const row = make("div", { className: "live-row" }, make("span", { className: "live-name" }, group.lane), canvas);
    requestAnimationFrame(() => drawLiveStrip(canvas, calls, page.state.now_ms));
    return row;
  }));
}

function drawLiveStrip(canvas, calls, nowMs) {
  const width = canvas.clientWidth;
  const scale = window.devicePixelRatio || 1;
  canvas.width = width * scale;
  canvas.height = LIVE_ROW_HEIGHT * scale;
  const context = canvas.getContext("2d");
  context.scale(scale, scale);
  const colors = Object.fromEntries(Object.entries(LIVE_COLORS).map(([engine, variable]) => [engine, resolveLiveColor(canvas, variable)]));
  const startMs = nowMs - LIVE_MINUTES * 60_000;
  for (const call of calls) {
    const x = (call.start_ms - startMs) / (LIVE_MINUTES * 60_000) * width;
    const length = Math.max((call.end_ms - call.start_ms) / (LIVE_MINUTES * 60_000) * width, 1);
    context.fillStyle = colors[call.engine];
    context.fillRect(x, 3, length, LIVE_ROW_HEIGHT - 6);
  }
}

/** A canvas takes no light-dark(): the style of an element resolves it. */
function resolveLiveColor(canvas, variable) {
  canvas.style.color = `var(${variable})`;
  return getComputedStyle(canvas).color;
}

async function keepStream(page) {
  page.keep.disabled = true;
  try {
    const response = await fetch("/api/live/keep", { method: "POST", credentials: "same-origin", headers: { "X-Tracekit": "1" } });
    if (!response.ok) throw new Error(await errorMessage(response));
    location.assign((await response.json()).address);
  } catch (error) {
    page.status.textContent = error.message;
    page.keep.disabled = false;
  }
}
