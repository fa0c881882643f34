// The list of the selection's samples, in order of time; the inspector shows the stack of the chosen one.
import { make } from "/report-assets/shared/dom.js";
import { cleanText, formatCount, formatDuration, formatTime, formatWeight } from "/report-assets/shared/numbers.js";

const LISTED_ROWS = 100;
const TIME_STEP_NS = 1000;
const NEAR = "300px";
const COLUMNS = ["Time", "Thread", "Engine", "Weight", "Function", "Rule"];
const NUMBER_COLUMNS = ["Time", "Weight"];

/** Fills a section with the samples of `source` (source.js) that `page` selects. */
export function showSampleList(container, { source, page, store }) {
  const { view } = source;
  const cursorAt = ({ time_ns: time, lane }) => ({ time, lane });
  const list = createList(view, {
    choose: (sample) => store.set({ cursor: cursorAt(sample), chosen: { kind: "sample", load: () => sample } }),
    goTo: (sample) => {
      const closed = store.state.closed.filter((group) => !["threads", "pinned"].includes(group));
      document.getElementById("timeline").scrollIntoView({ block: "nearest" });
      store.set({ view: viewAround(sample.time_ns, store.state.view, view), closed, cursor: { ...cursorAt(sample), isSought: true } });
    },
    more: () => show(page.selection(), next),
  });
  let isNear = false;
  let listed = null; // the selection whose samples are listed
  let next = null;

  function show(selection, after) {
    const answer = source.listSamples(selection, page.mask(), after, LISTED_ROWS);
    if (!answer) return;
    next = answer.next;
    const selected = selection.view.samples.number.reduce((sum, number) => sum + number, 0);
    list.draw(answer.rows, { isNew: listed !== selection, hasMore: next !== null, selected, total: selection.total });
    listed = selection;
  }

  /** Lists the samples of a new selection, while the section is on the screen or close to it. */
  function follow() {
    if (isNear && listed !== page.selection() && store.state.range?.isDone !== false) show(page.selection(), null);
  }

  container.append(list.head, list.body);
  page.onSelection(follow);
  const look = (entries) => {
    isNear = entries.at(-1).isIntersecting;
    follow();
  };
  new IntersectionObserver(look, { rootMargin: NEAR }).observe(container);
}

/** The view around a time: as long as the present view, but no longer than some hundred samples. */
export function viewAround(time, shown, view) {
  const length = Math.min(shown.to - shown.from, Math.max(100 * (view.period_ns || 0), view.duration_ns / 1000));
  const from = Math.max(0, Math.min(view.duration_ns - length, time - length / 2));
  return { from, to: from + length };
}

/** The text above the list; of samples that are summed up, a row may stand for several. `hasMore`: rows are left. */
export function listSummary(rows, { selected, total, hasMore, binNs = 0 }) {
  if (rows === 0) return "No samples in the selection.";
  const samples = `${formatCount(selected)} of ${formatCount(total)} samples`;
  if (binNs === 0) return hasMore ? `${samples}, the first ${formatCount(rows)} listed` : samples;
  const listed = hasMore ? `; the first ${formatCount(rows)} rows are listed` : "";
  return `${samples}. A row sums up those of one stack and thread in up to ${formatDuration(binNs)}${listed}`;
}

/** The table with its summary and buttons. `handlers`: choose(sample), goTo(sample), more(). */
function createList(view, handlers) {
  const summary = make("span", { role: "status" });
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
    head: make("p", { className: "note samples-head" }, summary),
    body,
    /** Shows further samples, or with `isNew` those of another selection. */
    draw(added, { isNew, hasMore, selected, total }) {
      const hadFocus = document.activeElement === more;
      samples = isNew ? added : [...samples, ...added];
      summary.textContent = listSummary(samples.length, { selected, total, hasMore, binNs: view.bin_ns });
      table.hidden = samples.length === 0;
      more.hidden = !hasMore;
      const newRows = added.map((sample) => rowOf(view, sample));
      if (isNew) rows.replaceChildren(...newRows);
      else rows.append(...newRows);
      if (isNew) startAt(newRows[0], scroll);
      else if (hadFocus) newRows[0]?.querySelector(".leaf").focus();
    },
  };
}

/** Scrolls new rows to their start, and puts the first row's buttons in the Tab order. */
function startAt(row, scroll) {
  for (const button of row?.querySelectorAll("button") ?? []) button.tabIndex = 0;
  scroll.scrollTop = 0;
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
