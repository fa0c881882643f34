// The upload itself: files in slices, one after the other, so that a lost connection or a reload costs one slice.
import { problemOf } from "./answer.js";

export const SLICE_BYTES = 8 * 1024 * 1024;
const OFFSET = "Upload-Offset";
const PAUSES_MS = [300, 1000, 3000, 8000];
const LOOK_MS = 500;

/** Thrown where asking again would not help. */
export class Refused extends Error {}

/** The server has no such upload any more: it was cancelled in another tab, or left alone for too long. */
class Gone extends Refused {}

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
 * Sends the files and returns the address of the recording's page. `kept` remembers the upload over a reload and
 * for other tabs (localStorage). One tab at a time sends the same files: others follow it, and go on where it stops;
 * `locks` (navigator.locks) is how they agree, and without it they take turns as the server lets them.
 * `onProgress` is told the bytes that have arrived and why: "sent", "before" (a reload), or "elsewhere" (another tab).
 * `signal` stops it; of what this tab sent, nothing stays.
 */
export async function sendItems(name, items, { locks = globalThis.navigator?.locks, ...options }) {
  const transfer = transferOf(name, items, options);
  if (!locks) return send(transfer);
  let isMine = false;
  follow(transfer, () => isMine).catch(() => {}); // it only shows
  return locks.request(transfer.key, { signal: transfer.signal }, () => {
    isMine = true;
    return send(transfer);
  });
}

function transferOf(name, items, { kept, onProgress, signal, fetch = globalThis.fetch, pauses = PAUSES_MS, lookMs = LOOK_MS }) {
  const call = (address, options) => asked(fetch, address, { signal, ...options });
  const key = uploadKey(name, items);
  return { name, items, kept, key, call, onProgress, signal, pauses, lookMs, upload: kept.getItem(key), offset: 0, sliceBytes: SLICE_BYTES };
}

/** Shows how far another tab is, and notes which upload that is, which it forgets when it ends. */
async function follow(transfer, isOver) {
  await null; // a lock that is free is granted first
  while (!isOver() && !transfer.signal?.aborted) {
    transfer.upload = transfer.kept.getItem(transfer.key) ?? transfer.upload;
    const arrived = transfer.upload && (await offsetOf(transfer));
    if (arrived !== null && !isOver()) transfer.onProgress(arrived, "elsewhere");
    await pause(transfer.lookMs, transfer.signal);
  }
}

async function send(transfer) {
  const { key, kept, call, signal } = transfer;
  try {
    await beginOrResume(transfer);
    transfer.onProgress(transfer.offset, transfer.offset > 0 ? "before" : "sent");
    await sendSlices(transfer);
    const answer = await call(`/api/uploads/${transfer.upload}/finish`, json("POST", {}));
    kept.removeItem(key);
    if (!answer.ok) throw new Refused(await problemOf(answer));
    return (await answer.json()).address;
  } catch (error) {
    if (signal?.aborted) await cancel(transfer).catch(() => {});
    throw error;
  }
}

async function sendSlices(transfer) {
  const { items, pauses, signal, onProgress } = transfer;
  const total = totalBytes(items);
  let failures = 0;
  while (transfer.offset < total) {
    const { offset, sliceBytes } = transfer;
    try {
      transfer.offset = await putSlice(transfer, sliceItems(items, offset, Math.min(total, offset + sliceBytes)));
      if (transfer.offset === offset) throw new Error("Another tab is sending the same."); // and is in the midst of a slice
      failures = 0;
      onProgress(transfer.offset, "sent");
    } catch (error) {
      if (error.name === "AbortError" || isFinal(error) || failures === pauses.length) throw error;
      await pause(pauses[failures], signal);
      failures += 1;
      if (error instanceof Gone) await beginOrResume(transfer);
      else transfer.offset = (await offsetOf(transfer)) ?? offset;
    }
  }
}

function isFinal(error) {
  return error instanceof Refused && !(error instanceof Gone);
}

/** Gives up an upload that was begun: nothing of it stays. */
async function cancel({ kept, key, call, upload }) {
  kept.removeItem(key);
  if (upload) await call(`/api/uploads/${upload}`, { method: "DELETE", signal: undefined });
}

/** One that was finished meanwhile is one of which all has arrived. */
async function beginOrResume(transfer) {
  const { kept, key, call, name, items } = transfer;
  transfer.upload = kept.getItem(key) ?? transfer.upload;
  const offset = transfer.upload ? await offsetOf(transfer) : null;
  if (offset !== null) {
    transfer.offset = offset;
    return;
  }
  transfer.upload = null;
  const answer = await call("/api/uploads", json("POST", describeItems(name, items)));
  if (!answer.ok) throw new Refused(await problemOf(answer));
  const { id, slice_bytes: sliceBytes = SLICE_BYTES } = await answer.json();
  kept.setItem(key, id);
  Object.assign(transfer, { upload: id, offset: 0, sliceBytes });
}

/** How much of an upload has arrived; null if the server cannot say. */
async function offsetOf({ call, upload }) {
  try {
    const answer = await call(`/api/uploads/${upload}`, { method: "HEAD" });
    return answer.ok ? Number(answer.headers.get(OFFSET)) : null;
  } catch (error) {
    if (error.name === "AbortError") throw error;
    return null;
  }
}

async function putSlice({ call, upload, offset }, body) {
  const answer = await call(`/api/uploads/${upload}`, { method: "PUT", headers: { [OFFSET]: String(offset) }, body });
  const arrived = answer.headers.get(OFFSET);
  if ((answer.ok || answer.status === 409) && arrived !== null) return Number(arrived);
  if (answer.status === 404) throw new Gone(await problemOf(answer));
  if (answer.status >= 400 && answer.status < 500) throw new Refused(await problemOf(answer));
  throw new Error(await problemOf(answer));
}

function asked(fetch, address, { headers = {}, ...options }) {
  return fetch(address, { credentials: "same-origin", ...options, headers: { "X-Tracekit": "1", ...headers } });
}

function json(method, value) {
  return { method, headers: { "Content-Type": "application/json" }, body: JSON.stringify(value) };
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
