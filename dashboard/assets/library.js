// The library's table, whose rows keep their elements while others change; what is pressed goes to Dash's callbacks.
import { make } from "/report-assets/dom.js";
import { patch } from "./patch.js";

const PATIENCE_MS = 5000;

/** Callbacks of Dash set `place.state` (table, chosen, answered, closed) and fire the event "state". */
export function showLibrary(place) {
  const main = place.closest("main");
  const silence = make("p", { className: "problem card unanswered", role: "alert" });
  patch(place, { type: "P", props: { className: "note loading", children: "Loading …" } });
  const ask = asker(() => place.before(silence), silence);
  place.addEventListener("state", ({ detail }) => {
    if (detail === "table") draw(place);
    if (detail === "answered") ask.hear(place.state.answered.at);
    if (detail === "closed") buttonOf(place, "edit", place.state.closed)?.focus();
  });
  main.addEventListener("click", ({ target }) => {
    const button = target.closest("button");
    const asks = button?.asks ?? parsed(button?.id);
    if (asks?.choose) window.dash_clientside.set_props("library-ticked", { data: { ...asks, at: Date.now() } });
    else if (asks?.act && isMeant(asks, button, main)) ask.send(asks, button);
  });
  main.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !event.target.closest(".editor") || !mayClose(main)) return;
    event.preventDefault();
    main.querySelector("#edit-close").click();
  });
  if (place.state?.table) draw(place);
}

function draw(place) {
  const { table, chosen } = place.state;
  if (!table) return;
  patch(place, table);
  for (const tick of place.querySelectorAll(".tick")) tick.setAttribute("aria-checked", String(chosen.includes(tick.asks.choose)));
}

function buttonOf(place, act, recording) {
  return [...place.querySelectorAll("button")].find(({ asks }) => asks?.act === act && asks.recording === recording);
}

/** A component that Dash drew has its id as a text. */
function parsed(id) {
  return id?.startsWith("{") ? JSON.parse(id) : null;
}

function isMeant({ act }, button, main) {
  if (act === "edit") return mayClose(main);
  return act !== "purge" || window.confirm(`Delete for good? This cannot be undone. ${button.title}`);
}

/** False where somebody wants to go on with what they typed. */
function mayClose(main) {
  const form = main.querySelector(".editor");
  if (!form) return true;
  const typed = ["name", "tags", "note"].map((name) => form.querySelector(`#edit-${name}`).value);
  return JSON.stringify(typed) === JSON.stringify(JSON.parse(form.dataset.was)) || window.confirm("Close the form? What you changed in it is not saved.");
}

/** Sends what is pressed, and says so when no answer comes. */
function asker(show, silence) {
  const awaited = new Map();
  let last = 0;
  return {
    send(asks, button) {
      const at = (last = Math.max(last + 1, Date.now()));
      const name = button.getAttribute("aria-label") ?? button.textContent;
      const tell = () => {
        silence.textContent = `“${name}” was not answered: it may not have been done. Press it again when the dashboard answers.`;
        show();
      };
      awaited.set(at, setTimeout(tell, PATIENCE_MS));
      window.dash_clientside.set_props("library-asked", { data: { ...asks, at } });
    },
    hear(at) {
      for (const [asked, timer] of awaited) {
        if (asked > at) continue;
        clearTimeout(timer);
        awaited.delete(asked);
      }
      silence.remove();
    },
  };
}
