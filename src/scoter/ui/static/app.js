// The shell: finds the view of an address, shows it, and asks for a key when the server wants one.

import { get, path, send } from "./api.js";
import { announce, h, problem, put } from "./dom.js";
import { batchMenu, batchViews } from "./views/batch.js";
import { liveMenu, liveViews } from "./views/live.js";
import { loginView } from "./views/login.js";

const service = document.querySelector("meta[name=scoter-service]").content;
const views = service === "live" ? liveViews : batchViews;
const menu = service === "live" ? liveMenu : batchMenu;
const main = document.getElementById("main");
let current = null;

/** Splits an address such as #/crawl/news/url?url=… into its parts and its query. */
function parse(hash) {
  const [place, query = ""] = hash.replace(/^#\/?/, "").split(/\?(.*)/s);
  const parts = place.split("/").filter(Boolean).map(decode);
  return { parts, query: Object.fromEntries(new URLSearchParams(query)) };
}

function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function find(parts) {
  for (const [pattern, view] of views) {
    const wanted = pattern.split("/").filter(Boolean);
    if (wanted.length === parts.length && wanted.every((each, at) => each.startsWith(":") || each === parts[at])) {
      return [view, Object.fromEntries(wanted.map((each, at) => [each.replace(":", ""), parts[at]]))];
    }
  }
  return null;
}

async function show() {
  if (location.hash && !location.hash.startsWith("#/")) return;
  current?.abort();
  const leaving = new AbortController();
  current = leaving;
  const { parts, query } = parse(location.hash);
  drawMenu(parts);
  const found = find(parts);
  main.setAttribute("aria-busy", "true");
  try {
    if (!found) {
      setTitle("Not found");
      put(main, h("h1", null, "There is no such page"), h("p", null, h("a", { href: "#/" }, "Go to the start page")));
    } else {
      const [view, names] = found;
      // An answer that comes late must not take the reader away from where they have gone since.
      const goFromHere = (hash, options) => leaving.signal.aborted || go(hash, options);
      const shown = await view({ ...names, query, signal: leaving.signal, go: goFromHere });
      if (leaving.signal.aborted) return;
      setTitle(shown.title);
      put(main, shown.node);
    }
  } catch (error) {
    if (leaving.signal.aborted || error.name === "AbortError") return;
    if (error.status === 401) return;
    setTitle("Error");
    put(main, h("h1", null, "This cannot be shown"), problem(error), h("p", { class: "row" }, h("button", { type: "button", onclick: show }, "Try again"), h("a", { class: "button", href: "#/" }, "Go to the start page")));
    if (!(error.status >= 0)) throw error;
  } finally {
    if (current === leaving) main.removeAttribute("aria-busy");
  }
  if (document.activeElement === document.body) main.focus({ preventScroll: true });
}

function setTitle(title) {
  document.title = `${title} – Scoter`;
  announce(title);
}

function go(hash, { replace = false } = {}) {
  if (replace) {
    history.replaceState(null, "", hash);
    show();
  } else if (location.hash === hash) show();
  else location.hash = hash;
}

function drawMenu(parts) {
  const links = menu.map(([hash, label, name]) => h("a", { href: hash, "aria-current": (parts[0] ?? "") === name || (name === "" && parts[0] === "crawl") ? "page" : null }, label));
  put(document.getElementById("menu"), links, who);
}

const who = h("span", { class: "who" });

async function drawSession() {
  try {
    const session = await get(path("session"));
    if (!session.needs_key) return;
    const leave = h("button", { type: "button", class: "plain", onclick: async () => {
      await send("DELETE", path("session"));
      login();
    } }, "Log out");
    put(who, h("bdi", null, session.name), " ", leave);
  } catch {
    put(who);
  }
}

function login() {
  current?.abort();
  put(who);
  setTitle("Log in");
  put(main, loginView(() => {
    drawSession();
    show();
  }));
}

document.addEventListener("key-needed", login);
document.getElementById("skip").addEventListener("click", () => main.focus());
document.getElementById("theme").addEventListener("click", () => {
  const root = document.documentElement;
  const isDark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = isDark ? "light" : "dark";
  try {
    localStorage.setItem("theme", root.dataset.theme);
  } catch {
    // No storage: the choice lasts as long as the page.
  }
});
document.addEventListener("keydown", (event) => {
  // "/" goes to the first search field, as in many other places.
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName)) return;
  const search = main.querySelector("input[type=search]");
  if (search) {
    event.preventDefault();
    search.focus();
  }
});
window.addEventListener("hashchange", () => {
  window.scrollTo(0, 0);
  show();
});
show();
drawSession();
