// Exchanges a key for a session cookie, which scripts cannot read.

import { path, post } from "../api.js";
import { field, h, problem, put } from "../dom.js";

export function loginView(done) {
  const input = h("input", { type: "password", autocomplete: "off", required: true, spellcheck: "false" });
  const failed = h("div");
  const form = h(
    "form",
    {
      class: "panel narrow",
      onsubmit: async (event) => {
        event.preventDefault();
        try {
          await post(path("session"), undefined, { headers: { Authorization: `Bearer ${input.value.trim()}` } });
          input.value = "";
          done();
        } catch (error) {
          if (error.status === 401) put(failed, problem({ title: "The server does not know this key.", detail: "It may be incomplete or revoked." }));
          else put(failed, problem(error));
        }
      },
    },
    h("h1", null, "Log in"),
    h("p", null, "This server requires an API key. It is exchanged for a session that ends after 12 hours."),
    field("API key", input, "Create one with --new-key NAME on the command line."),
    failed,
    h("button", { class: "primary" }, "Log in"),
  );
  setTimeout(() => input.focus());
  return form;
}
