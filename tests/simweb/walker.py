"""A tiny crawler of its own, on http.client and html.parser, to hold the synthetic web's truth against.

It shares no code with Scoter, and none with the synthetic web either.
"""

from __future__ import annotations

import http.client
import re
from dataclasses import dataclass, field
from html.parser import HTMLParser
from urllib.parse import quote, urljoin, urlsplit

_LINK_TAGS = {"a": "href", "area": "href", "iframe": "src", "img": "src"}
_ESCAPE = re.compile(r"%([0-9A-Fa-f]{2})")
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")


@dataclass(frozen=True)
class Got:
    """What came back: an answer, or the name of the failure."""

    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    failure: str = ""

    @property
    def kind(self) -> str:
        return self.headers.get("content-type", "").partition(";")[0]


class Client:
    """Keeps one connection to the loopback port, whatever the host."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)

    def close(self) -> None:
        self._connection.close()

    def ask(self, url: str, *, method: str = "GET", headers: dict[str, str] | None = None) -> Got:
        parts = urlsplit(url)
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        try:
            self._connection.request(method, path, headers={"Host": parts.netloc, **(headers or {})})
            answer = self._connection.getresponse()
            body = answer.read()
        except (http.client.HTTPException, OSError) as failure:
            self._connection.close()
            return Got(failure=type(failure).__name__)
        fields = {name.lower(): value for name, value in answer.getheaders()}
        return Got(answer.status, fields, body)


def canonical(base: str, href: str) -> str:
    """Join and normalise by hand: just enough for the spellings that the synthetic web uses."""
    text = re.sub(r"[\t\r\n]", "", href.strip()).replace("\\", "/")
    if not re.match(r"(?i)https?:|[^a-z]|[^:]*$|[^:/?#]*[/?#]", text):
        return ""
    parts = urlsplit(urljoin(base, text))
    if parts.scheme not in ("http", "https"):
        return ""
    host = parts.netloc.lower().removesuffix(":80")

    def mend(found: re.Match[str]) -> str:
        letter = chr(int(found[1], 16))
        return letter if letter in _UNRESERVED else found[0].upper()

    path = _ESCAPE.sub(mend, quote(parts.path or "/", safe="/%:@!$&'()*+,;=-._~"))
    return f"http://{host}{path}" + (f"?{parts.query}" if parts.query else "")


class Reader(HTMLParser):
    """Links, title, meta robots and refresh of a page."""

    def __init__(self, url: str) -> None:
        super().__init__()
        self._base = url
        self._url = url
        self._in_title = False
        self.title = ""
        self.robots = ""
        self.refresh: tuple[int, str] | None = None
        self.links: list[tuple[str, bool]] = []
        self.nesting = 0
        self.deepest = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "div":
            self.nesting += 1
            self.deepest = max(self.deepest, self.nesting)
        elif tag == "title":
            self._in_title = True
        elif tag == "base":
            self._base = urljoin(self._url, given["href"])
        elif tag == "meta" and given.get("name") == "robots":
            self.robots = given["content"]
        elif tag == "meta" and given.get("http-equiv") == "refresh":
            wait, _, rest = given["content"].partition(";")
            target = rest.strip().partition("=")[2].strip("'\"")
            self.refresh = (int(wait), canonical(self._base, target))
        elif tag in _LINK_TAGS and _LINK_TAGS[tag] in given:
            url = canonical(self._base, given[_LINK_TAGS[tag]])
            if url:
                self.links.append((url, "nofollow" in given.get("rel", "")))

    def handle_endtag(self, tag: str) -> None:
        if tag == "title":
            self._in_title = False
        elif tag == "div":
            self.nesting -= 1

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self.title += data


def decode(got: Got, encoding: str) -> str:
    """Decode with the encoding the page is really in."""
    if got.body.startswith(b"\xff\xfe"):
        return got.body[2:].decode("utf-16-le")
    return got.body.decode(encoding or "utf-8")


def read(url: str, got: Got, encoding: str) -> Reader:
    reader = Reader(url)
    reader.feed(decode(got, encoding))
    reader.close()
    return reader


class Robots:
    """RFC 9309 in a few lines: fetch with redirects, BOM, size limit, groups, longest match, * and $."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._known: dict[str, list[tuple[str, bool]] | str] = {}

    def verdict(self, url: str) -> str:
        parts = urlsplit(url)
        host = parts.netloc
        if host not in self._known:
            self._known[host] = self._load(host)
        rules = self._known[host]
        if isinstance(rules, str):
            return rules
        path = parts.path + (f"?{parts.query}" if parts.query else "")
        best = (-1, True)
        for pattern, allow in rules:
            body = pattern.removesuffix("$")
            expression = ".*".join(re.escape(part) for part in body.split("*"))
            if re.match(expression + ("$" if pattern.endswith("$") else ""), path):
                best = max(best, (len(pattern), allow))
        return "allowed" if best[1] else "denied"

    def _load(self, host: str) -> list[tuple[str, bool]] | str:
        url = f"http://{host}/robots.txt"
        got = self._client.ask(url)
        for _ in range(5):
            if got.status not in (301, 302, 303, 307, 308):
                break
            url = urljoin(url, got.headers["location"])
            got = self._client.ask(url)
        if got.failure or got.status == 429 or got.status >= 500:
            return "unreachable"
        if got.status >= 400:
            return []
        text = got.body[: 500 * 1024].decode("utf-8", "replace").removeprefix("\ufeff")
        rules: list[tuple[str, bool]] = []
        ours = False
        for line in text.splitlines():
            name, _, value = line.partition("#")[0].partition(":")
            name, value = name.strip().lower(), value.strip()
            if name == "user-agent":
                ours = value == "*"
            elif ours and name in ("allow", "disallow") and value:
                rules.append((value, name == "allow"))
            elif ours and name == "crawl-delay" and float(value) > 30:
                return "denied"
        return rules
