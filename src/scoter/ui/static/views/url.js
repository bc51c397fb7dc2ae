// Everything known about a URL, and its archived copy in a sandbox.

import { download, get, path, raw, withQuery } from "../api.js";
import { empty, h, notice, panel, problem, put, quoted, visible } from "../dom.js";
import { bytes, cell, number, seconds, time, withLocalTimes } from "../format.js";
import { pages, table } from "../table.js";
import { page, place, state, urlLink } from "./crawl_head.js";
import { statusName } from "./statuses.js";

const LINKS = 20;

export async function urlView({ name, query, signal }) {
  const found = await get(path("crawls", name, "url"), { url: query.url }, signal);
  const facts = found.facts;
  const parse = facts.parses.findLast((each) => !each.part_of);
  // A 304 is archived as well, but has no copy.
  const copies = facts.fetches.filter((each) => each.warc_file && each.http_status !== 304);
  return page(
    name,
    "urls",
    "URL",
    panel(null, h("p", { class: "address" }, quoted(found.url)), h("p", { class: "verdict" }, quoted(withLocalTimes(found.verdict))), h("p", { class: "row" }, /^https?:/.test(found.url) ? h("a", { href: found.url, target: "_blank", rel: "noopener noreferrer nofollow" }, "Open on the web") : null, h("a", { href: place(name, "urls", { host: facts.host }) }, "Other URLs of this host"))),
    facts.record ? recordPanel(facts.record) : panel("Record", empty("The crawldb does not contain this URL.")),
    parse ? card(parse) : null,
    panel("History", facts.fetches.length ? historyTable(facts.fetches) : empty("It was never requested."), skips(facts)),
    copyPanel(name, found.url, copies, signal),
    textPanel(name, found.url, Boolean(parse), signal),
    panel("Rules", rules(facts)),
    redirects(name, facts),
    links(name, found.url, "Inlinks", "inlinks", facts.inlinks.count || facts.links.count, "Pages that link here.", signal, facts.links),
    links(name, found.url, "Outlinks", "outlinks", null, "Links of this page.", signal),
    panel("All facts", h("details", null, h("summary", null, "As JSON, as scoter explain --json prints them"), h("pre", { tabindex: "0" }, visible(JSON.stringify(facts, null, 2))))),
  );
}

function pairs(items) {
  return h("dl", { class: "pairs" }, items.filter(([, value]) => value !== null && value !== undefined && value !== "").map(([label, value]) => [h("dt", null, label), h("dd", null, value)]));
}

function recordPanel(record) {
  const metadata = Object.entries(record.metadata ?? {});
  return panel(
    "Record",
    pairs([
      ["Status", state(statusName(record.status))],
      ["Due", time(record.fetch_time)],
      ["Interval", seconds(record.interval)],
      ["Modified", record.modified_time ? time(record.modified_time) : null],
      ["Score", number(record.score)],
      ["Retries", record.retries ? number(record.retries) : null],
      ["Signature", record.signature ? h("code", null, record.signature) : null],
      ...metadata.map(([key, value]) => [quoted(key), quoted(cell(value))]),
    ]),
  );
}

/** The preview card, as text: pictures of strangers are not loaded. */
function card(parse) {
  return panel(
    "Preview card",
    h("div", { class: "card" }, parse.site_name ? h("p", { class: "faint" }, quoted(parse.site_name)) : null, h("p", { class: "card-title" }, quoted(parse.title || "Without a title")), parse.description ? h("p", null, quoted(parse.description)) : null),
    pairs([
      ["Language", parse.language ? quoted(parse.language) : null],
      ["Type", quoted(parse.content_type ?? "")],
      ["Authors", parse.authors?.length ? quoted(cell(parse.authors)) : null],
      ["Published", parse.published ? time(parse.published) : null],
      ["Image", parse.image ? quoted(cell(parse.image)) : null],
      ["Canonical URL", parse.canonical ? quoted(parse.canonical) : null],
      ["Directives", ["noindex", "nofollow", "noarchive", "nosnippet"].filter((each) => parse[each]).join(", ")],
      ["Headings", parse.headings?.length ? h("ul", { class: "tight" }, parse.headings.slice(0, 12).map((each) => h("li", null, `h${each.level} `, quoted(each.text)))) : null],
    ]),
  );
}

