// Why a crawl has no page: the reasons, the settings that decided, and buttons that change them.

import { get, path } from "../api.js";
import { h, put, quoted } from "../dom.js";
import { number } from "../format.js";
import { urlPlace } from "./crawl_head.js";

/** A red notice, or null if the last run of the crawl did not fail for a known reason. `start` gets an order. */
export function crawlProblem(crawl, start) {
  const last = crawl.progress;
  if (crawl.state !== "failed" || !last?.ended || !last.is_failed) return null;
  const causes = last.causes ?? [];
  return h(
    "div",
    { class: "notice bad", role: "alert" },
    h("p", null, h("strong", null, "No page was fetched."), causes.length ? "" : ` ${last.ended}.`),
    causes.map((cause) => h("div", { class: "cause" }, ...described(crawl, cause), remedy(crawl, cause, start))),
  );
}

function described(crawl, cause) {
  const more = cause.urls > 1 ? `, and ${number(cause.urls - 1)} more` : "";
  const detail = cause.detail ? [": ", quoted(cause.detail)] : "";
  return [h("a", { class: "url", href: urlPlace(crawl.name, cause.url) }, quoted(cause.url)), more, " – ", cause.reason.replaceAll("_", " "), detail, "."];
}

/** Says which setting decided. What this key may change gets a button; the rest is for the server's operator. */
function remedy(crawl, cause, start) {
  if (!cause.setting) return null;
  const box = h("p", { class: "row" }, "The setting ", h("code", null, cause.setting), " decides this.");
  orderFor(cause).then((order) => {
    if (order) put(box, h("span", null, "The setting ", h("code", null, cause.setting), " decides this."), h("button", { type: "button", class: "primary", onclick: () => start(order) }, "Allow it and try again"));
    else if (cause.words?.length) put(box, h("span", null, "Whoever runs the server can allow it: ", h("code", null, quoted(["scoter crawl", crawl.name, ...cause.words.map(typed)].join(" ")))));
  }).catch(() => {});
  return box;
}

async function orderFor(cause) {
  const words = cause.words ?? [];
  if (!words.length) return null;
  const known = await get(path("commands"));
  if (words.length === 1) {
    const options = known.commands.find((each) => each.name === "crawl")?.options ?? [];
    return options.some((each) => each.name === "allow_seeds") ? { options: { seeds: words, allow_seeds: true } } : null;
  }
  const [name, value] = words[1].split(/=(.*)/s);
  return known.settings.includes(name) ? { settings: { [name]: value } } : null;
}

const typed = (word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\"'\"'")}'`);
