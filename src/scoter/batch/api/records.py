"""The records of the REST API for batch crawls (``scoter ui``): what it accepts and what it returns.

The server (``scoter.batch.api``) and the client (``scoter.client``) share them. ``ProgressPoint`` is also a line of a
crawl's ``progress.jsonl``. Keep this module cheap to import: it needs msgspec only.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, TypeAlias

from msgspec import Meta, Struct

from scoter.batch.crawldir.causes import Cause
from scoter.http.records import ONE_LINE, Instant, UrlText

MAX_PAGE: Final = 1_000
"""Rows on one page of results."""
MAX_SEEDS: Final = 10_000
MAX_SCHEDULES: Final = 100

CrawlState: TypeAlias = Literal["running", "stopped", "finished", "failed", "unusable"]
JobState: TypeAlias = Literal["running", "stopping", "succeeded", "nothing-to-do", "stopped", "failed", "elsewhere"]
CrawlName = Annotated[
    str,
    Meta(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}(?![\s\S])",
        description="A folder name: letters, digits, dots, dashes and underscores.",
    ),
]
SettingValue: TypeAlias = str | int | float | bool | list[str]
Settings = Annotated[
    dict[str, SettingValue],
    Meta(max_length=100, description="Settings by name, such as fetch.delay; see GET /v1/commands."),
]
Options = Annotated[
    dict[str, Any], Meta(max_length=100, description="Options of the command by name; see GET /v1/commands.")
]
Rows: TypeAlias = list[dict[str, Any]]


class HostLatency(Struct, frozen=True):
    """A host that a fetch waits for, and how many seconds it takes to answer."""

    host: str
    seconds: float


class ProgressPoint(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How far a command was at one moment.

    ``share`` is that of the step, from 0 to 1. During a fetch, ``total``, ``done``, ``pages`` and ``errors`` count the
    URLs of the segment, and ``active`` requests are in progress. ``new_urls`` is given at the end of a round. The last
    point has ``ended``: the reason, ``is_done`` if nothing is left to do, and of a crawl why it ``is_failed``.
    """

    time: Instant
    command: str
    step: str = ""
    round: int | None = None
    rounds: int | None = None
    share: float | None = None
    total: int | None = None
    done: int | None = None
    pages: int | None = None
    pages_per_second: float | None = None
    bytes_per_second: float | None = None
    active: int | None = None
    queued: int | None = None
    errors: Mapping[str, int] = {}
    slowest_hosts: tuple[HostLatency, ...] = ()
    seconds_left: float | None = None
    why: str = ""
    fetched: int | None = None
    new_urls: int | None = None
    ended: str = ""
    is_done: bool | None = None
    left: int | None = None
    is_failed: bool = False
    causes: tuple[Cause, ...] = ()


class Progress(Struct, frozen=True, kw_only=True):
    """The latest state of a crawl, and its history, thinned to the number of points asked for."""

    latest: ProgressPoint | None
    points: list[ProgressPoint]


class ProgressQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How many points of the history to return."""

    points: Annotated[int, Meta(ge=0, le=5_000)] = 500


class JobInfo(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A command that runs or ran on a crawl.

    The state ``elsewhere`` is that of a command which this server did not start: ``holder`` says who runs it.
    ``result`` is what the command printed with ``--json``; ``last_lines`` are the end of its log, given for one job.
    """

    id: str
    crawl: str
    command: str
    state: JobState
    options: dict[str, Any] = {}
    settings: dict[str, Any] = {}
    started: Instant | None = None
    ended: Instant | None = None
    exit_code: int | None = None
    schedule: str = ""
    holder: str = ""
    result: Any = None
    last_lines: list[str] = []


class CrawlEvent(Struct, frozen=True):
    """One event of a crawl: ``data`` is JSON, a ``ProgressPoint``, a ``JobInfo`` or a ``Gap``."""

    id: Annotated[str, Meta(pattern="^[0-9]+$")]
    event: Literal["progress", "job", "gap"]
    data: str


class JobList(Struct, frozen=True):
    """Jobs, newest first."""

    jobs: list[JobInfo]