function historyTable(fetches) {
  return table(
    [
      { name: "segment", label: "Segment", show: (row) => row.segment },
      { name: "time", label: "Time", date: true, show: (row) => time(row.fetch_time) },
      { name: "status", label: "Outcome", show: (row) => state(row.status) },
      { name: "http", label: "HTTP", numeric: true, show: (row) => row.http_status ?? "" },
      { name: "reason", label: "Reason", show: (row) => quoted([row.reason, row.detail].filter(Boolean).join(": ")) },
      { name: "type", label: "Type", show: (row) => quoted(row.content_type) },
      { name: "length", label: "Size", numeric: true, show: (row) => (row.length === null ? "" : bytes(row.length)) },
      { name: "ms", label: "Response", numeric: true, show: (row) => (row.response_ms === null ? "" : seconds(row.response_ms / 1000)) },
      { name: "ip", label: "Address", show: (row) => row.ip ?? "" },
      { name: "to", label: "Redirect to", show: (row) => quoted(row.redirect_to) },
    ],
    fetches,
    { caption: "History per round" },
  );
}

function skips(facts) {
  const listed = facts.listed?.length ? h("p", null, `In the fetch list of: ${facts.listed.map(cell).join(", ")}`) : null;
  const skipped = facts.skipped?.length ? h("p", null, "Left out: ", quoted(facts.skipped.map(cell).join(", "))) : null;
  return [listed, skipped];
}

function rules(facts) {
  const steps = [...facts.normalizers.map((each) => ["normaliser", each]), ...facts.filters.map((each) => ["filter", each])];
  return [
    notice(facts.is_kept ? "The URL rules keep this URL." : "The URL rules drop this URL.", facts.is_kept ? "" : "bad"),
    facts.robots ? notice(h("span", null, `robots.txt ${facts.robots.allowed ? "allows" : "disallows"} this URL: `, quoted(facts.robots.why)), facts.robots.allowed ? "" : "bad") : h("p", { class: "faint" }, "No robots.txt of this site is cached."),
    facts.rules.length ? h("ul", null, facts.rules.map((each) => h("li", null, quoted(cell(each))))) : null,
    table(
      [
        { name: "kind", label: "Rule", show: ([kind, each]) => `${kind} ${each.name}` },
        { name: "after", label: "Result", show: ([, each]) => (each.after === null ? state("dropped") : each.after === each.before ? "unchanged" : quoted(each.after)) },
        { name: "why", label: "Why", show: ([, each]) => quoted(each.why) },
      ],
      steps,
      { caption: "URL rules" },
    ),
  ];
}

function redirects(name, facts) {
  const some = [
    ["Redirects to", facts.redirects.map((each) => (typeof each === "string" ? urlLink(name, each) : quoted(cell(each))))],
    ["Redirected from", facts.redirected_from.first.map((each) => quoted(cell(each)))],
    ["Duplicates", facts.duplicates.first.map((each) => (typeof each === "string" ? urlLink(name, each) : each.url ? urlLink(name, each.url) : quoted(cell(each))))],
  ].filter(([, items]) => items.length);
  if (!some.length) return null;
  return panel("Redirects and duplicates", some.map(([label, items]) => [h("h3", null, label), h("ul", { class: "tight" }, items.map((each) => h("li", null, each)))]));
}

function links(name, url, title, kind, count, hint, signal, others) {
  const columns = [
    { name: "url", label: kind === "inlinks" ? "From" : "To", show: (row) => urlLink(name, row.url) },
    { name: "anchor", label: "Anchor", show: (row) => quoted(row.anchor) },
    { name: "rel", label: "rel", show: (row) => quoted(row.rel) },
  ];
  const load = async (after) => {
    const offset = Number(after) || 0;
    const found = await get(path("crawls", name, kind), { url, offset, limit: LINKS }, signal);
    // Without a linkdb, the segments still know some of the links.
    const rows = found.count ? found.rows : (others?.first ?? []).map((each) => ({ url: each.source, anchor: each.anchor, rel: each.rel }));
    return { rows, next: offset + LINKS < found.count ? offset + LINKS : null };
  };
  const list = pages(columns, load, { caption: title, none: kind === "inlinks" ? "None known. The step invertlinks collects them." : "None." });
  list.ready.catch((error) => error.name === "AbortError" || put(list.node, problem(error)));
  return panel(count ? `${title} (${number(count)})` : title, h("p", { class: "faint" }, hint), list.node);
}

