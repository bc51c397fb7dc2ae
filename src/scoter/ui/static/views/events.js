// Events of the live service as they happen.

import { path, withQuery } from "../api.js";
import { empty, field, h, panel, quoted, renew, visible } from "../dom.js";
import { clock, number, time } from "../format.js";
import { table } from "../table.js";
import { state } from "./crawl_head.js";

const KEPT = 1000;
const SHOWN = 100;
const STATES = ["", "ok", "gone", "denied", "refused", "challenged", "failed"];

export async function eventsView({ query, signal }) {
  const events = [];
  let seen = 0;
  let isPaused = false;
  let isStale = true;
  const box = h("div");
  const status = h("span", { class: "faint" });
  const changed = () => {
    isStale = true;
    history.replaceState(null, "", withQuery("#/events", { after: query.after, q: text.value, state: wanted.value }));
  };
  const text = h("input", { type: "search", value: query.q ?? "", placeholder: "URL, title, message", oninput: changed });
  const wanted = h("select", { onchange: changed }, STATES.map((each) => h("option", { value: each, selected: each === (query.state ?? "") }, each || "any")));
  const pause = h("button", { type: "button", onclick: () => {
    isPaused = !isPaused;
    pause.textContent = isPaused ? "Continue" : "Pause";
  } }, "Pause");
  const source = new EventSource(withQuery(path("events"), { after: query.after }));
  source.addEventListener("url", (event) => {
    events.unshift(JSON.parse(event.data));
    events.length = Math.min(events.length, KEPT);
    seen += 1;
    isStale = true;
  });
  source.addEventListener("open", () => (status.textContent = "connected"));
  source.addEventListener("error", () => (status.textContent = "disconnected, trying again …"));

  const fits = (event) => {
    const part = text.value.trim().toLowerCase();
    const about = `${event.url} ${event.message} ${event.record?.metadata?.title ?? ""}`.toLowerCase();
    return (!wanted.value || event.record?.state === wanted.value) && about.includes(part);
  };
  const draw = () => {
    if (!isStale || isPaused || document.hidden) return;
    isStale = false;
    const found = events.filter(fits);
    const columns = [
      { name: "at", label: "Time", show: (event) => h("span", { title: time(event.at) }, clock(event.at)) },
      { name: "state", label: "State", show: (event) => state(event.record?.state ?? "") },
      { name: "url", label: "URL", show: (event) => h("a", { class: "url", href: `#/url?${new URLSearchParams({ url: event.url })}` }, quoted(event.url)) },
      { name: "title", label: "Title or reason", show: (event) => quoted(event.record?.metadata?.title ?? event.record?.reason ?? "") },
      { name: "message", label: "Message", show: (event) => h("span", { title: visible(event.message) }, quoted(event.message.length > 16 ? `${event.message.slice(0, 12)}…` : event.message)) },
    ];
    renew(box, found.length ? [table(columns, found.slice(0, SHOWN), { caption: "Events" }), h("p", { class: "faint" }, `${number(Math.min(found.length, SHOWN))} of ${number(found.length)} that match; ${number(seen)} received.`)] : empty(events.length ? "No event matches." : "Waiting for events …", query.after === undefined ? h("p", null, h("a", { href: "#/events?after=0" }, "Show the stored events too")) : null));
  };
  draw();
  const timer = setInterval(draw, 500);
  signal.addEventListener("abort", () => {
    source.close();
    clearInterval(timer);
  });
  return { title: "Events", node: h("div", null, h("h1", null, "Events"), panel(null, h("div", { class: "row" }, field("Filter", text), field("State", wanted), pause, status), box)) };
}
