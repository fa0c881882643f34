// Reloads a page from before an update of the dashboard: its requests may not fit the server any more.

const STORAGE_KEY = "tracekit-reloaded";
/** A form that is being filled in; the search is in the page's address. */
const UNSAVED = ".editor, :is(input, textarea, select):not([type=search]):focus";

/** Replaces the window's `fetch` by one that reloads the page when a response comes from another version. */
export function reloadAfterUpdates() {
  const own = document.documentElement.dataset.version;
  const reload = (version) => {
    if (document.querySelector(UNSAVED) || !isFirst(version)) return;
    location.reload();
  };
  window.fetch = createVersionedFetch(window.fetch.bind(window), own, reload);
}

/** Returns a `fetch` that calls `reload` with the version of a response that has another one than `own`. */
export function createVersionedFetch(fetch, own, reload) {
  return async (...request) => {
    const response = await fetch(...request);
    const version = response.headers.get("X-Tracekit-Version");
    if (version && version !== own) reload(version);
    return response;
  };
}

/** False if this tab was reloaded for a version already: a proxy may still have the page of the one before. */
function isFirst(version) {
  try {
    if (sessionStorage.getItem(STORAGE_KEY) === version) return false;
    sessionStorage.setItem(STORAGE_KEY, version);
    return true;
  } catch {
    return false; // without storage, a reload could follow another for ever
  }
}
