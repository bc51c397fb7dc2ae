"""Who the crawler says it is, and how it speaks HTTP and reads robots.txt."""

# Without the annotations import: here annotations are data, and cheaper from bytecode than from text.
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Final, Literal

from scoter.config.settings import Section, Setting

# Text that goes into a request's head: a line break in it would start a header of its own.
ONE_LINE: Final = r"[^\x00-\x1f\x7f]*"
# RFC 9110 5.6.2: the characters of a token, which is what a product name in User-Agent is.
PRODUCT: Final = r"[A-Za-z0-9!#$%&'*+.^_`|~-]*"
_HEADER: Final = r"[A-Za-z0-9!#$%&'*+.^_`|~-]+:[^\x00-\x08\x0a-\x1f\x7f]*"


class AgentSettings(Section, frozen=True):
    """Who the crawler says it is; without a name nothing is fetched."""

    name: Annotated[
        str,
        Setting(
            "Product name of the crawler in User-Agent, matched in robots.txt; it must be set to fetch.",
            nutch=("http.agent.name",),
            pattern=PRODUCT,
            form="a word without spaces and slashes",
            example='"examplebot"',
        ),
    ] = ""
    version: Annotated[
        str,
        Setting(
            "Version in User-Agent; empty means Scoter's own.",
            nutch=("http.agent.version",),
            pattern=PRODUCT,
            form="a word without spaces and slashes",
            departs="Nutch names its own version",
        ),
    ] = ""
    description: Annotated[
        str,
        Setting("A few words on the crawler in User-Agent.", nutch=("http.agent.description",), pattern=ONE_LINE),
    ] = ""
    url: Annotated[
        str,
        Setting(
            "Page that tells the owners of sites about the crawler.",
            nutch=("http.agent.url",),
            pattern=ONE_LINE,
            example='"https://example.org/bot"',
        ),
    ] = ""
    email: Annotated[
        str,
        Setting(
            "Address for complaints, also sent as From.",
            nutch=("http.agent.email",),
            pattern=ONE_LINE,
            example='"crawler@example.org"',
        ),
    ] = ""
    host: Annotated[
        str,
        Setting("Name of this machine for NTLM authentication.", nutch=("http.agent.host",), pattern=ONE_LINE),
    ] = ""
    host_cookie_file: Annotated[
        Path | None,
        Setting("File with a host, a tab and its cookie a line.", nutch=("http.agent.host.cookie.file",)),
    ] = None
    rotate: Annotated[
        bool,
        Setting("Take a random User-Agent from the rotation file for each request.", nutch=("http.agent.rotate",)),
    ] = False
    rotate_file: Annotated[
        Path | None,
        Setting("File with a User-Agent a line.", nutch=("http.agent.rotate.file",)),
    ] = None


