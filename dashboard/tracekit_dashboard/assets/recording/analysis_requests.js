// Requests for further analyses of a recording, and where their pages are.
import { errorMessage, fetchChecked, pause } from "../shared/requests.js";

const FOLLOW_MS = 100;
const UNDER_WAY = ["waiting", "reading"];

/** The analyses of a recording; `analysis` is the id of the shown one, `<recording>` or `<recording>.<variant>`. */
export function createAnalyses(analysis) {
  const [recording, variant = ""] = analysis.split(".");
  const address = `/api/recordings/${encodeURIComponent(recording)}`;
  return {
    recording,
    variant,
    choices: async () => (await fetchChecked(`/api/recordings/${encodeURIComponent(analysis)}/choices`)).json(),
    /** Lets the server open the recording before options are chosen; without it, the analysis takes longer. */
    prepare: () => sendJson("POST", `/api/recordings/${encodeURIComponent(analysis)}/choices`).catch(() => {}),
    list: async () => (await fetchChecked(`${address}/analyses`)).json(),
    /** Requests an analysis with options and, by the names of theirs, files. */
    request: (options, files = {}) => sendForm(`${address}/analyses`, { options: JSON.stringify(options), ...files }),
    cancel: (id) => sendJson("POST", `${address}/analyses/${id}/cancel`, {}),
    again: (id) => sendJson("POST", `${address}/analyses/${id}/again`, {}),
    remove: (id) => sendJson("DELETE", `${address}/analyses/${id}`),
    makeDefault: (id) => sendJson("PUT", `${address}/default`, { id }),
    /** Follows an analysis until it is finished; `onProgress` gets each state. Resolves with the last one. */
    async follow(id, onProgress, signal) {
      for (;;) {
        const state = await (await fetchChecked(`${address}/analyses/${id}`)).json();
        if (!UNDER_WAY.includes(state.state)) return state;
        onProgress(state);
        await pause(FOLLOW_MS, signal);
      }
    },
    /** Opens the page of an analysis; Back returns to the present one. */
    open(id) {
      location.assign(`${location.pathname}?variant=${id || "first"}${keptHash()}`);
    },
  };
}

function sendJson(method, address, value) {
  return sendBody(method, address, value && JSON.stringify(value), { "Content-Type": "application/json" });
}

/** Sends files as they are, and texts; the browser reads a file while it sends it. */
function sendForm(address, fields) {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.append(name, value);
  return sendBody("POST", address, form);
}

async function sendBody(method, address, body, headers = {}) {
  const response = await fetch(address, { method, headers: { "X-Tracekit": "1", ...headers }, credentials: "same-origin", body });
  if (!response.ok) throw new Error(await errorMessage(response));
  return response.status === 204 ? null : response.json();
}

/** The part of the address that fits any analysis of the recording: not lanes and calls, whose numbers differ. */
function keptHash() {
  const state = new URLSearchParams(location.hash.slice(1));
  for (const key of [...state.keys()]) if (!["tab", "theme", "colour", "width", "split"].includes(key)) state.delete(key);
  return state.size > 0 ? `#${state}` : "";
}
