// The overview strip above the timeline: the whole run, and the part of it that the timeline shows.
import { shifted } from "../comparison/align.js";
import { fitCanvas, make } from "../shared/dom.js";
import { coverPixels } from "../data/occupancy.js";
import { paintStack } from "./paint.js";
import { packPixel } from "../shared/palette.js";
import { clampRange } from "../shared/scale.js";

export const OVERVIEW_HEIGHT = 40;

/**
 * The busy time of all lanes in each pixel of the whole run, a plane per engine. GRAPHICS, OTHER and UNKNOWN are left out,
 * unless the run has nothing else: better than an empty strip.
 */
export function overviewPlanes(source, columns) {
  const { view } = source;
  const used = [...new Set(view.lanes.flatMap((lane) => lane.engines))].sort((left, right) => left - right);
  const serving = used.filter((engine) => !isIdleKind(view.engines[engine]));
  const engines = serving.length > 0 ? serving : used;
  const planes = new Float32Array(engines.length * columns);
  view.lanes.forEach((_, lane) => {
    const occupied = source.occupancy(lane, 0, view.duration_ns, columns);
    occupied?.engines.forEach((engine, index) => {
      const target = engines.indexOf(engine) * columns;
      if (target < 0) return;
      for (let pixel = 0; pixel < columns; pixel += 1) planes[target + pixel] += occupied.planes[index * columns + pixel];
    });
  });
  return { engines, planes: scaledToFit(planes, engines.length, columns) };
}

/** What the strip shows, in words. */
export function overviewContent({ view }) {
  if (view.lanes.length === 0) return view.spans.length + view.signposts.length > 0 ? "measured intervals" : "no samples, no intervals";
  const isServing = view.lanes.some(({ engines }) => engines.some((engine) => !isIdleKind(view.engines[engine])));
  return isServing ? "samples of machine learning, all threads" : "samples of all threads";
}

/** An interval of more than this part of the run is a line: as a level, it would be a block that hides all others. */
const LONG_PART = 0.2;
const MOST_LINES = 3;
const BELOW_LINES = 0.68;

/** Without threads: the share of each pixel that measured intervals and signposts cover, without long ones. */
export function overviewCover(source, columns) {
  const { duration_ns: duration } = source.view;
  const plane = new Float32Array(columns);
  if (source.view.lanes.length > 0) return plane;
  const step = duration / columns;
  for (const index of [...source.spans, ...source.signposts]) {
    index?.start.forEach((start, position) => {
      const end = index.end[position];
      if (end - start > LONG_PART * duration) return;
      coverPixels(plane, 0, columns, 0, step, start, Math.max(end, start + step / 2), 1);
    });
  }
  const highest = longIntervals(source).length > 0 ? BELOW_LINES : 1;
  return scaledToFit(plane, 1, columns).map((level) => level * highest);
}

/** The longest of the intervals that overviewCover leaves out, in order of their start. */
export function longIntervals(source) {
  if (source.view.lanes.length > 0) return [];
  const all = [...source.spans, ...source.signposts].flatMap((index) => (index ? [...index.start].map((from, position) => ({ from, to: index.end[position] })) : []));
  const long = all.filter(({ from, to }) => to - from > LONG_PART * source.view.duration_ns);
  const longest = long.sort((left, right) => right.to - right.from - (left.to - left.from)).slice(0, MOST_LINES);
  return longest.sort((left, right) => left.from - right.from);
}

function isIdleKind(name) {
  return name === "OTHER" || name === "UNKNOWN" || name === "GRAPHICS";
}

/** Scales the planes so that the busiest pixel reaches the top. */
function scaledToFit(planes, count, columns) {
  let highest = 0;
  for (let pixel = 0; pixel < columns; pixel += 1) {
    let sum = 0;
    for (let plane = 0; plane < count; plane += 1) sum += planes[plane * columns + pixel];
    highest = Math.max(highest, sum);
  }
  return highest > 0 ? planes.map((value) => (value / highest) * 255) : planes;
}

/**
 * `onView` gets the range that the reader drags, or null and the time of a click. `extent` returns the strip's range: the
 * run, or a longer one where two runs share a time scale.
 */
