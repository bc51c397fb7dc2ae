"""A site with every kind of fault, served on loopback, and the problems that a person finds in it by reading.

There are three servers: the site itself, another site that its links lead to, and one where nothing listens.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from msgspec import Struct

_HEAD = '<!doctype html><html lang="en"><head><title>{0}</title><meta name="description" content="About {0}."></head>'


def html(title: str, body: str, head: str = "") -> str:
    """Return a page without faults of its own."""
    return f"{_HEAD.format(title).replace('</head>', head + '</head>')}<body><h1>{title}</h1>{body}</body></html>"


class Answer(Struct, frozen=True):
    """What the server answers to a path."""

    body: str | bytes = ""
    status: int = 200
    headers: Mapping[str, str] = {}
    to_head: int = 0
    """The status of a HEAD request, if another."""
    wait: float = 0.0


def moved(to: str) -> Answer:
    return Answer(status=301, headers={"Location": to})


def site(other: str, closed: str) -> dict[str, Answer]:
    """Return the pages of the site; ``other`` is the origin of another site, ``closed`` one where nothing listens."""
    pages = {
        "/": html(
            "Seals",
            f"""
            <p><a href="/gone">the old page</a> <a href="/deep/1">deeper</a> <a href="/gone-too"><img src="/seal.png"
            alt="a seal"></a> <a href="/moved">moved</a> <a href="/chain/1">chain</a> <a href="/loop/1">loop</a>
            <a href="/titles">titles</a> <a href="/canonicals">canonicals</a> <a href="/languages">languages</a>
            <a href="/hidden" rel="nofollow">hidden</a> <a href="/private/x">private</a> <a href="/noindex">noindex</a>
            <a href="/slow">slow</a> <a href="/heavy">heavy</a> <a href="/login">login</a> <a href="/error">error</a>
            <a href="#top">up</a> <a href="#nowhere">nowhere</a> <a href="/fragments#here">here</a>
            <a href="/fragments#there">there</a> <a href="/fragments#caf%C3%A9">coffee</a> <a href="/moved#here">via</a>
            <a href="http://[bad">bad</a> <a href="mailto:me@example.org">mail</a> <a href="javascript:x()">script</a>
            <a href="{other}/fine">fine</a> <a href="{other}/gone">other gone</a> <a href="{other}/no-head">no head</a>
            <a href="{other}/forbidden">forbidden</a> <a href="{closed}/">closed</a></p>
            <img src="/missing.png" alt="missing"><img srcset="/seal.png 1x, /missing-2x.png 2x">
            <script src="/missing.js"></script><video src="/missing.mp4" poster="/seal.png"></video>
            <form action="/never-asked" method="post"></form>""",
            '<link rel="stylesheet" href="/style.css"><link rel="icon" href="/seal.png">',
        ),
        "/deep/1": html("Deep 1", '<a href="/deep/2">next</a>'),
        "/deep/2": html("Deep 2", '<a href="/deep/3">next</a>'),
        "/deep/3": html("Deep 3", '<a href="/deep/4">next</a>'),
        "/deep/4": html("Deep 4", '<a href="/deep/5">next</a>'),
        "/deep/5": html("Deep 5", '<a href="/gone">gone, from deep below</a>'),
        "/titles": "<!doctype html><body><a href=/same-1>1</a> <a href=/same-2>2</a> <a href=/several>3</a>"
        "<a href=/fragments>4</a><p>A long text that must not be taken for a description of the page.",
        "/same-1": html("The same", "<h2>a</h2><h4>b</h4>"),
        "/same-2": html("The same", ""),
        "/several": "<!doctype html><html lang=en><head><title>First</title><title>Second</title>"
        "<meta name=description content=One><meta name=description content=Two></head>"
        "<h1>Head one</h1><h1>Head two</h1>",
        "/canonicals": html(
            "Canonicals",
            '<a href="/canonical-gone">a</a><a href="/canonical-two">b</a><a href="/canonical-moved">c</a>'
            '<a href="/canonical-fine">d</a><a href="/canonical-noindex">e</a><a href="/canonical-chain">f</a>',
        ),
        "/canonical-gone": html("Canonical gone", "", '<link rel=canonical href="/gone">'),
        "/canonical-two": html("Canonical two", "", '<link rel=canonical href="/"><link rel=canonical href="/slow">'),
        "/canonical-moved": html("Canonical moved", "", '<link rel=canonical href="/moved">'),
        "/canonical-fine": html("Canonical fine", "", '<link rel=canonical href="/canonical-fine">'),
        "/canonical-noindex": html("Canonical noindex", "", '<link rel=canonical href="/noindex">'),
        "/canonical-chain": html("Canonical chain", "", '<link rel=canonical href="/canonical-two">'),
        "/languages": html(
            "Languages",
            '<a href="/languages/fr">fr</a>',
            '<link rel=alternate hreflang=en href="/languages"><link rel=alternate hreflang=fr href="/languages/fr">'
            '<link rel=alternate hreflang=english href="/languages"><link rel=alternate hreflang=de href="/gone">'
            '<link rel=alternate hreflang=es href="/moved"><link rel=alternate hreflang=pt href="/noindex">',
        ),
        "/languages/fr": html("Langues", "", '<link rel=alternate hreflang=fr href="/languages/fr">'),
        "/noindex": html("Noindex", "", "<meta name=robots content=noindex>"),
        "/fragments": html("Fragments", '<p id="here">Here</p><a name="café">Café</a><a href="/refresh">refresh</a>'),
        "/refresh": html("Refresh", "", '<meta http-equiv=refresh content="0; url=/gone">'),
        "/orphan": html("Orphan", '<a href="/island-1">island</a>'),
        "/island-1": html("Island 1", '<a href="/island-2">other</a>'),
        "/island-2": html("Island 2", ""),
        "/heavy": html("Heavy", f"<!--{'x' * 1_000_000}-->"),
    }
    return {
        **{path: Answer(body) for path, body in pages.items()},
        "/robots.txt": Answer("User-agent: *\nDisallow: /private/\nSitemap: {origin}/sitemap.xml\n"),
        "/sitemap.xml": Answer(
            "<urlset>"
            + "".join(
                f"<url><loc>{{origin}}{path}</loc></url>"
                for path in (
                    "/",
                    "/orphan",
                    "/gone",
                    "/moved",
                    "/noindex",
                    "/deep/1",
                    "/canonical-two",
                    "/titles",
                    "/listed",
                )
            )
            + "</urlset>"
        ),
        "/style.css": Answer('@import "more.css"; p { background: url(seal.png) }'),
        "/more.css": Answer("p { background: url('/missing-bg.png') }"),
        "/seal.png": Answer("png"),
        "/moved": moved("/fragments"),
        "/chain/1": moved("/chain/2"),
        "/chain/2": moved("/chain/3"),
        "/chain/3": moved("/fragments"),
        "/loop/1": moved("/loop/2"),
        "/loop/2": moved("/loop/1"),
        "/hidden": Answer(status=410),
        "/private/x": Answer(html("Private", "")),
        "/slow": Answer(html("Slow", ""), wait=1.1),
        "/login": Answer(status=401),
        "/error": Answer(status=500),
    }


OTHER = {
    "/fine": Answer("<title>Fine</title>"),
    "/no-head": Answer("<title>No head</title>", to_head=405),
    "/forbidden": Answer(status=403),
}
"""The other site."""

HOME = "/"
# What a person finds, as (URL, page, link text); for problems of a page itself, only the URL matters.
EXPECTED: Mapping[str, set[tuple[str, ...]]] = {
    "broken-external-links": {("CLOSED/", "/", "closed")},
    "broken-links": {
        ("/gone", "/", "the old page"),
        ("/gone", "/deep/5", "gone, from deep below"),
        ("/gone", "/canonical-gone", "canonical"),
        ("/gone", "/languages", "de"),
        ("/gone", "/refresh", ""),
        ("/refresh", "/fragments", "refresh"),
        ("/gone-too", "/", "a seal"),
        ("/error", "/", "error"),
    },
    "redirect-loops": {("/loop/1", "/", "loop")},
    "invalid-links": {("http://[bad", "/", "bad")},
    "missing-fragments": {
        ("/#nowhere", "/", "nowhere"),
        ("/fragments#there", "/", "there"),
    },
    "canonical-conflicts": {
        ("/canonical-gone",),
        ("/canonical-two",),
        ("/canonical-moved",),
        ("/canonical-noindex",),
        ("/canonical-chain",),
    },
    "hreflang-errors": {("/languages",)},
    "missing-titles": {("/titles",)},
    "refused-links": {("/login", "/", "login")},
    "blocked-links": {("/private/x", "/", "private")},
    "noindex-linked": {("/noindex",)},
    "redirect-chains": {("/chain/1",), ("/chain/2",)},
    "duplicate-titles": {("/same-1",), ("/same-2",)},
    "several-titles": {("/several",)},
    "missing-descriptions": {("/titles",)},
    "duplicate-descriptions": {("/same-1",), ("/same-2",)},
    "several-descriptions": {("/several",)},
    "missing-headings": {("/titles",)},
    "slow-pages": {("/slow",)},
    "heavy-pages": {("/heavy",)},
    "redirected-links": {
        ("/moved", "/", "moved"),
        ("/moved", "/", "via"),
        ("/moved", "/canonical-moved", "canonical"),
        ("/moved", "/languages", "es"),
        ("/chain/1", "/", "chain"),
    },
    "several-headings": {("/several",)},
    "duplicate-headings": {("/same-1",), ("/same-2",)},
    "skipped-levels": {("/same-1",)},
    "missing-languages": {("/titles",)},
    "deep-pages": {("/deep/5",)},
}
"""What a crawl alone shows."""
CHECKED: Mapping[str, set[tuple[str, ...]]] = {
    **EXPECTED,
    "broken-links": EXPECTED["broken-links"] | {("/hidden", "/", "hidden")},
    "broken-external-links": {("CLOSED/", "/", "closed"), ("OTHER/gone", "/", "other gone")},
    "broken-resources": {
        ("/missing.png", "/", "missing"),
        ("/missing-2x.png", "/", ""),
        ("/missing.js", "/", ""),
        ("/missing.mp4", "/", ""),
        ("/missing-bg.png", "/more.css", "in a style"),
    },
    "refused-links": {("/login", "/", "login"), ("OTHER/forbidden", "/", "forbidden")},
    "sitemap-errors": {("/gone",), ("/moved",), ("/noindex",), ("/canonical-two",), ("/listed",)},
    "orphans": {("/orphan",)},
    "not-in-sitemap": {
        *((f"/deep/{number}",) for number in range(2, 6)),
        *((f"/{name}",) for name in ("same-1", "same-2", "several", "canonicals", "canonical-fine", "slow", "heavy")),
        *(("/languages",), ("/languages/fr",), ("/fragments",)),
    },
}
"""What links and sitemaps show that the crawl did not follow."""


class FaultySite(Struct, frozen=True):
    """The running servers: the origins of the site and of the other one, and the requests they got."""

    origin: str
    other: str
    closed: str
    requests: list[tuple[str, str, str]]
    pages: dict[str, Answer]

    @property
    def settings(self) -> tuple[str, ...]:
        """The settings that let a crawl fetch from these servers."""
        return (
            *("-D", "agent.name=examplebot", "-D", 'fetch.allow_networks=["127.0.0.0/8"]'),
            *("-D", 'fetch.allow_ports=["1-65535"]', "-D", "fetch.delay=0s", "-D", "fetch.min_delay=0s"),
        )


@contextmanager
def serving() -> Iterator[FaultySite]:
    """Serve the faulty site."""
    requests: list[tuple[str, str, str]] = []
    with (
        serving_pages(requests) as (other, other_pages),
        serving_pages(requests) as (own, own_pages),
        socket.socket() as free,
    ):
        free.bind(("127.0.0.1", 0))  # but does not listen
        closed = f"http://127.0.0.1:{free.getsockname()[1]}"
        other_pages.update(OTHER)
        own_pages.update(site(other.replace("127.0.0.1", "127.0.0.2"), closed))
        yield FaultySite(own, other.replace("127.0.0.1", "127.0.0.2"), closed, requests, own_pages)


class _QuietServer(ThreadingHTTPServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print nothing: clients may close connections."""


