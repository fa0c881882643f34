// The samples of a recording's page: one file, which is fetched after the first picture. A connection that is lost is taken up
// where it ended, so that a slow line arrives as well.
import { inflate, readView, SAMPLES_FORMAT } from "/report-assets/data/decode.js";
import { make } from "/report-assets/shared/dom.js";
import { formatPercent } from "/report-assets/shared/numbers.js";
import { SERVER_IS_BACK } from "../shared/alive.js";
import { errorMessage } from "../shared/requests.js";

const WITHOUT = "Without them, sums are those of the whole run, and threads are drawn no finer when you zoom in.";
const NOTICE_PAUSE_MS = 400;
const FIRST_RETRY_MS = 2000;
const LONGEST_RETRY_MS = 30_000;

/** Fetches a recording's samples and hands them to its source (source.js); `container` shows progress and problems. */
export function loadSamples(source, address, container) {
  const notice = createNotice(container, attempt);
  const download = createDownload(`${address}/samples`, notice.progress);
  let isRunning = false;
  let pauseMs = FIRST_RETRY_MS;
  let timer = null;

  async function attempt() {
    if (isRunning || source.hasSamples()) return;
    isRunning = true;
    clearTimeout(timer);
    notice.loading();
    try {
      source.receive(await unpack(await download()));
      notice.done();
      document.documentElement.dataset.samples = "true";
    } catch (error) {
      notice.problem(`The samples could not be loaded: ${error.message.replace(/\.$/u, "")}. ${WITHOUT}`);
      if (error.isTemporary) timer = setTimeout(attempt, pauseMs);
      pauseMs = Math.min(2 * pauseMs, LONGEST_RETRY_MS);
    }
    isRunning = false;
  }

  addEventListener(SERVER_IS_BACK, attempt);
  attempt();
}

/**
 * Returns a function that promises the file at an address as a Blob. When it is called again after a failure, it asks for the rest;
 * a file that was written anew is sent from its start. `progress(share)` is called as it arrives.
 */
export function createDownload(address, progress, { fetch = (...all) => globalThis.fetch(...all) } = {}) {
  let parts = [];
  let size = 0;
  let etag = null;
  return async () => {
    const headers = size > 0 && etag ? { Range: `bytes=${size}-`, "If-Range": etag } : {};
    const response = await temporary(() => fetch(address, { credentials: "same-origin", headers }));
    if (!response.ok) throw Object.assign(new Error(await errorMessage(response)), { isTemporary: response.status >= 500 });
    if (response.status !== 206) [parts, size] = [[], 0];
    etag = response.headers.get("ETag");
    const total = size + Number(response.headers.get("Content-Length"));
    const reader = response.body.getReader();
    for (;;) {
      const { done, value } = await temporary(() => reader.read());
      if (done) break;
      parts.push(value);
      size += value.length;
      if (total > 0) progress(Math.min(1, size / total));
    }
    if (size < total) throw Object.assign(new Error("the connection was lost"), { isTemporary: true });
    const file = new Blob(parts);
    [parts, size] = [[], 0];
    return file;
  };
}

async function temporary(run) {
  try {
    return await run();
  } catch {
    throw Object.assign(new Error("the connection was lost"), { isTemporary: true });
  }
}

async function unpack(file) {
  try {
    return readView(await inflate(file), SAMPLES_FORMAT);
  } catch {
    throw new Error("they are damaged or of another version, or the browser lacks the memory. Reload the page, or read the recording again");
  }
}

/** A line that appears if loading takes a while, and one for what went wrong. */
function createNotice(container, retry) {
  const bar = make("progress", { max: 1, value: 0, "aria-label": "Samples loaded" });
  const line = make("p", { className: "note problem-line", hidden: true }, "The samples are loading. ", WITHOUT, " ", bar);
  const alert = make("span", { role: "alert" });
  const retryButton = make("button", { type: "button", onclick: retry }, "Try again");
  const problemLine = make("p", { className: "problem problem-line", hidden: true }, alert, " ", retryButton);
  let timer = null;
  container.append(line, problemLine);
  function done() {
    clearTimeout(timer);
    line.hidden = problemLine.hidden = true;
  }
  return {
    loading() {
      done();
      timer = setTimeout(() => (line.hidden = false), NOTICE_PAUSE_MS);
    },
    progress(share) {
      bar.value = share;
      bar.title = formatPercent(share);
    },
    problem(text) {
      done();
      alert.textContent = text;
      problemLine.hidden = false;
    },
    done,
  };
}
