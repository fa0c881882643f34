// Says so when the dashboard no longer answers: what is on the page would else look as if it were up to date.
import { make } from "/report-assets/dom.js";

/** The window hears of this when the dashboard is there again. */
export const ANSWERS_AGAIN = "tracekit-answers-again";
const PAUSE_MS = 5000;

export function watchServer() {
  const notice = make("p", { className: "problem card gone", role: "alert", hidden: true });
  document.body.append(notice);
  setInterval(async () => {
    if (document.hidden) return;
    const isThere = await fetch("/api/alive", { method: "HEAD" }).then(() => true, () => false);
    if (notice.hidden === isThere) return;
    notice.hidden = isThere;
    if (isThere) dispatchEvent(new Event(ANSWERS_AGAIN));
    notice.textContent = isThere ? "" : "The dashboard does not answer: it has ended, or the connection is lost. What you see stays as it was.";
  }, PAUSE_MS);
}
