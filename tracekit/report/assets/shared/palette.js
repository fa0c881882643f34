// Colours, read from the style sheet's variables, so that canvas and page agree in either theme. Each engine also has a
// letter and a hatching, because colour is never the only sign.

const LETTERS = { ANE: "A", GPU: "G", CPU: "C", RUNTIME: "R", GRAPHICS: "D", OTHER: "O", MIXED: "M" };
const PAGE_COLOURS = ["more", "less", "text", "muted", "line", "grid", "surface", "page", "accent", "plate", "signpost", "selection", "hatching", "mark"];

/** True for the pixels (x, y) of a hatching, which repeats every 8 pixels in both directions. */
const HATCHINGS = {
  ANE: () => false,
  GPU: (x, y) => (x + y) % 8 < 2,
  CPU: (x, y) => y % 4 === 0,
  RUNTIME: (x, y) => x % 4 < 2 && y % 4 < 2,
  GRAPHICS: (x, y) => (x - y + 800) % 8 < 2,
  OTHER: () => false,
  UNKNOWN: (x, y) => (x + 2 * y) % 8 === 0,
  MIXED: (x, y) => (x + y) % 8 === 0 || (x - y + 800) % 8 === 0,
};
const HATCHING_SIZE = 8;
const HATCHING_STRENGTH = 0.38;

export function engineLetter(name) {
  return LETTERS[name] ?? "?";
}

/** The colours and patterns that canvas code needs; read again whenever the theme changes. */
export function readPalette(engines, root = document.body) {
  const probe = root.appendChild(document.createElement("span"));
  const value = (name) => {
    probe.style.color = `var(--${name})`; // the style sheet's light-dark(…) comes back as one colour
    return getComputedStyle(probe).color;
  };
  const palette = { engines: {}, rgb: [], patterns: {} };
  for (const name of PAGE_COLOURS) palette[name] = value(name);
  palette.surfaceRgb = parseColour(palette.surface);
  for (const name of new Set([...engines, "UNKNOWN", "MIXED"])) {
    palette.engines[name] = value(`engine-${name.toLowerCase()}`);
    palette.patterns[name] = hatchedPattern(name, palette);
  }
  probe.remove();
  palette.plain = engines.map((name) => palette.engines[name]);
  palette.rgb = engines.map((name) => shades(name, palette));
  return palette;
}

/** `#rrggbb` or `rgb(…)` as three numbers. */
export function parseColour(text) {
  if (text.startsWith("#")) return [1, 3, 5].map((start) => parseInt(text.slice(start, start + 2), 16));
  return text.match(/[\d.]+/g).slice(0, 3).map(Number);
}

export function mixColours(under, over, part) {
  return under.map((value, index) => Math.round(value + (over[index] - value) * part));
}

/** A colour's relative luminance, 0 to 1, as WCAG defines it. */
export function luminance(rgb) {
  const [red, green, blue] = rgb.map((value) => {
    const part = value / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

// Black and white stand out equally at sqrt(1.05 × 0.05) − 0.05.
const EQUAL_CONTRAST = 0.179;

export function readableOn(colour) {
  return luminance(parseColour(colour)) > EQUAL_CONTRAST ? "#000000" : "#ffffff";
}

/** Pixels for paintStack: the plain colour, the hatching's colour, and the mask of the hatching. */
function shades(name, palette) {
  const plain = parseColour(palette.engines[name]);
  const hatched = mixColours(plain, parseColour(palette.hatching), HATCHING_STRENGTH);
  return { plain: packPixel(plain), hatched: packPixel(hatched), isHatched: hatchingMask(name) };
}

/** A pixel as ImageData holds it, red in the lowest byte, on the little-endian machines that browsers run on. */
export function packPixel([red, green, blue]) {
  return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
}

export function hatchingMask(name) {
  const hatching = HATCHINGS[name] ?? HATCHINGS.UNKNOWN;
  const mask = new Uint8Array(HATCHING_SIZE * HATCHING_SIZE);
  for (let pixel = 0; pixel < mask.length; pixel += 1) {
    mask[pixel] = hatching(pixel % HATCHING_SIZE, Math.trunc(pixel / HATCHING_SIZE)) ? 1 : 0;
  }
  return mask;
}

function hatchedPattern(name, palette) {
  const tile = document.createElement("canvas");
  tile.width = HATCHING_SIZE;
  tile.height = HATCHING_SIZE;
  const context = tile.getContext("2d");
  context.fillStyle = palette.engines[name];
  context.fillRect(0, 0, HATCHING_SIZE, HATCHING_SIZE);
  context.fillStyle = palette.hatching;
  context.globalAlpha = HATCHING_STRENGTH;
  hatchingMask(name).forEach((hatched, pixel) => {
    if (hatched) context.fillRect(pixel % HATCHING_SIZE, Math.trunc(pixel / HATCHING_SIZE), 1, 1);
  });
  return context.createPattern(tile, "repeat");
}
