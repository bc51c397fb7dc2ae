// The page of a crawl: live progress, time series and breakdowns.

import { get, path, post } from "../api.js";
import { h, notice, panel, problem, put, quoted, renew } from "../dom.js";
import { ago, bytes, number, percent, seconds, time, withLocalTimes } from "../format.js";
import { bars, columnPlot, linePlot } from "../plot.js";
import { page, place, state } from "./crawl_head.js";
import { crawlProblem } from "./crawl_problem.js";
import { inOrder, statusBar, statusName } from "./statuses.js";

const KINDS = 5; // kinds of errors with a line of their own
const REFRESH = 10_000; // progress and jobs arrive as events; this is for URLs by status and the size
const UNCOUNTED = 3000;

export async function crawlView({ name, signal }) {
  let [crawl, history] = await Promise.all([get(path("crawls", name), {}, signal), get(path("crawls", name, "progress"), { points: 1000 }, signal)]);
  const points = history.points;
  const now = h("div");
  const facts = h("div");
  const why = h("div");
  let explained = null;
  const plots = h("div", { class: "plots" });
  const statuses = h("div");
  const breakdowns = h("div", { class: "columns" });
  const failed = h("div");

  async function refresh() {
    try {
      crawl = await get(path("crawls", name), {}, signal);
      drawFacts();
    } catch {
      // Shown again as soon as the server responds.
    }
  }
  async function order(work) {
    put(failed);
    try {
      await work();
    } catch (error) {
      put(failed, problem(error));
    }
    await refresh();
  }
  const drawFacts = () => {
    put(facts, factsPanel(crawl));
    const failing = crawl.state === "failed" ? crawl.progress?.time : "";
    if (failing !== explained) put(why, crawlProblem(crawl, (given) => order(() => post(path("crawls", name, "jobs"), retryOrder(crawl, given)))));
    explained = failing;
    renew(statuses, statusBars(crawl));
    renew(now, nowPanel(crawl, points, { stop: (how) => order(() => post(path("crawls", name, "jobs", crawl.job.id, "stop"), { how })), resume: () => order(() => post(path("crawls", name, "jobs"), resumeOrder(crawl))) }));
  };
  drawFacts();
  put(plots, series(points));
  drawBreakdowns(name, breakdowns, statuses, signal);

  let isStale = false;
  const source = new EventSource(path("crawls", name, "events"));
  source.addEventListener("progress", (event) => {
    const point = JSON.parse(event.data);
    if (points.length && points.at(-1).time >= point.time) return;
    points.push(point);
    if (points.length > 4000) points.splice(0, 2000);
    crawl = { ...crawl, progress: point };
    isStale = true;
  });
  source.addEventListener("job", () => refresh());
  const timers = [
    setInterval(() => {
      if (!isStale || document.hidden) return;
      isStale = false;
      drawFacts();
      put(plots, series(points));
    }, 1000),
    setInterval(() => !document.hidden && crawl.state === "running" && refresh(), REFRESH),
    setInterval(() => !document.hidden && !isCounted(crawl) && refresh(), UNCOUNTED),
  ];
  let was = crawl.state;
  timers.push(setInterval(() => {
    if (was === "running" && crawl.state !== "running") drawBreakdowns(name, breakdowns, statuses, signal);
    was = crawl.state;
  }, 1000));
  signal.addEventListener("abort", () => {
    source.close();
    timers.forEach(clearInterval);
  });
  return page(name, "", null, why, failed, now, facts, panel("Over time", plots), breakdowns);
}

/** Resuming keeps the scope of the run before: options are not stored with a crawl, but what these two set is. */
function resumeOrder(crawl) {
  const { seeds, allow_seeds, own_site, ...options } = crawl.job?.command === "crawl" ? crawl.job.options ?? {} : {};
  return { command: "crawl", options, settings: crawl.job?.command === "crawl" ? crawl.job.settings ?? {} : {} };
}

/** As resuming, with what the given order changes. */
function retryOrder(crawl, given) {
  const usual = resumeOrder(crawl);
  return { ...usual, options: { ...usual.options, ...given.options }, settings: { ...usual.settings, ...given.settings } };
}

function stat(label, value, hint) {
  return h("div", { class: "stat" }, h("dt", null, label), h("dd", null, value), hint ? h("dd", { class: "faint" }, hint) : null);
}

