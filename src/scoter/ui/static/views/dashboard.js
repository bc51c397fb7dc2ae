// The dashboard of the live service: the last hour, which the server keeps.

import { get, path } from "../api.js";
import { empty, h, notice, panel, put, quoted, renew } from "../dom.js";
import { bytes, number, seconds, time } from "../format.js";
import { linePlot } from "../plot.js";
import { table } from "../table.js";
import { state } from "./crawl_head.js";

const EVERY = 10_000;
const HOUR = 3_600_000;
const DOMAINS = 20;
const MOST = 6; // lines of one plot
const STAGES = { turn: "waiting for a turn", remote: "the site", own: "the service" };

/** The busiest domains; keys of a tenant do not see them. */
async function activity(signal) {
  try {
    return await get(path("activity"), { limit: DOMAINS }, signal);
  } catch (error) {
    if (error.status !== 403) throw error;
    return { domains: [] };
  }
}

export async function dashboardView({ signal }) {
  const [first, { points }, busy] = await Promise.all([get(path("stats"), {}, signal), get(path("history"), {}, signal), activity(signal)]);
  const now = h("div");
  const plots = h("div", { class: "plots" });
  const tables = h("div", { class: "columns wide" });
  const domains = h("div");
  let stats = first;
  let active = busy.domains;

  async function draw() {
    put(now, await nowPanel(stats, points, signal));
    put(plots, points.length ? allPlots(points) : empty("The first values come after 10 seconds."));
    renew(tables, panel("Time by stage, since the start", stageTable(stats.stages)), panel("Workers", fetcherTable(stats)));
    renew(domains, panel("Domains", domainTable(active)));
  }
  await draw();
  const timer = setInterval(async () => {
    if (document.hidden) return;
    try {
      const [fresh, more, now] = await Promise.all([get(path("stats"), {}, signal), get(path("history"), { after: points.at(-1)?.time }, signal), activity(signal)]);
      stats = fresh;
      active = now.domains;
      points.push(...more.points);
      while (points.length && Date.parse(points.at(-1).time) - Date.parse(points[0].time) > HOUR) points.shift();
      await draw();
    } catch (error) {
      if (error.name !== "AbortError") put(now, notice("The service does not respond. Values are shown again as soon as it does.", "bad"));
    }
  }, EVERY);
  signal.addEventListener("abort", () => clearInterval(timer));
  return { title: "Dashboard", node: h("div", null, h("h1", null, "Live service"), now, panel("The last hour", plots), domains, tables) };
}

function stat(label, value, hint) {
  return h("div", { class: "stat" }, h("dt", null, label), h("dd", null, value), hint ? h("dd", { class: "faint" }, hint) : null);
}

const sum = (values, prefix) => Object.entries(values).reduce((total, [name, value]) => (name.startsWith(prefix) ? total + value : total), 0);

/** Events per second in the last minute. */
function rate(points, prefix) {
  const last = points.slice(-6);
  const time = last.reduce((total, point) => total + point.seconds, 0);
  return time ? last.reduce((total, point) => total + sum(point.counts, prefix), 0) / time : 0;
}

async function nowPanel(stats, points, signal) {
  let trouble = "";
  try {
    await get("/readyz", {}, signal);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    trouble = error.detail || error.title;
  }
  const states = Object.entries(stats.counts).filter(([name]) => name.startsWith("urls."));
  return panel(
    null,
    trouble ? notice(trouble, "bad") : null,
    h(
      "dl",
      { class: "stats" },
      stat("Messages per second", number(Number(rate(points, "messages.").toPrecision(3))), `${number(sum(stats.counts, "messages."))} since the start`),
      stat("URLs per second", number(Number(rate(points, "urls.").toPrecision(3))), states.map(([name, count]) => `${name.slice(5)} ${number(count)}`).join(", ")),
      stat("In the queue", number(sum(stats.gauges, "journal_entries.")), `oldest ${seconds(stats.gauges.journal_oldest_seconds)}`),
      stat("Refusals", number(sum(stats.counts, "refusals.")), "queues that were full"),
      stat("Records", number(stats.gauges.store_records), bytes(stats.gauges.store_file_bytes)),
      stat("Running for", seconds(stats.uptime), `workers: ${number(stats.gauges.fetchers)}, domains in memory: ${number(stats.gauges.fetch_domains)}`),
    ),
  );
}

/** One line per name with a prefix, the largest first. */
function byName(points, field, prefix, divide) {
  const totals = {};
  for (const point of points) for (const [name, value] of Object.entries(point[field])) if (name.startsWith(prefix)) totals[name] = (totals[name] ?? 0) + value;
  const names = Object.entries(totals).sort((one, other) => other[1] - one[1]).map(([name]) => name).slice(0, MOST);
  return names.map((name) => ({
    name: name.slice(prefix.length).replaceAll("_", " ") || prefix.replaceAll("_", " "),
    points: points.map((point) => [Date.parse(point.time), (point[field][name] ?? 0) / (divide ? point.seconds : 1)]),
  }));
}

