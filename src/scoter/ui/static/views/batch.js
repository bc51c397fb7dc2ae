// The views of `scoter ui`, by address.

import { crawlView } from "./crawl.js";
import { crawlsView } from "./crawls.js";
import { importView, mergeView } from "./combined_crawls.js";
import { hostsView, segmentsView, urlsView } from "./results.js";
import { jobView, jobsView } from "./jobs.js";
import { keysView } from "./keys.js";
import { newCrawlView } from "./new_crawl.js";
import { reportsView } from "./reports.js";
import { schedulesView } from "./schedules.js";
import { searchView } from "./search.js";
import { sqlView } from "./sql.js";
import { urlView } from "./url.js";

export const batchMenu = [
  ["#/", "Crawls", ""],
  ["#/new", "New crawl", "new"],
  ["#/schedules", "Schedules", "schedules"],
  ["#/keys", "Keys", "keys"],
];

export const batchViews = [
  ["/", crawlsView],
  ["/new", newCrawlView],
  ["/merge", mergeView],
  ["/import", importView],
  ["/schedules", schedulesView],
  ["/keys", keysView],
  ["/crawl/:name", crawlView],
  ["/crawl/:name/urls", urlsView],
  ["/crawl/:name/hosts", hostsView],
  ["/crawl/:name/segments", segmentsView],
  ["/crawl/:name/url", urlView],
  ["/crawl/:name/search", searchView],
  ["/crawl/:name/reports", reportsView],
  ["/crawl/:name/sql", sqlView],
  ["/crawl/:name/jobs", jobsView],
  ["/crawl/:name/jobs/:id", jobView],
];
