// Inputs for the options of a command, as GET /v1/commands describes them.

import { check, field, h } from "../dom.js";

const LABELS = { top_n: "URLs per round", max_per_host: "URLs per host and round", until_done: "Until nothing is due", add_days: "Days ahead", out: "Name of the export", directories: "Crawls", fts: "Full-text index", sql: "SQL", own_site: "These are my own sites", allow_seeds: "Allow private hosts and ports" };

const label = (name) => {
  if (LABELS[name]) return LABELS[name];
  const text = name.replaceAll("_", " ");
  return text[0].toUpperCase() + text.slice(1);
};

/** Returns the inputs, and a function that reads the options that differ from their defaults. */
export function optionInputs(options) {
  const inputs = options.map((option) => [option, input(option)]);
  const plain = inputs.filter(([option]) => option.type !== "boolean");
  const flags = inputs.filter(([option]) => option.type === "boolean");
  const node = h(
    "div",
    { class: "options" },
    plain.length ? h("div", { class: "fields" }, plain.map(([option, element]) => field(label(option.name), element, hint(option)))) : null,
    flags.length ? h("div", { class: "checks" }, flags.map(([option, element]) => check(label(option.name), element, option.help))) : null,
  );
  return { node, read: () => Object.fromEntries(inputs.map(([option, element]) => [option.name, value(option, element)]).filter(([, given]) => given !== undefined)) };
}

function hint(option) {
  const usual = ![undefined, null, ""].includes(option.default) && !option.accepted?.length ? ` Default: ${option.default}.` : "";
  return `${option.help ?? ""}${option.type === "array" ? " One per line." : ""}${usual}`.trim();
}

function input(option) {
  if (option.type === "boolean") return h("input", { type: "checkbox", checked: Boolean(option.default) });
  if (option.accepted?.length) {
    const choices = option.default === undefined || option.default === null ? ["", ...option.accepted] : option.accepted;
    return h("select", null, choices.map((each) => h("option", { value: each, selected: each === option.default }, each || "–")));
  }
  if (option.type === "array") return h("textarea", { rows: "2", spellcheck: "false", required: option.required });
  if (option.type === "integer" || option.type === "number") {
    return h("input", { type: "number", step: option.type === "integer" ? "1" : "any", min: option.minimum, max: option.maximum, placeholder: option.default, required: option.required });
  }
  return h("input", { type: "text", autocomplete: "off", spellcheck: "false", placeholder: option.default, required: option.required });
}

function value(option, element) {
  if (option.type === "boolean") return element.checked === Boolean(option.default) ? undefined : element.checked;
  const text = element.value.trim();
  if (!text || text === String(option.default ?? "")) return undefined;
  if (option.type === "array") return text.split("\n").map((line) => line.trim()).filter(Boolean);
  return option.type === "integer" || option.type === "number" ? Number(text) : text;
}