function nowPanel(crawl, points, { stop, resume }) {
  const job = crawl.job;
  const isRunning = ["running", "stopping", "elsewhere"].includes(job?.state);
  const latest = crawl.progress ?? points.at(-1);
  const isOld = isRunning && latest && job.started && latest.time < job.started; // from the command before
  const point = (isRunning && lastStep(job, points)) || (isOld ? null : latest);
  const actions = isRunning
    ? job.state === "elsewhere"
      ? notice(`This command was started elsewhere: ${withLocalTimes(job.holder ?? "unknown")}.`)
      : h("div", { class: "row" }, h("button", { type: "button", disabled: job.state === "stopping", onclick: () => stop("clean") }, job.state === "stopping" ? "Stopping …" : "Stop"), job.state === "stopping" ? h("button", { type: "button", class: "danger", onclick: () => stop("kill") }, "Kill") : null)
    : h("div", { class: "row" }, h("button", { type: "button", class: "primary", onclick: resume }, "Resume"), h("a", { class: "button", href: place(crawl.name, "jobs") }, "Run a single step"), h("a", { class: "button", href: `#/schedules?crawl=${encodeURIComponent(crawl.name)}` }, "Schedule"));
  const bad = job?.state === "failed" && !latest?.is_failed ? h("div", { class: "notice bad" }, h("strong", null, `The last job (${job.command}) failed.`), " ", h("a", { href: place(crawl.name, `jobs/${job.id}`) }, "Show its log")) : null;
  return panel(null, h("div", { class: "row between" }, h("div", { class: "row" }, state(crawl.state), h("span", null, step(crawl, point))), actions), crawl.problem ? notice(crawl.problem, "bad") : null, bad, isRunning && point ? live(point) : null);
}

/** Between its steps, a command reports itself as the step: shows the step before. */
function lastStep(job, points) {
  return points.findLast((each) => each.step && each.step !== each.command && (!job.started || each.time >= job.started));
}

function step(crawl, point) {
  if (crawl.state !== "running") return point?.ended ? `Last run: ${point.ended}.${left(point)}` : "";
  if (!point) return crawl.job?.state === "elsewhere" ? `step ${crawl.job.command}` : "Starting …";
  const round = point.round ? `round ${point.round}${point.rounds ? ` of ${point.rounds}` : ""}, ` : "";
  return `${round}step ${point.step || point.command}`;
}

const left = (point) => (point.left ? ` Not fetched yet: ${number(point.left)} ${point.left === 1 ? "URL" : "URLs"}.` : "");

function live(point) {
  const share = point.share ?? null;
  const errors = Object.values(point.errors ?? {}).reduce((sum, each) => sum + each, 0);
  return [
    h("progress", { max: "1", value: share === null ? undefined : share, "aria-label": "Progress of the step" }),
    point.total !== undefined && point.total !== null
      ? h(
          "dl",
          { class: "stats" },
          stat("Pages", number(point.pages), `${number(point.done)} of ${number(point.total)} URLs`),
          stat("Pages per second", number(point.pages_per_second)),
          stat("Bytes per second", bytes(point.bytes_per_second)),
          stat("Errors", number(errors), Object.entries(point.errors ?? {}).map(([kind, count]) => `${kind.replaceAll("_", " ")} ${count}`).join(", ")),
          stat("In progress", number(point.active), `${number(point.queued)} queued`),
          stat("Time left", seconds(point.seconds_left), share === null ? "" : `${percent(share)} of the step`),
        )
      : null,
    point.slowest_hosts?.length ? h("p", null, "Waiting for: ", point.slowest_hosts.map((each, at) => [at ? ", " : "", quoted(each.host), ` (${seconds(each.seconds)})`])) : null,
    point.why ? h("p", { class: "faint" }, quoted(point.why)) : null,
  ];
}

function factsPanel(crawl) {
  return panel(
    null,
    h(
      "dl",
      { class: "stats" },
      stat("URLs", number(crawl.urls ?? 0), statusBar(crawl.by_status ?? {})),
      stat("Fetched", isCounted(crawl) ? number((crawl.by_status?.fetched ?? 0) + (crawl.by_status?.notmodified ?? 0)) : "–"),
      stat("Rounds", number(crawl.rounds ?? 0)),
      stat("On disk", bytes(crawl.size ?? 0)),
      stat("Created", ago(crawl.created), time(crawl.created)),
      stat("Last activity", ago(crawl.last_activity), time(crawl.last_activity)),
    ),
  );
}

/** Pages and errors count from 0 in every segment: adds up the segments. */
function totals(points, read) {
  let base = 0;
  let last = 0;
  const found = [];
  for (const point of points) {
    if (point.step !== "fetch" || point.total === undefined || point.total === null) continue;
    const value = read(point);
    if (value < last) base += last;
    last = value;
    found.push([Date.parse(point.time), base + value]);
  }
  return found;
}

