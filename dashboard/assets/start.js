// What Dash has put on the page is brought to life: a recording's sections, the place for uploads.
import { rememberedTheme, setTheme } from "/report-assets/theme.js";
import { watchServer } from "./alive.js";
import { showComparison } from "./compare.js";
import { hearCopy } from "./copy.js";
import { showLibrary } from "./library.js";
import { hearSelects } from "./selects.js";
import { showRecording } from "./trace.js";
import { tellWhere } from "./title.js";
import { showUpload } from "./upload.js";

const MOUNTS = [
  ["#trace[data-recording]", showRecording],
  ["#compare[data-base]", showComparison],
  ["#upload", showUpload],
  ["#library-rows", showLibrary],
];
const mounted = new WeakSet();

function mountAll() {
  tellWhere();
  for (const [selector, mount] of MOUNTS) {
    const element = document.querySelector(selector);
    if (!element || mounted.has(element)) continue;
    mounted.add(element);
    mount(element);
  }
}

setTheme(rememberedTheme().theme);
new MutationObserver(mountAll).observe(document.body, { childList: true, subtree: true });
mountAll();
watchServer();
hearCopy();
hearSelects();
