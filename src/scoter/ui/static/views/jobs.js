// The jobs of a crawl: what ran, what runs, and a form for every command.

import { get, path, post } from "../api.js";
import { empty, field, h, panel, problem, put, renew, visible } from "../dom.js";
import { cell, seconds, time, withLocalTimes } from "../format.js";
import { table } from "../table.js";
import { page, place, state } from "./crawl_head.js";
import { optionInputs } from "./options.js";

const EVERY = 3000;

const took = (job) => (job.started && job.ended ? seconds((Date.parse(job.ended) - Date.parse(job.started)) / 1000) : "");
const given = (job) => Object.entries(job.options ?? {}).map(([name, value]) => `${name}: ${cell(value)}`).join(", ");

const columns = (name) => [
  { name: "command", label: "Command", show: (job) => h("a", { href: place(name, `jobs/${job.id}`) }, job.command) },
  { name: "state", label: "State", show: (job) => state(job.state) },
  { name: "started", label: "Started", date: true, show: (job) => time(job.started) },
  { name: "took", label: "Took", numeric: true, show: took },
  { name: "options", label: "Options", show: (job) => h("span", { class: "clip" }, visible(given(job))) },
];

export async function jobsView({ name, go, signal }) {
  const box = h("div");
  let isActive = false;
  async function load() {
    const { jobs } = await get(path("crawls", name, "jobs"), {}, signal);
    isActive = jobs.some((job) => ["running", "stopping", "elsewhere"].includes(job.state));
    renew(box, jobs.length ? table(columns(name), jobs, { caption: "Jobs" }) : empty("No job was started from here yet."));
  }
  const [{ commands }] = await Promise.all([get(path("commands"), {}, signal), load()]);
  const timer = setInterval(() => isActive && !document.hidden && load().catch(() => {}), EVERY);
  signal.addEventListener("abort", () => clearInterval(timer));
  const form = commandForm(commands.filter((each) => each.name !== "import-nutch-crawl"), async (order) => {
    const job = await post(path("crawls", name, "jobs"), order);
    go(place(name, `jobs/${job.id}`));
  });
  return page(name, "jobs", "Jobs", panel("Run a command", form), panel("Jobs", box));
}

/** A form for any command; `start` gets the order. */
export function commandForm(commands, start, label = "Run") {
  const choice = h("select", null, commands.map((each) => h("option", { value: each.name }, `${each.name}: ${each.summary}`)));
  const box = h("div");
  const failed = h("div");
  const more = h("details", null, h("summary", null, "Options"), box);
  let inputs = null;
  const adapt = () => {
    const { options } = commands.find((each) => each.name === choice.value);
    inputs = optionInputs(options);
    put(box, inputs.node);
    more.open = options.some((each) => each.required);
  };
  choice.addEventListener("change", adapt);
  adapt();
  return h(
    "form",
    {
      onsubmit: async (event) => {
        event.preventDefault();
        put(failed);
        try {
          await start({ command: choice.value, options: inputs.read() });
        } catch (error) {
          put(failed, problem(error));
        }
      },
    },
    field("Command", choice),
    more,
    failed,
    h("div", { class: "row" }, h("button", { class: "primary" }, label)),
  );
}

export async function jobView({ name, id, signal }) {
  const box = h("div");
  const failed = h("div");
  let job = await get(path("crawls", name, "jobs", id), {}, signal);
  const stop = (how) => async () => {
    try {
      await post(path("crawls", name, "jobs", id, "stop"), { how });
    } catch (error) {
      put(failed, problem(error));
    }
    await load();
  };
  const toEnd = () => {
    const log = box.querySelector(".log");
    if (log) log.scrollTop = log.scrollHeight;
  };
  async function load() {
    job = await get(path("crawls", name, "jobs", id), {}, signal);
    // The log of a command that was started elsewhere is there.
    const log = job.state === "elsewhere" ? null : await get(path("crawls", name, "jobs", id, "log"), { lines: 300 }, signal);
    const isRunning = job.state === "running" || job.state === "stopping";
    const shown = box.querySelector(".log");
    const isAtEnd = !shown || shown.scrollHeight - shown.scrollTop - shown.clientHeight < 30;
    renew(
      box,
      panel(
        null,
        h("div", { class: "row between" }, h("div", { class: "row" }, state(job.state), h("span", null, job.command), h("span", { class: "faint" }, visible(given(job)))), isRunning ? h("div", { class: "row" }, h("button", { type: "button", onclick: stop("clean") }, "Stop"), h("button", { type: "button", class: "danger", onclick: stop("kill") }, "Kill")) : null),
        h("p", { class: "faint" }, `Started ${time(job.started)}${job.ended ? `, ended ${time(job.ended)} after ${took(job)}` : ""}${job.exit_code === undefined ? "" : `, exit code ${job.exit_code}`}`),
      ),
      log === null ? panel("Log", empty(`This command was started elsewhere: ${withLocalTimes(job.holder ?? "unknown")}.`)) : panel("Log", log.lines.length ? h("pre", { class: "source wrap log", tabindex: "0", role: "region", "aria-label": "Log" }, visible(log.lines.join("\n"))) : empty(isRunning ? "Nothing was printed yet." : "Nothing was printed.")),
      job.result ? panel("Result", h("pre", { class: "source wrap", tabindex: "0" }, visible(JSON.stringify(job.result, null, 2)))) : null,
    );
    if (isAtEnd) toEnd();
  }
  await load();
  setTimeout(toEnd); // when the view is shown
  const timer = setInterval(() => {
    if (!["running", "stopping", "elsewhere"].includes(job.state)) clearInterval(timer);
    else if (!document.hidden) load().catch(() => {});
  }, 2000);
  signal.addEventListener("abort", () => clearInterval(timer));
  return page(name, "jobs", `Job ${job.command}`, failed, box);
}
