"""The crawler's identity, HTTP and robots.txt."""

# No `from __future__ import annotations`: the annotations are read at run time.
from datetime import timedelta
from pathlib import Path
from typing import Final, Literal

from scoter.config.settings import SAME_NAME, Section, setting

# Text that goes into a request's head: a line break in it would start a header of its own.
ONE_LINE: Final = r"[^\x00-\x1f\x7f]*"
# RFC 9110 5.6.2: the characters of a token, which is what a product name in User-Agent is.
PRODUCT: Final = r"[A-Za-z0-9!#$%&'*+.^_`|~-]*"
_HEADER: Final = r"[A-Za-z0-9!#$%&'*+.^_`|~-]+:[^\x00-\x08\x0a-\x1f\x7f]*"


class AgentSettings(Section, frozen=True):
    """How the crawler identifies itself; nothing is fetched without a name."""

    name: str = setting(
        "",
        "Product name of the crawler in User-Agent, matched in robots.txt; required for fetching.",
        nutch=("http.agent.name",),
        pattern=PRODUCT,
        form="a word without spaces and slashes",
        example='"examplebot"',
    )
    version: str = setting(
        "",
        "Version in User-Agent; empty means Scoter's own.",
        nutch=("http.agent.version",),
        pattern=PRODUCT,
        form="a word without spaces and slashes",
        departs="Nutch sends its own version",
    )
    description: str = setting(
        "", "Short description of the crawler in User-Agent.", nutch=("http.agent.description",), pattern=ONE_LINE
    )
    url: str = setting(
        "",
        "Page that describes the crawler to site owners.",
        nutch=("http.agent.url",),
        pattern=ONE_LINE,
        example='"https://example.org/bot"',
    )
    email: str = setting(
        "",
        "Address for complaints, also sent in the From header.",
        nutch=("http.agent.email",),
        pattern=ONE_LINE,
        example='"crawler@example.org"',
    )
    host: str = setting(
        "", "Name of this machine for NTLM authentication.", nutch=("http.agent.host",), pattern=ONE_LINE
    )
    host_cookie_file: Path | None = setting(
        None, "File with one host and its cookie per line, separated by a tab.", nutch=("http.agent.host.cookie.file",)
    )
    rotate: bool = setting(
        False, "Send a random User-Agent from the rotation file with each request.", nutch=("http.agent.rotate",)
    )
    rotate_file: Path | None = setting(None, "File with one User-Agent per line.", nutch=("http.agent.rotate.file",))


class HttpSettings(Section, frozen=True):
    """HTTP: timeouts, headers, proxies, TLS and robots.txt."""

    timeout: timedelta = setting(
        timedelta(seconds=10),
        "Timeout for connecting and for each wait for data.",
        nutch=SAME_NAME,
        nutch_unit="ms",
        at_least=timedelta(milliseconds=1),
    )
    time_limit: timedelta | None = setting(
        timedelta(minutes=5),
        "Time limit of one download; what has arrived by then is kept and marked as truncated.",
        nutch=SAME_NAME,
        departs="a download must not last forever",
    )
    partial_truncated: bool = setting(
        False, "Keep what has arrived of an interrupted download as truncated content.", nutch=SAME_NAME
    )
    http2: bool = setting(False, "Offer HTTP/2 to servers over TLS.", nutch=("http.useHttp2",))
    tls_certificates_check: bool = setting(
        True,
        "Refuse servers whose certificate is expired, self-signed or for another name.",
        nutch=SAME_NAME,
        departs="forged pages must not enter the archive, and credentials must not reach an attacker",
    )
    accept: str = setting(
        "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
        "Accept header.",
        nutch=SAME_NAME,
        pattern=ONE_LINE,
    )
    accept_language: str = setting(
        "en-us,en-gb,en;q=0.7,*;q=0.3", "Accept-Language header.", nutch=SAME_NAME, pattern=ONE_LINE
    )
    headers: tuple[str, ...] = setting(
        (),
        "Further headers for every request, replacing default headers of the same name; set the User-Agent in [agent].",
        pattern=_HEADER,
        example='["DNT: 1"]',
    )
    enable_if_modified_since_header: bool = setting(
        True, "Request a page only if it has changed since it was last fetched.", nutch=SAME_NAME
    )
    enable_cookie_header: bool = setting(
        True, "Send the cookies from the URL's metadata or from agent.host_cookie_file.", nutch=SAME_NAME
    )
    keep_cookies: bool = setting(
        False,
        "Keep cookies that servers set and send them back to the same host within one run; after 20,000 "
        "cookies all are dropped.",
    )
    store_responsetime: bool = setting(
        True, "Store the response time in the crawldb, as _rs_ in milliseconds.", nutch=SAME_NAME
    )
    auth_file: Path | None = setting(None, "File with user names, passwords or tokens per host.")

    proxy_type: Literal["http", "socks"] = setting("http", "Type of the proxy.", nutch=SAME_NAME)
    proxy_host: str = setting("", "Host of the proxy; empty means none.", nutch=SAME_NAME, pattern=ONE_LINE)
    proxy_port: int | None = setting(
        None,
        "Port of the proxy; auto means the usual one for its type.",
        nutch=SAME_NAME,
        at_least=1,
        at_most=65_535,
        none="auto",
    )
    proxy_username: str = setting("", "User name for the proxy.", nutch=SAME_NAME)
    proxy_password: str = setting("", "Password for the proxy.", nutch=SAME_NAME, secret=True)
    proxy_realm: str = setting("", "Realm or NTLM domain of the proxy.", nutch=SAME_NAME)
    proxy_exception_list: tuple[str, ...] = setting(
        (), "Hosts that bypass the proxy; a name may start or end with *.", nutch=SAME_NAME, example='["*.example.org"]'
    )

    robots_agents: tuple[str, ...] = setting(
        (),
        "Further product names to look for in robots.txt; their rules are obeyed together with those for agent.name.",
        nutch=SAME_NAME,
        pattern=PRODUCT,
        form="a word without spaces and slashes",
        example='["examplebot-image"]',
    )
    robot_rules_allowlist: tuple[str, ...] = setting(
        (),
        "Your own hosts, including subdomains, for which robots.txt is not fetched.",
        nutch=("http.robot.rules.allowlist", "http.robot.rules.whitelist"),
        example='["staging.example.org"]',
    )
    robots_403_allow: bool = setting(
        True, "Treat a 403 response for robots.txt as allowing everything.", nutch=SAME_NAME
    )
    robots_503_defer_visits: bool = setting(
        True, "Put a host on hold if robots.txt is answered with 5xx or 429.", nutch=SAME_NAME
    )
    robots_503_defer_visits_delay: timedelta = setting(
        timedelta(minutes=5), "How long such a host is on hold.", nutch=SAME_NAME, nutch_unit="ms"
    )
    robots_503_defer_visits_retries: int = setting(
        3, "Retries of robots.txt before the host's URLs are postponed.", nutch=SAME_NAME, at_least=0, at_most=1_000
    )
    robots_redirect_max: int = setting(5, "Redirects followed for robots.txt.", nutch=SAME_NAME, at_least=0, at_most=20)
