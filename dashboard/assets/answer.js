// What the server answers, or the sentence that it says when it refuses.

export async function asked(address) {
  const response = await fetch(address, { credentials: "same-origin" });
  if (!response.ok) throw new Error(await problemOf(response));
  return response;
}

export async function problemOf(response) {
  try {
    const { error } = await response.json();
    if (error) return error;
  } catch {
    // no JSON: a proxy's or the server's own page
  }
  return response.status === 413 ? "This is larger than the dashboard takes." : `The server answered ${response.status}.`;
}
