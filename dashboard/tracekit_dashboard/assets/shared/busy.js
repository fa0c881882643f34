// Repeats requests for which the server was too busy, such as a write while another program has locked the catalog.
import { make } from "/report-assets/shared/dom.js";
import { errorMessage, pause } from "./requests.js";

const MOST_REPEATS = 15;
const LONGEST_PAUSE_S = 10;

/** Replaces the window's `fetch`, which the dashboard's modules and Dash use alike, by one that repeats. */
export function repeatBusyRequests() {
  const notice = make("p", { className: "problem card gone", role: "status", hidden: true });
  document.body.append(notice);
  const show = (sentence) => {
    notice.hidden = !sentence;
    notice.textContent = sentence;
  };
  window.fetch = createPatientFetch(window.fetch.bind(window), show);
}

/**
 * Returns a `fetch` that repeats a request after the response 503 with Retry-After, and returns the last response.
 * `show` is called with a sentence while it waits and after the last attempt failed, and with "" after a success.
 */
export function createPatientFetch(fetch, show, { repeats = MOST_REPEATS, sleep = pause } = {}) {
  return async (address, options) => {
    for (let repeated = 0; ; repeated += 1) {
      const response = await fetch(address, options);
      const seconds = response.status === 503 && Number(response.headers.get("Retry-After"));
      if (!seconds) {
        if (repeated) show("");
        return response;
      }
      const sentence = await errorMessage(response.clone());
      if (repeated === repeats) {
        show(sentence);
        return response;
      }
      show(`${sentence} Trying again …`);
      await sleep(1000 * Math.min(seconds, LONGEST_PAUSE_S), options?.signal);
    }
  };
}
