// Controls on Dash's pages that need the browser: copy buttons and native selects.
const SHOWN_MS = 2000;

/** The button "Copy" beside a command copies it, or selects it where the browser does not allow copying. */
export function bindCopyButtons() {
  document.addEventListener("click", async ({ target }) => {
    const button = target.closest?.("button.copy");
    const command = button?.parentElement.querySelector("pre");
    if (!command) return;
    const text = button.firstChild;
    text.data = (await copied(command)) ? "Copied" : "Press Ctrl-C or ⌘C";
    setTimeout(() => (text.data = "Copy"), SHOWN_MS);
  });
}

async function copied(element) {
  try {
    await navigator.clipboard.writeText(element.textContent);
    return true;
  } catch {
    getSelection().selectAllChildren(element);
    return false;
  }
}

/** Native selects, whose changes Dash does not observe: the choice goes into the dcc.Store named by data-store. */
export function bindSelects() {
  document.addEventListener("change", ({ target }) => {
    const store = target.dataset?.store;
    if (store) window.dash_clientside.set_props(store, { data: target.value });
  });
}
