// Numbers, sizes, durations and times for people.

const whole = new Intl.NumberFormat("en");
const short = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });
const compact = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });

export const number = (value) => (value === undefined || value === null ? "–" : Number.isInteger(value) ? whole.format(value) : short.format(value));
export const brief = (value) => (Math.abs(value) >= 10_000 ? compact.format(value) : number(value));

export function bytes(value) {
  if (value === undefined || value === null) return "–";
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${unit ? short.format(value) : whole.format(Math.round(value))} ${units[unit]}`;
}

export function seconds(value) {
  if (value === undefined || value === null) return "–";
  if (value === 0) return "0 s";
  if (value < 0.0995) return `${short.format(value * 1000)} ms`;
  if (value < 60) return `${short.format(value)} s`;
  if (value < 3600) return `${Math.floor(value / 60)} min${Math.floor(value % 60) ? ` ${Math.floor(value % 60)} s` : ""}`;
  if (value < 172_800) return `${Math.floor(value / 3600)} h ${Math.round((value % 3600) / 60)} min`;
  return `${Math.round(value / 86_400)} days`;
}

export const percent = (share) => `${short.format(share * 100)} %`;

export function time(text) {
  if (!text) return "–";
  const at = new Date(text);
  return Number.isNaN(at.getTime()) ? String(text) : at.toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "medium" });
}

/** Shows the times in a sentence, which the server writes in UTC, in the time of the reader. */
export const withLocalTimes = (text) =>
  text.replace(/(\d{4}-\d\d-\d\d) (\d\d:\d\d)(:\d\d)?( UTC|\+00:00)/g, (_, day, minute, second = "") => new Date(`${day}T${minute}${second}Z`).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: second ? "medium" : "short" }));

export const clock = (text) => new Date(text).toLocaleTimeString("en-GB");

export function ago(text) {
  if (!text) return "–";
  const past = (Date.now() - new Date(text).getTime()) / 1000;
  if (past < 0) return `in ${seconds(-past)}`;
  return past < 2 ? "just now" : `${seconds(past < 60 ? Math.round(past) : past)} ago`;
}

/** A value of a table of unknown columns. */
export function cell(value) {
  if (value === null || value === undefined) return "";
  if (typeof value === "number") return Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(6)));
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
