// Horizontal bars: the samples of the selection by engine, and the time that intervals cover. These are two kinds of
// numbers and shown apart; neither needs to sum to the whole.
import { make } from "../shared/dom.js";
import { cleanText, countOf, formatDuration, formatPercent, formatWeight } from "../shared/numbers.js";

/** `sums` is the result of sumSamples, `measured` that of measuredTime, `length` the range in ns. */
export function showBars(container, view, sums, measured, length) {
  const sampled = view.engines
    .map((name, engine) => ({ name, ...sums.engines[engine] }))
    .filter(({ samples }) => samples > 0)
    .map(({ name, samples, weight }) => {
      const share = weight / sums.weight;
      const amount = view.unit === "samples" ? "" : `${formatWeight(weight, view.unit)} · `;
      const text = `${formatPercent(share)} · ${amount}${countOf(samples, "sample")}`;
      return { name, label: name, share, text };
    });
  const busy = measured.map(({ span, length: time, isRough }) => {
    const name = view.engines[span.engine];
    const text = time === 0 ? "no interval" : `${isRough ? "about " : ""}${formatDuration(time)} · ${formatPercent(time / length)} of the time`;
    return { name, label: cleanText(view.strings[span.label], 60), share: time / length, text };
  });
  container.replaceChildren(
    make("h3", {}, view.timeless ? "Samples of the selection" : "Host samples of the selection (sampled)"),
    sampled.length > 0 ? barList(sampled) : make("p", { className: "note" }, "No samples in the selection."),
  );
  if (busy.length > 0) container.append(make("h3", {}, "Covered by intervals in the selected time (measured; includes loading, ignores the filter)"), barList(busy));
}

function barList(bars) {
  const list = make("div", { className: "bars" });
  for (const { name, label, share, text } of bars) {
    const fill = make("span", { className: `engine-${name}` });
    fill.style.width = `${Math.min(100, share * 100)}%`;
    const bar = make("span", { className: "bar", "aria-hidden": "true" }, fill);
    list.append(make("span", {}, label), bar, make("span", {}, text));
  }
  return list;
}
