// Where "/report-assets/…" lies while no server is there. Import this first, then `await import(…)` what is tested.
import { register } from "node:module";

const ASSETS = new URL("../../../tracekit/report/assets/", import.meta.url).href;
const HOOK = `export function resolve(name, context, next) {
  return next(name.startsWith("/report-assets/") ? name.replace("/report-assets/", ${JSON.stringify(ASSETS)}) : name, context);
}`;

register(`data:text/javascript,${encodeURIComponent(HOOK)}`);
