// Messages about problems, shown until they are resolved.
import { make } from "./dom.js";

/** Returns { show(topic, text), clear(topic) }: one message per topic at a time. */
export function createProblems(container, retry) {
  const messages = new Map();
  const alert = make("span", { role: "alert" });
  const retryButton = make("button", { type: "button", onclick: retry }, "Try again");
  const line = make("p", { className: "problem problem-line", hidden: true }, alert, " ", retryButton);
  container.append(line);

  function refresh() {
    const text = [...messages.values()].join(" ");
    line.hidden = text === "";
    if (alert.textContent !== text) alert.textContent = text; // setting it anew would be read aloud anew
  }

  return {
    show(topic, text) {
      messages.set(topic, text);
      refresh();
    },
    clear(topic) {
      if (messages.delete(topic)) refresh();
    },
  };
}