function copyPanel(name, url, copies, signal) {
  if (!copies.length) return panel("Archived copy", empty("There is no archived copy of this URL."));
  const box = h("div");
  const choice = h("select", { "aria-label": "Copy", onchange: () => put(box) }, copies.toReversed().map((each) => h("option", { value: each.segment }, `${time(each.fetch_time)}, segment ${each.segment}`)));
  const query = () => ({ url, segment: choice.value });
  const replay = async () => {
    const target = withQuery(path("crawls", name, "replay"), query());
    try {
      await raw("HEAD", target, { signal });
      // The server's policy sandboxes the copy too: no scripts, forms or windows, and requests to archived copies only.
      put(box, notice("Shown in a sandbox: scripts and forms do not work. Links, pictures and styles are other archived copies; what was not archived is missing."), h("iframe", { class: "replay", sandbox: "", src: target, title: "Archived copy", referrerpolicy: "no-referrer" }));
    } catch {
      // HEAD has no body that explains the refusal.
      try {
        await raw("GET", target, { signal });
      } catch (error) {
        put(box, problem(error));
      }
    }
  };
  const source = async () => {
    try {
      const response = await raw("GET", withQuery(path("crawls", name, "copy"), query()), { signal });
      const text = await response.text();
      const type = response.headers.get("Scoter-Content-Type") ?? "unknown type";
      put(box, h("p", { class: "faint" }, `HTTP ${response.headers.get("Scoter-Status")}, ${type}, ${bytes(text.length)}`), h("pre", { class: "source", tabindex: "0" }, visible(text.slice(0, 200_000))), text.length > 200_000 ? notice("Only the beginning is shown.") : null);
    } catch (error) {
      put(box, problem(error));
    }
  };
  const headers = async () => {
    try {
      const found = await get(path("crawls", name, "headers"), query(), signal);
      const columns = [
        { name: "name", label: "Header", show: (each) => quoted(each.name) },
        { name: "value", label: "Value", show: (each) => quoted(each.value) },
      ];
      put(box, h("p", { class: "faint" }, `HTTP ${found.status}`), found.fields.length ? table(columns, found.fields, { caption: "Response headers" }) : empty("The response has no header fields."));
    } catch (error) {
      put(box, problem(error));
    }
  };
  const save = async () => {
    try {
      await download(await raw("GET", withQuery(path("crawls", name, "copy"), query()), { signal }), "copy.bin");
    } catch (error) {
      put(box, problem(error));
    }
  };
  return panel("Archived copy", h("div", { class: "row" }, choice, h("button", { type: "button", onclick: replay }, "Show the page"), h("button", { type: "button", onclick: source }, "Show the source"), h("button", { type: "button", onclick: headers }, "Show the headers"), h("button", { type: "button", onclick: save }, "Download")), box);
}

function textPanel(name, url, isParsed, signal) {
  if (!isParsed) return null;
  const box = h("div");
  let texts = null;
  const show = (kind) => async () => {
    try {
      texts ??= await get(path("crawls", name, "text"), { url }, signal);
      put(box, texts[kind] ? h("pre", { class: "source wrap", tabindex: "0", dir: "auto" }, visible(texts[kind])) : empty("The page has none."));
    } catch (error) {
      put(box, problem(error));
    }
  };
  return panel("Text", h("div", { class: "row" }, h("button", { type: "button", onclick: show("text") }, "All text"), h("button", { type: "button", onclick: show("main_text") }, "Main text"), h("button", { type: "button", onclick: show("markdown") }, "Markdown")), box);
}
