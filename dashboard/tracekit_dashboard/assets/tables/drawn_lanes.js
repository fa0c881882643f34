// Tables that are drawn as lanes of the timeline. `state.drawn` names them: `1-7` is a table, `v4` the column whose values
// are drawn, `g2m8` the rows whose column 2 has the text with code 8.
import { cleanText } from "/report-assets/shared/numbers.js";
import { describeLane, drawLane } from "./drawn_marks.js";
import { loadTables, wholeNs } from "./table_client.js";

const PAUSE_MS = 60;
const MOST_PIXELS = 4000;
const FIRST_PIXELS = 1000;
const LINE_PX = 18;
const VALUES_PX = 40;

/** Keeps `view.drawn`, the lanes that the timeline shows, as the state says. Returns { add(entries) }, which counts new ones. */
export function createDrawnLanes({ address, source, store, announce }) {
  const lanes = new Map();
  let version = 0;

  function lane(entry) {
    if (!lanes.has(entry)) lanes.set(entry, createLane(entry));
    return lanes.get(entry);
  }

  function follow() {
    source.view.drawn = store.state.drawn.map(lane);
    for (const entry of [...lanes.keys()]) if (!store.state.drawn.includes(entry)) lanes.delete(entry);
    version += 1;
    store.set({ drawnLanes: version });
  }

  function createLane(entry) {
    const { table, value, group, member } = readEntry(entry);
    let loaded = null; // { from, to, pixels, document }
    let requested = null;
    let timer = 0;
    let problem = "";
    let refused = "";

    function queryOf(fields) {
      const query = new URLSearchParams(fields);
      for (const [name, number] of Object.entries({ value, group, member })) if (number !== null) query.set(name, number);
      return query;
    }

    async function request(wanted) {
      requested = wanted;
      const query = queryOf({ from: wholeNs(wanted.from), to: wholeNs(wanted.to), pixels: String(wanted.pixels) });
      try {
        const document = await loadTables(address, `/${table}/lane?${query}`);
        if (requested !== wanted) return;
        loaded = { ...wanted, document };
        problem = "";
        const height = heightOf(document);
        const label = document.name.map((name) => cleanText(name, 120)).join(" · ");
        if (result.height !== height || result.label !== label) {
          Object.assign(result, { height, label, words: label });
          follow();
        }
      } catch (error) {
        if (requested !== wanted) return;
        requested = null;
        refused = `${wanted.from}-${wanted.to}`;
        problem = error.message;
        announce(`A table's lane could not be drawn: ${error.message}`);
      }
      store.set({ drawnData: (version += 1) });
    }

    /** Requests the data of a picture, somewhat wider than it, unless it is there or on its way. */
    function prepare({ from, to }, width) {
      const pixelNs = (to - from) / width;
      const has = (data) => data !== null && data.from <= from && data.to >= to && (data.to - data.from) / data.pixels <= pixelNs * 1.5;
      if (has(loaded) || has(requested)) return;
      clearTimeout(timer);
      const half = (to - from) / 2;
      const wanted = { from: Math.max(0, from - half), to: to + half, pixels: Math.min(MOST_PIXELS, Math.ceil(2 * width)) };
      if (refused === `${wanted.from}-${wanted.to}`) return; // another part of the run is tried again
      timer = setTimeout(() => request(wanted), PAUSE_MS);
    }

    const result = {
      entry,
      label: `table ${table}`,
      height: value === null ? LINE_PX + 6 : VALUES_PX,
      remove: () => store.set({ drawn: store.state.drawn.filter((other) => other !== entry), ...withoutLane(source.view.drawn.indexOf(result), store.state) }),
      draw(frame, row) {
        prepare(frame.view, frame.width);
        if (loaded) drawLane(frame, row, loaded.document);
      },
      /** The row after (1) or before (-1) the chosen one, else the next from the selection or the visible time on. */
      async next({ chosen, range, view }, direction) {
        const from = range?.from ?? (direction > 0 ? view.from : view.to);
        const query = queryOf({ from: wholeNs(from), direction: String(direction) });
        if (chosen?.kind === "row" && chosen.table === table) query.set("row", chosen.row);
        const { row, start, end } = await loadTables(address, `/${table}/step?${query}`);
        return row === null ? null : { table, row, from: start, to: Math.max(end ?? source.view.duration_ns, start + 1) };
      },
      describe({ row, time, y, pixelNs }) {
        if (problem) return { lines: [row.label, problem] };
        return loaded && describeLane(loaded.document, { row, time, y, pixelNs, table });
      },
    };
    prepare(store.state.view, FIRST_PIXELS); // also for a lane out of sight: its name and height come with the data
    return result;
  }

  store.on(["drawn"], follow);
  if (store.state.drawn.length > 0) follow();
  return {
    add(entries) {
      const added = entries.filter((entry) => !store.state.drawn.includes(entry));
      if (added.length === 0) return 0;
      store.set({ drawn: [...store.state.drawn, ...added], closed: store.state.closed.filter((key) => key !== "tables") });
      requestAnimationFrame(() => [...document.querySelectorAll("#timeline .remove")].at(-1)?.scrollIntoView({ block: "nearest" }));
      return added.length;
    },
  };
}

function heightOf({ lines, time }) {
  return time ? VALUES_PX : Math.max(1, lines) * LINE_PX + 6;
}

function readEntry(entry) {
  const [, table, value = null, group = null, member = null] = entry.match(/^(\d+-\d+)(?:v(\d+))?(?:g(\d+)(?:m(\d+))?)?$/);
  return { table, value, group, member };
}

/** Lanes' ids are their places: after one is removed, those behind it move up, also among the pinned and ordered ones. */
function withoutLane(index, { pinned, order }) {
  const moved = (ids) =>
    ids.flatMap((id) => {
      const place = id.startsWith("d") ? Number(id.slice(1)) : -1;
      if (place === index) return [];
      return [place > index ? `d${place - 1}` : id];
    });
  return { pinned: moved(pinned), order: moved(order) };
}

