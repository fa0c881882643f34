// Paints stacked occupancy pixel by pixel: faster than thousands of rectangles, and the same on every machine.

const HATCHING_PERIOD = 8;

/**
 * Paints planes of 0 to 255, the first at the bottom, into 32-bit pixels, `width` × `height`, as high as the sum `full`:
 *
 *     plane 1  ░░  ░░░        Each column is a stack. Levels are rounded from the sum so far, not plane by plane,
 *     plane 0  ▓▓▓▓▓▓▓        so that rounding errors do not add up.
 */
export function paintStack(pixels, width, height, planes, shades, background, full = 255) {
  pixels.fill(background);
  const columns = planes.length / shades.length;
  for (let column = 0; column < Math.min(width, columns); column += 1) {
    let sum = 0;
    let bottom = height;
    for (let plane = 0; plane < shades.length; plane += 1) {
      sum += planes[plane * columns + column];
      const top = Math.max(0, height - levelOf(sum, height, full));
      if (top < bottom) paintColumn(pixels, width, column, top, bottom, shades[plane]);
      bottom = Math.min(bottom, top);
    }
  }
}

/** The height of a sum in pixels; anything above a thousandth of the time gets at least one. */
function levelOf(sum, height, full) {
  if (sum < 0.25) return 0;
  return Math.max(1, Math.round((sum / full) * height));
}

function paintColumn(pixels, width, column, top, bottom, { plain, hatched, isHatched }) {
  const across = column % HATCHING_PERIOD;
  for (let y = top; y < bottom; y += 1) {
    const mark = isHatched[(y % HATCHING_PERIOD) * HATCHING_PERIOD + across];
    pixels[y * width + column] = mark ? hatched : plain;
  }
}
