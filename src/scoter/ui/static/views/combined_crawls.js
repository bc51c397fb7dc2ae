// Forms for crawls that are made from others: merged, or imported from Nutch.

import { get, path, post } from "../api.js";
import { check, empty, field, h, problem, put } from "../dom.js";
import { number } from "../format.js";
import { place } from "./crawl_head.js";
import { NAME_HINT, nameInput } from "./new_crawl.js";

const PARTS = [
  ["crawldb", "URLs", "The crawldbs: of several records of a URL, the one fetched last.", true],
  ["segments", "Pages", "The segments: the newest fetch of each page, with its text, links and archived bytes.", true],
  ["linkdb", "Inlinks", "The linkdbs: the inlinks from all of them. Each crawl needs one, from invertlinks.", false],
];

export async function mergeView({ go, signal }) {
  const { crawls } = await get(path("crawls"), { limit: 1000 }, signal);
  const usable = crawls.filter((crawl) => crawl.urls);
  const title = { title: "Merge crawls" };
  if (usable.length < 2) return { ...title, node: h("div", null, h("h1", null, "Merge crawls"), empty("There are not two crawls to merge yet.", h("p", null, h("a", { href: "#/new" }, "Start a crawl")))) };
  const name = nameInput();
  const chosen = usable.map((crawl) => [crawl.name, h("input", { type: "checkbox" }), crawl]);
  const parts = PARTS.map(([part, label, hint, checked]) => [part, h("input", { type: "checkbox", checked }), label, hint]);
  const button = h("button", { class: "primary" }, "Merge");
  const failed = h("div");

  async function merge(event) {
    event.preventDefault();
    put(failed);
    const directories = chosen.filter(([, box]) => box.checked).map(([each]) => each);
    const wanted = parts.filter(([, box]) => box.checked).map(([part]) => [part, true]);
    if (directories.length < 2 || !wanted.length) {
      put(failed, problem({ title: "Choose at least two crawls, and what to merge." }));
      return;
    }
    if (crawls.some((crawl) => crawl.name === name.value.trim())) {
      put(failed, problem({ title: `There is already a crawl named ${name.value.trim()}.` }));
      return;
    }
    button.disabled = true;
    try {
      const job = await post(path("crawls", name.value.trim(), "jobs"), { command: "merge", options: { directories, ...Object.fromEntries(wanted) } });
      go(place(name.value.trim(), `jobs/${job.id}`));
    } catch (error) {
      put(failed, problem(error));
    } finally {
      button.disabled = false;
    }
  }

  const form = h(
    "form",
    { class: "panel", onsubmit: merge },
    h("div", { class: "fields" }, field("Name of the new crawl", name, NAME_HINT)),
    h("fieldset", null, h("legend", null, "Crawls"), h("div", { class: "checks" }, chosen.map(([each, box, crawl]) => check(each, box, `${number(crawl.urls)} URLs`)))),
    h("fieldset", null, h("legend", null, "What to merge"), h("div", { class: "checks" }, parts.map(([, box, label, hint]) => check(label, box, hint)))),
    failed,
    h("div", { class: "row" }, button),
  );
  return { ...title, node: h("div", null, h("h1", null, "Merge crawls"), h("p", { class: "faint" }, "The crawls stay as they are; the result is a new one."), form) };
}

export async function importView({ go }) {
  const name = nameInput();
  const folder = h("input", { required: true, autocomplete: "off", spellcheck: "false", placeholder: "nutch-crawl" });
  const failed = h("div");
  const button = h("button", { class: "primary" }, "Import");

  async function start(event) {
    event.preventDefault();
    put(failed);
    button.disabled = true;
    try {
      const job = await post(path("crawls", name.value.trim(), "jobs"), { command: "import-nutch-crawl", options: { nutch: folder.value.trim() } });
      go(place(name.value.trim(), `jobs/${job.id}`));
    } catch (error) {
      put(failed, problem(error));
    } finally {
      button.disabled = false;
    }
  }

  const form = h(
    "form",
    { class: "panel", onsubmit: start },
    h("div", { class: "fields" }, field("Name of the new crawl", name, NAME_HINT), field("Folder of the Nutch crawl", folder, "The name of a folder beside the crawls on the server that holds crawldb/ and segments/, copied from HDFS if it is there.")),
    failed,
    h("div", { class: "row" }, button),
  );
  return { title: "Import a Nutch crawl", node: h("div", null, h("h1", null, "Import a Nutch crawl"), form) };
}
