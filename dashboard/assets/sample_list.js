// The list of the selection's samples, in order of time; the inspector shows the stack of the chosen one.
import { make } from "/report-assets/dom.js";
import { cleanText, formatCount, formatTime, formatWeight } from "/report-assets/numbers.js";
import { filterQuery } from "./filter_query.js";
import { errorMessage } from "./requests.js";
import { createSampleFeed, feedSummary, cachePromises, viewAround } from "./sample_feed.js";
import { selectionQuery } from "./sums.js";

const LISTED_ROWS = 100;
const QUERY_PAUSE_MS = 200;
const MOST_STACKS = 300;
const TIME_STEP_NS = 1000;
const NEAR = "300px";
const COLUMNS = ["Time", "Thread", "Engine", "Weight", "Function", "Rule"];
const NUMBER_COLUMNS = ["Time", "Weight"];

/** Fills a section; `address` is the recording's, without a trailing slash. */
export function showSampleList(container, { address, view, store }) {
  const list = createList(view, {
    choose: (sample) => store.set({ cursor: cursorAt(sample), chosen: { kind: "sample", load: () => withStack(sample) } }),
    goTo: ({ time_ns: time, lane }) => {
      const closed = store.state.closed.filter((group) => !["threads", "pinned"].includes(group));
      document.getElementById("timeline").scrollIntoView({ block: "nearest" });
      store.set({ view: viewAround(time, store.state.view, view), closed, cursor: { ...cursorAt({ time_ns: time, lane }), isSought: true } });
    },
    more: () => feed.more(),
    retry: () => feed.retry(),
  });
  const stackOf = cachePromises((number) => fetchJson(`${address}/stacks/${number}`), MOST_STACKS);
  const cursorAt = ({ time_ns: time, lane }) => ({ time, lane: lane ?? -1 });
  const withStack = async (sample) => ({ ...sample, number: 1, stack: sample.stack < 0 ? null : await stackOf(sample.stack) });
  const feed = createSampleFeed((query, cursor, signal) => {
    const after = cursor === null ? "" : `&after=${encodeURIComponent(cursor)}`;
    return fetchJson(`${address}/samples?count=${LISTED_ROWS}${query && `&${query}`}${after}`, signal);
  }, (state) => list.draw(state));
  container.append(list.head, list.body);
  followSelection(container, store, { wait: list.wait, request: feed.request });
}

/**
 * Requests samples of a selection at once, of several in quick succession the first and the last, and only while the section
 * is on the screen or close to it.
 */
function followSelection(container, store, { wait, request }) {
  let isNear = false;
  let pause = 0;
  let latest = -Infinity;
  const askNow = () => {
    const { filter, range } = store.state;
    if (!isNear) wait(false); // an invisible list requests nothing
    else request(selectionQuery(store.state, filterQuery(filter)));
  };
  store.on(["range", "lanes", "filter"], ({ range }) => {
    if (isNear) wait(true);
    clearTimeout(pause);
    if (range?.isDone === false) return; // the release follows
    const isFirst = performance.now() - latest > QUERY_PAUSE_MS;
    latest = performance.now();
    if (isFirst) askNow();
    else pause = setTimeout(askNow, QUERY_PAUSE_MS);
  });
  const look = (entries) => {
    isNear = entries.at(-1).isIntersecting;
    askNow();
  };
  new IntersectionObserver(look, { rootMargin: NEAR }).observe(container);
}

async function fetchJson(address, signal) {
  const response = await fetch(address, { credentials: "same-origin", signal });
  if (!response.ok) throw new Error(await errorMessage(response));
  return response.json();
}

