// Search over the index of a crawl.

import { get, path, post } from "../api.js";
import { empty, h, notice, panel, problem, put, quoted } from "../dom.js";
import { number, time } from "../format.js";
import { page, place, urlLink } from "./crawl_head.js";

const PER_PAGE = 20;

export async function searchView({ name, query, go, signal }) {
  const input = h("input", { type: "search", value: query.q ?? "", placeholder: "words, “a phrase”, site:example.org, title:word", "aria-label": "Search", autocomplete: "off" });
  const form = h(
    "form",
    {
      class: "row grow",
      role: "search",
      onsubmit: (event) => {
        event.preventDefault();
        if (input.value.trim()) go(place(name, "search", { q: input.value.trim() }));
      },
    },
    input,
    h("button", { class: "primary" }, "Search"),
  );
  const box = h("div");
  if (query.q) await results(name, query, go, box, signal);
  else put(box, empty("Search the pages of this crawl. An index is needed: the step index builds it, or a crawl with the option index."));
  setTimeout(() => query.q || input.focus());
  return page(name, "search", "Search", panel(null, form), box);
}

async function results(name, query, go, box, signal) {
  const offset = Number(query.from ?? 0) || 0;
  let found;
  try {
    found = await get(path("crawls", name, "search"), { q: query.q, limit: PER_PAGE, offset }, signal);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    const build = h("button", { type: "button", onclick: async () => {
      try {
        const job = await post(path("crawls", name, "jobs"), { command: "index" });
        go(place(name, `jobs/${job.id}`));
      } catch (refused) {
        put(box, problem(refused));
      }
    } }, "Build the index");
    put(box, problem(error), /index/i.test(error.title) ? build : null);
    return;
  }
  const at = (from) => place(name, "search", { q: query.q, from: from || "" });
  put(
    box,
    found.suggestion ? h("p", null, found.corrected ? "Showing results for " : "Did you mean ", h("a", { href: place(name, "search", { q: found.suggestion }) }, quoted(found.suggestion)), "?") : null,
    found.partial ? notice("No page has all of the words. These have most of them.") : null,
    found.notices.map((each) => notice(`Note: ${each}`)),
    h("p", { class: "faint" }, `${number(found.total)} pages`),
    found.hits.length ? h("ol", { class: "hits", start: String(offset + 1) }, found.hits.map((hit) => hitItem(name, hit))) : empty("No page matches."),
    h("div", { class: "row" }, offset ? h("a", { class: "button", href: at(Math.max(0, offset - PER_PAGE)) }, "Previous") : null, found.total > offset + PER_PAGE && offset + PER_PAGE <= 1000 ? h("a", { class: "button", href: at(offset + PER_PAGE) }, "Next") : null),
  );
}

function hitItem(name, hit) {
  return h(
    "li",
    null,
    h("p", { class: "hit-title" }, urlLink(name, hit.url, hit.title || hit.url), hit.section.map((each) => [" › ", quoted(each)])),
    h("p", { class: "hit-url" }, /^https?:/.test(hit.link) ? h("a", { href: hit.link, rel: "noreferrer noopener", target: "_blank" }, quoted(hit.link)) : quoted(hit.link)),
    h("p", null, snippet(hit.snippet ?? "")),
    h("p", { class: "faint" }, [hit.type, hit.lang, time(hit.date), `score ${number(hit.score)}`].filter(Boolean).join(" · ")),
  );
}

const ENTITIES = { "&lt;": "<", "&gt;": ">", "&amp;": "&", "&quot;": '"', "&#39;": "'", "&#x27;": "'" };

/** A snippet is escaped text with matches in <b>: they become marks, everything else text. */
function snippet(text) {
  return text.split(/<b>(.*?)<\/b>/s).map((part, at) => {
    const plain = part.replace(/&(lt|gt|amp|quot|#39|#x27);/g, (entity) => ENTITIES[entity]);
    return at % 2 ? h("mark", null, plain) : quoted(plain);
  });
}
