// Tables: columns with headers that sort, and pages that are loaded on demand.

import { h, problem, put } from "./dom.js";

/** A column is {name, label, show(row), numeric, date, sortable}. `sort` is {by, descending, change(by, descending)}. */
export function table(columns, rows, { caption, sort } = {}) {
  const body = h("tbody", null, rows.map((row) => line(columns, row)));
  const head = columns.map((column) => {
    const isSorted = sort && sort.by === column.name;
    const order = isSorted ? (sort.descending ? "descending" : "ascending") : null;
    const label =
      sort && column.sortable !== false
        ? h("button", { type: "button", class: "plain", onclick: () => sort.change(column.name, isSorted ? !sort.descending : Boolean(column.numeric)) }, column.label, h("span", { "aria-hidden": "true", class: "arrow" }, isSorted ? (sort.descending ? "▼" : "▲") : "↕"))
        : column.label;
    return h("th", { scope: "col", class: column.numeric ? "number" : null, "aria-sort": order }, label);
  });
  const element = h("table", null, h("caption", { class: "visually-hidden" }, caption ?? "Rows"), h("thead", null, h("tr", null, head)), body);
  return h("div", { class: "scroll", role: "region", tabindex: "0", "aria-label": caption ?? "Rows" }, element);
}

function line(columns, row) {
  return h("tr", null, columns.map((column) => h("td", { class: column.numeric ? "number" : column.date ? "date" : null }, column.show(row))));
}

/** Shows pages of rows: `load(after)` returns {rows, next}. */
export function pages(columns, load, { caption, sort, none = "No rows.", waiting = "Loading …" } = {}) {
  const box = h("div", null, h("p", { class: "empty" }, waiting));
  const more = h("button", { type: "button", onclick: () => extend().catch((error) => error.name === "AbortError" || put(failed, problem(error))).finally(() => (more.disabled = false)) }, "Show more");
  const failed = h("div");
  const count = h("p", { class: "faint" });
  let body = null;
  let after = "";
  let shown = 0;

  async function extend() {
    more.disabled = true;
    put(failed);
    let page = await load(after);
    // A page may be empty and still have a next one: the work per request is limited.
    for (let tries = 0; !page.rows.length && page.next && tries < 20; tries += 1) page = await load(page.next);
    if (!body && page.rows.length) {
      const made = table(columns, [], { caption, sort });
      body = made.querySelector("tbody");
      put(box, made, count, failed, more);
    } else if (!body) {
      put(box, h("p", { class: "empty" }, none));
      return;
    }
    body.append(...page.rows.map((row) => line(columns, row)));
    shown += page.rows.length;
    after = page.next;
    more.hidden = after === null || after === undefined;
    more.disabled = false;
    count.textContent = `${shown.toLocaleString("en")} ${shown === 1 ? "row" : "rows"}${more.hidden ? "" : " so far"}`;
  }
  return { node: box, ready: extend() };
}
