// Beside the history: the selected change, or one or two selected builds, with their recordings.
import { make } from "/report-assets/shared/dom.js";
import { cleanText } from "/report-assets/shared/numbers.js";
import { fetchResult } from "../shared/requests.js";

const ENGINE_NAMES = { ANE: "Neural Engine", GPU: "GPU", CPU: "CPU" };
const SMALLEST_MS = 0.005;
const LONGEST_PATH = 90;

/** A share of calls, or the range of it: "42 %", "40 to 58 %". */
export function bandText([low, high]) {
  const [least, most] = [low, high].map((share) => Math.round(100 * share));
  return least === most ? `${least} %` : `${least} to ${most} %`;
}

/** The values of a build in a few lines of text. */
export function pointLines(point) {
  const lines = [];
  if (point.main) {
    const interval = point.low === null ? "no interval of one run" : `95 % interval ${point.low} … ${point.high} ms`;
    lines.push(`${point.metric} ${point.main} ms (${interval}; ${point.runs} ${point.runs === 1 ? "run" : "runs"})`);
  }
  if (point.p90) lines.push(`p90 ${point.p90} ms`);
  const engines = Object.entries(point.engines).filter(([, [, high]]) => high > 0);
  for (const [engine, band] of engines) lines.push(`${ENGINE_NAMES[engine]}: ${bandText(band)} of calls`);
  if (point.system) lines.push(point.system);
  return lines;
}

/** Shows the changes of a mark. `page` = { view, row, number of the row … }. */
export function showMark(aside, { view, row, mark }) {
  const [main] = mark.changes;
  const [before, after] = [view.builds[main.lastBefore], view.builds[main.first]];
  aside.replaceChildren(
    make("h2", {}, `${row.model}, ${row.device}`),
    ...mark.changes.map(({ sentence, accepted }) => make("p", {}, accepted ? `${sentence} Accepted as the new level.` : sentence)),
    ...partsSection(view, row, before, after),
    ...section("How sure", [main.certainty]),
    make("h3", {}, "Settle it"),
    make("p", {}, "Both builds in turn, five runs each; put the paths of your builds in place of these:"),
    commandBox(main.command),
    ...(mark.changes.every(({ accepted }) => accepted) ? [] : [make("h3", {}, "Accept it as the new level"), make("p", {}, "With the other open changes of this model:"), commandBox(main.acceptCommand)]),
    ...recordingsSection(view, row, before, after),
  );
}

/** A command with a button that copies it. */
function commandBox(command) {
  return make("div", { className: "command" }, make("pre", {}, command), make("button", { type: "button", className: "copy" }, "Copy"));
}

/** Shows one build, or two of a series compared; `picked` are their numbers. */
export function showPicked(aside, { view, row, points, picked }) {
  const [first, second] = [...picked].sort((left, right) => left - right);
  const title = make("h2", {}, `${row.model}, ${row.device}`);
  if (second === undefined) {
    const lines = pointLines(points.get(first) ?? { engines: {} });
    const hint = "Select a second build of this series to compare both.";
    aside.replaceChildren(title, make("h3", {}, buildTitle(view, first)), list(lines), make("p", { className: "note" }, hint), ...recordingsSection(view, row, view.builds[first], null));
    return;
  }
  const [before, after] = [first, second].map((build) => points.get(build) ?? { engines: {} });
  aside.replaceChildren(
    title,
    make("h3", {}, `Build ${view.builds[first]} and build ${view.builds[second]}`),
    comparedTable(row, before, after, [view.builds[first], view.builds[second]]),
    make("p", { className: "note" }, "Differences of two builds picked by eye are not tested. Record both in turn to settle one."),
    ...partsSection(view, row, view.builds[first], view.builds[second]),
    ...recordingsSection(view, row, view.builds[first], view.builds[second]),
  );
}

function buildTitle(view, build) {
  return `Build ${view.builds[build]}${view.days[build] ? `, first recorded ${view.days[build]}` : ""}`;
}

function list(lines) {
  return make("ul", { className: "plain" }, ...lines.map((line) => make("li", {}, line)));
}

function section(title, texts) {
  return texts.length > 0 ? [make("h3", {}, title), ...texts.map((text) => make("p", {}, text))] : [];
}

function comparedTable(row, before, after, names) {
  const rows = [];
  for (const [name, title] of [["main", row.metric], ["p90", "p90"]]) {
    if (before[name] && after[name]) rows.push([title, `${before[name]} ms`, `${after[name]} ms`, percentText(after[name] / before[name])]);
  }
  for (const engine of Object.keys(ENGINE_NAMES)) {
    const [left, right] = [before.engines[engine], after.engines[engine]];
    if (left && right && left[1] + right[1] > 0) rows.push([ENGINE_NAMES[engine], bandText(left), bandText(right), ""]);
  }
  return smallTable(["", ...names, "change"], rows);
}

