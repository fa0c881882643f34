// Notes pinned to times: flags in the timeline, a list, and the form that adds, changes and deletes them.
import { make } from "../shared/dom.js";
import { cleanText, countOf, formatTime } from "../shared/numbers.js";

export const MOST_NOTES = 200;
export const LONGEST_NOTE = 500;
const NOTES_HINT = "Press n, or Add note, to pin a note to the start of the selection, or to the middle of what is shown.";

/** The notes of a view, as the page holds them: { id, time, text }. */
export function notesOfView(view) {
  return (view.notes ?? []).map((note, index) => ({ id: `v${index}`, time: note.time_ns, text: note.text }));
}

/** The list with a note added or changed, in order of time. */
export function withNote(notes, note) {
  return [...notes.filter(({ id }) => id !== note.id), note].sort((left, right) => left.time - right.time);
}

/** Notes in the address, one a line: `12500000 first slow call`. */
export function writeNotes(notes) {
  return notes.map(({ time, text }) => `${time} ${text}`).join("\n");
}

export function readNotes(text) {
  const lines = text.split("\n").map((line) => /^(\d{1,16}) (.+)$/.exec(line));
  const notes = lines.filter(Boolean).map(([, time, words], index) => ({ id: `a${index}`, time: Number(time), text: words.slice(0, LONGEST_NOTE) }));
  return notes.slice(0, MOST_NOTES);
}

/** Keeps the notes of a page that nobody serves: in its address, so that a link has them. */
export function addressKeeper(store) {
  const keep = () => store.set({ ownNotes: store.state.notes });
  return { load: async () => null, put: async () => keep(), remove: async () => keep() };
}

/**
 * Fills the section, adds a button to the timeline's bar, and sets page.addNote(time or null) and page.editNote(note). `keeper` = { load(), put(note), remove(id) },
 * which promise: `load` the notes, or null where those of the store are all.
 */
export function createNotes(section, { store, view, page, actions, bar, keeper }) {
  const heading = make("h2", { id: "notes-heading" }, "Notes");
  const add = make("button", { type: "button", onclick: () => page.addNote() }, "Add note");
  const status = make("span", { className: "problem", role: "status" });
  const list = make("ul", { className: "notes-list" });
  const hint = make("p", { className: "note" }, NOTES_HINT);
  add.title = "Pin a note to the start of the selection, or to the middle of what is shown (n)";
  bar.append(add);
  section.append(heading, status, list, hint);
  const dialog = createNoteDialog();

  async function attempt(change, before) {
    status.textContent = "";
    try {
      await change();
    } catch (error) {
      store.set({ notes: before });
      status.textContent = `The note was not kept: ${error.message}`;
      page.announce(status.textContent);
    }
  }
  const save = (note) => {
    const before = store.state.notes;
    store.set({ notes: withNote(before, note) });
    return attempt(() => keeper.put(note), before);
  };
  const remove = ({ id }) => {
    const before = store.state.notes;
    store.set({ notes: before.filter((note) => note.id !== id) });
    return attempt(() => keeper.remove(id), before);
  };
  page.addNote = (time = noteTime(store.state)) => {
    if (store.state.notes.length >= MOST_NOTES) return page.announce(`There are ${MOST_NOTES} notes already. Delete one first.`);
    const within = Math.round(Math.min(view.duration_ns, Math.max(0, time)));
    return dialog.open({ id: newNoteId(), time: within, text: "" }, { save });
  };
  page.editNote = (note) => dialog.open(note, { save, remove });

  function show() {
    const { notes } = store.state;
    heading.textContent = notes.length > 0 ? `Notes (${notes.length})` : "Notes";
    hint.hidden = notes.length > 0;
    list.replaceChildren(...notes.map((note) => noteItem(note, view, { edit: page.editNote, remove, go: () => actions.show(null, note.time) })));
  }
  store.on(["notes"], show);
  show();
  keeper.load().then(
    (notes) => notes && store.set({ notes }),
    (error) => {
      status.textContent = `The notes could not be fetched: ${error.message}`;
    },
  );
}

/** Where a note goes: to the selection's start, to the chosen sample, else to the middle of what is shown. */
export function noteTime({ range, cursor, view }) {
  return range?.from ?? cursor?.time ?? (view.from + view.to) / 2;
}

function noteItem(note, view, { edit, remove, go }) {
  const time = formatTime(note.time, view.duration_ns / 1000);
  const button = (text, onclick) => make("button", { type: "button", onclick, "aria-label": `${text} the note at ${time}` }, text);
  const goTo = make("button", { type: "button", className: "plain", title: "Show in the timeline", onclick: go }, time);
  const text = make("span", { dir: "auto" }, cleanText(note.text, LONGEST_NOTE));
  return make("li", {}, goTo, " ", text, " ", button("Edit", () => edit(note)), button("Delete", () => remove(note)));
}

function newNoteId() {
  return [...crypto.getRandomValues(new Uint8Array(8))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** The form in a dialog: open(note, { save, remove }), with the button Delete if there is a `remove`. */
function createNoteDialog() {
  const title = make("h2", { id: "note-title" });
  const text = make("textarea", { rows: 4, maxLength: LONGEST_NOTE, "aria-label": "Text of the note" });
  const count = make("span", { className: "note" });
  const submit = make("button", { type: "submit" }, "Save");
  const erase = make("button", { type: "button" }, "Delete");
  const cancel = make("button", { type: "button", onclick: () => dialog.close() }, "Cancel");
  const form = make("form", { method: "dialog" }, title, text, make("div", { className: "controls" }, submit, cancel, erase, count));
  const dialog = make("dialog", { className: "note-dialog", "aria-labelledby": "note-title" }, form);
  let current = null;
  const showCount = () => {
    count.textContent = text.value.length > LONGEST_NOTE * 0.8 ? `${countOf(LONGEST_NOTE - text.value.length, "letter")} left` : "";
    submit.disabled = text.value.trim() === "";
  };
  text.addEventListener("input", showCount);
  text.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault(); // a note is one line
    if (!submit.disabled) form.requestSubmit();
  });
  form.addEventListener("submit", () => current.save({ ...current.note, text: text.value.trim().replaceAll(/\s+/g, " ") }));
  erase.addEventListener("click", () => {
    dialog.close();
    current.remove(current.note);
  });
  document.body.append(dialog);
  return {
    open(note, { save, remove }) {
      current = { note, save, remove };
      title.textContent = `Note at ${formatTime(note.time, 1000)}`;
      text.value = note.text;
      erase.hidden = !remove;
      showCount();
      dialog.showModal();
      text.focus();
    },
  };
}
