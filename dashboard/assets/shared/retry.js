// Retries after failures, at growing intervals.

const FIRST_MS = 2000;
const LONGEST_MS = 30_000;

/** Calls `retry()` some time after each `failed()`; `succeeded()` resets the intervals. */
export function createRetry(retry, { first = FIRST_MS, longest = LONGEST_MS } = {}) {
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
        retry();
      }, pause);
      pause = Math.min(2 * pause, longest);
    },
    succeeded() {
      stop();
      pause = first;
    },
    stop,
  };
}
