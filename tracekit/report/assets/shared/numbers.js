// Formats numbers and names for display; the only place where numbers become text.

const TIME_UNITS = [
  [1e9, "s"],
  [1e6, "ms"],
  [1e3, "µs"],
  [1, "ns"],
];
const COUNT_FORMAT = new Intl.NumberFormat("en-GB", { maximumFractionDigits: 0 });
const SMALL_SIZE_FORMAT = new Intl.NumberFormat("en-GB", { maximumFractionDigits: 1 });
const COUNT_UNITS = [
  [1e12, "T"],
  [1e9, "G"],
  [1e6, "M"],
  [1e3, "k"],
];

/** A duration with three significant digits and a unit: `4.21 ms`. NaN and null are `–`: not known. */
export function formatDuration(ns) {
  if (ns === null || ns === undefined || Number.isNaN(ns)) return "–";
  if (ns === 0) return "0";
  if (Math.abs(ns) >= 60e9) return `${Math.trunc(ns / 60e9)} min ${significant((Math.abs(ns) % 60e9) / 1e9)} s`;
  const [size, unit] = TIME_UNITS.find(([unitNs]) => Math.abs(ns) >= unitNs * 0.9995) ?? [1, "ns"];
  return `${significant(ns / size)} ${unit}`;
}

function significant(value) {
  const size = Math.abs(value);
  if (size >= 99.95) return value.toFixed(0);
  return size >= 9.995 ? value.toFixed(1) : value.toFixed(2);
}

/** A point on the time axis, with enough digits to distinguish ticks `step` apart. */
export function formatTime(ns, step) {
  const [size, unit] = TIME_UNITS.find(([unitNs]) => Math.max(Math.abs(ns), step) >= unitNs) ?? [1, "ns"];
  const digits = Math.min(9, Math.max(0, Math.ceil(-Math.log10(step / size) - 1e-9)));
  return `${(ns / size).toFixed(digits)} ${unit}`;
}

export function formatCount(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  return COUNT_FORMAT.format(value);
}

/** `1 sample`, `12 samples`. */
export function countOf(value, noun) {
  return `${formatCount(value)} ${noun}${value === 1 ? "" : "s"}`;
}

const LEVELS = ["nominal", "fair", "serious", "critical"];

/** A track's value with its unit; thermal levels have names. */
export function formatTrack(value, unit, digits) {
  if (unit === "level" && LEVELS[value] !== undefined) return LEVELS[value];
  return `${Number(value.toPrecision(digits))} ${unit}`.trim();
}

export function formatPercent(share) {
  if (!Number.isFinite(share)) return "–";
  const percent = share * 100;
  if (percent > 0 && percent < 0.1) return "< 0.1 %";
  return `${percent >= 9.95 || percent === 0 ? percent.toFixed(0) : percent.toFixed(1)} %`;
}

/** A weight in the recording's unit: time for "ns", else a count with the unit's name. */
export function formatWeight(value, unit) {
  if (unit === "ns") return formatDuration(value);
  const [size, letter] = COUNT_UNITS.find(([unitSize]) => Math.abs(value) >= unitSize) ?? [1, ""];
  const digits = size === 1 ? String(Math.round(value)) : significant(value / size);
  return `${digits} ${letter}${unit}`;
}

/** A size in megabytes, without the unit: `3.4`, `1,204`. */
export function formatMegabytes(bytes) {
  return (bytes < 1e7 ? SMALL_SIZE_FORMAT : COUNT_FORMAT).format(bytes / 1e6);
}

// Control characters, marks that change the direction of text, and halves of surrogate pairs.
const UNSHOWABLE = /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]/gu;

/** A text of the recording on one line: invisible characters become their codes, long text is cut. */
export function cleanText(text, limit = 400) {
  const cut = text.length > limit ? `${text.slice(0, limit).replace(/[\ud800-\udbff]$/, "")}…` : text;
  return cut.replace(UNSHOWABLE, (mark) => {
    if (mark === "\n" || mark === "\t") return " ";
    return `‹${mark.codePointAt(0).toString(16).padStart(4, "0")}›`;
  });
}