function latency(points, share) {
  return Object.entries(STAGES).map(([stage, name]) => ({
    name,
    points: points.filter((point) => point.stages[stage]).map((point) => [Date.parse(point.time), point.stages[stage][share] ?? 60]),
  }));
}

function allPlots(points) {
  const errors = [...byName(points, "counts", "fetch_errors.", true), ...byName(points, "counts", "robots.", true)].slice(0, MOST);
  return [
    linePlot({ title: "Messages", unit: "per second, by outcome", series: byName(points, "counts", "messages.", true) }),
    linePlot({ title: "Finished URLs", unit: "per second, by state", series: byName(points, "counts", "urls.", true) }),
    linePlot({ title: "Latency, median", unit: "seconds, by where the time goes", format: seconds, series: latency(points, "median") }),
    linePlot({ title: "Latency, 99th percentile", unit: "seconds, by where the time goes", format: seconds, series: latency(points, "p99") }),
    linePlot({ title: "Queue", unit: "accepted URLs, by priority", series: byName(points, "gauges", "journal_entries.", false) }),
    linePlot({ title: "Requests", unit: "requests, by state", series: byName(points, "gauges", "fetch_requests.", false) }),
    linePlot({ title: "Errors", unit: "URLs per second, by kind", series: errors, none: "No errors in the last hour." }),
    linePlot({ title: "Refusals", unit: "messages per second, by queue", series: byName(points, "counts", "refusals.", true), none: "No refusals in the last hour." }),
  ];
}

function stageTable(stages) {
  const rows = Object.entries(stages).sort((one, other) => one[0].localeCompare(other[0]));
  if (!rows.length) return empty("No URL was processed yet.");
  const bound = (value) => (value === null ? "over 60 s" : `≤ ${seconds(value)}`);
  return table(
    [
      { name: "stage", label: "Stage", show: ([stage]) => (STAGES[stage] ? `${stage} (${STAGES[stage]})` : stage) },
      { name: "count", label: "Runs", numeric: true, show: ([, each]) => number(each.count) },
      { name: "median", label: "Median", numeric: true, show: ([, each]) => bound(each.median) },
      { name: "p99", label: "99th percentile", numeric: true, show: ([, each]) => bound(each.p99) },
    ],
    rows,
    { caption: "Time by stage" },
  );
}

function fetcherTable(stats) {
  const names = Object.keys(stats.gauges).filter((name) => name.startsWith("fetcher_memory_bytes.")).map((name) => name.slice(21));
  if (!names.length) return empty("No worker is running.");
  return table(
    [
      { name: "fetcher", label: "Worker", show: (name) => quoted(name) },
      { name: "shards", label: "Shards", numeric: true, show: (name) => number(stats.gauges[`fetcher_shards.${name}`]) },
      { name: "queues", label: "Domains queued", numeric: true, show: (name) => number(stats.gauges[`fetcher_queues.${name}`]) },
      { name: "cpu", label: "CPU time", numeric: true, show: (name) => seconds(stats.counts[`fetcher_cpu_seconds.${name}`]) },
      { name: "memory", label: "Memory", numeric: true, show: (name) => bytes(stats.gauges[`fetcher_memory_bytes.${name}`]) },
    ],
    names,
    { caption: "Workers" },
  );
}

/** What happens to the busiest domains: the paused ones come first. */
function domainTable(domains) {
  if (!domains.length) return empty("No domain was requested in the last minutes, and none is paused.");
  const left = (each) => (each.until ? (Date.parse(each.until) - Date.now()) / 1000 : 0);
  return table(
    [
      { name: "domain", label: "Domain", show: (each) => h("a", { href: `#/domains?${new URLSearchParams({ domain: each.domain })}` }, quoted(each.domain)) },
      { name: "rate", label: "Requests per minute", numeric: true, show: (each) => number(Number(each.rate.toPrecision(2))) },
      { name: "delay", label: "Delay", numeric: true, show: (each) => (each.delay === undefined || each.delay === null ? "" : seconds(each.delay)) },
      { name: "waiting", label: "Waiting", numeric: true, show: (each) => number(each.waiting) },
      { name: "active", label: "In progress", numeric: true, show: (each) => number(each.active) },
      { name: "until", label: "Paused until", show: (each) => (each.blocked ? state("blocked") : left(each) > 1 ? time(each.until) : "") },
      { name: "why", label: "Why", show: (each) => (each.blocked ? "its rule" : left(each) > 1 ? quoted(each.why) : "") },
    ],
    domains,
    { caption: "Busiest and paused domains" },
  );
}
