// Webhook deliveries that were not received, and sending them again.

import { get, path, post } from "../api.js";
import { announce, empty, h, panel, problem, put, quoted, renew } from "../dom.js";
import { number, seconds, time } from "../format.js";
import { table } from "../table.js";
import { state } from "./crawl_head.js";

export async function deliveriesView({ signal }) {
  const box = h("div");
  const failed = h("div");

  async function load() {
    const { deliveries } = await get(path("deliveries"), { limit: 200 }, signal);
    const resend = (id) => async () => {
      put(failed);
      try {
        await post(path("deliveries", id, "resend"));
        announce("It is sent again.");
        await load();
      } catch (error) {
        put(failed, problem(error));
      }
    };
    const columns = [
      { name: "callback", label: "Callback", show: (each) => quoted(each.callback) },
      { name: "url", label: "About", show: (each) => h("a", { class: "url", href: `#/url?${new URLSearchParams({ url: each.url })}` }, quoted(each.url)) },
      { name: "state", label: "State", show: (each) => state(each.state) },
      { name: "tries", label: "Failures", numeric: true, show: (each) => number(each.tries) },
      { name: "why", label: "Last failure", show: (each) => quoted(each.why) },
      { name: "next", label: "Next try", show: (each) => (each.given_up ? `given up ${time(each.given_up)}` : `in ${seconds(Math.round(each.retry_in))}`) },
      { name: "resend", label: "", show: (each) => h("button", { type: "button", "aria-label": `Send to ${each.callback} again`, onclick: resend(each.id) }, "Send again") },
    ];
    renew(box, deliveries.length ? table(columns, deliveries, { caption: "Deliveries" }) : empty("Every delivery was received. A message with a callback makes deliveries."));
  }
  await load();
  return { title: "Deliveries", node: h("div", null, h("div", { class: "row between" }, h("h1", null, "Webhook deliveries"), h("button", { type: "button", onclick: () => load().catch((error) => error.name === "AbortError" || put(failed, problem(error))) }, "Reload")), failed, panel(null, box)) };
}
