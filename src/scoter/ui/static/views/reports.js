// The named reports about a crawl.

import { get, path, post } from "../api.js";
import { check, empty, field, h, panel, problem, put } from "../dom.js";
import { number } from "../format.js";
import { table } from "../table.js";
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
      const found = await get(path("crawls", name, "reports", query.report), { site: query.site, problem: query.problem, limit: 200 }, signal);
      put(box, query.report === "site" ? siteResult(name, query.problem, found) : resultTable(name, found));
    } catch (error) {
      if (error.name === "AbortError") throw error;
      put(box, problem(error));
    }
    if (query.report === "site" && !query.problem) box.append(siteCheck(name, go));
  } else put(box, empty("Choose a question."));
  return page(name, "reports", "Reports", panel(null, form), panel(null, box));
}

/** The problems of a site: a summary whose rows lead to those of a kind, or the rows of one kind. */
function siteResult(name, kind, found) {
  const at = (problem) => place(name, "reports", { report: "site", problem });
  if (kind) return h("div", null, h("p", null, h("a", { href: at() }, "All problems"), ` › ${kind}`), resultTable(name, found));
  if (!found.rows.length) return empty("No problems were found.");
  const columns = [
    { name: "severity", label: "Severity", show: (row) => row.severity },
    { name: "problem", label: "Problem", show: (row) => h("a", { href: at(row.problem) }, row.problem.replaceAll("-", " ")) },
    { name: "urls", label: "URLs", numeric: true, show: (row) => number(row.urls) },
    { name: "found", label: "Places", numeric: true, show: (row) => number(row.found) },
  ];
  return table(columns, found.rows, { caption: "Problems of the site" });
}

/** A form that starts a check of the site. */
function siteCheck(name, go) {
  const links = h("input", { type: "checkbox" });
  const box = h("div");
  const onsubmit = async (event) => {
    event.preventDefault();
    try {
      const job = await post(path("crawls", name, "jobs"), { command: "checksite", options: links.checked ? { check_links: true } : {} });
      go(place(name, `jobs/${job.id}`));
    } catch (refused) {
      put(box, problem(refused));
    }
  };
  return h("form", { class: "row", onsubmit }, check("Also ask for images, styles, scripts and other sites", links), h("button", { class: "primary" }, "Check the site"), box);
}
