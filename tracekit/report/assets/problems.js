// What went wrong, told where everybody sees it, until it is mended.
import { make } from "./dom.js";

/** The answer: { tell(about, text), mend(about) }; `about` keeps what has nothing to do with each other apart. */
export function createProblems(container, retry) {
  const held = new Map();
  const words = make("span", { role: "alert" });
  const again = make("button", { type: "button", onclick: retry }, "Try again");
  const line = make("p", { className: "problem problem-line", hidden: true }, words, " ", again);
  container.append(line);

  function show() {
    const text = [...held.values()].join(" ");
    line.hidden = text === "";
    if (words.textContent !== text) words.textContent = text;
  }

  return {
    tell(about, text) {
      held.set(about, text);
      show();
    },
    mend(about) {
      if (held.delete(about)) show();
    },
  };
}

/** Says above each element, in its section, that the figures are not those of what is selected now. */
export function createOldMarks(elements) {
  const notes = elements.map((element) => {
    const note = make("p", { className: "problem old-figures", hidden: true }, "These figures are of the selection before.");
    element.before(note);
    return note;
  });
  return (isOld) => {
    for (const note of notes) {
      note.hidden = !isOld;
      note.parentElement.classList.toggle("outdated", isOld);
    }
  };
}