class HttpSettings(Section, frozen=True):
    """HTTP itself: time limits, headers, proxies, TLS and the treatment of robots.txt."""

    timeout: Annotated[
        timedelta,
        Setting(
            "Longest wait for a connection and for the next bytes.",
            nutch=("http.timeout",),
            nutch_unit="ms",
            at_least=timedelta(milliseconds=1),
        ),
    ] = timedelta(seconds=10)
    time_limit: Annotated[
        timedelta | None,
        Setting(
            "Longest time for one whole download; what has arrived by then is cut and marked.",
            nutch=("http.time.limit",),
            departs="no download may go on for ever",
        ),
    ] = timedelta(minutes=5)
    partial_truncated: Annotated[
        bool,
        Setting(
            "Keep what has arrived of a broken download as truncated content.",
            nutch=("http.partial.truncated",),
        ),
    ] = False
    http2: Annotated[bool, Setting("Offer HTTP/2 to servers over TLS.", nutch=("http.useHttp2",))] = False
    tls_certificates_check: Annotated[
        bool,
        Setting(
            "Refuse servers whose certificate is expired, self-signed or for another name.",
            nutch=("http.tls.certificates.check",),
            departs="a forged page must not reach the archive, nor credentials a forger",
        ),
    ] = True
    accept: Annotated[str, Setting("Accept header.", nutch=("http.accept",), pattern=ONE_LINE)] = (
        "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
    )
    accept_language: Annotated[
        str, Setting("Accept-Language header.", nutch=("http.accept.language",), pattern=ONE_LINE)
    ] = "en-us,en-gb,en;q=0.7,*;q=0.3"
    headers: Annotated[
        tuple[str, ...],
        Setting(
            "Further headers for every request, in place of those of the same name that are sent anyway; not the "
            "User-Agent, which the agent settings say.",
            pattern=_HEADER,
            example='["DNT: 1"]',
        ),
    ] = ()
    enable_if_modified_since_header: Annotated[
        bool,
        Setting(
            "Ask only for pages that changed since they were last fetched.",
            nutch=("http.enable.if.modified.since.header",),
        ),
    ] = True
    enable_cookie_header: Annotated[
        bool,
        Setting(
            "Send the cookies of the URL's metadata or of agent.host_cookie_file.",
            nutch=("http.enable.cookie.header",),
        ),
    ] = True
    keep_cookies: Annotated[
        bool,
        Setting(
            "Keep the cookies that servers set, and send them back to the same host within one run; after 20,000 of"
            " them all are forgotten."
        ),
    ] = False
    store_responsetime: Annotated[
        bool,
        Setting(
            "Keep the time each answer took in the crawldb, as _rs_ in milliseconds.",
            nutch=("http.store.responsetime",),
        ),
    ] = True
    auth_file: Annotated[Path | None, Setting("File with user names, passwords or tokens by host.")] = None

    proxy_type: Annotated[Literal["http", "socks"], Setting("Kind of proxy.", nutch=("http.proxy.type",))] = "http"
    proxy_host: Annotated[
        str,
        Setting("Host of the proxy; empty means none.", nutch=("http.proxy.host",), pattern=ONE_LINE),
    ] = ""
    proxy_port: Annotated[
        int | None,
        Setting(
            "Port of the proxy; auto takes the usual one for its kind.",
            nutch=("http.proxy.port",),
            at_least=1,
            at_most=65_535,
            none="auto",
        ),
    ] = None
    proxy_username: Annotated[str, Setting("User name for the proxy.", nutch=("http.proxy.username",))] = ""
    proxy_password: Annotated[str, Setting("Password for the proxy.", nutch=("http.proxy.password",), secret=True)] = ""
    proxy_realm: Annotated[str, Setting("Realm, or NTLM domain, of the proxy.", nutch=("http.proxy.realm",))] = ""
    proxy_exception_list: Annotated[
        tuple[str, ...],
        Setting(
            "Hosts that are reached without the proxy; a * may stand at either end.",
            nutch=("http.proxy.exception.list",),
            example='["*.example.org"]',
        ),
    ] = ()

    robots_agents: Annotated[
        tuple[str, ...],
        Setting(
            "Further product names to obey in robots.txt, after agent.name.",
            nutch=("http.robots.agents",),
            pattern=PRODUCT,
            form="a word without spaces and slashes",
            example='["examplebot-image"]',
        ),
    ] = ()
    robot_rules_allowlist: Annotated[
        tuple[str, ...],
        Setting(
            "One's own hosts, for which robots.txt is not asked; subdomains are included.",
            nutch=("http.robot.rules.allowlist", "http.robot.rules.whitelist"),
            example='["staging.example.org"]',
        ),
    ] = ()
    robots_403_allow: Annotated[
        bool,
        Setting("Take a 403 for robots.txt to allow everything.", nutch=("http.robots.403.allow",)),
    ] = True
    robots_503_defer_visits: Annotated[
        bool,
        Setting(
            "Leave a host alone for a while when robots.txt is answered with 5xx or 429.",
            nutch=("http.robots.503.defer.visits",),
        ),
    ] = True
    robots_503_defer_visits_delay: Annotated[
        timedelta,
        Setting(
            "How long such a host is left alone.",
            nutch=("http.robots.503.defer.visits.delay",),
            nutch_unit="ms",
        ),
    ] = timedelta(minutes=5)
    robots_503_defer_visits_retries: Annotated[
        int,
        Setting(
            "How often robots.txt is asked for again before the host's URLs are put off.",
            nutch=("http.robots.503.defer.visits.retries",),
            at_least=0,
            at_most=1_000,
        ),
    ] = 3
    robots_redirect_max: Annotated[
        int,
        Setting(
            "Redirects followed for robots.txt.",
            nutch=("http.robots.redirect.max",),
            at_least=0,
            at_most=20,
        ),
    ] = 5
