// Shows a notice while the dashboard does not respond, so that an old page is not taken for a current one.
import { make } from "/report-assets/shared/dom.js";

/** The window's event when the dashboard responds again. */
export const SERVER_IS_BACK = "tracekit-answers-again";
const ALIVE_PAUSE_MS = 5000;

export function watchServer() {
  const notice = make("p", { className: "problem card gone", role: "alert", hidden: true });
  document.body.append(notice);
  setInterval(async () => {
    if (document.hidden) return;
    const isAlive = await fetch("/api/alive", { method: "HEAD" }).then(() => true, () => false);
    if (notice.hidden === isAlive) return;
    notice.hidden = isAlive;
    if (isAlive) dispatchEvent(new Event(SERVER_IS_BACK));
    notice.textContent = isAlive ? "" : "The dashboard does not answer: it was stopped, or the connection is lost. This page shows its last state.";
  }, ALIVE_PAUSE_MS);
}
