// What Dash has put on the page is brought to life: a recording's sections, the place for uploads.
import { watchServer } from "./alive.js";
import { showComparison } from "./compare.js";
import { hearSelects } from "./selects.js";
import { showRecording } from "./trace.js";
import { showUpload } from "./upload.js";

const MOUNTS = [
  ["#trace[data-recording]", showRecording],
  ["#compare[data-base]", showComparison],
  ["#upload", showUpload],
];
const mounted = new WeakSet();

function mountAll() {
  for (const [selector, mount] of MOUNTS) {
    const element = document.querySelector(selector);
    if (!element || mounted.has(element)) continue;
    mounted.add(element);
    mount(element);
  }
}

new MutationObserver(mountAll).observe(document.body, { childList: true, subtree: true });
mountAll();
watchServer();
hearSelects();
