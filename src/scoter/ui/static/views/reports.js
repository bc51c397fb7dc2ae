// The named reports about a crawl.

import { get, path } from "../api.js";
import { empty, field, h, panel, problem, put } from "../dom.js";
import { page, place } from "./crawl_head.js";
import { resultTable } from "./rows.js";

export async function reportsView({ name, query, go, signal }) {
  const { reports } = await get(path("crawls", name, "reports"), {}, signal);
  const choice = h("select", null, reports.map((each) => h("option", { value: each.name, selected: each.name === query.report }, each.answers)));
  const site = h("input", { type: "text", value: query.site ?? "", placeholder: "example.org", spellcheck: "false" });
  const siteField = field("Site", site);
  const box = h("div");
  const takesSite = () => reports.find((each) => each.name === choice.value)?.takes_site;
  const adapt = () => (siteField.hidden = !takesSite());
  choice.addEventListener("change", adapt);
  adapt();
  const form = h(
    "form",
    {
      class: "row",
      onsubmit: (event) => {
        event.preventDefault();
        go(place(name, "reports", { report: choice.value, site: takesSite() ? site.value.trim() : "" }));
      },
    },
    field("Question", choice),
    siteField,
    h("button", { class: "primary" }, "Show"),
  );
  if (query.report) {
    try {
      const found = await get(path("crawls", name, "reports", query.report), { site: query.site, limit: 200 }, signal);
      put(box, resultTable(name, found));
    } catch (error) {
      if (error.name === "AbortError") throw error;
      put(box, problem(error));
    }
  } else put(box, empty("Choose a question."));
  return page(name, "reports", "Reports", panel(null, form), panel(null, box));
}
