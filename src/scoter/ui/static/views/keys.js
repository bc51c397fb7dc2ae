// API keys: create, show once, revoke.

import { get, path, post, send } from "../api.js";
import { announce, check, empty, field, h, panel, problem, put, visible } from "../dom.js";
import { number, time } from "../format.js";
import { table } from "../table.js";

const SCOPES = [
  ["read", "Read everything."],
  ["submit", "Start and stop work."],
  ["admin", "Manage keys; includes the others."],
];

const isLive = document.querySelector("meta[name=scoter-service]").content === "live";
const command = isLive ? "serve" : "ui FOLDER";

export async function keysView({ signal }) {
  const node = h("div", null, h("h1", null, "API keys"));
  const session = await get(path("session"), {}, signal);
  if (!session.needs_key) {
    // Without keys nobody is known, so nobody may create one that stays valid.
    node.append(panel(null, empty("This server answers on this machine only, without keys."), h("p", null, "Keys are managed here if the server requires them. Create the first one on the command line, then start with --with-keys:"), h("pre", { class: "wrap" }, `scoter ${command} --new-key NAME --scopes admin\nscoter ${command} --with-keys`)));
    return { title: "API keys", node };
  }
  const box = h("div");
  const made = h("div");
  const failed = h("div");

  async function load() {
    const { keys } = await get(path("keys"), {}, signal);
    const revoke = (key) => async () => {
      try {
        await send("DELETE", path("keys", key.id));
        await load();
      } catch (error) {
        put(failed, problem(error));
      }
    };
    put(
      box,
      table(
        [
          { name: "name", label: "Name", show: (key) => visible(key.name) },
          { name: "scopes", label: "Scopes", show: (key) => key.scopes.join(", ") },
          ...(isLive ? [{ name: "tenant", label: "Tenant", show: (key) => key.tenant || "default" }] : []),
          { name: "rate", label: "Requests per second", numeric: true, show: (key) => (key.rate ? number(key.rate) : "no limit") },
          { name: "created", label: "Created", date: true, show: (key) => time(key.created) },
          { name: "used", label: "Last used", date: true, show: (key) => time(key.last_used) },
          { name: "revoke", label: "", show: (key) => h("button", { type: "button", class: "danger", "aria-label": `Revoke ${key.name}`, onclick: revoke(key) }, "Revoke") },
        ],
        keys,
        { caption: "Keys" },
      ),
    );
  }
  try {
    await load();
  } catch (error) {
    if (error.status !== 403) throw error;
    node.append(problem(error));
    return { title: "API keys", node };
  }
  const name = h("input", { type: "text", required: true, maxlength: "100", autocomplete: "off" });
  const tenant = h("input", { type: "text", maxlength: "63", autocomplete: "off", placeholder: "default" });
  const scopes = SCOPES.map(([scope, hint]) => [scope, h("input", { type: "checkbox", checked: scope === "read" }), hint]);
  const form = h(
    "form",
    {
      onsubmit: async (event) => {
        event.preventDefault();
        put(failed);
        try {
          const asked = { name: name.value.trim(), scopes: scopes.filter(([, box]) => box.checked).map(([scope]) => scope) };
          const key = await post(path("keys"), isLive ? { ...asked, tenant: tenant.value.trim() } : asked);
          put(made, h("div", { class: "notice" }, h("strong", null, "Copy this key now; it is not shown again."), h("pre", { tabindex: "0" }, key.token)));
          announce("The key was created.");
          name.value = "";
          await load();
        } catch (error) {
          put(failed, problem(error));
        }
      },
    },
    field("Name", name),
    isLive ? field("Tenant", tenant, "Keys of a tenant see only its own messages, events and deliveries.") : null,
    h("div", { class: "checks" }, scopes.map(([scope, box, hint]) => check(scope, box, hint))),
    h("div", { class: "row" }, h("button", { class: "primary" }, "Create")),
  );
  node.append(failed, made, panel(null, box), panel("Create a key", form));
  return { title: "API keys", node };
}
