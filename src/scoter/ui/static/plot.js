// Plots drawn as SVG: lines over time, columns, and horizontal bars.

import { h, put, svg } from "./dom.js";
import { brief, bytes } from "./format.js";

const HEIGHT = 190;
const EDGE = { left: 62, right: 14, top: 10, bottom: 34 };
const COLOURS = 6;

function ticks(most, isBytes, isWhole = false, count = 4) {
  if (!(most > 0)) return [0, 1];
  if (isBytes && most >= 1024) {
    const unit = 1024 ** Math.floor(Math.log2(most) / 10);
    return ticks(most / unit, false).map((each) => each * unit);
  }
  const rough = most / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const nice = [1, 2, 2.5, 5, 10].find((each) => each * power >= rough) * power;
  const step = isWhole ? Math.max(1, Math.ceil(nice)) : nice;
  const found = [];
  for (let at = 0; at < most + step * 0.999; at += step) found.push(Number(at.toPrecision(12)));
  return found;
}

function timeTicks(first, last, count) {
  const steps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800, 2592000].map((each) => each * 1000);
  const step = steps.find((each) => each >= (last - first) / count) ?? steps.at(-1);
  const found = [];
  const shift = new Date(first).getTimezoneOffset() * 60_000;
  for (let at = Math.ceil((first - shift) / step) * step + shift; at <= last; at += step) found.push(at);
  const pad = (value) => String(value).padStart(2, "0");
  const label = (at) => {
    const date = new Date(at);
    if (step >= 86_400_000) return `${pad(date.getDate())} ${date.toLocaleString("en", { month: "short" })}`;
    const clock = `${pad(date.getHours())}:${pad(date.getMinutes())}`;
    return step < 60_000 ? `${clock}:${pad(date.getSeconds())}` : clock;
  };
  return found.map((at) => [at, label(at)]);
}

function frame(title, unit, names, draw) {
  const canvas = h("div", { class: "canvas" });
  const reading = h("output", { class: "reading" });
  const legend = names.length > 1 || unit.includes(", by ") ? h("ul", { class: "legend" }, names.map((name, at) => h("li", { class: `c${(at % COLOURS) + 1}` }, name))) : null;
  const figure = h("figure", { class: "plot" }, h("figcaption", null, h("strong", null, title), " ", h("span", { class: "unit" }, unit), reading), legend, canvas);
  let width = 0;
  new ResizeObserver(([entry]) => {
    const now = Math.round(entry.contentRect.width);
    if (now && now !== width) {
      width = now;
      put(canvas, draw(width, reading));
    }
  }).observe(canvas);
  return figure;
}

/** One line in the place of a plot that would be empty. */
function noPlot(title, why) {
  return h("figure", { class: "plot none" }, h("figcaption", null, h("strong", null, title), " ", h("span", { class: "unit" }, why)));
}

/** Lines over time. `series` is a list of {name, points: [[milliseconds, value], …]}; `format` shows a value. */
export function linePlot({ title, unit, series, format = brief, none = "No data yet." }) {
  const used = series.filter((each) => each.points.length);
  if (!used.some((each) => each.points.some(([, value]) => value))) return noPlot(title, used.length ? "Nothing yet." : none);
  const names = used.map((each) => each.name);
  return frame(title, unit, names, (width, reading) => {
    const all = used.flatMap((each) => each.points);
    let first = Infinity;
    let last = -Infinity;
    let most = 0;
    for (const [at, value] of all) {
      first = Math.min(first, at);
      last = Math.max(last, at);
      most = Math.max(most, value);
    }
    if (last - first < 1000) last = first + 1000;
    const rows = ticks(most, format === bytes, all.every(([, value]) => Number.isInteger(value)));
    const top = rows.at(-1);
    const x = (at) => EDGE.left + ((at - first) / (last - first)) * (width - EDGE.left - EDGE.right);
    const y = (value) => HEIGHT - EDGE.bottom - (value / top) * (HEIGHT - EDGE.top - EDGE.bottom);
    const marker = svg("line", { class: "marker", y1: EDGE.top, y2: HEIGHT - EDGE.bottom, x1: -9, x2: -9 });
    const latest = used.map((each) => `${each.name} ${format(each.points.at(-1)[1])}`).join(", ");
    const drawn = svg(
      "svg",
      { width, height: HEIGHT, viewBox: `0 0 ${width} ${HEIGHT}`, role: "img", "aria-label": `${title} in ${unit}. Latest: ${latest}. Highest: ${format(most)}.` },
      rows.map((value) => [
        svg("line", { class: "grid", x1: EDGE.left, x2: width - EDGE.right, y1: y(value), y2: y(value) }),
        svg("text", { class: "tick", x: EDGE.left - 7, y: y(value) + 4, "text-anchor": "end" }, format(value)),
      ]),
      timeTicks(first, last, Math.max(2, Math.floor(width / 110))).map(([at, label]) => [
        svg("line", { class: "grid", x1: x(at), x2: x(at), y1: HEIGHT - EDGE.bottom, y2: HEIGHT - EDGE.bottom + 4 }),
        x(at) > EDGE.left + 18 && x(at) < width - 26 ? svg("text", { class: "tick", x: x(at), y: HEIGHT - EDGE.bottom + 16, "text-anchor": "middle" }, label) : null,
      ]),
      svg("text", { class: "axis", x: width - EDGE.right, y: HEIGHT - 3, "text-anchor": "end" }, "time of day"),
      used.map((each, at) => svg("path", { class: `line c${(at % COLOURS) + 1}`, d: lines(each.points, x, y) })),
      used.map((each, at) => (each.points.length === 1 ? svg("circle", { class: `dot c${(at % COLOURS) + 1}`, cx: x(each.points[0][0]), cy: y(each.points[0][1]), r: 3 }) : null)),
      marker,
    );
    drawn.addEventListener("pointermove", (event) => {
      const at = first + ((event.offsetX - EDGE.left) / (width - EDGE.left - EDGE.right)) * (last - first);
      const near = used.map((each) => nearest(each.points, at));
      const place = x(near[0][0]);
      marker.setAttribute("x1", place);
      marker.setAttribute("x2", place);
      const values = near.map((point, index) => `${names.length > 1 ? `${names[index]} ` : ""}${format(point[1])}`).join(" · ");
      reading.textContent = `${new Date(near[0][0]).toLocaleTimeString("en-GB")}: ${values}`;
    });
    drawn.addEventListener("pointerleave", () => {
      reading.textContent = "";
      marker.setAttribute("x1", -9);
      marker.setAttribute("x2", -9);
    });
    return drawn;
  });
}

