// The rule of a registered domain: its delay, its concurrency, and whether it is blocked.

import { get, path, send } from "../api.js";
import { announce, check, empty, field, h, panel, problem, put, quoted, renew } from "../dom.js";
import { number, seconds } from "../format.js";
import { pages } from "../table.js";
import { state } from "./crawl_head.js";

export async function domainsView({ query, go, signal }) {
  const input = h("input", { type: "search", value: query.domain ?? "", placeholder: "example.org", spellcheck: "false" });
  const form = h(
    "form",
    {
      class: "panel row grow",
      onsubmit: (event) => {
        event.preventDefault();
        if (input.value.trim()) go(`#/domains?${new URLSearchParams({ domain: input.value.trim().toLowerCase() })}`);
      },
    },
    field("Registered domain", input),
    h("button", { class: "primary" }, "Show its rule"),
  );
  const box = h("div");
  if (query.domain) {
    try {
      drawRule(box, await get(path("domains", query.domain), {}, signal));
    } catch (error) {
      if (error.name === "AbortError") throw error;
      put(box, problem(error));
    }
  } else if (!(await drawAll(box, signal))) put(box, empty("A rule changes how the service treats one registered domain. It takes effect at once and survives restarts."));
  return { title: "Domains", node: h("div", null, h("h1", null, "Domains"), form, box) };
}

async function drawAll(box, signal) {
  const columns = [
    { name: "domain", label: "Domain", show: (rule) => h("a", { href: `#/domains?${new URLSearchParams({ domain: rule.domain })}` }, rule.domain) },
    { name: "state", label: "Requests", show: (rule) => (rule.blocked ? state("blocked") : "allowed") },
    { name: "delay", label: "Delay", numeric: true, show: (rule) => seconds(rule.delay) },
    { name: "concurrency", label: "Simultaneous requests", numeric: true, show: (rule) => number(rule.concurrency) },
    { name: "note", label: "Note", show: (rule) => quoted(rule.note) },
  ];
  const load = async (after) => {
    const page = await get(path("domains"), { after, limit: 200 }, signal);
    return { rows: page.domains, next: page.next };
  };
  const { domains } = await get(path("domains"), { limit: 1 }, signal);
  if (!domains.length) return false;
  const list = pages(columns, load, { caption: "Domains with a rule" });
  await list.ready;
  put(box, panel("Domains with a rule", list.node));
  return true;
}

function drawRule(box, rule) {
  const delay = h("input", { type: "number", min: "0", max: "86400", step: "any", value: rule.delay ?? "" });
  const concurrency = h("input", { type: "number", min: "1", max: "100", step: "1", value: rule.concurrency ?? "" });
  const blocked = h("input", { type: "checkbox", checked: Boolean(rule.blocked) });
  const note = h("input", { type: "text", maxlength: "500", value: rule.note ?? "" });
  const failed = h("div");
  const isSet = rule.blocked || rule.note || [rule.delay, rule.concurrency].some((value) => value !== undefined && value !== null);
  const change = async (wanted, said) => {
    put(failed);
    try {
      drawRule(box, await send("PUT", path("domains", rule.domain), wanted));
      announce(said);
    } catch (error) {
      put(failed, problem(error));
    }
  };
  const read = () => ({ ...(delay.value ? { delay: Number(delay.value) } : {}), ...(concurrency.value ? { concurrency: Number(concurrency.value) } : {}), blocked: blocked.checked, note: note.value });
  renew(
    box,
    h(
      "form",
      {
        class: "panel",
        onsubmit: (event) => {
          event.preventDefault();
          change(read(), "The rule was saved.");
        },
      },
      h("h2", null, rule.domain, " ", state(rule.blocked ? "blocked" : isSet ? "rule" : "no rule")),
      h("div", { class: "fields" }, field("Delay in seconds", delay, "Between requests; empty for the configured delay. Never faster than robots.txt allows."), field("Simultaneous requests", concurrency, "Empty for the configured number."), field("Note", note, "Why the rule exists.")),
      h("div", { class: "checks" }, check("Blocked", blocked, "Make no requests to this domain.")),
      failed,
      h("div", { class: "row" }, h("button", { class: "primary" }, "Save"), isSet ? h("button", { type: "button", class: "danger", onclick: () => change({}, "The rule was removed.") }, "Remove the rule") : null),
    ),
  );
}
