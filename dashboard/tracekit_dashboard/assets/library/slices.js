// The upload's protocol: files in slices, one after the other, so that a lost connection or a reload costs one slice.
import { createDigests, webDigests } from "./block_digest.js";
import { errorMessage, pause } from "../shared/requests.js";

export const SLICE_BYTES = 8 * 1024 * 1024;
const OFFSET = "Upload-Offset";
const DIGEST = "Upload-Digest";
const PAUSES_MS = [300, 1000, 3000, 8000];
const POLL_MS = 500;

/** Thrown if a retry would not help. */
export class Refused extends Error {}

/** The server no longer has the upload: it was cancelled in another tab, or has expired. */
class Gone extends Refused {}

/** The bytes that the server has are of another file. */
class Changed extends Refused {}

/** Without digests, uploads that this page began, by their first file: a file chosen anew may have changed meanwhile. */
const begunHere = new WeakMap();

/** The body of a new upload: a single item without a folder is a file, other items { path, file } are a folder. */
export function describeItems(name, items) {
  if (items.length === 1 && !items[0].path.includes("/")) return { name, size_bytes: items[0].file.size };
  return { name, files: items.map(({ path, file }) => ({ path, size_bytes: file.size })) };
}

/** A key that identifies an upload after a reload: a hash (FNV-1a) of its files' names, sizes and times. */
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

/** Bytes [from, to) of the files' concatenation. */
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
 * Sends the files and returns the address of the recording's page. `storage` (localStorage) stores the upload's id for a
 * reload and for other tabs. One tab at a time sends the same files; others show its progress and continue where it
 * stops. They agree by `locks` (navigator.locks); without locks, the server's offsets keep them in order.
 * `onProgress` is called with the bytes that have arrived and the reason: "sent", "before" (a reload), "compared" (with what
 * was sent before), or "elsewhere" (another tab). `signal` cancels the upload, and the server discards what this tab sent.
 *
 * Each slice comes with the digest of the bytes before it, which the server compares with its own before it adds one: a file
 * that has changed is refused at once. Where the browser cannot hash (`subtle` is null), only this page continues an upload.
 */
export async function sendItems(name, items, { locks = globalThis.navigator?.locks, ...options }) {
  const transfer = createTransfer(name, items, options);
  if (!locks) return send(transfer);
  let isSending = false;
  follow(transfer, () => isSending).catch(() => {}); // it only shows progress
  return locks.request(transfer.key, { signal: transfer.signal }, () => {
    isSending = true;
    return send(transfer);
  });
}

function createTransfer(name, items, { storage, onProgress, signal, fetch = globalThis.fetch, pauses = PAUSES_MS, pollMs = POLL_MS, subtle = webDigests }) {
  const call = (address, options) => fetchWithHeader(fetch, address, { signal, ...options });
  const key = uploadKey(name, items);
  const digestBefore = subtle && createDigests((from, to) => sliceItems(items, from, to), subtle);
  const transfer = { name, items, storage, key, call, onProgress, signal, pauses, pollMs, digestBefore, offset: 0, sliceBytes: SLICE_BYTES };
  return { ...transfer, upload: storedUpload(transfer) };
}

function storedUpload({ storage, key, items, digestBefore }) {
  const upload = storage.getItem(key);
  return digestBefore || upload === begunHere.get(items[0]?.file) ? upload : null;
}

/** Reports another tab's progress until this one's turn comes. */
async function follow(transfer, isOver) {
  await null; // lets a free lock be granted first
  while (!isOver() && !transfer.signal?.aborted) {
    transfer.upload = storedUpload(transfer) ?? transfer.upload;
    const arrived = transfer.upload && (await offsetOf(transfer));
    if (arrived !== null && !isOver()) transfer.onProgress(arrived, "elsewhere");
    await pause(transfer.pollMs, transfer.signal);
  }
}

async function send(transfer) {
  const { key, storage, call, signal } = transfer;
  try {
    await beginOrResume(transfer);
    transfer.onProgress(transfer.offset, transfer.offset > 0 ? "before" : "sent");
    await sendSlices(transfer);
    const proof = transfer.digestBefore ? { digest: await transfer.digestBefore(transfer.offset, { signal }) } : {};
    const answer = await call(`/api/uploads/${transfer.upload}/finish`, json("POST", proof));
    storage.removeItem(key);
    if (!answer.ok) throw new Refused(await errorMessage(answer));
    return (await answer.json()).address;
  } catch (error) {
    if (error instanceof Changed) storage.removeItem(key); // the next choice begins anew
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
      if (transfer.offset === offset) throw new Error("Another tab is sending the same files."); // no progress: it is within a slice
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

/** Cancels an upload; the server discards it. */
async function cancel({ storage, key, call, upload }) {
  storage.removeItem(key);
  if (upload) await call(`/api/uploads/${upload}`, { method: "DELETE", signal: undefined });
}

/** Finds the offset of a stored upload, or begins a new one. An upload finished by another tab is one that is complete. */
async function beginOrResume(transfer) {
  const { storage, key, call, name, items, signal, onProgress, digestBefore } = transfer;
  transfer.upload = storedUpload(transfer) ?? transfer.upload;
  const offset = transfer.upload ? await offsetOf(transfer) : null;
  if (offset !== null) {
    transfer.offset = offset;
    await digestBefore?.(offset, { signal, onBlock: (compared) => onProgress(compared, "compared") });
    return;
  }
  transfer.upload = null;
  const answer = await call("/api/uploads", json("POST", describeItems(name, items)));
  if (!answer.ok) throw new Refused(await errorMessage(answer));
  const { id, slice_bytes: sliceBytes = SLICE_BYTES } = await answer.json();
  storage.setItem(key, id);
  if (items.length > 0) begunHere.set(items[0].file, id);
  Object.assign(transfer, { upload: id, offset: 0, sliceBytes });
}

/** The bytes of an upload that have arrived; null if unknown. */
async function offsetOf({ call, upload }) {
  try {
    const answer = await call(`/api/uploads/${upload}`, { method: "HEAD" });
    return answer.ok ? Number(answer.headers.get(OFFSET)) : null;
  } catch (error) {
    if (error.name === "AbortError") throw error;
    return null;
  }
}

async function putSlice({ call, upload, offset, digestBefore, signal }, body) {
  const headers = { [OFFSET]: String(offset), ...(digestBefore && { [DIGEST]: await digestBefore(offset, { signal }) }) };
  const sent = call(`/api/uploads/${upload}`, { method: "PUT", headers, body });
  const next = digestBefore?.(offset + body.size, { signal }).catch(() => {}); // hashed while this slice is under way
  const [answer] = await Promise.all([sent, next]);
  const arrived = answer.headers.get(OFFSET);
  if ((answer.ok || answer.status === 409) && arrived !== null) return Number(arrived);
  if (answer.status === 409) throw new Changed(await errorMessage(answer));
  if (answer.status === 404) throw new Gone(await errorMessage(answer));
  if (answer.status >= 400 && answer.status < 500) throw new Refused(await errorMessage(answer));
  throw new Error(await errorMessage(answer));
}

function fetchWithHeader(fetch, address, { headers = {}, ...options }) {
  return fetch(address, { credentials: "same-origin", ...options, headers: { "X-Tracekit": "1", ...headers } });
}

function json(method, value) {
  return { method, headers: { "Content-Type": "application/json" }, body: JSON.stringify(value) };
}