/** Rounds count from 1 in every run: numbers them through. */
function numbered(rounds) {
  let base = 0;
  let last = 0;
  return rounds.map((point) => {
    if ((point.round ?? 0) <= last) base += last;
    last = point.round ?? 0;
    return [String(base + last), point.new_urls];
  });
}

function series(points) {
  const fetching = points.filter((point) => point.pages_per_second !== undefined && point.pages_per_second !== null);
  const of = (read) => fetching.map((point) => [Date.parse(point.time), read(point) ?? 0]);
  const kinds = {};
  for (const point of fetching) for (const [kind, count] of Object.entries(point.errors ?? {})) kinds[kind] = Math.max(kinds[kind] ?? 0, count);
  const common = Object.entries(kinds).sort((one, other) => other[1] - one[1]).map(([kind]) => kind);
  const errors = common.slice(0, KINDS).map((kind) => ({ name: kind.replaceAll("_", " "), points: totals(points, (point) => point.errors?.[kind] ?? 0) }));
  if (common.length > KINDS) errors.push({ name: "other", points: totals(points, (point) => common.slice(KINDS).reduce((sum, kind) => sum + (point.errors?.[kind] ?? 0), 0)) });
  const rounds = points.filter((point) => point.new_urls !== undefined && point.new_urls !== null);
  const plots = [
    linePlot({ title: "Speed", unit: "pages per second", series: [{ name: "pages per second", points: of((point) => point.pages_per_second) }] }),
    linePlot({ title: "Traffic", unit: "bytes per second", format: bytes, series: [{ name: "bytes per second", points: of((point) => point.bytes_per_second) }] }),
    linePlot({ title: "Pages", unit: "pages fetched, in total", series: [{ name: "pages", points: totals(points, (point) => point.pages ?? 0) }] }),
    linePlot({ title: "Queue", unit: "URLs", series: [{ name: "queued", points: of((point) => point.queued) }, { name: "in progress", points: of((point) => point.active) }] }),
    linePlot({ title: "Errors", unit: "URLs in total, by kind", series: errors, none: fetching.length ? "No errors." : undefined }),
    columnPlot({ title: "New URLs", unit: "URLs per round", axis: "round", items: numbered(rounds).slice(-60) }),
  ];
  const isShort = (each) => each.classList.contains("none");
  return [...plots.filter((each) => !isShort(each)), h("div", { class: "no-plots" }, plots.filter(isShort))];
}

const BREAKDOWNS = [
  ["types", "Pages by type", "type", "pages"],
  ["languages", "Pages by language", "language", "pages"],
  ["failing-hosts", "Failing hosts", "host", "failures", true],
  ["slow-hosts", "Slow hosts (median)", "host", "median_ms", true],
];

/** URLs are counted in the background after the crawldb has changed. */
const isCounted = (crawl) => !crawl.urls || Object.keys(crawl.by_status ?? {}).length > 0;

function statusBars(crawl) {
  const items = inOrder(crawl.by_status ?? {}).map(([status, count]) => [statusName(status), count, place(crawl.name, "urls", { status })]);
  return items.length ? bars(items, number) : h("p", { class: "empty small" }, crawl.urls ? "Counting …" : "No URLs yet.");
}

async function drawBreakdowns(name, box, statuses, signal) {
  const parts = BREAKDOWNS.map(([report, title, label, value, isHost]) => [report, title, label, value, isHost, h("div", null, h("p", { class: "faint" }, "Counting …"))]);
  put(box, panel("URLs by status", statuses), parts.map(([, title, , , , into]) => panel(title, into)));
  const each = async (report, into, label, value, isHost) => {
    try {
      const found = await get(path("crawls", name, "reports", report), { limit: 8 }, signal);
      const format = value.endsWith("_ms") ? (amount) => seconds(amount / 1000) : number;
      const items = found.rows.map((row) => [quoted(row[label]), row[value], isHost ? place(name, "urls", { host: row[label] }) : report === "statuses" ? place(name, "urls", { status: row[label] }) : null]);
      put(into, items.length ? (value.endsWith("_ms") ? plain(items, format) : bars(items, format)) : h("p", { class: "empty small" }, "None."));
    } catch (error) {
      if (error.name !== "AbortError") put(into, h("p", { class: "empty small" }, error.status === 422 || error.status === 409 ? "Nothing to count yet." : error.title));
    }
  };
  await Promise.all(parts.map(([report, , label, value, isHost, into]) => each(report, into, label, value, isHost)));
}

function plain(items, format) {
  return h("ul", { class: "pairs" }, items.map(([label, value, link]) => h("li", null, link ? h("a", { href: link }, label) : label, h("span", null, format(value)))));
}
