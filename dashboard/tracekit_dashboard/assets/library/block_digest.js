// The digest of the beginning of files, as the server's library/block_digest.py defines it: a SHA-256 over those of blocks.

export const BLOCK_BYTES = 8 * 1024 * 1024;

/** Browsers hash in secure contexts only: HTTPS, or an address of this machine (localhost, 127.0.0.1). */
export const webDigests = globalThis.crypto?.subtle ?? null;

/** Returns `before(offset)`: the digest of the bytes before it as 64 hex digits. `read(from, to)` returns bytes as a Blob. */
export function createDigests(read, subtle) {
  const whole = []; // the digest of each whole block so far
  const hash = async (content) => new Uint8Array(await subtle.digest("SHA-256", content));
  const hashBytes = async (from, to) => hash(await read(from, to).arrayBuffer());

  /** `onBlock(bytes)` is called after each block that had not been hashed before. */
  return async function before(offset, { signal, onBlock } = {}) {
    const count = Math.floor(offset / BLOCK_BYTES);
    for (let number = whole.length; number < count; number = whole.length) {
      signal?.throwIfAborted();
      const digest = await hashBytes(number * BLOCK_BYTES, (number + 1) * BLOCK_BYTES);
      if (whole.length === number) whole.push(digest);
      onBlock?.((number + 1) * BLOCK_BYTES);
    }
    const digests = whole.slice(0, count);
    if (offset > count * BLOCK_BYTES) digests.push(await hashBytes(count * BLOCK_BYTES, offset));
    const digest = await hash(await new Blob(digests).arrayBuffer());
    return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
  };
}
