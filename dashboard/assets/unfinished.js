// Uploads that stopped: what they are, how one goes on with them, and how to be rid of them.
import { make } from "/report-assets/dom.js";
import { patch } from "./patch.js";

const PAUSE_MS = 5000;
const STILL_SENT_SECONDS = 20;

/** `kept` knows which uploads are this browser's; `own` gives the id of the one that this tab sends. */
export function showUnfinished(place, kept, own) {
  const box = make("div", { className: "unfinished", hidden: true });
  place.append(box);
  async function refresh() {
    const listed = await fetch("/api/uploads", { credentials: "same-origin" }).then((answer) => answer.json(), () => null);
    if (!listed?.uploads || !box.isConnected) return;
    const ours = new Set(kept.values());
    const others = listed.uploads.filter(({ id }) => id !== own());
    box.hidden = others.length === 0;
    patch(box, others.length === 0 ? [] : described(others, ours));
  }
  box.addEventListener("click", async ({ target }) => {
    const { discard, name } = target.closest("button")?.asks ?? {};
    if (!discard || !window.confirm(`Discard what was sent of ${name}?`)) return;
    const gone = await fetch(`/api/uploads/${discard}`, { method: "DELETE", headers: { "X-Tracekit": "1" } }).catch(() => null);
    if (gone?.ok || gone?.status === 404) kept.forget(discard);
    refresh();
  });
  const timer = setInterval(() => {
    if (!box.isConnected) clearInterval(timer);
    else if (!document.hidden) refresh();
  }, PAUSE_MS);
  refresh();
  return refresh;
}

function described(uploads, ours) {
  return [part("H3", {}, "Unfinished uploads"), part("Ul", {}, uploads.map((one) => row(one, ours.has(one.id))))];
}

function row({ id, name, size_bytes: size, offset, idle_seconds: idle }, isOurs) {
  const button = { id: { discard: id, name }, type: "button", "aria-label": `Discard: ${name}` };
  return part("Li", { key: id }, [
    part("Strong", {}, name),
    `, ${megabytes(offset)} of ${megabytes(size)} MB. ${advice(isOurs, idle < STILL_SENT_SECONDS)} `,
    part("Button", button, "Discard"),
  ]);
}

function advice(isOurs, isFresh) {
  if (isOurs) return "Choose the same file or folder again to go on.";
  return isFresh ? "It is being sent from elsewhere." : "It was begun in another browser: choose the same there to go on.";
}

function part(type, props, children) {
  return { type, props: { ...props, children } };
}

export function megabytes(count) {
  return (count / 1e6).toLocaleString("en", { maximumFractionDigits: count < 1e7 ? 1 : 0 });
}

/** Which uploads are this browser's, over a reload and for all its tabs where it lets us keep that. */
export function keptUploads() {
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
