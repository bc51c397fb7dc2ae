// Recurring jobs.

import { get, path, post, send } from "../api.js";
import { empty, field, h, panel, problem, put, visible } from "../dom.js";
import { ago, cell, time } from "../format.js";
import { table } from "../table.js";
import { place } from "./crawl_head.js";
import { commandForm } from "./jobs.js";

export async function schedulesView({ query, signal }) {
  const [{ crawls }, { commands }] = await Promise.all([get(path("crawls"), { limit: 1000 }, signal), get(path("commands"), {}, signal)]);
  const box = h("div");
  const failed = h("div");

  async function load() {
    const { schedules } = await get(path("schedules"), {}, signal);
    const remove = (id) => async () => {
      put(failed);
      try {
        await send("DELETE", path("schedules", id));
        await load();
      } catch (error) {
        put(failed, problem(error));
      }
    };
    const columns = [
      { name: "crawl", label: "Crawl", show: (row) => h("a", { href: place(row.crawl) }, row.crawl) },
      { name: "command", label: "Command", show: (row) => `${row.command} ${visible(Object.entries(row.options ?? {}).map(([key, value]) => `${key}: ${cell(value)}`).join(", "))}` },
      { name: "every", label: "Every", show: (row) => row.every },
      { name: "next", label: "Next run", date: true, show: (row) => `${time(row.next_run)} (${ago(row.next_run)})` },
      { name: "last", label: "Last run", date: true, show: (row) => (row.last_job ? h("a", { href: place(row.crawl, `jobs/${row.last_job}`) }, time(row.last_run)) : time(row.last_run)) },
      { name: "problem", label: "Problem", show: (row) => visible(row.problem ?? "") },
      { name: "delete", label: "", show: (row) => h("button", { type: "button", class: "danger", "aria-label": `Delete the schedule of ${row.crawl}`, onclick: remove(row.id) }, "Delete") },
    ];
    put(box, schedules.length ? table(columns, schedules, { caption: "Schedules" }) : empty("There are no recurring jobs."));
  }
  await load();
  const crawl = h("select", null, crawls.map((each) => h("option", { value: each.name, selected: each.name === query.crawl }, each.name)));
  const every = h("input", { type: "text", value: "7d", pattern: "[0-9]{1,5}(m|h|d|w)", required: true });
  const form = commandForm(
    commands.filter((each) => each.name !== "import-nutch-crawl"),
    async (order) => {
      await post(path("schedules"), { crawl: crawl.value, every: every.value.trim(), ...order });
      await load();
    },
    "Add the schedule",
  );
  const add = crawls.length ? [h("div", { class: "fields" }, field("Crawl", crawl), field("Every", every, "A duration such as 30m, 12h, 7d or 4w.")), form] : empty("A schedule needs a crawl. Start one first.");
  return { title: "Schedules", node: h("div", null, h("h1", null, "Schedules"), failed, panel(null, box), panel("Add a recurring job", add)) };
}
