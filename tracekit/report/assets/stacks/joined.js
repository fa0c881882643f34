// Joined stacks: the view in which a worker's work lies below the call that it served.
const views = new WeakMap();

/** True if the recording has work on a worker that is known to be of a call. */
export function hasJoined(view) {
  return Boolean(view.stacks.joined);
}

/** The view with the joined stacks' nodes instead of the sampled ones; the view itself if there are none. */
export function joinedView(view) {
  if (!view.samples.joined) return view;
  if (!views.has(view)) views.set(view, { ...view, samples: { ...view.samples, node: view.samples.joined } });
  return views.get(view);
}
