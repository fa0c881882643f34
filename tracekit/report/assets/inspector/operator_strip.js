// The strip of a model's operations: a click on a part marks its rows in the table below, or selects its time.

/** Connects each strip of a section with the table that follows it; `choose` selects a range of time and shows it. */
export function linkStrips(section, choose) {
  for (const strip of section?.querySelectorAll(".strip") ?? []) linkStrip(strip, choose);
}

function linkStrip(strip, choose) {
  const parts = [...strip.querySelectorAll(".strip-part")];
  const rows = [...(tableBehind(strip)?.tBodies[0].rows ?? [])];
  const isAbout = ({ dataset }, row) => Number(dataset.first ?? 0) <= row && row < Number(dataset.end ?? 0);
  const mark = (chosen) => {
    for (const part of parts) part.classList.toggle("chosen", part === chosen);
    rows.forEach((row, position) => row.classList.toggle("chosen", isAbout(chosen, position)));
    rows.find((row) => row.classList.contains("chosen"))?.scrollIntoView({ block: "nearest" });
  };
  const open = (part) => {
    mark(part);
    const { from, to } = part.dataset;
    if (from !== undefined) choose({ from: Number(from), to: Math.max(Number(to), Number(from) + 1) }, null);
  };
  parts.forEach((part, position) => {
    part.setAttribute("role", "button");
    part.setAttribute("tabindex", position === 0 ? "0" : "-1");
    part.addEventListener("click", () => open(part));
    part.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") open(part);
      else if (!focusNeighbour(parts, position, event.key)) return;
      event.preventDefault();
    });
  });
  rows.forEach((row, position) => {
    const part = parts.find((candidate) => isAbout(candidate, position));
    if (part) row.addEventListener("click", () => mark(part));
  });
}

/** The next table behind the strip, before another strip. */
function tableBehind(strip) {
  let next = strip.nextElementSibling;
  while (next && !next.matches(".strip, .table-scroll")) next = next.nextElementSibling;
  return next?.querySelector("table") ?? null;
}

/** Arrow keys move between the parts, which are one stop of the Tab key; returns whether the key did. */
function focusNeighbour(parts, position, key) {
  const next = { ArrowLeft: position - 1, ArrowRight: position + 1, Home: 0, End: parts.length - 1 }[key];
  if (next === undefined) return false;
  const target = parts[Math.max(0, Math.min(parts.length - 1, next))];
  for (const part of parts) part.setAttribute("tabindex", part === target ? "0" : "-1");
  target.focus();
  return true;
}
