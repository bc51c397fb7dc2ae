// Builds elements. Text only ever becomes text nodes, so crawled content cannot become markup.

const SVG = "http://www.w3.org/2000/svg";
const SAFE_LINK = /^(#\/|\/(?!\/)|https?:\/\/)/;

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "width%") element.style.width = `${value}%`;
    else if (["value", "checked", "disabled", "hidden", "selected", "open"].includes(name)) element[name] = value;
    else if (name === "href" && !SAFE_LINK.test(value)) continue;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

export function h(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

/** Crawled text: isolated, so that its direction marks cannot rearrange what surrounds it. */
export function quoted(text) {
  const shown = visible(String(text ?? ""));
  return h("bdi", { class: /\S{30}/.test(shown) ? "long" : null }, shown);
}

/** Replaces control and invisible direction characters by visible signs. */
export function visible(text) {
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]/g, "\ufffd");
}

export function put(element, ...children) {
  element.replaceChildren(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** Replaces what is shown by newer values: the focus and the scroll positions stay where they are. */
export function renew(element, ...children) {
  const had = element.contains(document.activeElement) ? document.activeElement : null;
  const among = had ? alike(element, had).indexOf(had) : -1;
  const scrolled = [...element.querySelectorAll(".scroll, .source")].map((each) => [each.scrollLeft, each.scrollTop]);
  put(element, ...children);
  [...element.querySelectorAll(".scroll, .source")].forEach((each, at) => {
    [each.scrollLeft, each.scrollTop] = scrolled[at] ?? [0, 0];
  });
  if (had) alike(element, had)[among]?.focus({ preventScroll: true });
  return element;
}

const nameOf = (element) => [element.tagName, element.getAttribute("href"), element.getAttribute("aria-label") ?? (/^(A|BUTTON)$/.test(element.tagName) ? element.textContent : "")].join(" ");
const alike = (element, wanted) => [...element.querySelectorAll(wanted.tagName)].filter((each) => nameOf(each) === nameOf(wanted));

export function panel(title, ...children) {
  return h("section", { class: "panel" }, title ? h("h2", null, title) : null, ...children);
}

export function notice(text, kind = "") {
  return h("p", { class: `notice ${kind}`, role: kind === "bad" ? "alert" : null }, text);
}

export function empty(text, ...more) {
  return h("div", { class: "empty" }, h("p", null, text), ...more);
}

/** Shows an error of the API: what happened, and what to do. */
export function problem(error) {
  return h(
    "div",
    { class: "notice bad", role: "alert" },
    h("strong", null, visible(error.title ?? "Something went wrong.")),
    error.detail ? h("pre", { class: "detail" }, visible(error.detail)) : null,
    error.accepted?.length ? h("p", null, `Accepted: ${error.accepted.join(", ")}`) : null,
  );
}

export function field(label, input, hint) {
  input.id ||= `f${Math.random().toString(36).slice(2, 9)}`;
  if (hint) {
    const text = h("small", { id: `${input.id}-hint` }, hint);
    input.setAttribute("aria-describedby", text.id);
    return h("div", { class: "field" }, h("label", { for: input.id }, label), input, text);
  }
  return h("div", { class: "field" }, h("label", { for: input.id }, label), input);
}

export function check(label, input, hint) {
  input.id ||= `f${Math.random().toString(36).slice(2, 9)}`;
  return h("div", { class: "check" }, input, h("label", { for: input.id }, label), hint ? h("small", null, hint) : null);
}

/** Says something to screen readers. */
export function announce(text) {
  document.getElementById("status").textContent = text;
}
