// The theme, light or dark: from the address, else the last choice in this browser, else the system's.

const THEME_KEY = "tracekit-theme";
const THEMES = ["light", "dark"];

/** The state's field for a theme chosen earlier; {} if there is none or the browser stores nothing. */
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
    // Without storage, the choice applies to this page only.
  }
}

/** Applies a theme; "auto" is the system's. */
export function setTheme(theme) {
  if (THEMES.includes(theme)) document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
}

/** The browser's storage; reading the property itself may throw, for example in a frame without an origin. */
function browserStorage() {
  try {
    return globalThis.localStorage ?? null;
  } catch {
    return null;
  }
}