class JobOrder(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A command to run on a crawl; without options, ``crawl`` resumes the crawl."""

    command: Annotated[str, Meta(max_length=100)] = "crawl"
    options: Options = {}
    settings: Settings = {}


class StopOrder(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How to stop a job: like Ctrl-C, or killing its processes, which loses only unfinished parts."""

    how: Literal["clean", "kill"] = "clean"


class LogQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How many lines of a log to return."""

    lines: Annotated[int, Meta(ge=1, le=10_000)] = 200


class JobLog(Struct, frozen=True):
    """The last lines that a job printed for people."""

    lines: list[str]


class CrawlInfo(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A crawl below the folder.

    ``urls`` is the number of URLs in the crawldb, ``by_status`` their numbers by status as of ``counted``: they are
    counted in the background after the crawldb has changed. ``problem`` says why a crawl is unusable.
    """

    name: str
    state: CrawlState
    rounds: int = 0
    urls: int = 0
    by_status: Mapping[str, int] = {}
    counted: Instant | None = None
    size: int = 0
    created: Instant | None = None
    last_activity: Instant | None = None
    job: JobInfo | None = None
    progress: ProgressPoint | None = None
    problem: str = ""


class CrawlList(Struct, frozen=True, kw_only=True):
    """Crawls by name; ``next`` is the value of ``after`` for the next page."""

    crawls: list[CrawlInfo]
    next: str | None = None


class ListQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which page of a list to return."""

    after: Annotated[str, Meta(max_length=300)] = ""
    limit: Annotated[int, Meta(ge=1, le=MAX_PAGE)] = 100


class CrawlOrder(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A crawl to create and start: ``options`` are those of the command ``crawl``, such as scope, rounds and agent."""

    name: CrawlName
    seeds: Annotated[list[UrlText], Meta(min_length=1, max_length=MAX_SEEDS)]
    options: Options = {}
    settings: Settings = {}


class CommandOption(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An option of a command: its JSON type, its accepted values or range, and its default."""

    name: str
    type: Literal["boolean", "integer", "number", "string", "array"]
    help: str = ""
    accepted: tuple[str, ...] = ()
    minimum: float | None = None
    maximum: float | None = None
    default: Any = None
    required: bool = False


class CommandInfo(Struct, frozen=True, kw_only=True):
    """A command that can be run as a job."""

    name: str
    summary: str
    options: list[CommandOption]


class CommandList(Struct, frozen=True, kw_only=True):
    """The commands that can be run as jobs, and the settings that they accept."""

    commands: list[CommandInfo]
    settings: list[str]


class ScheduleOrder(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A job to run again and again: first at ``start`` (now if omitted), then after each ``every``."""

    crawl: CrawlName
    every: Annotated[
        str, Meta(pattern=r"^[0-9]{1,5}(m|h|d|w)(?![\s\S])", description="A duration such as 30m, 12h, 7d or 4w.")
    ]
    start: Instant | None = None
    command: Annotated[str, Meta(max_length=100)] = "crawl"
    options: Options = {}
    settings: Settings = {}
    note: Annotated[str, Meta(max_length=200, pattern=ONE_LINE)] | None = None


class ScheduleInfo(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A recurring job. A run that is due while the crawl is busy, or that was missed, is made up for once."""

    id: str
    crawl: str
    every: str
    next_run: Instant
    command: str
    options: dict[str, Any] = {}
    settings: dict[str, Any] = {}
    note: str = ""
    created: Instant | None = None
    last_run: Instant | None = None
    last_job: str = ""
    problem: str = ""


class ScheduleList(Struct, frozen=True):
    """All schedules, oldest first."""

    schedules: list[ScheduleInfo]


class RowPage(Struct, frozen=True, kw_only=True):
    """Rows of a table; ``next`` is the value of ``after`` for the next page, ``None`` at the end.

    A page may have fewer rows than asked for, or none, and still have a ``next``: the work per request is limited.
    """

    rows: Rows
    next: str | None = None


class UrlsQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which rows of the crawldb to return, by key."""

    status: Annotated[str, Meta(max_length=100, description="A status, such as fetched.")] = ""
    host: Annotated[str, Meta(max_length=253, description="A host.")] = ""
    after: Annotated[str, Meta(max_length=9_000, description="The key after which to start.")] = ""
    limit: Annotated[int, Meta(ge=1, le=MAX_PAGE)] = 100


HostColumn: TypeAlias = Literal["host", "urls", "fetched", "unfetched", "gone", "redirects", "duplicates", "best_score"]


class HostsQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which hosts to return, and in which order; ``after`` is the ``next`` of the previous page."""

    after: Annotated[str, Meta(max_length=300)] = ""
    limit: Annotated[int, Meta(ge=1, le=MAX_PAGE)] = 100
    sort: HostColumn = "host"
    descending: bool = False
    contains: Annotated[str, Meta(max_length=253, description="A part of the host's name.")] = ""


class UrlQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The URL to show."""

    url: UrlText


class LinksQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The URL whose links to show, and which of them."""

    url: UrlText
    offset: Annotated[int, Meta(ge=0, le=1_000_000)] = 0
    limit: Annotated[int, Meta(ge=1, le=MAX_PAGE)] = 100


class UrlLinks(Struct, frozen=True, kw_only=True):
    """Links of a page or to it, and how many there are."""

    url: str
    count: int
    rows: Rows


class CopyQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The URL, and the segment of the copy; the newest if omitted."""

    url: UrlText
    segment: Annotated[str, Meta(max_length=100)] = ""


class ReplayQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The URL, and the segment near which to look for its copy; the newest if omitted."""

    url: UrlText
    near: Annotated[str, Meta(max_length=100)] = ""


class PageText(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The texts of a page, as parsed."""

    url: str
    segment: str
    title: str | None = None
    text: str | None = None
    main_text: str | None = None
    markdown: str | None = None


class HeaderField(Struct, frozen=True):
    """A header field, as the server sent it."""

    name: str
    value: str


class CopyHeaders(Struct, frozen=True, kw_only=True):
    """The status and the header fields of an archived response, in their original order."""

    url: str
    segment: str
    status: int
    fields: list[HeaderField]


class UrlExplanation(Struct, frozen=True, kw_only=True):
    """Everything known about a URL, as `scoter explain --json` prints it, with a verdict in one sentence."""

    url: str
    verdict: str
    facts: dict[str, Any]
