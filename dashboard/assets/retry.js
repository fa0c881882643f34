// Asking again by itself, at ever longer intervals, for what could not be had.

const FIRST_MS = 2000;
const LONGEST_MS = 30_000;

/** `again()` is called some time after each `failed()`; `mended()` makes the pauses short again. */
export function createRetry(again, { first = FIRST_MS, longest = LONGEST_MS } = {}) {
  let pause = first;
  let timer = null;
  const stop = () => {
    clearTimeout(timer);
    timer = null;
  };
  return {
    failed() {
      if (timer !== null) return;
      timer = setTimeout(() => {
        timer = null;
        again();
      }, pause);
      pause = Math.min(2 * pause, longest);
    },
    mended() {
      stop();
      pause = first;
    },
    stop,
  };
}
