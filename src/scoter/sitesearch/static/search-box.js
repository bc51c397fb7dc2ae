// Scoter's search box. One tag gives a page a search dialog, opened by a button, Ctrl-K or /:
//
//   <script src="https://search.example/search-box.js" defer></script>
//
// data-server="https://…"  the search server, if the script is a copy       data-files   search the files beside the script
// data-place="#header"     where the button goes, otherwise a corner        data-label   its text
// data-theme="dark"        or light, otherwise as the system                data-keys="off"   no shortcuts
//
// It uses no cookies and no storage, and never turns text into markup. Its style cannot be changed by the page, apart
// from --scoter-accent. Results are { url, title, path, excerpt }; every second part of an excerpt matches.
(() => {
  "use strict";
  const script = document.currentScript;
  if (!script || document.querySelector("scoter-search")) return;
  const option = (name, other) => script.dataset[name] || other;
  const MOST = 8;
  const TIMEOUT = 10000;

  // Searching on a server

  async function onServer(base, query, signal) {
    const url = new URL("v1/search", base);
    url.search = new URLSearchParams({ q: query, limit: MOST });
    const got = await fetch(url, { signal, credentials: "omit", referrerPolicy: "origin" });
    if (got.ok) return got.json();
    const why = await got.json().catch(() => ({}));
    const message = why.detail || why.title || `The search failed (${got.status}).`;
    throw Object.assign(new Error(message), { name: "Refused", later: Number(got.headers.get("retry-after")) });
  }

  // Searching in files, by a second script

  let files = null;

  async function inFiles(base, query, signal) {
    files ||= import(new URL("search-files.js", base)).then(({ Files }) => new Files(base));
    files.catch(() => (files = null));
    return (await files).search(query, MOST, signal);
  }

  // The box

  const STYLE = `
:host { --accent: var(--scoter-accent, light-dark(#0b6b5d, #6fd3c3)); --line: light-dark(#d5dad9, #3c4644); --faint: light-dark(#59625f, #a3adaa);
  --paper: light-dark(#fff, #191f1d); --chosen: light-dark(#e6f2ef, #24352f); color-scheme: light dark; font: 16px/1.45 system-ui, sans-serif; }
:host([theme=light]) { color-scheme: light; } :host([theme=dark]) { color-scheme: dark; }
:host([corner]) { position: fixed; right: 1rem; bottom: 1rem; z-index: 2147483000; }
* { box-sizing: border-box; } button, input { font: inherit; color: inherit; }
button { background: var(--paper); border: 1px solid var(--line); border-radius: .5rem; cursor: pointer; padding: .4rem .7rem; color: light-dark(#1c2422, #e5ebe9); }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
kbd { font: .75em ui-monospace, monospace; border: 1px solid var(--line); border-radius: .25rem; padding: .05rem .3rem; color: var(--faint); }
dialog { width: min(42rem, calc(100vw - 1.5rem)); max-height: min(40rem, calc(100dvh - 3rem)); margin: 1.5rem auto auto; padding: 0; overflow: hidden;
  border: 1px solid var(--line); border-radius: .75rem; background: var(--paper); color: light-dark(#1c2422, #e5ebe9); box-shadow: 0 1rem 3rem #0006; }
dialog[open] { display: flex; flex-direction: column; } dialog::backdrop { background: #0008; }
.row { display: flex; gap: .5rem; padding: .6rem; border-bottom: 1px solid var(--line); }
input { flex: 1; min-width: 0; border: 0; background: none; padding: .35rem; font-size: 1.1rem; } input:focus { outline: 0; } .row:focus-within { box-shadow: inset 0 -2px var(--accent); }
[role=listbox] { overflow-y: auto; overscroll-behavior: contain; padding: 0 .4rem; }
a { display: block; margin: .3rem 0; padding: .5rem .6rem; border-radius: .5rem; color: inherit; text-decoration: none; overflow-wrap: anywhere; }
a[aria-selected=true] { background: var(--chosen); box-shadow: inset 3px 0 var(--accent); }
.path { font-size: .85rem; color: var(--faint); } .title { font-weight: 600; color: var(--accent); } .text { font-size: .9rem; }
mark { background: none; color: inherit; font-weight: 700; text-decoration: underline; text-decoration-color: var(--accent); text-underline-offset: .15em; }
p { margin: 0; padding: .5rem 1rem; font-size: .85rem; color: var(--faint); }
@media (prefers-reduced-motion: no-preference) { dialog[open] { animation: come .12s ease-out; } @keyframes come { from { opacity: 0; transform: translateY(-.5rem); } } }`;

  function h(tag, attributes, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) if (value !== null) made.setAttribute(name, value);
    made.append(...children);
    return made;
  }

  const base = new URL(".", script.src);
  const server = new URL(option("server", base.href).replace(/\/?$/, "/"), document.baseURI);
  const search = "files" in script.dataset ? inFiles.bind(null, base) : onServer.bind(null, server);
  const host = h("scoter-search", { theme: option("theme", null) });
  const shadow = host.attachShadow({ mode: "open" });
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(STYLE);
  shadow.adoptedStyleSheets = [sheet];

  const hasKeys = option("keys") !== "off";
  const label = option("label", "Search");
  const isMac = /Mac|iPhone|iPad/.test(navigator.platform);
  const opener = h("button", { type: "button", "aria-haspopup": "dialog", "aria-keyshortcuts": hasKeys ? "Control+K Meta+K /" : null }, label, ...(hasKeys ? [" ", h("kbd", { "aria-hidden": "true" }, isMac ? "⌘K" : "Ctrl K")] : []));
  const input = h("input", {
    type: "text", role: "combobox", "aria-label": label, "aria-expanded": "false", "aria-controls": "list", "aria-autocomplete": "list",
    autocomplete: "off", autocapitalize: "off", spellcheck: "false", enterkeyhint: "go", maxlength: "200", placeholder: option("placeholder", "Search this site"),
  });
  const closer = h("button", { type: "button", "aria-label": "Close" }, h("kbd", { "aria-hidden": "true" }, "Esc"));
  const list = h("div", { id: "list", role: "listbox", "aria-label": "Results", hidden: "" });
  const status = h("p", { role: "status" });
  const dialog = h("dialog", { "aria-label": label }, h("div", { class: "row", role: "search" }, input, closer), list, status);
  shadow.append(opener, dialog);

  let chosen = -1;
  let timer = 0;
  let running = null;
  const HINT = "Type to search. ↑ ↓ choose, Enter opens, Esc closes.";

  function choose(number, isByKey) {
    const all = list.children;
    all[chosen]?.setAttribute("aria-selected", "false");
    chosen = number;
    const now = all[chosen];
    if (!now) return input.removeAttribute("aria-activedescendant");
    now.setAttribute("aria-selected", "true");
    input.setAttribute("aria-activedescendant", now.id);
    if (isByKey) now.scrollIntoView({ block: "nearest" });
  }

  /** Only pages may be opened, whatever an index says. */
  function address(text) {
    try {
      const url = new URL(text, document.baseURI);
      return /^(https?|file|ftp):$/.test(url.protocol) ? url.href : null;
    } catch {
      return null;
    }
  }

  function option_of(hit, n) {
    const path = [hit.title, ...(hit.path || [])];
    const marked = (hit.excerpt || []).map((part, at) => (at % 2 ? h("mark", {}, part) : part));
    const parts = [h("div", { class: "title" }, path.at(-1) || hit.url), h("div", { class: "text" }, ...marked)];
    if (path.length > 1) parts.unshift(h("div", { class: "path" }, path.slice(0, -1).join(" › ")));
    const made = h("a", { id: `hit${n}`, role: "option", tabindex: "-1", "aria-selected": "false", href: address(hit.url) }, ...parts);
    made.addEventListener("mousemove", () => chosen !== n && choose(n));
    made.addEventListener("click", () => dialog.close());
    return made;
  }

  function show(hits, text) {
    choose(-1);
    list.replaceChildren(...hits.map(option_of));
    list.hidden = !hits.length;
    list.removeAttribute("aria-busy");
    input.setAttribute("aria-expanded", String(hits.length > 0));
    status.textContent = text;
    if (hits.length) choose(0);
  }

  function said({ total, suggestion, corrected, partial, hits, notices = [] }) {
    const more = notices.length ? ` ${notices.join(" ")}` : "";
    return summary(total, suggestion, corrected, partial, hits) + more;
  }

  function summary(total, suggestion, corrected, partial, hits) {
    const count = total === 1 ? "1 page" : `${total} pages`;
    if (!hits?.length) return "No page matches.";
    if (corrected) return `No page matches as typed. ${count} for “${suggestion}”.`;
    if (partial) return `No page has all of the words. ${count} with most of them.`;
    return suggestion ? `${count}. Did you mean “${suggestion}”?` : count;
  }

  async function run() {
    running?.abort();
    const query = input.value;
    if (!query.trim()) return show([], HINT);
    const mine = (running = new AbortController());
    const late = setTimeout(() => mine === running && (mine.abort(), show([], "The search does not answer.")), TIMEOUT);
    try {
      const found = await search(query, mine.signal);
      if (!mine.signal.aborted) show(found.hits || [], said(found));
    } catch (error) {
      if (mine.signal.aborted) return;
      const isBusy = error.later > 0 && error.later < 60;
      show([], isBusy ? "Searching again in a moment …" : error.name === "Refused" ? error.message : "The search cannot be reached.");
      if (isBusy) timer = setTimeout(run, error.later * 1000);
    } finally {
      clearTimeout(late);
    }
  }

  function open() {
    if (dialog.open) return;
    dialog.showModal();
    input.focus();
    input.select();
    if (!input.value) show([], HINT);
  }

  opener.addEventListener("click", open);
  closer.addEventListener("click", () => dialog.close());
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  dialog.addEventListener("close", () => (clearTimeout(timer), running?.abort()));
  input.addEventListener("input", () => {
    clearTimeout(timer);
    running?.abort(); // its results would be taken for those of the new query
    timer = setTimeout(run, 150);
    list.setAttribute("aria-busy", "true");
  });
  dialog.addEventListener("keydown", (event) => {
    const count = list.children.length;
    if (event.key === "Tab") {
      event.preventDefault(); // the box is all there is while it is open
      (shadow.activeElement === input ? closer : input).focus();
    } else if (shadow.activeElement === input && !event.isComposing) {
      if (event.key === "ArrowDown" && count) choose((chosen + 1) % count, true);
      else if (event.key === "ArrowUp" && count) choose((chosen + count - (chosen < 0 ? 0 : 1)) % count, true);
      else if (event.key === "Enter") list.children[chosen]?.click();
      else return;
      event.preventDefault();
    }
  });
  if (hasKeys)
    document.addEventListener("keydown", (event) => {
      const at = event.composedPath()[0];
      const isTyping = at.isContentEditable || /^(input|textarea|select)$/i.test(at.tagName);
      const isK = (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey && event.key.toLowerCase() === "k";
      const isSlash = event.key === "/" && !event.ctrlKey && !event.metaKey && !event.altKey && !isTyping;
      if (event.defaultPrevented || !(isK || isSlash)) return;
      event.preventDefault();
      if (dialog.open) dialog.close();
      else open();
    });

  const place = () => {
    const found = option("place") && document.querySelector(option("place"));
    if (!found) host.setAttribute("corner", "");
    (found || document.body).append(host);
  };
  if (document.body && document.readyState !== "loading") place();
  else document.addEventListener("DOMContentLoaded", place);
})();
