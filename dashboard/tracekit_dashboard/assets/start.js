// Entry of the dashboard: starts the interactive parts of whatever page Dash has drawn.
import { rememberedTheme, setTheme } from "/report-assets/shared/theme.js";
import { watchServer } from "./shared/alive.js";
import { awaitAnalysis } from "./recording/options.js";
import { repeatBusyRequests } from "./shared/busy.js";
import { showComparison } from "./compare.js";
import { bindCopyButtons, bindSelects } from "./shared/controls.js";
import { showHistory } from "./history/history_page.js";
import { showLive } from "./live/live_page.js";
import { showLibrary } from "./library/library.js";
import { showRecording } from "./recording/trace.js";
import { setTitle } from "./shared/title.js";
import { reloadAfterUpdates } from "./shared/update.js";
import { showUpload } from "./library/upload.js";

const MOUNTS = [
  ["#trace[data-recording]", showRecording],
  ["#awaited[data-awaited]", awaitAnalysis],
  ["#compare[data-base]", showComparison],
  ["#upload", showUpload],
  ["#library-rows", showLibrary],
  ["#history[data-history]", showHistory],
  ["#live[data-live]", showLive],
];
const mounted = new WeakSet();

function mountAll() {
  setTitle();
  for (const [selector, mount] of MOUNTS) {
    const element = document.querySelector(selector);
    if (!element || mounted.has(element)) continue;
    mounted.add(element);
    mount(element);
  }
}

reloadAfterUpdates();
repeatBusyRequests();
setTheme(rememberedTheme().theme);
new MutationObserver(mountAll).observe(document.body, { childList: true, subtree: true });
mountAll();
watchServer();
bindCopyButtons();
bindSelects();
