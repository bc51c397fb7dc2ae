// The SQL console: one SELECT, its result as a table or a plot, and downloads.

import { download, get, path, post, raw } from "../api.js";
import { field, h, panel, problem, put } from "../dom.js";
import { seconds } from "../format.js";
import { page, place } from "./crawl_head.js";
import { resultPlot, resultTable } from "./rows.js";

const EXAMPLE = "select host, count(*) as urls, count(*) filter (status = 'fetched') as fetched\nfrom crawldb\ngroup by host\norder by urls desc\nlimit 20";
const FORMS = { csv: "text/csv", parquet: "application/vnd.apache.parquet" };

export async function sqlView({ name, query, signal }) {
  const text = h("textarea", { class: "code", rows: "7", spellcheck: "false", value: query.q ?? EXAMPLE, onkeydown: (event) => event.key === "Enter" && (event.ctrlKey || event.metaKey) && run() });
  const limit = h("input", { type: "number", min: "1", max: "100000", value: "1000" });
  const time = h("input", { type: "number", min: "1", max: "60", value: "10" });
  const box = h("div", { "aria-live": "polite" });
  const views = h("div", null, h("p", { class: "faint" }, "Loading …"));
  const button = h("button", { class: "primary" }, "Run");
  const order = () => ({ query: text.value, limit: Number(limit.value) || 1000, seconds: Number(time.value) || 10 });

  // The button is not disabled meanwhile: it would lose the focus.
  let isRunning = false;
  async function run() {
    if (isRunning) return;
    isRunning = true;
    put(box, h("p", { class: "faint" }, "Running …"));
    history.replaceState(null, "", place(name, "sql", { q: text.value }));
    const began = performance.now();
    try {
      const found = await post(path("crawls", name, "sql"), order(), { signal });
      const shown = h("div");
      const choose = (make, which) => () => {
        put(shown, make());
        tabs.forEach((each, at) => each.setAttribute("aria-pressed", at === which));
      };
      const tabs = [h("button", { type: "button" }, "Table"), h("button", { type: "button" }, "Plot")];
      tabs[0].addEventListener("click", choose(() => resultTable(name, found), 0));
      tabs[1].addEventListener("click", choose(() => resultPlot(found), 1));
      tabs[0].click();
      put(box, panel("Result", h("div", { class: "row between" }, h("div", { class: "row" }, tabs), h("span", { class: "faint" }, `took ${seconds((performance.now() - began) / 1000)}`), h("div", { class: "row" }, Object.keys(FORMS).map((form) => h("button", { type: "button", onclick: () => save(form) }, `Download ${form === "csv" ? "CSV" : "Parquet"}`)))), shown));
    } catch (error) {
      if (error.name !== "AbortError") put(box, problem(error));
    } finally {
      isRunning = false;
    }
  }

  async function save(form) {
    try {
      await download(await raw("POST", path("crawls", name, "sql"), { body: order(), headers: { Accept: FORMS[form] }, signal }), `${name}.${form}`);
    } catch (error) {
      put(box, problem(error));
    }
  }
  drawViews(name, views, text, signal);
  const form = h(
    "form",
    {
      onsubmit: (event) => {
        event.preventDefault();
        run();
      },
    },
    field("Query", text, "One SELECT; it cannot change anything. Ctrl+Enter runs it."),
    h("div", { class: "row" }, field("Rows at most", limit), field("Seconds at most", time), button),
  );
  if (query.q) run();
  return page(name, "sql", "SQL", h("div", { class: "console" }, panel(null, form), box, panel("Views", views)));
}

async function drawViews(name, box, text, signal) {
  try {
    const found = await get(path("crawls", name, "views"), {}, signal);
    put(box, found.views.map((view) => h("details", { class: "view" }, h("summary", null, h("code", null, view.name), " ", h("small", null, view.rows)), h("ul", { class: "tight" }, view.columns.map((column) => h("li", null, h("button", { type: "button", class: "plain code", title: "Insert", onclick: () => insert(text, column.name) }, column.name), " ", h("small", null, column.type.toLowerCase())))))));
  } catch (error) {
    if (error.name !== "AbortError") put(box, problem(error));
  }
}

function insert(text, word) {
  text.setRangeText(word, text.selectionStart, text.selectionEnd, "end");
  text.focus();
}
