// The list of unfinished uploads: how to continue or discard each.
import { make } from "/report-assets/shared/dom.js";
import { formatMegabytes } from "/report-assets/shared/numbers.js";
import { webDigests } from "./block_digest.js";
import { patch } from "../shared/patch.js";

const UNFINISHED_POLL_MS = 5000;
const STILL_SENT_SECONDS = 20;

/** `stored` are this browser's uploads (storedUploads); `sendingId()` is the id of the upload that this tab sends. */
export function showUnfinished(place, stored, sendingId) {
  const box = make("div", { className: "unfinished", hidden: true });
  place.append(box);
  async function refresh() {
    const listed = await fetch("/api/uploads", { credentials: "same-origin" }).then((answer) => answer.json(), () => null);
    if (!listed?.uploads || !box.isConnected) return;
    const ownIds = new Set(stored.values());
    const unfinished = listed.uploads.filter(({ id }) => id !== sendingId());
    box.hidden = unfinished.length === 0;
    patch(box, unfinished.length === 0 ? [] : listOf(unfinished, ownIds));
  }
  box.addEventListener("click", async ({ target }) => {
    const { discard, name } = target.closest("button")?.componentId ?? {};
    if (!discard || !window.confirm(`Discard the part of ${name} that was sent?`)) return;
    const response = await fetch(`/api/uploads/${discard}`, { method: "DELETE", headers: { "X-Tracekit": "1" } }).catch(() => null);
    if (response?.ok || response?.status === 404) stored.forget(discard);
    refresh();
  });
  const timer = setInterval(() => {
    if (!box.isConnected) clearInterval(timer);
    else if (!document.hidden) refresh();
  }, UNFINISHED_POLL_MS);
  refresh();
  return refresh;
}

function listOf(uploads, ownIds) {
  return [part("H3", {}, "Unfinished uploads"), part("Ul", {}, uploads.map((upload) => row(upload, ownIds.has(upload.id))))];
}

function row({ id, name, size_bytes: size, offset, idle_seconds: idle }, isOfThisBrowser) {
  const button = { id: { discard: id, name }, type: "button", "aria-label": `Discard: ${name}` };
  return part("Li", { key: id }, [
    part("Strong", {}, name),
    `, ${formatMegabytes(offset)} of ${formatMegabytes(size)} MB. ${advice(isOfThisBrowser, idle < STILL_SENT_SECONDS)} `,
    part("Button", button, "Discard"),
  ]);
}

function advice(isOfThisBrowser, isFresh) {
  if (isOfThisBrowser && !webDigests) return "Send the file anew: this page cannot check that it is the same (it needs HTTPS or localhost).";
  if (isOfThisBrowser) return "Choose the same file or folder again to continue.";
  return isFresh ? "Another browser is sending it." : "It was begun in another browser. Choose the same files there to continue.";
}

function part(type, props, children) {
  return { type, props: { ...props, children } };
}

/** This browser's uploads by their key (uploadKey), in its storage if that is available, else for this page only. */
export function storedUploads() {
  const store = storage();
  return {
    getItem: (key) => store.getItem(key),
    setItem: (key, value) => store.setItem(key, value),
    removeItem: (key) => store.removeItem(key),
    values: () => keysOf(store).map((key) => store.getItem(key)),
    forget(id) {
      for (const key of keysOf(store)) if (store.getItem(key) === id) store.removeItem(key);
    },
  };
}

function keysOf(store) {
  return Array.from({ length: store.length }, (_, number) => store.key(number)).filter((key) => key.startsWith("tracekit-upload:"));
}

function storage() {
  try {
    localStorage.setItem("tracekit-upload:test", "1");
    localStorage.removeItem("tracekit-upload:test");
    return localStorage;
  } catch {
    const values = new Map();
    return {
      get length() {
        return values.size;
      },
      key: (number) => [...values.keys()][number],
      getItem: (key) => values.get(key) ?? null,
      setItem: (key, value) => values.set(key, value),
      removeItem: (key) => values.delete(key),
    };
  }
}
