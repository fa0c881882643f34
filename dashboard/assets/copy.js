// The button "Copy" beside a command puts it on the clipboard; where pages may not, it is selected.
const SHOWN_MS = 2000;

export function hearCopy() {
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
