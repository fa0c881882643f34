// Native selects, which Dash does not hear: what is chosen goes into the dcc.Store that data-store names.
export function hearSelects() {
  document.addEventListener("change", ({ target }) => {
    const store = target.dataset?.store;
    if (store) window.dash_clientside.set_props(store, { data: target.value });
  });
}
