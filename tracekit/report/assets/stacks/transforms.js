// The chain of transforms: text in the address, `focus:1x2y3z~drop:k0a~system`, one step after the other.
//
// A step names a function or a library by a checksum of its texts (CRC-32, base 36), because these are the same after
// the recording has been read again with other options, whereas numbers of functions are not; and a name may have
// 100,000 characters.

/** Kinds of steps: the argument, and the chip's text before the name. */
export const TRANSFORMS = {
  focus: { argument: "function", title: "Focus" },
  subtree: { argument: "path", title: "Subtree" },
  self: { argument: "function", title: "Self time of" },
  drop: { argument: "function", title: "Without samples in" },
  charge: { argument: "function", title: "Charged to callers" },
  "charge-lib": { argument: "library", title: "Charged to callers: library" },
  "collapse-lib": { argument: "library", title: "Collapsed: library" },
  recursion: { argument: "function", title: "Recursion collapsed" },
  flat: { argument: "", title: "Direct recursion collapsed" },
  system: { argument: "", title: "System libraries hidden" },
};
export const MOST_STEPS = 32;
const STEP = /^([a-z-]+)(?::([0-9a-z]{1,7})(?:\.([0-9a-z]{1,7}))?)?$/;

/** The steps { kind, key, path, text } of a chain; null if it is not one. */
export function parseChain(text) {
  if (text === "") return [];
  const steps = text.split("~").map(parseStep);
  return steps.length > MOST_STEPS || steps.includes(null) ? null : steps;
}

function parseStep(text) {
  const [, kind, key = null, path = null] = STEP.exec(text) ?? [];
  const argument = Object.hasOwn(TRANSFORMS, kind ?? "") ? TRANSFORMS[kind].argument : null;
  if (argument === null || (argument === "") !== (key === null) || (argument === "path") !== (path !== null)) return null;
  const [first, second] = [key, path].map((part) => (part === null ? null : parseInt(part, 36)));
  if (first >= 2 ** 32 || second >= 2 ** 32) return null;
  return { kind, key: first, path: second, text };
}

/** A step as text. */
export function writeStep(kind, key = null, path = null) {
  return `${kind}${key === null ? "" : `:${key.toString(36)}`}${path === null ? "" : `.${path.toString(36)}`}`;
}

/** The chain with another step at its end; a step that is there twice in a row changes nothing. */
export function chainWith(text, step) {
  const steps = text === "" ? [] : text.split("~");
  if (steps.at(-1) === step || steps.length >= MOST_STEPS) return text;
  return [...steps, step].join("~");
}

/** The chain without the step at an index. */
export function chainWithout(text, index) {
  return text.split("~").filter((_, place) => place !== index).join("~");
}

const CRC = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit += 1) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
  return value;
});
const ENCODER = new TextEncoder();

export function crc32(text) {
  let value = 0xffffffff;
  for (const byte of ENCODER.encode(text)) value = (value >>> 8) ^ CRC[(value ^ byte) & 255];
  return (value ^ 0xffffffff) >>> 0;
}

const keysOfTexts = new WeakMap();

/** The key of a function of a tree, or of its library. */
export function functionKey(view, tree, func) {
  if (!keysOfTexts.has(view.strings)) keysOfTexts.set(view.strings, new Map());
  const keys = keysOfTexts.get(view.strings);
  const pair = tree.binaries[func] * 2 ** 26 + tree.names[func];
  if (!keys.has(pair)) keys.set(pair, crc32(`${view.strings[tree.names[func]]}\0${view.strings[tree.binaries[func]]}`));
  return keys.get(pair);
}

export function libraryKey(view, tree, func) {
  return crc32(`\0${view.strings[tree.binaries[func]]}`);
}

/** The function with this key, -1 for none. */
export function functionOfKey(view, tree, key) {
  for (let func = 0; func < tree.names.length; func += 1) if (functionKey(view, tree, func) === key) return func;
  return -1;
}

/** The number of the text of the library with this key, -1 for none. */
export function libraryOfKey(view, tree, key) {
  for (const binary of new Set(tree.binaries)) if (crc32(`\0${view.strings[binary]}`) === key) return binary;
  return -1;
}

/** The key of a path: of the path above it (0 for a root) and the key of its function. */
export function pathKey(above, key) {
  return (Math.imul(above + 1, 2654435761) ^ key) >>> 0;
}