function nearest(points, at) {
  let low = 0;
  let high = points.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (points[middle][0] < at) low = middle;
    else high = middle;
  }
  return at - points[low][0] < points[high][0] - at ? points[low] : points[high];
}

function lines(points, x, y) {
  return points.map(([at, value], index) => `${index ? "L" : "M"}${x(at).toFixed(1)} ${y(value).toFixed(1)}`).join("");
}

/** Columns with labels, such as one per round. `items` is a list of [label, value]. */
export function columnPlot({ title, unit, items, axis, format = brief }) {
  if (!items.some(([, value]) => value)) return noPlot(title, items.length ? "None." : "No data yet.");
  return frame(title, unit, [title], (width, reading) => {
    const most = Math.max(...items.map(([, value]) => value), 0);
    const rows = ticks(most, format === bytes, items.every(([, value]) => Number.isInteger(value)));
    const top = rows.at(-1);
    const y = (value) => HEIGHT - EDGE.bottom - (value / top) * (HEIGHT - EDGE.top - EDGE.bottom);
    const step = (width - EDGE.left - EDGE.right) / items.length;
    const longest = Math.max(...items.map(([label]) => String(label).length));
    const every = Math.ceil((longest * 7 + 8) / step);
    return svg(
      "svg",
      { width, height: HEIGHT, viewBox: `0 0 ${width} ${HEIGHT}`, role: "img", "aria-label": `${title} in ${unit}: ${items.slice(-20).map(([label, value]) => `${label}: ${format(value)}`).join(", ")}` },
      rows.map((value) => [
        svg("line", { class: "grid", x1: EDGE.left, x2: width - EDGE.right, y1: y(value), y2: y(value) }),
        svg("text", { class: "tick", x: EDGE.left - 7, y: y(value) + 4, "text-anchor": "end" }, format(value)),
      ]),
      items.map(([label, value], at) => [
        svg("rect", {
          class: "column", x: EDGE.left + at * step + step * 0.15, width: Math.max(1, Math.min(step * 0.7, 60)), y: y(value), height: Math.max(0, y(0) - y(value)),
          onpointerenter: () => (reading.textContent = `${label}: ${format(value)}`), onpointerleave: () => (reading.textContent = ""),
        }),
        at % every === 0 ? svg("text", { class: "tick", x: EDGE.left + at * step + step * 0.15 + Math.min(step * 0.7, 60) / 2, y: HEIGHT - EDGE.bottom + 16, "text-anchor": "middle" }, label) : null,
      ]),
      svg("text", { class: "axis", x: width - EDGE.right, y: HEIGHT - 3, "text-anchor": "end" }, axis),
    );
  });
}

/** Horizontal bars with their numbers. `items` is a list of [label node or text, value, link]. */
export function bars(items, format = brief) {
  const most = Math.max(...items.map(([, value]) => value), 1);
  const total = items.reduce((sum, [, value]) => sum + value, 0) || 1;
  return h(
    "ul",
    { class: "bars" },
    items.map(([label, value, link]) =>
      h(
        "li",
        null,
        h("span", { class: "bar-label" }, link ? h("a", { href: link }, label) : label),
        h("span", { class: "bar-value" }, `${format(value)} (${Math.round((value / total) * 100)} %)`),
        h("span", { class: "bar-room" }, h("span", { class: "bar", "width%": Math.max(0.5, (value / most) * 100) })),
      ),
    ),
  );
}