@contextmanager
def serving_pages(requests: list[tuple[str, str, str]]) -> Iterator[tuple[str, dict[str, Answer]]]:
    """Serve pages by path, which may be added later; yield the origin and the pages."""
    pages: dict[str, Answer] = {}

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            origin = f"http://{self.headers['Host']}"
            found = pages.get(self.path, Answer(status=404))
            requests.append((self.command, origin, self.path))
            time.sleep(found.wait)
            body = found.body.replace("{origin}", origin).encode() if isinstance(found.body, str) else found.body
            is_head = self.command == "HEAD"
            self.send_response(found.to_head if is_head and found.to_head else found.status)
            for name, value in {"Content-Type": _type_of(self.path), **found.headers}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if not is_head:
                with suppress(ConnectionError):  # the client has seen enough
                    self.wfile.write(body)

        def do_HEAD(self) -> None:
            self.do_GET()

        def log_message(self, *_: Any) -> None:
            """Write no log."""

    with _QuietServer(("0.0.0.0", 0), Handler) as server:  # for two hosts of this machine
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", pages
        finally:
            server.shutdown()


def _type_of(path: str) -> str:
    kinds = {"css": "text/css", "png": "image/png", "js": "text/javascript", "xml": "text/xml", "txt": "text/plain"}
    kinds |= {"svg": "image/svg+xml", "ico": "image/x-icon"}
    return kinds.get(path.rpartition(".")[2], "text/html; charset=utf-8")


if __name__ == "__main__":
    with serving() as found:
        print(found.origin, flush=True)
        threading.Event().wait()
