// Rows of a crawl: URLs, hosts and segments.

import { get, path, post } from "../api.js";
import { empty, field, h, panel, problem, put, quoted } from "../dom.js";
import { bytes, number, time } from "../format.js";
import { pages, table } from "../table.js";
import { page, place, state, urlLink } from "./crawl_head.js";
import { inOrder, statusName } from "./statuses.js";

const STATUSES = ["unfetched", "fetched", "gone", "redir_temp", "redir_perm", "notmodified", "duplicate", "orphan"];

export async function urlsView({ name, query, go, signal }) {
  const crawl = await get(path("crawls", name), {}, signal);
  const known = inOrder(crawl.by_status ?? {}).map(([status]) => status);
  const status = h("select", null, ["", ...(known.length ? known : STATUSES)].map((each) => h("option", { value: each, selected: each === (query.status ?? "") }, each ? statusName(each) : "any")));
  const host = h("input", { type: "text", value: query.host ?? "", placeholder: "www.example.org", spellcheck: "false" });
  const url = h("input", { type: "search", placeholder: "https://example.org/page", spellcheck: "false" });
  const list = pages(
    [
      { name: "url", label: "URL", show: (row) => urlLink(name, row.url) },
      { name: "status", label: "Status", show: (row) => state(statusName(row.status)) },
      { name: "score", label: "Score", numeric: true, show: (row) => number(row.score) },
      { name: "fetch_time", label: "Due", date: true, show: (row) => time(row.fetch_time) },
      { name: "retries", label: "Retries", numeric: true, show: (row) => number(row.retries) },
    ],
    (after) => get(path("crawls", name, "urls"), { status: query.status, host: query.host, after, limit: 100 }, signal),
    { caption: "URLs", none: query.status || query.host ? "No URL matches." : "The crawldb is empty." },
  );
  await list.ready;
  const filter = h(
    "form",
    {
      class: "row",
      onsubmit: (event) => {
        event.preventDefault();
        go(place(name, "urls", { status: status.value, host: host.value.trim() }));
      },
    },
    field("Status", status),
    field("Host", host),
    h("button", null, "Filter"),
  );
  const open = h(
    "form",
    {
      class: "row grow",
      onsubmit: (event) => {
        event.preventDefault();
        if (url.value.trim()) go(place(name, "url", { url: url.value.trim() }));
      },
    },
    field("Look up a URL", url),
    h("button", { class: "primary" }, "Explain"),
  );
  return page(name, "urls", "URLs", panel(null, open), panel(null, filter, list.node));
}

export async function hostsView({ name, query, go, signal }) {
  const by = query.sort ?? "urls";
  const descending = query.order ? query.order === "descending" : by !== "host";
  const change = (sort, down) => go(place(name, "hosts", { sort, order: down ? "descending" : "ascending", contains: query.contains }));
  const count = (column, label) => ({ name: column, label, numeric: true, show: (row) => number(row[column]) });
  const list = pages(
    [
      { name: "host", label: "Host", show: (row) => h("a", { href: place(name, "urls", { host: row.host }) }, quoted(row.host)) },
      count("urls", "URLs"),
      count("fetched", "Fetched"),
      count("unfetched", "Not fetched yet"),
      count("gone", "Gone"),
      count("redirects", "Redirects"),
      count("duplicates", "Duplicates"),
      count("best_score", "Best score"),
    ],
    (after) => counted(path("crawls", name, "hosts"), { sort: by, descending, contains: query.contains, after, limit: 200 }, signal),
    { caption: "Hosts", waiting: "Counting the hosts …", sort: { by, descending, change }, none: query.contains ? "No host matches." : "There are no hosts yet." },
  );
  await Promise.race([list.ready, delay(1000)]);
  list.ready.catch((error) => put(list.node, problem(error)));
  const contains = h("input", { type: "search", value: query.contains ?? "", placeholder: "example.org", spellcheck: "false" });
  const filter = h(
    "form",
    {
      class: "row",
      onsubmit: (event) => {
        event.preventDefault();
        go(place(name, "hosts", { sort: by, order: descending ? "descending" : "ascending", contains: contains.value.trim() }));
      },
    },
    field("Host contains", contains),
    h("button", null, "Filter"),
  );
  const traps = h("div", null, h("p", { class: "faint" }, "Looking …"));
  drawTraps(name, traps, signal);
  return page(name, "hosts", "Hosts", panel(null, filter, list.node), panel("Suspected traps", traps));
}

const delay = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

/** Asks again while the server counts the hosts of a large crawl that has no stored counts. */
async function counted(target, query, signal) {
  for (;;) {
    try {
      return await get(target, query, signal);
    } catch (error) {
      if (error.status !== 503 || signal?.aborted) throw error;
    }
    await delay(2000);
  }
}

async function drawTraps(name, box, signal) {
  try {
    const found = await post(path("crawls", name, "sql"), { query: "select pattern from traps order by pattern", limit: 50 }, { signal });
    const columns = [
      { name: "pattern", label: "URLs whose pages say the same and lead to ever more of their kind", show: (row) => quoted(row.pattern) },
    ];
    if (!found.rows.length) return put(box, empty("None known."));
    put(box, table(columns, found.rows, { caption: "Suspected traps" }), h("p", { class: "faint" }, "Only a small share of a fetch list comes from them. The setting generate.trap_share is that share; with 1, they are fetched like other pages."));
  } catch (error) {
    if (error.name !== "AbortError") put(box, empty(error.title));
  }
}

export async function segmentsView({ name, signal }) {
  const list = pages(
    [
      { name: "segment", label: "Segment", show: (row) => row.segment },
      { name: "state", label: "State", show: (row) => state(row.state) },
      { name: "created", label: "Created", date: true, show: (row) => time(row.created) },
      { name: "made_by", label: "Made by", show: (row) => row.made_by },
      { name: "generated", label: "Generated", numeric: true, show: (row) => number(row.generated) },
      { name: "fetched", label: "Fetched", numeric: true, show: (row) => number(row.fetched) },
      { name: "parsed", label: "Parsed", numeric: true, show: (row) => number(row.parsed) },
      { name: "size", label: "Size", numeric: true, show: (row) => bytes(row.size) },
    ],
    (after) => get(path("crawls", name, "segments"), { after, limit: 200 }, signal),
    { caption: "Segments", none: "There are no segments yet: the first round has not begun." },
  );
  await list.ready;
  return page(name, "segments", "Segments", panel(null, list.node));
}
