// The list of crawls.

import { get, path } from "../api.js";
import { empty, h, panel, put, renew } from "../dom.js";
import { ago, bytes, number } from "../format.js";
import { table } from "../table.js";
import { place, state } from "./crawl_head.js";
import { statusBar, statusLegend } from "./statuses.js";

const EVERY = 3000;

const columns = [
  { name: "name", label: "Crawl", show: (crawl) => h("a", { href: place(crawl.name) }, crawl.name) },
  { name: "state", label: "State", show: (crawl) => [state(crawl.state), crawl.problem ? h("small", { class: "block" }, crawl.problem) : null] },
  { name: "doing", label: "Now", show: (crawl) => doing(crawl) },
  { name: "rounds", label: "Rounds", numeric: true, show: (crawl) => number(crawl.rounds ?? 0) },
  { name: "urls", label: "URLs", numeric: true, show: (crawl) => number(crawl.urls ?? 0) },
  { name: "statuses", label: "By status", show: (crawl) => statusBar(crawl.by_status ?? {}) },
  { name: "size", label: "Size", numeric: true, show: (crawl) => bytes(crawl.size ?? 0) },
  { name: "last", label: "Last activity", show: (crawl) => ago(crawl.last_activity) },
];

function doing(crawl) {
  const point = crawl.progress;
  if (crawl.state !== "running" || !point) return "";
  const round = point.round ? `, round ${point.round}${point.rounds ? ` of ${point.rounds}` : ""}` : "";
  return `${point.step || point.command}${round}`;
}

async function all() {
  const found = [];
  let after = "";
  do {
    const page = await get(path("crawls"), { after, limit: 1000 });
    found.push(...page.crawls);
    after = page.next;
  } while (after);
  return found;
}

export async function crawlsView({ signal }) {
  const box = h("div");
  const filter = h("input", { type: "search", placeholder: "Filter by name", "aria-label": "Filter crawls by name", oninput: () => draw() });
  let crawls = await all();

  function draw() {
    const wanted = crawls.filter((crawl) => crawl.name.toLowerCase().includes(filter.value.toLowerCase()));
    if (!crawls.length) {
      put(box, empty("There are no crawls in this folder yet.", h("p", null, h("a", { class: "button primary", href: "#/new" }, "Start a crawl"))));
    } else if (!wanted.length) put(box, empty("No crawl has such a name."));
    else renew(box, table(columns, wanted, { caption: "Crawls" }), statusLegend(wanted.map((crawl) => crawl.by_status ?? {})));
  }
  draw();
  const timer = setInterval(async () => {
    if (document.hidden) return;
    try {
      crawls = await all();
      draw();
    } catch {
      // Shown again as soon as the server responds.
    }
  }, EVERY);
  signal.addEventListener("abort", () => clearInterval(timer));
  return {
    title: "Crawls",
    node: h("div", null, h("div", { class: "row between" }, h("h1", null, "Crawls"), h("a", { class: "button primary", href: "#/new" }, "Start a crawl")), panel(null, crawls.length > 5 ? h("div", { class: "row" }, filter) : null, box)),
  };
}
