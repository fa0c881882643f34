// Cells of a table as text, with the units in the headings.
import { cleanText, formatCount } from "/report-assets/shared/numbers.js";

const DURATION_SIZES = { ns: 1, "µs": 1e3, ms: 1e6, s: 1e9 };
const SHOWN_LETTERS = 200;
const NUMBER_SHAPES = ["time", "duration", "size", "number", "hex"];
const FORMATS = {
  time: (value) => scaled(value, 1e9, 6),
  duration: (value, unit) => scaled(value, DURATION_SIZES[unit] ?? 1, unit === "ns" ? 0 : 3),
  size: (value) => formatCount(value),
  number: (value) => (Number.isInteger(value) ? formatCount(value) : String(Number(value.toPrecision(6)))),
  hex: (value) => `0x${BigInt(value).toString(16)}`,
  boolean: (value) => ({ 0: "no", 1: "yes" })[value] ?? String(value),
};

export function isNumber(column) {
  return NUMBER_SHAPES.includes(column.shape);
}

/** A heading: the title, and the unit in brackets unless the title ends with it. */
export function headingOf({ title, unit }) {
  return cleanText(unit && !title.endsWith(unit) ? `${title} (${unit})` : title, 60);
}

/** A cell's text; null is empty. Numbers beyond 2^53 come as texts of digits, NaN and infinity as words. */
export function cellText(value, column, letters = SHOWN_LETTERS) {
  if (value === null) return "";
  if (typeof value === "string") {
    if (column.shape === "hex" && /^-?\d+$/.test(value)) return FORMATS.hex(value);
    return cleanText(value, letters);
  }
  return FORMATS[column.shape]?.(value, column.unit) ?? String(value);
}

/** A cell with every digit, for the inspector. */
export function exactText(value, column) {
  if (value === null) return "–";
  if (typeof value === "string") return cellText(value, column, 20_000);
  if (column.shape === "time" || column.shape === "duration") {
    const shown = cellText(value, column);
    return `${shown} ${column.unit} (${formatCount(value)} ns)`;
  }
  return `${cellText(value, column)} ${column.unit}`.trim();
}

function scaled(value, size, digits) {
  return (value / size).toFixed(digits).replace(/\B(?=(\d{3})+(?!\d)(?=\.|$))/g, (mark, group, offset, text) => (offset > (text + ".").indexOf(".") ? "" : ","));
}

/** An example of a condition for a column, as the hint of its filter. */
export function conditionHint(column) {
  return { time: "> 1.5 s", duration: "> 5 ms", size: "> 4 kB", number: "> 5, 1..9", hex: "0x1f", boolean: "1 or 0" }[column.shape] ?? "contains …";
}
