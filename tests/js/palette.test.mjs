// The engines' colours can be told apart with every kind of colour vision: Machado, Oliveira and Fernandes 2009,
// severity 1.0, distances in CIELAB (D65).
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { hatchingMask, luminance, parseColour, readableOn } from "../../tracekit/report/assets/shared/palette.js";

const STYLE = readFileSync(new URL("../../tracekit/report/assets/page.css", import.meta.url), "utf8");
const ENGINES = ["ANE", "GPU", "CPU", "RUNTIME", "GRAPHICS", "OTHER", "UNKNOWN"];
const NEAREST = 20;
const VISIONS = {
  usual: [1, 0, 0, 0, 1, 0, 0, 0, 1],
  protanopia: [0.152286, 1.052583, -0.204868, 0.114503, 0.786281, 0.099216, -0.003882, -0.048116, 1.051998],
  deuteranopia: [0.367322, 0.860646, -0.227968, 0.280085, 0.672501, 0.047413, -0.01182, 0.04294, 0.968881],
  tritanopia: [1.255528, -0.076749, -0.178779, -0.078411, 0.930809, 0.147602, 0.004733, 0.691367, 0.3039],
};

function colour(name, theme) {
  const match = STYLE.match(new RegExp(`--${name}: light-dark\\((#[0-9a-f]{6}), (#[0-9a-f]{6})\\)`));
  assert.ok(match, name);
  return match[theme === "light" ? 1 : 2];
}

function linear(hex) {
  return parseColour(hex).map((each) => (each <= 10 ? each / 255 / 12.92 : ((each / 255 + 0.055) / 1.055) ** 2.4));
}

function seen([red, green, blue], m) {
  const rows = [0, 3, 6].map((row) => m[row] * red + m[row + 1] * green + m[row + 2] * blue);
  return rows.map((each) => Math.min(1, Math.max(0, each)));
}

function lab([red, green, blue]) {
  const xyz = [
    (0.4124564 * red + 0.3575761 * green + 0.1804375 * blue) / 0.95047,
    0.2126729 * red + 0.7151522 * green + 0.072175 * blue,
    (0.0193339 * red + 0.119192 * green + 0.9503041 * blue) / 1.08883,
  ].map((each) => (each > 0.008856 ? Math.cbrt(each) : 7.787 * each + 16 / 116));
  return [116 * xyz[1] - 16, 500 * (xyz[0] - xyz[1]), 200 * (xyz[1] - xyz[2])];
}

function contrast(left, right) {
  const [dark, bright] = [luminance(parseColour(left)), luminance(parseColour(right))].sort((a, b) => a - b);
  return (bright + 0.05) / (dark + 0.05);
}

for (const theme of ["light", "dark"]) {
  for (const [vision, matrix] of Object.entries(VISIONS)) {
    test(`${theme}: no two engines look alike with ${vision}`, () => {
      const points = ENGINES.map((name) => lab(seen(linear(colour(`engine-${name.toLowerCase()}`, theme)), matrix)));
      points.forEach((point, index) => {
        for (let earlier = 0; earlier < index; earlier += 1) {
          const distance = Math.hypot(...point.map((value, axis) => value - points[earlier][axis]));
          assert.ok(distance >= NEAREST, `${ENGINES[index]} and ${ENGINES[earlier]}: ${distance.toFixed(1)}`);
        }
      });
    });
  }

  test(`${theme}: every mark stands out from every ground (WCAG 1.4.11)`, () => {
    const engines = [...ENGINES, "MIXED"].map((name) => `engine-${name.toLowerCase()}`);
    for (const name of [...engines, "signpost", "accent", "text", "muted"]) {
      for (const ground of ["surface", "page", "raised"]) {
        const ratio = contrast(colour(name, theme), colour(ground, theme));
        assert.ok(ratio >= 3, `${name} on ${ground}: ${ratio.toFixed(2)}`);
      }
    }
    assert.ok(contrast(colour("signpost", theme), colour("plate", theme)) >= 3, "a signpost's edge on its own fill");
  });

  test(`${theme}: text can be read (WCAG 1.4.3)`, () => {
    for (const ground of ["page", "surface", "raised"]) {
      for (const ink of ["text", "muted", "accent"]) {
        assert.ok(contrast(colour(ink, theme), colour(ground, theme)) >= 4.5, `${ink} on ${ground}`);
      }
    }
    for (const name of ENGINES) {
      const ground = colour(`engine-${name.toLowerCase()}`, theme);
      assert.ok(contrast(readableOn(ground), ground) >= 4.4, name);
    }
  });
}

test("no two engines that a verdict can name share a hatching", () => {
  const masks = ["ANE", "GPU", "CPU", "RUNTIME", "MIXED", "UNKNOWN"].map((name) => hatchingMask(name).join(""));
  assert.equal(new Set(masks).size, masks.length);
});

test("a hatching repeats without a seam", () => {
  const mask = hatchingMask("GRAPHICS");
  for (let row = 0; row < 8; row += 1) assert.equal(mask[row * 8 + ((row + 1) % 8)], mask[1]);
});

test("colours are read in both spellings", () => {
  assert.deepEqual(parseColour("#0a80ff"), [10, 128, 255]);
  assert.deepEqual(parseColour("rgb(10, 128, 255)"), [10, 128, 255]);
  assert.deepEqual(parseColour("rgba(10, 128, 255, 0.5)"), [10, 128, 255]);
});
