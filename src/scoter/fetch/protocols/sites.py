"""What all requests to one site share: where to connect, libcurl options, and the Host field."""

from __future__ import annotations

import pycurl
from msgspec import Struct

from scoter.core.domain import is_ip
from scoter.core.url import Url
from scoter.fetch.network.allowed_hosts import WEB_PORTS
from scoter.fetch.network.guard import Guard
from scoter.fetch.network.proxy import Proxy
from scoter.fetch.protocols.credentials import KINDS, ByHost, Credential

MAX_SITES = 16_384
BY_NAME = ("",)
"""The only route to a site behind a proxy: libcurl gets its name and no address."""

_BEARER = 1 << 6  # CURLAUTH_BEARER, for which pycurl has no name
_AUTH = {"basic": pycurl.HTTPAUTH_BASIC, "digest": pycurl.HTTPAUTH_DIGEST, "ntlm": pycurl.HTTPAUTH_NTLM}


class HttpSite(Struct, frozen=True, kw_only=True):
    """A scheme, host and port.

    ``host_field`` is the value of the Host field, ``path_at`` where in a URL's text the path begins. ``routes`` say
    where to connect, in libcurl's notation and in the order to try; ``None`` if the host must be resolved each time.
    """

    port: int
    host_field: str
    path_at: int
    through_proxy: bool
    routes: tuple[str, ...] | None
    options: tuple[tuple[int, object], ...]


class HttpSites:
    """A cache of the sites asked recently."""

    def __init__(self, guard: Guard, proxy: Proxy | None, credentials: ByHost[Credential]) -> None:
        self._guard = guard
        self._proxy = proxy
        self._credentials = credentials
        self._known: dict[str, HttpSite] = {}

    def get(self, url: Url) -> HttpSite:
        """Return the site of a URL."""
        # A canonical URL has a path and a host, so the first slash after this many characters begins the path.
        origin = url.text[: url.text.index("/", len("https://"))]
        site = self._known.get(origin)
        if site is None:
            if len(self._known) >= MAX_SITES:
                self._known.clear()
            site = self._known[origin] = self._site(url, len(origin))
        return site

    def _site(self, url: Url, path_at: int) -> HttpSite:
        host, port = url.host, url.port or WEB_PORTS[url.scheme]
        through_proxy = self._proxy is not None and self._proxy.serves(host)
        override = self._guard.override(host, port)
        routes: tuple[str, ...] | None = None
        if override is not None:
            routes = (route(host, port, *override),)
        elif is_ip(host):
            routes = BY_NAME if through_proxy else (route(host, port, host.strip("[]"), port),)
        options: tuple[tuple[int, object], ...] = ()
        if self._proxy is not None and through_proxy:
            options += tuple(self._proxy.options)
        credential = self._credentials.get(host)
        if credential is not None:
            options += _authentication(credential)
        return HttpSite(
            port=port,
            host_field=host if url.port is None else f"{host}:{url.port}",
            path_at=path_at,
            through_proxy=through_proxy,
            routes=routes,
            options=options,
        )


def usable_kinds() -> tuple[str, ...]:
    """Return the kinds of authentication that this libcurl supports; newer ones come without NTLM."""
    has_ntlm = pycurl.version_info()[4] & pycurl.VERSION_NTLM
    return tuple(kind for kind in KINDS if kind != "ntlm" or has_ntlm)


def route(host: str, port: int, address: str, to: int) -> str:
    """Return libcurl's notation for connecting to an address instead of a host and port.

    >>> route("example.org", 80, "2001:db8::1", 8080)
    'example.org:80:[2001:db8::1]:8080'
    """
    shown = f"[{address}]" if ":" in address else address
    return f"{host}:{port}:{shown}:{to}"


def _authentication(credential: Credential) -> tuple[tuple[int, object], ...]:
    if credential.kind == "bearer":
        return (pycurl.HTTPAUTH, _BEARER), (pycurl.XOAUTH2_BEARER, credential.secret)
    return (
        (pycurl.HTTPAUTH, _AUTH[credential.kind]),
        (pycurl.USERNAME, credential.user),
        (pycurl.PASSWORD, credential.secret),
    )
