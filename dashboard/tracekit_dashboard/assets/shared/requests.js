// Requests to the server, and the messages of its refusals.

/** Fetches an address; throws the server's message if it refuses. */
export async function fetchChecked(address) {
  const response = await fetch(address, { credentials: "same-origin" });
  if (!response.ok) throw new Error(await errorMessage(response));
  return response;
}

/** Fetches a result of reading, and reads it by `read(response)`. The browser inflates it: a damaged file ends in between. */
export async function fetchResult(address, read) {
  const response = await fetchChecked(address);
  return read(response).catch(() => {
    throw new Error("The analysis is damaged, or the connection was lost. Reload the page, or read the recording again.");
  });
}

/** The server's own sentence about a refusal, else one made from the status. */
export async function errorMessage(response) {
  try {
    const { error } = await response.json();
    if (error) return error;
  } catch {
    // no JSON: the page of a proxy or of the web server
  }
  return response.status === 413 ? "This is larger than the dashboard accepts." : `The server answered with status ${response.status}.`;
}

/** Resolves after some time; rejects when `signal` is aborted. */
export function pause(milliseconds, signal) {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) throw signal.reason;
    const timer = setTimeout(resolve, milliseconds);
    signal?.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(signal.reason);
    });
  });
}
