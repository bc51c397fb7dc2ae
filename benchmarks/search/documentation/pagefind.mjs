// Ask pagefind's own bundle: an order as JSON on standard input, the paths of the results by query on standard output.

import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const order = JSON.parse(readFileSync(0, "utf8"));
const server = createServer((request, response) => {
  try {
    response.end(readFileSync(join(order.bundle, new URL(request.url, "http://x/").pathname)));
  } catch {
    response.writeHead(404).end();
  }
});
await new Promise((done) => server.listen(0, "127.0.0.1", done));
const base = `http://127.0.0.1:${server.address().port}/`;
const fetched = globalThis.fetch;
globalThis.fetch = (address, ...rest) => fetched(new URL(address, base), ...rest);
globalThis.window = globalThis;
globalThis.location = new URL(base);
globalThis.document = { querySelector: () => ({ getAttribute: () => "en" }), currentScript: null };
const pagefind = await import(pathToFileURL(join(order.bundle, "pagefind.js")));
await pagefind.options({ basePath: "/", baseUrl: "/" });
await pagefind.init();
const answers = {};
for (const query of order.queries) {
  const found = await pagefind.search(query);
  const pages = await Promise.all(found.results.slice(0, order.depth).map((each) => each.data()));
  answers[query] = pages.map((each) => each.raw_url ?? each.url);
}
process.stdout.write(JSON.stringify(answers), () => process.exit(0));
