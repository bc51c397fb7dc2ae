// Submitting messages and looking up URLs: records as preview cards.

import { get, path, post, withQuery } from "../api.js";
import { empty, field, h, notice, panel, problem, put, quoted, visible } from "../dom.js";
import { bytes, cell, time } from "../format.js";
import { state } from "./crawl_head.js";

/** A record as a card, as text: pictures of strangers are not loaded. */
export function card(record) {
  const about = record.metadata ?? {};
  const facts = [record.status ? `HTTP ${record.status}` : "", record.content_type, record.length ? bytes(record.length) : "", record.fetched_at ? time(record.fetched_at) : ""].filter(Boolean).join(" · ");
  return h(
    "article",
    { class: "card" },
    h("p", { class: "row" }, state(record.state), about.site_name ? h("span", { class: "faint" }, quoted(about.site_name)) : null),
    h("p", { class: "card-title" }, quoted(about.title ?? (record.state === "pending" ? "Waiting …" : record.resolved ?? record.url))),
    about.description ? h("p", null, quoted(about.description)) : null,
    record.reason ? h("p", null, quoted([record.reason, record.detail].filter(Boolean).join(": "))) : null,
    record.stale ? h("p", null, "Stale: ", quoted(cell(record.stale))) : null,
    h("p", null, h("a", { class: "url", href: `#/url?${new URLSearchParams({ url: record.url })}` }, quoted(record.url))),
    facts ? h("p", { class: "faint" }, quoted(facts)) : null,
  );
}

export async function submitView({ query, signal }) {
  const text = h("textarea", { rows: "4", value: query.text ?? "", placeholder: "Look at https://example.org/ and https://example.net/a", required: true });
  const priority = h("select", null, ["person", "normal", "bulk"].map((each) => h("option", { value: each }, each)));
  const force = h("select", null, [["", "no, use a fresh record"], ["yes", "yes, fetch again"]].map(([value, label]) => h("option", { value }, label)));
  const box = h("div", { "aria-live": "polite" });
  const submit = async (event) => {
    event.preventDefault();
    put(box, h("p", { class: "faint" }, "Submitting …"));
    try {
      const { messages } = await post(path("messages"), { text: text.value, priority: priority.value, ...(force.value ? { force: true } : {}) }, { signal });
      const [message] = messages;
      const urls = Object.keys(message.entries ?? {});
      put(
        box,
        h("p", { class: "faint" }, `Message ${message.id}: ${message.status}`),
        urls.length ? h("div", { class: "cards" }, urls.map((url) => watched(url, signal))) : empty("The text contains no URL."),
        message.unusable?.length ? notice(h("span", null, "Not usable: ", message.unusable.map((each) => [quoted(each.url), ` (${visible(each.why)}) `]))) : null,
      );
    } catch (error) {
      if (error.name !== "AbortError") put(box, problem(error));
    }
  };
  const form = h("form", { class: "panel", onsubmit: submit }, field("Message", text, "All URLs in the text are fetched; their preview cards appear below."), h("div", { class: "row" }, field("Priority", priority), field("Fetch anyway", force), h("button", { class: "primary" }, "Submit")));
  return { title: "Submit", node: h("div", null, h("h1", null, "Submit a message"), form, box) };
}

/** A card that is replaced when the URL is finished. */
function watched(url, signal) {
  const box = h("div", null, card({ url, state: "pending" }));
  const wait = async () => {
    while (!signal.aborted) {
      const record = await get(path("urls"), { url, wait: "20s" }, signal);
      if (record.state !== "pending") {
        put(box, card(record));
        return;
      }
    }
  };
  wait().catch((error) => error.name === "AbortError" || put(box, problem(error)));
  return box;
}

export async function lookupView({ query, go, signal }) {
  const input = h("input", { type: "search", value: query.url ?? "", placeholder: "https://example.org/page", spellcheck: "false" });
  const form = h(
    "form",
    {
      class: "panel row grow",
      onsubmit: (event) => {
        event.preventDefault();
        if (input.value.trim()) go(`#/url?${new URLSearchParams({ url: input.value.trim() })}`);
      },
    },
    field("URL", input),
    h("button", { class: "primary" }, "Look up"),
  );
  const box = h("div");
  if (query.url) {
    try {
      const record = await get(path("urls"), { url: query.url }, signal);
      put(box, panel("Preview card", card(record)), hops(record), panel("Record", h("pre", { class: "source wrap", tabindex: "0" }, visible(JSON.stringify(record, null, 2)))));
    } catch (error) {
      if (error.name === "AbortError") throw error;
      if (error.status === 404) put(box, empty("The service has no record of this URL.", h("p", null, h("a", { href: withQuery("#/submit", { text: query.url }) }, "Submit it"))));
      else put(box, problem(error));
    }
  } else put(box, empty("Any spelling of a URL works."));
  return { title: "Look up", node: h("div", null, h("h1", null, "Look up a URL"), form, box) };
}

function hops(record) {
  if (!(record.hops?.length > 1)) return null;
  return panel("Redirects", h("ol", { class: "tight" }, record.hops.map((hop) => h("li", null, quoted(hop.url), ` ${hop.status ?? ""}`))));
}
