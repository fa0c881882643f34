// The library's table. Its rows keep their elements while others change; clicks go to Dash's callbacks.
import { make } from "/report-assets/shared/dom.js";
import { patch } from "../shared/patch.js";

const ACTION_TIMEOUT_MS = 5000;

/** Dash's callbacks set a field of `place.state` (table, chosen, answered, closed) and send "state" with its name. */
export function showLibrary(place) {
  const main = place.closest("main");
  const notice = make("p", { className: "problem card unanswered", role: "alert" });
  patch(place, { type: "P", props: { className: "note loading", children: "Loading …" } });
  const sender = createSender(() => place.before(notice), notice);
  place.addEventListener("state", ({ detail }) => {
    if (detail === "table") draw(place);
    if (detail === "answered") sender.settle(place.state.answered.at);
    if (detail === "closed") buttonOf(place, "edit", place.state.closed)?.closest("details").querySelector("summary").focus();
  });
  main.addEventListener("click", ({ target }) => {
    const button = target.closest("button");
    const action = button?.componentId ?? parsedId(button?.id);
    if (button?.id === "library-grouped") setOrder(main, toggledGroups());
    else if (action?.sort) setOrder(main, action.sort);
    else if (action?.turn) turn(place, action.turn);
    else if (action?.choose) window.dash_clientside.set_props("library-ticked", { data: { ...action, at: Date.now() } });
    else if (action?.act && isConfirmed(action, button, main)) sender.send(action, button);
  });
  closeMenus(main);
  main.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !event.target.closest(".editor") || !mayClose(main)) return;
    event.preventDefault();
    main.querySelector("#edit-close").click();
  });
  if (place.state?.table) draw(place);
}

/** A row's menu closes with a choice, with Escape, and when the focus or a press goes elsewhere. */
function closeMenus(main) {
  const close = (except) => {
    for (const menu of main.querySelectorAll(".row-menu[open]")) if (menu !== except) menu.open = false;
  };
  main.addEventListener("click", ({ target }) => close(target.closest("button") ? null : target.closest(".row-menu")));
  main.addEventListener("focusin", ({ target }) => close(target.closest(".row-menu")));
  main.addEventListener("keydown", (event) => {
    const menu = event.key === "Escape" && event.target.closest(".row-menu[open]");
    if (!menu) return;
    menu.querySelector("summary").focus();
    close(null);
  });
}

const BY_APP = "by-app:";

/** The order of the table, which its address has: library.py reads it there. */
function currentOrder() {
  return new URLSearchParams(location.search).get("sort") ?? "-added";
}

function toggledGroups() {
  const order = currentOrder();
  return order.startsWith(BY_APP) ? order.slice(BY_APP.length) : BY_APP + order;
}

function setOrder(main, order) {
  main.querySelector("#library-grouped").setAttribute("aria-pressed", String(order.startsWith(BY_APP)));
  window.dash_clientside.set_props("library-order", { data: order });
}

function turn(place, page) {
  place.isTurned = true;
  window.dash_clientside.set_props("library-page", { data: page });
}

/** Draws the table's page; `place.rows` are its rows by their digest, of which the server sends those that changed. */
function draw(place) {
  const { table, chosen } = place.state;
  if (!table) return;
  const rows = new Map(table.order.map(([id, digest]) => [digest, table.rows[id] ?? place.rows?.get(digest)]));
  if ([...rows.values()].includes(undefined)) {
    window.dash_clientside.set_props("library-shown", { data: null }); // an earlier table was lost: the next poll brings all
    return;
  }
  place.rows = rows;
  patch(place, withRows(table.around, [...rows.values()]));
  if (place.isTurned) scrollIntoSight(place);
  place.isTurned = false;
  for (const tick of place.querySelectorAll(".tick")) tick.setAttribute("aria-checked", String(chosen.includes(tick.componentId.choose)));
}

/** Components, with these rows in their table's body. */
function withRows(component, rows) {
  if (Array.isArray(component)) return component.map((part) => withRows(part, rows));
  if (!component?.props) return component;
  const children = component.type === "Tbody" ? rows : withRows(component.props.children, rows);
  return { ...component, props: { ...component.props, children } };
}

/** A new page is read from its first row. */
function scrollIntoSight(place) {
  if (place.getBoundingClientRect().top < 0) place.scrollIntoView();
}

function buttonOf(place, act, recording) {
  return [...place.querySelectorAll("button")].find(({ componentId: id }) => id?.act === act && id.recording === recording);
}

/** Dash writes a component's id, an object, as JSON. */
function parsedId(id) {
  return id?.startsWith("{") ? JSON.parse(id) : null;
}

function isConfirmed({ act }, button, main) {
  if (act === "edit") return mayClose(main);
  return act !== "purge" || window.confirm(`Delete for good? This cannot be undone. ${button.title}`);
}

/** False if the user prefers to keep editing. */
function mayClose(main) {
  const form = main.querySelector(".editor");
  if (!form) return true;
  const typed = ["name", "tags", "note"].map((name) => form.querySelector(`#edit-${name}`).value);
  return JSON.stringify(typed) === JSON.stringify(JSON.parse(form.dataset.was)) || window.confirm("Close the form? Your changes are not saved.");
}

/** Sends actions to Dash, and shows a notice if one is not answered in time. */
function createSender(show, notice) {
  const timers = new Map(); // by the time of the action, which is its id
  let last = 0;
  return {
    send(action, button) {
      const sentAt = (last = Math.max(last + 1, Date.now()));
      const name = button.getAttribute("aria-label") ?? button.textContent;
      const warn = () => {
        notice.textContent = `“${name}” was not answered and may not have been done. Press it again when the dashboard answers.`;
        show();
      };
      timers.set(sentAt, setTimeout(warn, ACTION_TIMEOUT_MS));
      window.dash_clientside.set_props("library-asked", { data: { ...action, at: sentAt } });
    },
    /** An action was answered, and with it all earlier ones. */
    settle(answered) {
      for (const [sentAt, timer] of timers) {
        if (sentAt > answered) continue;
        clearTimeout(timer);
        timers.delete(sentAt);
      }
      notice.remove();
    },
  };
}
