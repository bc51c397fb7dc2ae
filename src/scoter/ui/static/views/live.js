// The views of `scoter serve`, by address.

import { dashboardView } from "./dashboard.js";
import { deliveriesView } from "./deliveries.js";
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
  ["#/deliveries", "Deliveries", "deliveries"],
  ["#/keys", "Keys", "keys"],
];

export const liveViews = [
  ["/", dashboardView],
  ["/submit", submitView],
  ["/url", lookupView],
  ["/events", eventsView],
  ["/domains", domainsView],
  ["/deliveries", deliveriesView],
  ["/keys", keysView],
];
