// Calls the HTTP API. Every error is a Problem with a title and, if there is one, what to do about it.

export class Problem extends Error {
  constructor(facts) {
    super(facts.title);
    Object.assign(this, facts);
  }
}

export function path(...parts) {
  return `/v1/${parts.map(encodeURIComponent).join("/")}`;
}

export function withQuery(target, query) {
  const given = Object.entries(query ?? {}).filter(([, value]) => value !== undefined && value !== null && value !== "");
  return given.length ? `${target}?${new URLSearchParams(given)}` : target;
}

async function ask(method, target, { body, query, signal, headers } = {}) {
  let response;
  try {
    response = await fetch(withQuery(target, query), {
      method,
      signal,
      headers: { ...(body === undefined ? {} : { "Content-Type": "application/json" }), ...headers },
      body: body === undefined ? undefined : JSON.stringify(body),
      credentials: "same-origin",
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem({ status: 0, title: "The server does not respond.", detail: "Check that it is running, then reload the page." });
  }
  if (response.ok) return response;
  let facts = {};
  try {
    facts = await response.json();
  } catch {
    // Not from the API: a proxy, perhaps.
  }
  const found = new Problem({ title: `The server answered with status ${response.status}.`, ...facts, status: response.status });
  if (found.status === 401 && !headers?.Authorization) document.dispatchEvent(new CustomEvent("key-needed"));
  throw found;
}

export async function get(target, query, signal) {
  return (await ask("GET", target, { query, signal })).json();
}

export async function send(method, target, body, options) {
  return (await ask(method, target, { body, ...options })).json();
}

export const post = (target, body, options) => send("POST", target, body, options);
export const raw = ask;

/** Saves the body of a response as a file. */
export async function download(response, name) {
  const address = URL.createObjectURL(await response.blob());
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}