export function createOverview(source, onView, extent = () => ({ from: 0, to: source.view.duration_ns })) {
  const canvas = make("canvas", { className: "overview", role: "img" });
  canvas.setAttribute("aria-label", "The whole run; drag to choose the part that the timeline shows");
  let picture = null;
  let width = 0;
  const drag = listenToDrag(canvas, extent, source.smallestSpan, onView);
  return {
    element: canvas,
    /** Paints the run's picture, once for each width and theme: `draw` then only copies it. */
    prepare(newWidth, palette) {
      width = newWidth;
      const ratio = window.devicePixelRatio || 1;
      picture = overviewPicture(source, Math.max(1, Math.round(width * ratio)), ratio, palette);
    },
    draw(view, range, palette) {
      const { context } = fitCanvas(canvas, width, OVERVIEW_HEIGHT);
      const { from, to } = extent();
      const xOf = (time) => ((time - from) / (to - from)) * width;
      context.clearRect(0, 0, width, OVERVIEW_HEIGHT);
      context.drawImage(picture, xOf(0), 0, xOf(source.view.duration_ns) - xOf(0), OVERVIEW_HEIGHT);
      if (range) {
        context.fillStyle = palette.selection;
        context.fillRect(xOf(range.from), 0, Math.max(1.5, xOf(range.to) - xOf(range.from)), OVERVIEW_HEIGHT);
      }
      drawFrame(context, xOf(view.from), Math.max(2, xOf(view.to) - xOf(view.from)), width, palette);
    },
    isDragging: () => drag.active,
  };
}

function overviewPicture(source, columns, ratio, palette) {
  const lines = Math.round(OVERVIEW_HEIGHT * ratio);
  const canvas = make("canvas", { width: columns, height: lines });
  const context = canvas.getContext("2d");
  const image = context.createImageData(columns, lines);
  const { engines, planes } = overviewPlanes(source, columns);
  const shades = engines.map((engine) => palette.rgb[engine]);
  paintStack(new Uint32Array(image.data.buffer), columns, lines, planes, shades, packPixel(palette.surfaceRgb));
  context.putImageData(image, 0, 0);
  context.fillStyle = palette.signpost;
  overviewCover(source, columns).forEach((level, pixel) => {
    if (level > 0) context.fillRect(pixel, lines * (1 - level / 255), 1, (lines * level) / 255);
  });
  drawLong(context, source, columns, lines, ratio);
  context.fillStyle = palette.text;
  const { start, end } = source.windows;
  let paintedTo = -1;
  for (let position = 0; position < start.length; position += 1) {
    const left = (start[position] / source.view.duration_ns) * columns;
    const right = Math.max(left + 1, (end[position] / source.view.duration_ns) * columns - ratio);
    if (right < paintedTo + 1) continue;
    context.fillRect(left, 0, right - left, 2 * ratio);
    paintedTo = right;
  }
  return canvas;
}

/** Each long interval as a line with an edge at either end. */
function drawLong(context, source, columns, lines, ratio) {
  longIntervals(source).forEach(({ from, to }, index) => {
    const left = (from / source.view.duration_ns) * columns;
    const right = Math.min(columns, Math.max(left + ratio, (to / source.view.duration_ns) * columns));
    const y = (5 + index * 3) * ratio;
    context.fillRect(left, y, right - left, ratio);
    context.fillRect(left, y - 2 * ratio, ratio, 5 * ratio);
    context.fillRect(right - ratio, y - 2 * ratio, ratio, 5 * ratio);
  });
}

function drawFrame(context, left, width, whole, palette) {
  context.fillStyle = palette.page;
  context.globalAlpha = 0.65;
  context.fillRect(0, 0, left, OVERVIEW_HEIGHT);
  context.fillRect(left + width, 0, whole - left - width, OVERVIEW_HEIGHT);
  context.globalAlpha = 1;
  context.strokeStyle = palette.accent;
  context.lineWidth = 2;
  context.strokeRect(left + 1, 1, Math.max(1, width - 2), OVERVIEW_HEIGHT - 2);
}

function listenToDrag(canvas, extent, smallest, onView) {
  const drag = { active: false, start: 0 };
  const timeOf = (event) => {
    const box = canvas.getBoundingClientRect();
    const { from, to } = extent();
    return from + Math.min(1, Math.max(0, (event.clientX - box.left) / box.width)) * (to - from);
  };
  const isClick = (now) => Math.abs(now - drag.start) < (extent().to - extent().from) / 500;
  const clamped = (left, right) => {
    const { from, to } = extent();
    return shifted(clampRange({ from: left - from, to: right - from }, to - from, smallest), from);
  };
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    canvas.setPointerCapture(event.pointerId);
    drag.active = true;
    drag.start = timeOf(event);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!drag.active) return;
    const now = timeOf(event);
    if (!isClick(now)) onView(clamped(Math.min(drag.start, now), Math.max(drag.start, now)));
  });
  const finish = (event) => {
    if (!drag.active) return;
    drag.active = false;
    const now = timeOf(event);
    if (isClick(now)) onView(null, now);
  };
  canvas.addEventListener("pointerup", finish);
  canvas.addEventListener("pointercancel", finish);
  return drag;
}
