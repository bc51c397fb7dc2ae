// The views of `scoter serve`, by address.

import { dashboardView } from "./dashboard.js";
import { domainsView } from "./domains.js";
import { eventsView } from "./events.js";
import { keysView } from "./keys.js";
import { lookupView, submitView } from "./records.js";

export const liveMenu = [
  ["#/", "Dashboard", ""],
  ["#/submit", "Submit", "submit"],
  ["#/url", "Look up", "url"],
  ["#/events", "Events", "events"],
  ["#/domains", "Domains", "domains"],
  ["#/keys", "Keys", "keys"],
];

export const liveViews = [
  ["/", dashboardView],
  ["/submit", submitView],
  ["/url", lookupView],
  ["/events", eventsView],
  ["/domains", domainsView],
  ["/keys", keysView],
];
