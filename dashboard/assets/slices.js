// The upload itself: files in slices, one after the other, so that a lost connection or a reload costs one slice.
import { problemOf } from "./answer.js";

export const SLICE_BYTES = 8 * 1024 * 1024;
const OFFSET = "Upload-Offset";
const PAUSES_MS = [300, 1000, 3000, 8000];

/** Thrown where asking again would not help. */
export class Refused extends Error {}

/** `items` are { path, file }; one without a folder is sent as a file, others as what lies in a folder. */
export function describeItems(name, items) {
  if (items.length === 1 && !items[0].path.includes("/")) return { name, size_bytes: items[0].file.size };
  return { name, files: items.map(({ path, file }) => ({ path, size_bytes: file.size })) };
}

/** What tells an upload from another after a reload: names, sizes and times of its files. */
export function uploadKey(name, items) {
  let hash = 0n;
  for (const { path, file } of items) {
    for (const letter of `${path}\0${file.size}\0${file.lastModified}\0`) {
      hash = ((hash * 1099511628211n) ^ BigInt(letter.codePointAt(0))) & 0xffffffffffffffffn;
    }
  }
  return `tracekit-upload:${name}:${totalBytes(items)}:${hash.toString(16)}`;
}

export function totalBytes(items) {
  return items.reduce((sum, { file }) => sum + file.size, 0);
}

/** Bytes [from, to) of all files one after the other. */
export function sliceItems(items, from, to) {
  const parts = [];
  let start = 0;
  for (const { file } of items) {
    const end = start + file.size;
    if (end > from && start < to) parts.push(file.slice(Math.max(0, from - start), Math.min(file.size, to - start)));
    start = end;
  }
  return parts.length === 1 ? parts[0] : new Blob(parts);
}

/**
 * Sends the files and returns the address of the recording's page. `kept` remembers the upload over a reload
 * (localStorage); `onProgress` is told the bytes that have arrived and whether they were there before; `signal` stops it.
 */
export async function sendItems(name, items, { kept, onProgress, signal, fetch = globalThis.fetch, pauses = PAUSES_MS }) {
  const key = uploadKey(name, items);
  const total = totalBytes(items);
  const call = (address, options) => asked(fetch, address, { ...options, signal });
  let { upload, offset, sliceBytes } = await beginOrResume(call, kept, key, describeItems(name, items));
  onProgress(offset, offset > 0);
  let failures = 0;
  while (offset < total) {
    const end = Math.min(total, offset + sliceBytes);
    try {
      offset = await putSlice(call, upload, offset, sliceItems(items, offset, end));
      failures = 0;
      onProgress(offset, false);
    } catch (error) {
      if (error.name === "AbortError" || error instanceof Refused || failures === pauses.length) throw error;
      await pause(pauses[failures], signal);
      failures += 1;
      offset = (await offsetOf(call, upload)) ?? offset;
    }
  }
  const answer = await call(`/api/uploads/${upload}/finish`, json("POST", {}));
  forget(kept, key);
  if (!answer.ok) throw new Refused(await problemOf(answer));
  return (await answer.json()).address;
}

/** Gives up an upload that was begun: nothing of it stays. */
export async function cancelUpload(name, items, { kept, fetch = globalThis.fetch }) {
  const key = uploadKey(name, items);
  const upload = kept.getItem(key);
  forget(kept, key);
  if (upload) await asked(fetch, `/api/uploads/${upload}`, { method: "DELETE" });
}

async function beginOrResume(call, kept, key, description) {
  const before = kept.getItem(key);
  if (before) {
    const offset = await offsetOf(call, before);
    if (offset !== null) return { upload: before, offset, sliceBytes: SLICE_BYTES };
  }
  const answer = await call("/api/uploads", json("POST", description));
  if (!answer.ok) throw new Refused(await problemOf(answer));
  const { id, slice_bytes: sliceBytes = SLICE_BYTES } = await answer.json();
  kept.setItem(key, id);
  return { upload: id, offset: 0, sliceBytes };
}

/** How much of an upload has arrived; null if the server cannot say. */
async function offsetOf(call, upload) {
  try {
    const answer = await call(`/api/uploads/${upload}`, { method: "HEAD" });
    return answer.ok ? Number(answer.headers.get(OFFSET)) : null;
  } catch (error) {
    if (error.name === "AbortError") throw error;
    return null;
  }
}

async function putSlice(call, upload, offset, body) {
  const answer = await call(`/api/uploads/${upload}`, { method: "PUT", headers: { [OFFSET]: String(offset) }, body });
  const arrived = answer.headers.get(OFFSET);
  if ((answer.ok || answer.status === 409) && arrived !== null) return Number(arrived);
  if (answer.status >= 400 && answer.status < 500) throw new Refused(await problemOf(answer));
  throw new Error(await problemOf(answer));
}

function asked(fetch, address, { headers = {}, ...options }) {
  return fetch(address, { credentials: "same-origin", ...options, headers: { "X-Tracekit": "1", ...headers } });
}

function json(method, value) {
  return { method, headers: { "Content-Type": "application/json" }, body: JSON.stringify(value) };
}

function forget(kept, key) {
  kept.removeItem(key);
}

function pause(milliseconds, signal) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, milliseconds);
    signal?.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(signal.reason);
    });
  });
}
