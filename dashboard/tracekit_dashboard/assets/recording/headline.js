// The headline of a recording's page: the analysis' summary in one line, which unfolds.
import { make } from "/report-assets/shared/dom.js";
import { countOf } from "/report-assets/shared/numbers.js";

/** Places the summary in the strip, and how much more there is to read; remarks that stand there unfold with it. */
export function showHeadline(strip, sections) {
  const section = (id) => sections.find((element) => element.id === id);
  const verdict = section("verdict");
  const remarks = [...strip.children];
  const unfold = make("button", { type: "button", className: "unfold", "aria-controls": "verdict" }, make("span", { "aria-hidden": "true" }));
  const setOpen = (isOpen) => {
    strip.classList.toggle("open", isOpen);
    unfold.setAttribute("aria-expanded", String(isOpen));
    unfold.setAttribute("aria-label", isOpen ? "Fold the headline" : "Unfold the headline");
  };
  const limits = verdict.querySelectorAll(".limits > li").length;
  const findings = section("findings").querySelectorAll(".finding").length;
  const openFindings = () => document.getElementById("tab-summary").click();
  const badges = [
    findings > 0 && make("button", { type: "button", onclick: openFindings }, countOf(findings, "finding")),
    limits > 0 && make("button", { type: "button", onclick: () => setOpen(true) }, countOf(limits, "limit")),
  ].filter(Boolean);
  unfold.addEventListener("click", () => setOpen(!strip.classList.contains("open")));
  verdict.append(...remarks);
  strip.replaceChildren(unfold, verdict, ...badges);
  const sentence = verdict.querySelector("p");
  const hasMore = verdict.children.length > 2; // its heading and its sentence
  const isWhole = () => sentence.scrollWidth <= sentence.clientWidth && sentence.scrollHeight <= sentence.clientHeight;
  const mark = () => (unfold.hidden = !hasMore && !strip.classList.contains("open") && isWhole());
  setOpen(false);
  new ResizeObserver(mark).observe(sentence);
}
