// What all pages about one crawl share: their heading, their tabs, and addresses.

import { withQuery } from "../api.js";
import { h, quoted } from "../dom.js";

const TABS = [
  ["", "Overview"],
  ["urls", "URLs"],
  ["hosts", "Hosts"],
  ["segments", "Segments"],
  ["search", "Search"],
  ["reports", "Reports"],
  ["sql", "SQL"],
  ["jobs", "Jobs"],
];

/** The address of a page about a crawl. */
export function place(name, tab = "", query) {
  return withQuery(`#/crawl/${encodeURIComponent(name)}${tab ? `/${tab}` : ""}`, query);
}

export const urlPlace = (name, url) => place(name, "url", { url });

/** A URL that leads to its page. */
export function urlLink(name, url, text) {
  return h("a", { class: "url", href: urlPlace(name, url) }, quoted(text ?? url));
}

export function state(text) {
  return h("span", { class: `state ${String(text).replace(/[^a-z-]/g, "")}` }, text);
}

export function crawlHead(name, tab, title) {
  const tabs = TABS.map(([each, label]) => h("a", { href: place(name, each), "aria-current": each === tab ? "page" : null }, label));
  return [
    h("p", { class: "trail" }, h("a", { href: "#/" }, "Crawls"), " / ", title ? h("a", { href: place(name) }, name) : name),
    h("h1", null, title ?? name),
    h("nav", { class: "tabs", "aria-label": "Crawl" }, tabs),
  ];
}

export function page(name, tab, title, ...children) {
  return { title: title ? `${title} – ${name}` : name, node: h("div", null, crawlHead(name, tab, title), ...children) };
}
