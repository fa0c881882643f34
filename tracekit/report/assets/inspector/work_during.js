// What ran during a time: engines by their measured intervals, and threads by their samples.
import { make } from "../shared/dom.js";
import { cleanText, formatDuration, formatPercent } from "../shared/numbers.js";
import { measuredTime } from "../data/selection.js";
import { engineBadge, numberTable, titled } from "./facts.js";

const MOST_BUSY_THREADS = 6;
const LEAST_SHARE = 0.005;

/** Sections of the inspector on a range { from, to }. */
export function workDuring({ from, to }, { source, view }) {
  const engines = busyEngines(source, { from, to });
  const threads = busyThreads(source, { from, to });
  const isQuiet = engines.length === 0 && threads.length === 0;
  return [
    ...titled("Engines then", numberTable(["", "busy", ""], engines)),
    ...titled("Threads then", numberTable(["", "samples cover", ""], threads)),
    isQuiet ? make("p", { className: "note" }, `No interval of an engine and no sample of a thread is in this time${view.lanes.length > 0 ? "" : "; the recording has no samples"}.`) : null,
  ].filter(Boolean);
}

function busyEngines(source, range) {
  const { view } = source;
  const length = range.to - range.from;
  return measuredTime(source, range).flatMap(({ span, length: busy }, index) => {
    const others = source.spanOccupancy(index, range.from, range.to, 1, "others");
    const name = view.engines[span.engine];
    if (name === "RUNTIME") return []; // a framework's intervals, no engine's
    const rows = busy > 0 ? [[engineBadge(view, name), formatDuration(busy), formatPercent(busy / length)]] : [];
    const share = others ? others[0] / 255 : 0;
    if (share > LEAST_SHARE) rows.push([make("span", {}, engineBadge(view, name), " for others"), `about ${formatDuration(share * length)}`, formatPercent(share)]);
    return rows;
  });
}

function busyThreads(source, { from, to }) {
  const { view } = source;
  const covered = view.lanes.map((lane, index) => {
    const occupied = source.occupancy(index, from, to, 1);
    const shares = [...(occupied?.planes ?? [])].map((level) => level / 255);
    const most = shares.indexOf(Math.max(0, ...shares));
    return { lane, share: shares.reduce((sum, share) => sum + share, 0), engine: occupied?.engines[most] };
  });
  const busy = covered.filter(({ share }) => share > LEAST_SHARE).sort((left, right) => right.share - left.share).slice(0, MOST_BUSY_THREADS);
  return busy.map(({ lane, share, engine }) => [cleanText(view.strings[lane.label], 60), `${formatPercent(Math.min(1, share))}`, engineBadge(view, view.engines[engine])]);
}