function percentText(ratio) {
  const percent = 100 * (ratio - 1);
  return `${percent >= 0 ? "+" : "−"}${Math.abs(percent).toFixed(1)} %`;
}

function smallTable(header, rows) {
  const cells = (tag, texts) => texts.map((text, index) => make(index === 0 && tag === "td" ? "th" : tag, { className: index ? "number" : "", scope: tag === "th" ? "col" : index ? null : "row" }, text));
  const head = make("thead", {}, make("tr", {}, ...cells("th", header)));
  return make("table", { className: "history-table" }, head, make("tbody", {}, ...rows.map((row) => make("tr", {}, ...cells("td", row)))));
}

function addressOf(kind, view, row, before, after) {
  const query = new URLSearchParams({ app: view.app, device: row.device, model: row.model, before, after: after ?? "" });
  return `/api/history/${kind}?${query}`;
}

/** The parts of the call in both builds; filled when the server has them. A row of requests to language models is of no calls. */
function partsSection(view, row, before, after) {
  if (row.metric !== "p50") return [];
  const place = make("div", {}, make("p", { className: "note" }, "Loading …"));
  fetchResult(addressOf("parts", view, row, before, after), (response) => response.json()).then(
    ({ parts }) => place.replaceChildren(partsTable(parts.filter(({ source }) => source === row.source))),
    (error) => place.replaceChildren(make("p", { className: "problem" }, error.message)),
  );
  return [make("h3", {}, "Which part of the call grew"), place];
}

function partsTable(parts) {
  const most = parts.filter(({ part }) => part !== "length").reduce((largest, part) => (part.change_ms > (largest?.change_ms ?? SMALLEST_MS) ? part : largest), null);
  const rows = parts.filter(({ before_ms, after_ms }) => before_ms + after_ms > 0).map((part) => [part.part, change(part.change_ms), part === most]);
  if (rows.length === 0) return make("p", { className: "note" }, "No part of the calls is known in both builds.");
  const body = rows.map(([name, text, isMost]) => make("tr", { className: isMost ? "most" : "" }, make("th", { scope: "row" }, name), make("td", { className: "number" }, text)));
  const note = make("p", { className: "note" }, "Means of warm calls. Parts overlap, and do not sum to the length.");
  return make("div", {}, make("table", { className: "history-table" }, make("tbody", {}, ...body)), note);
}

function change(ms) {
  return Math.abs(ms) < SMALLEST_MS ? "±0 ms" : `${ms > 0 ? "+" : "−"}${Math.abs(ms).toFixed(2)} ms`;
}

/** The recordings of the builds, with links to those of the library. */
function recordingsSection(view, row, before, after) {
  const place = make("div", {}, make("p", { className: "note" }, "Loading …"));
  fetchResult(addressOf("recordings", view, row, before, after), (response) => response.json()).then(
    ({ recordings }) => place.replaceChildren(...recordingLists(recordings, [before, after])),
    (error) => place.replaceChildren(make("p", { className: "problem" }, error.message)),
  );
  return [make("h3", {}, "Recordings"), place];
}

function recordingLists(recordings, builds) {
  const sides = builds.filter((build) => build !== null).map((build) => recordings.filter((recording) => recording.build === build));
  const lists = sides.flatMap((side, index) => [
    make("details", { open: side.some(({ link }) => link) }, make("summary", {}, `Build ${builds[index]}: ${side.length} ${side.length === 1 ? "recording" : "recordings"}`), recordingList(side)),
  ]);
  const linked = sides.map((side) => side.find(({ link }) => link));
  if (linked.length === 2 && linked.every(Boolean)) {
    const [base, compared] = linked.map(({ link }) => link.replace("/recordings/", ""));
    lists.push(make("p", {}, make("a", { href: `/compare/${base}/${compared}` }, "Compare one recording of each")));
  } else if (sides.length === 2 && sides.every((side) => side.length > 0)) {
    const [base, compared] = sides.map(([{ path }]) => historyQuoted(path));
    lists.push(make("p", {}, "Compare one recording of each:"));
    lists.push(commandBox(`tracekit compare ${base} ${compared}`));
  }
  return lists;
}

/** A word of a command for bash and zsh. */
export function historyQuoted(word) {
  return /^[\w./:@%+=-]+$/.test(word) ? word : `'${word.replaceAll("'", `'"'"'`)}'`;
}

function recordingList(recordings) {
  const name = ({ path, name: fileName }) => cleanText(path || fileName, LONGEST_PATH);
  return make("ul", { className: "plain" }, ...recordings.map((recording) => make("li", {}, recording.link ? make("a", { href: recording.link }, name(recording)) : name(recording))));
}