/** The table with its summary and buttons. `handlers`: choose(sample), goTo(sample), more(), retry(). */
function createList(view, handlers) {
  const summary = make("span", { role: "status" });
  const retryButton = make("button", { type: "button", hidden: true }, "Try again");
  const more = make("button", { type: "button", onclick: handlers.more, hidden: true }, "Show more");
  const rows = make("tbody");
  const kind = (title) => (NUMBER_COLUMNS.includes(title) ? "number" : "text");
  const heads = COLUMNS.map((title) => make("th", { scope: "col", className: kind(title) }, title));
  const caption = make("caption", { className: "unseen" }, "Samples of the selection in order of time");
  const table = make("table", { hidden: true }, caption, make("thead", {}, make("tr", {}, ...heads)), rows);
  const aria = { role: "region", "aria-label": "List of samples" };
  const scroll = make("div", { className: "table-scroll", tabIndex: 0, ...aria }, table);
  const body = make("div", { className: "sample-rows" }, scroll, make("p", {}, more));
  let samples = [];
  retryButton.addEventListener("click", () => {
    handlers.retry();
    scroll.focus({ preventScroll: true });
  });

  function choose(chosenIndex) {
    [...rows.children].forEach((row, index) => {
      const isChosen = index === chosenIndex;
      row.classList.toggle("inside", isChosen);
      if (isChosen) row.setAttribute("aria-current", "true");
      else row.removeAttribute("aria-current");
      for (const button of row.querySelectorAll("button")) button.tabIndex = isChosen ? 0 : -1;
    });
    if (samples[chosenIndex]) handlers.choose(samples[chosenIndex]);
  }

  rows.addEventListener("click", (event) => {
    const index = [...rows.children].indexOf(event.target.closest("tr"));
    choose(index);
    if (event.target.closest(".time")) handlers.goTo(samples[index]);
  });
  rows.addEventListener("keydown", (event) => {
    const row = event.target.closest("tr");
    const next = neighbourOf(row, event.key);
    if (!next || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    choose([...rows.children].indexOf(next));
    next.querySelector(event.target.closest(".time") ? ".time" : ".leaf").focus();
  });

  return {
    head: make("p", { className: "note samples-head" }, summary, " ", retryButton),
    body,
    /** Marks the list as outdated. */
    wait: (isOn) => body.setAttribute("aria-busy", String(isOn)),
    draw(state) {
      const hadFocus = document.activeElement === more;
      const isFirst = state.kind === "loading" && state.rows.length === 0;
      body.setAttribute("aria-busy", String(state.kind === "loading"));
      summary.textContent = summaryOf(state);
      summary.classList.toggle("problem", state.kind === "failed");
      retryButton.hidden = state.kind !== "failed";
      table.hidden = state.rows.length === 0;
      more.hidden = state.next === null || isFirst;
      if (state.rows === samples) return;
      const oldCount = state.isNew ? 0 : samples.length;
      samples = state.rows;
      const newRows = samples.slice(oldCount).map((sample) => rowOf(view, sample));
      if (oldCount === 0) rows.replaceChildren(...newRows);
      else rows.append(...newRows);
      if (oldCount === 0) startAt(newRows[0], scroll);
      else if (hadFocus) newRows[0]?.querySelector(".leaf").focus();
    },
  };
}

/** Scrolls new rows to their start, and puts the first row's buttons in the Tab order. */
function startAt(row, scroll) {
  for (const button of row?.querySelectorAll("button") ?? []) button.tabIndex = 0;
  scroll.scrollTop = 0;
}

function summaryOf(state) {
  if (state.kind === "failed") return `The samples could not be loaded: ${state.message}`;
  if (state.kind === "loading" && state.rows.length === 0) return "Loading samples …";
  if (state.rows.length === 0) return "No samples in the selection.";
  return feedSummary(state, formatCount);
}

function neighbourOf(row, key) {
  const { children } = row.parentElement;
  const neighbours = {
    ArrowUp: () => row.previousElementSibling,
    ArrowDown: () => row.nextElementSibling,
    Home: () => children[0],
    End: () => children[children.length - 1],
  };
  return neighbours[key]?.();
}

function rowOf(view, sample) {
  const timeText = formatTime(sample.time_ns, TIME_STEP_NS);
  const time = make("button", { type: "button", className: "plain time", tabIndex: -1, title: "Show in the timeline" }, timeText);
  const name = sample.leaf === null ? "no stack" : cleanText(sample.leaf, 300);
  const leaf = make("button", { type: "button", className: "plain leaf clip", tabIndex: -1, title: name }, name);
  time.setAttribute("aria-label", `${timeText}: show in the timeline`);
  leaf.setAttribute("aria-label", `${name}: show its stack`);
  const lane = view.lanes[sample.lane];
  const thread = lane ? cleanText(view.strings[lane.label], 80) : "";
  const badge = make("span", { className: `badge engine-${sample.engine}`, "aria-hidden": "true" });
  const engine = [sample.engine, sample.phase].filter(Boolean).join(" · ");
  const binary = sample.binary ? make("small", { className: "binary" }, cleanText(sample.binary, 80)) : null;
  const cells = [
    make("td", { className: "number" }, time),
    make("td", {}, make("span", { className: "clip", title: thread }, thread)),
    make("td", { className: "engine-name" }, badge, engine),
    make("td", { className: "number" }, formatWeight(sample.weight, view.unit)),
    make("td", {}, leaf, binary),
    make("td", { className: "rule" }, sample.rule),
  ];
  return make("tr", { className: "choosable" }, ...cells);
}
