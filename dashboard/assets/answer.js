// What the server says when it refuses: a sentence.

export async function problemOf(response) {
  try {
    const { error } = await response.json();
    if (error) return error;
  } catch {
    // no JSON: a proxy's or the server's own page
  }
  return response.status === 413 ? "This is larger than the dashboard takes." : `The server answered ${response.status}.`;
}
