// Reads the data in the page, `tracekit-view/2`: base64 of gzip of a JSON header and typed arrays.

export const VIEW_FORMAT = "tracekit-view/2";
export const SAMPLES_FORMAT = "tracekit-samples/1";
export const DIFFERENCE_FORMAT = "tracekit-difference/1";

const ELEMENT_TYPES = {
  u8: Uint8Array,
  i8: Int8Array,
  u16: Uint16Array,
  u32: Uint32Array,
  i32: Int32Array,
  f32: Float32Array,
  f64: Float64Array,
};

// The header's fields that name an array. A field may be absent; after a dot follows an object of arrays.
const ARRAY_FIELDS = {
  lanes: ["occupancy"],
  workers: ["call", "lane", "first_ns", "last_ns", "number", "engine"],
  spans: ["start", "end", "name", "own", "owner", "why", "pairs.*", "occupancy", "others", "unions.*"],
  windows: [
    "start", "end", "call", "equal", "group", "label", "model", "source", "basis", "verdict", "why", "reason", "difference", "lane", "first",
    "values.*",
  ],
  budget: ["counts", "part", "length", "typical"],
  tracks: ["time", "value"],
  signposts: ["start", "end", "name"],
  samples: ["of_lane", "edges", "edge", "step", "jump_row", "jump_time", "stack", "weight", "number"],
  stacks: ["node", "joined", "kind", "rule", "deciding", "weight", "number"],
  nodes: ["parent", "name", "binary", "flags"],
};

/** The header, with each array's name replaced by the array. */
export async function decodeView(base64, format = VIEW_FORMAT) {
  return readView(await inflate(base64Bytes(base64)), format);
}

export function base64Bytes(text) {
  const trimmed = text.trim();
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(trimmed);
  const binary = atob(trimmed);
  const bytes = new Uint8Array(binary.length);
  for (let index = 0; index < bytes.length; index += 1) bytes[index] = binary.charCodeAt(index);
  return bytes;
}

/** Promises what a gzip file holds; `bytes` may be a Blob. */
export async function inflate(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}

/** Reads a view, or another block of this kind whose header has this `format`. */
export function readView(buffer, format = VIEW_FORMAT) {
  if (buffer.byteLength < 4) throw new Error("the data end before their header");
  const headerSize = new DataView(buffer).getUint32(0, true);
  if (4 + headerSize > buffer.byteLength) throw new Error("the data end inside their header");
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, headerSize)));
  if (header.format !== format) throw new Error(`expected ${format}, found ${header.format}`);
  for (const name of ["base", "new"]) resolveField(buffer, header.arrays, header, name);
  for (const [section, fields] of Object.entries(ARRAY_FIELDS)) {
    for (const item of [header[section] ?? []].flat()) {
      for (const field of fields) resolveField(buffer, header.arrays, item, field);
    }
  }
  if (header.stacks) Object.assign(header.stacks, enginesAndPhases(header.stacks.kind));
  if (header.stacks?.joined) header.stacks.joined = joinedNodes(header.stacks);
  return header;
}

/** The node of each row's joined stack; 0 stands for the node of the stack that was sampled. */
function joinedNodes({ node, joined }) {
  return Int32Array.from(node, (sampled, row) => (joined[row] === 0 ? sampled : joined[row] - 1));
}

/** Splits bytes that hold the engine in the upper half, the phase in the lower. */
function enginesAndPhases(kinds) {
  return { engine: kinds.map((kind) => kind >> 4), phase: kinds.map((kind) => kind & 15) };
}

function resolveField(buffer, arrays, item, field) {
  const [key, inner] = field.split(".");
  if (inner) {
    for (const name of Object.keys(item[key] ?? {})) resolveField(buffer, arrays, item[key], name);
  } else if (typeof item[key] === "string") {
    item[key] = typedArray(buffer, arrays, item[key]);
  }
}

function typedArray(buffer, arrays, name) {
  if (!Object.hasOwn(arrays, name)) throw new Error(`there is no array ${name}`);
  const [type, offset, length, encodings = ""] = arrays[name];
  if (!Object.hasOwn(ELEMENT_TYPES, type)) throw new Error(`array ${name} is of unknown type ${type}`);
  if (offset + length * ELEMENT_TYPES[type].BYTES_PER_ELEMENT > buffer.byteLength) {
    throw new Error(`array ${name} reaches beyond the end of the data`);
  }
  const bytes = encodings.includes("planes") ? joinPlanes(buffer, type, offset, length) : buffer;
  return new ELEMENT_TYPES[type](bytes, bytes === buffer ? offset : 0, length);
}

/** Puts values together whose lowest bytes all come first, then all second ones, and so on. */
function joinPlanes(buffer, type, offset, length) {
  const width = ELEMENT_TYPES[type].BYTES_PER_ELEMENT;
  const planes = new Uint8Array(buffer, offset, length * width);
  const joined = width === 2 ? new Uint16Array(length) : new Uint32Array(length);
  for (let plane = 0; plane < width; plane += 1) {
    const start = plane * length;
    const shift = 8 * plane;
    for (let index = 0; index < length; index += 1) joined[index] |= planes[start + index] << shift;
  }
  return joined.buffer;
}
