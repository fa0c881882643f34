// Light or dark: what the address names, else what was chosen last in this browser, else what the system likes.

const THEME_KEY = "tracekit-theme";
const THEMES = ["light", "dark"];

/** The state's field for a theme chosen before; nothing where none was, or where the browser keeps nothing. */
export function rememberedTheme(storage = browserStorage()) {
  try {
    const theme = storage?.getItem(THEME_KEY);
    return THEMES.includes(theme) ? { theme } : {};
  } catch {
    return {};
  }
}

export function rememberTheme(theme, storage = browserStorage()) {
  try {
    if (THEMES.includes(theme)) storage?.setItem(THEME_KEY, theme);
    else storage?.removeItem(THEME_KEY);
  } catch {
    // It holds for this page then.
  }
}

/** Colours the page; "auto" is what the system likes. */
export function setTheme(theme) {
  if (THEMES.includes(theme)) document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
}

/** Even to name the storage may be refused, for example in a frame without an origin. */
function browserStorage() {
  try {
    return globalThis.localStorage ?? null;
  } catch {
    return null;
  }
}
