// The form that starts a crawl.

import { get, path, post } from "../api.js";
import { field, h, problem, put } from "../dom.js";
import { optionInputs } from "./options.js";
import { place } from "./crawl_head.js";

const FIRST = ["scope", "rounds", "until_done", "top_n", "max_per_host", "agent", "own_site", "allow_seeds"];

export const NAME_HINT = "Becomes a folder: letters, digits, dots, dashes and underscores.";
export const nameInput = () => h("input", { required: true, pattern: "[A-Za-z0-9][A-Za-z0-9._\\-]{0,99}", autocomplete: "off", spellcheck: "false" });

export async function newCrawlView({ go }) {
  const known = await get(path("commands"));
  const command = known.commands.find((each) => each.name === "crawl");
  const options = command.options.filter((each) => each.name !== "seeds");
  const first = optionInputs(FIRST.map((name) => options.find((each) => each.name === name)).filter(Boolean));
  const rest = optionInputs(options.filter((each) => !FIRST.includes(each.name)));
  const name = nameInput();
  const seeds = h("textarea", { required: true, rows: "5", spellcheck: "false", placeholder: "https://example.org/" });
  const settings = h("textarea", { rows: "3", spellcheck: "false", placeholder: "fetch.delay = 2s" });
  const failed = h("div");
  const button = h("button", { class: "primary" }, "Start the crawl");

  async function start(event) {
    event.preventDefault();
    button.disabled = true;
    put(failed);
    try {
      await post(path("crawls"), {
        name: name.value.trim(),
        seeds: lines(seeds.value),
        options: { ...first.read(), ...rest.read() },
        settings: readSettings(settings.value),
      });
      go(place(name.value.trim()));
    } catch (error) {
      put(failed, problem(error));
      failed.scrollIntoView({ block: "nearest" });
    } finally {
      button.disabled = false;
    }
  }

  const form = h(
    "form",
    { class: "panel", onsubmit: start },
    h("div", { class: "fields" }, field("Name", name, NAME_HINT)),
    field("Seeds", seeds, "URLs to start from, one per line."),
    h("h2", null, "Scope and limits"),
    first.node,
    h("details", null, h("summary", null, "More options"), rest.node, field("Settings", settings, `One per line, as name = value. There are ${known.settings.length}, such as ${known.settings.slice(6, 9).join(", ")}.`)),
    failed,
    h("div", { class: "row" }, button),
  );
  return { title: "New crawl", node: h("div", null, h("h1", null, "Start a crawl"), h("p", null, "Or ", h("a", { href: "#/merge" }, "merge crawls"), " into a new one, or ", h("a", { href: "#/import" }, "import a Nutch crawl"), "."), form) };
}

export const lines = (text) => text.split("\n").map((line) => line.trim()).filter(Boolean);

/** Reads settings, one per line. Values that look like numbers, booleans or lists are sent as such. */
export function readSettings(text) {
  return Object.fromEntries(
    lines(text).map((line) => {
      const [name, value = ""] = line.split(/\s*=\s*(.*)/s);
      try {
        const read = JSON.parse(value);
        return [name, read === null || (typeof read === "object" && !Array.isArray(read)) ? value : read];
      } catch {
        return [name, value];
      }
    }),
  );
}
