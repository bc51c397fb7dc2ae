// Rows of unknown columns, as a table or as a plot.

import { empty, field, h, notice, put, quoted } from "../dom.js";
import { brief, cell, number } from "../format.js";
import { bars, linePlot } from "../plot.js";
import { table } from "../table.js";
import { urlLink } from "./crawl_head.js";

const isNumber = (rows, column) => rows.some((row) => typeof row[column] === "number") && rows.every((row) => row[column] === null || typeof row[column] === "number");
const isTime = (rows, column) => rows.length && rows.every((row) => typeof row[column] === "string" && /^\d{4}-\d\d-\d\d([T ]\d\d:|$)/.test(row[column]));

export function resultTable(name, found) {
  if (!found.rows.length) return empty("The result has no rows.");
  const columns = found.columns.map((column) => {
    const numeric = isNumber(found.rows, column);
    return { name: column, label: column, numeric, show: (row) => show(name, row[column]) };
  });
  return h("div", null, table(columns, found.rows, { caption: "Result" }), h("p", { class: "faint" }, `${number(found.rows.length)} ${found.rows.length === 1 ? "row" : "rows"}`), found.truncated ? notice("There are more rows than the limit.") : null);
}

function show(name, value) {
  const text = cell(value);
  if (typeof value === "string" && /^https?:\/\//.test(value)) return urlLink(name, value);
  return quoted(text.length > 2000 ? `${text.slice(0, 2000)} …` : text);
}

/** A plot of two columns: lines over time or bars by label. */
export function resultPlot(found) {
  const numbers = found.columns.filter((column) => isNumber(found.rows, column));
  const labels = found.columns.filter((column) => !numbers.includes(column));
  const first = [...labels, ...found.columns][0];
  if (!numbers.length || !found.rows.length) return empty("A plot needs a column of numbers.");
  const x = h("select", null, found.columns.map((each) => h("option", { value: each, selected: each === first }, each)));
  const y = h("select", null, numbers.map((each) => h("option", { value: each, selected: each === (numbers.find((column) => column !== first) ?? numbers[0]) }, each)));
  const box = h("div");
  const draw = () => {
    const rows = found.rows.filter((row) => row[y.value] !== null);
    if (isTime(rows, x.value)) {
      const points = rows.map((row) => [Date.parse(row[x.value]), row[y.value]]).sort((one, other) => one[0] - other[0]);
      put(box, linePlot({ title: y.value, unit: `by ${x.value}`, series: [{ name: y.value, points }] }));
    } else {
      put(box, h("p", null, h("strong", null, y.value), " ", h("span", { class: "faint" }, `by ${x.value}`)), bars(rows.slice(0, 100).map((row) => [quoted(cell(row[x.value])), row[y.value]]), brief), rows.length > 100 ? notice("Only the first 100 rows are plotted.") : null);
    }
  };
  x.addEventListener("change", draw);
  y.addEventListener("change", draw);
  draw();
  return h("div", null, h("div", { class: "row" }, field("Label", x), field("Value", y)), box);
}
