// Numbers of URLs by status: as one bar, and in a fixed order with fixed colours.

import { h } from "../dom.js";
import { number } from "../format.js";

const ORDER = ["fetched", "notmodified", "unfetched", "redir_temp", "redir_perm", "duplicate", "gone", "orphan"];
const MEANING = {
  fetched: "fetched",
  notmodified: "not modified",
  unfetched: "not fetched yet",
  redir_temp: "temporary redirect",
  redir_perm: "permanent redirect",
  duplicate: "duplicate",
  gone: "gone",
  orphan: "orphan",
};

export const statusName = (status) => MEANING[status] ?? status;

export function inOrder(byStatus) {
  return Object.entries(byStatus).sort(([one], [other]) => rank(one) - rank(other));
}

const rank = (status) => (ORDER.includes(status) ? ORDER.indexOf(status) : ORDER.length);

export function statusBar(byStatus) {
  const items = inOrder(byStatus).filter(([, count]) => count > 0);
  const total = items.reduce((sum, [, count]) => sum + count, 0);
  if (!total) return "–";
  const text = items.map(([status, count]) => `${statusName(status)} ${number(count)}`).join(", ");
  return h("span", { class: "stack", role: "img", "aria-label": text, title: text }, items.map(([status, count]) => h("span", { class: `part ${status}`, "width%": (count / total) * 100 })));
}

// Statuses that share a colour share an entry.
const GROUPS = [
  ["fetched", "fetched or not modified", ["fetched", "notmodified"]],
  ["unfetched", "not fetched yet", ["unfetched"]],
  ["redirect", "redirect", ["redir_temp", "redir_perm"]],
  ["duplicate", "duplicate", ["duplicate"]],
  ["gone", "gone", ["gone"]],
  ["other", "orphan", ["orphan"]],
];

/** Explains the colours of status bars: those that occur in any of them. */
export function statusLegend(all) {
  const shown = GROUPS.filter(([, , statuses]) => all.some((byStatus) => statuses.some((status) => byStatus[status] > 0)));
  return shown.length ? h("ul", { class: "legend statuses", "aria-label": "Colours of the bars by status" }, shown.map(([name, label]) => h("li", { class: name }, label))) : null;
}
