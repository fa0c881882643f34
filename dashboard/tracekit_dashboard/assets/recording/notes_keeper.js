// Keeps a recording's notes in the library.
import { errorMessage, fetchChecked } from "../shared/requests.js";

/** The keeper of notes (notes.js) of the recording at `address`. */
export function libraryKeeper(address) {
  const send = async (id, options) => {
    const headers = { "X-Tracekit": "1", "Content-Type": "application/json" };
    const response = await fetch(`${address}/notes/${id}`, { credentials: "same-origin", headers, ...options });
    if (!response.ok) throw new Error(await errorMessage(response));
  };
  return {
    async load() {
      const { notes } = await (await fetchChecked(`${address}/notes`)).json();
      return notes.map(({ id, time_ns: time, text }) => ({ id, time, text }));
    },
    put: ({ id, time, text }) => send(id, { method: "PUT", body: JSON.stringify({ time_ns: time, text }) }),
    remove: (id) => send(id, { method: "DELETE" }),
  };
}
