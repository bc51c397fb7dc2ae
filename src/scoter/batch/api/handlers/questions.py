"""Questions about a crawl: search, named reports and SQL."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from scoter.batch.api.handlers.crawls import CRAWL_PATH
from scoter.batch.api.question_records import (
    ReportInfo,
    ReportList,
    ReportQuery,
    SearchParameters,
    SearchResults,
    SqlOrder,
    SqlResult,
    ViewColumn,
    ViewInfo,
    ViewList,
)
from scoter.batch.api.rows import ARROW, CSV, PARQUET, accepted_form, encoded_table, json_rows
from scoter.batch.api.services import BatchServices
from scoter.batch.crawldir.directory import CrawlDir
from scoter.batch.crawldir.export import json_value
from scoter.batch.reports.questions import CRAWL_REPORTS
from scoter.batch.reports.remedies import table_with_remedies
from scoter.batch.site.problems import PROBLEM_KINDS
from scoter.batch.site.queries import ROWS, SUMMARY
from scoter.batch.site.tables import SiteFolder
from scoter.core.url import canonical
from scoter.errors import UrlError, UsageError
from scoter.http.asgi import ApiRequest, ApiResponse
from scoter.http.problems import problem
from scoter.http.routes import HandlerResult, ResponseSpec, route
from scoter.index.search import Searcher
from scoter.reports.days import days
from scoter.reports.questions import QUESTIONS, Question

_FORMS: Final = (ARROW, CSV, PARQUET)
_ROWS: Final = ResponseSpec("The rows.", SqlResult, others=_FORMS)
_QUESTIONS: Final = {name: each for name, each in QUESTIONS.items() if each.crawl} | {
    name: Question(name=name, sentence=each.sentence, service="", crawl=each.sql)
    for name, each in CRAWL_REPORTS.items()
}
_SITE: Final = Question(
    name="site",
    sentence="Show the problems of a site: broken links, redirects, titles and more; the job checksite looks for them.",
    service="",
    crawl=SUMMARY,
)
_QUESTIONS[_SITE.name] = _SITE


@route(
    "GET",
    CRAWL_PATH + "/search",
    {200: ResponseSpec("The best pages.", SearchResults)},
    query=SearchParameters,
    problems=(409,),
)
async def search_pages(services: BatchServices, call: ApiRequest[None]) -> HandlerResult:
    """Search the pages of a crawl, which must have been indexed."""
    crawl = services.folder.crawl(call.path["name"])
    return ApiResponse(await services.read(_searched, crawl.path / "index", call.query))


def _searched(folder: Any, query: SearchParameters) -> bytes:
    found = Searcher(folder).search(query.q, limit=query.limit, offset=query.offset)
    hits = [json_value(msgspec.structs.asdict(hit)) for hit in found.hits]
    return msgspec.json.encode(
        SearchResults(
            query=found.query,
            total=found.total,
            hits=hits,
            suggestion=found.suggestion,
            corrected=found.corrected,
            partial=found.partial,
            notices=list(found.notices),
        )
    )


@route("GET", CRAWL_PATH + "/reports", {200: ResponseSpec("The reports.", ReportList)})
async def list_reports(services: BatchServices, call: ApiRequest[None]) -> HandlerResult:
    """List the reports that a crawl can answer."""
    services.folder.path(call.path["name"])
    found = [
        ReportInfo(name=each.name, answers=each.sentence, takes_site=each.takes_site) for each in _QUESTIONS.values()
    ]
    return ApiResponse(msgspec.json.encode(ReportList(found)))


@route("GET", CRAWL_PATH + "/reports/{report}", {200: _ROWS}, query=ReportQuery, problems=(404, 409, 429))
async def show_report(services: BatchServices, call: ApiRequest[None]) -> HandlerResult:
    """Answer a named report, as JSON, Arrow, CSV or Parquet."""
    query: ReportQuery = call.query
    crawl = services.folder.crawl(call.path["name"])
    question = _QUESTIONS.get(call.path["report"])
    if question is None:
        found = problem(404, "no-such-report", "There is no such report.", f"Reports: {', '.join(_QUESTIONS)}.")
        return msgspec.structs.replace(found, accepted=tuple(_QUESTIONS))
    if question is _SITE:
        question = _site_question(crawl, query.problem)
    elif query.problem:
        raise UsageError(f"{question.name} takes no problem", where="?problem")
    when = days(query.since, query.until, services.clock())
    values: dict[str, Any] = {"since": when.since, "until": when.until, "site": _site(question, query.site)}
    values["limit"] = query.limit
    values["problem"] = query.problem
    used = {name: value for name, value in values.items() if f"${name}" in question.crawl}
    texts = {name: value for name, value in used.items() if name in ("site", "limit", "problem")}
    times = {name: value for name, value in used.items() if name in ("since", "until")}
    table, is_truncated = await services.queries.report(
        crawl.path, question.crawl, most=query.limit, texts=texts, times=times, caller=call.caller.name
    )
    known = CRAWL_REPORTS.get(question.name)
    if known is not None and known.has_remedies:
        name = call.path["name"]
        table = await services.read(lambda: table_with_remedies(table, name, services.config(name)))
    return await services.read(_answer, table, is_truncated, call, query.exact)


def _site_question(crawl: CrawlDir, problem: str) -> Question:
    """Return the question for the problems of a site that were found last, or for those of one kind."""
    if problem and problem not in PROBLEM_KINDS:
        raise UsageError(f"there is no problem {problem!r}", where="?problem", hint=f"{', '.join(PROBLEM_KINDS)}.")
    report = SiteFolder(crawl).report()
    if report is None:
        raise UsageError("the site was not checked yet", hint="Start the job checksite.")
    # Answers are kept for a minute; those about another check must not be given.
    return msgspec.structs.replace(_SITE, crawl=f"{ROWS if problem else SUMMARY} /* {report.file} */")


def _site(question: Question, site: str) -> str:
    if bool(site) != question.takes_site:
        verb = "needs a" if question.takes_site else "takes no"
        raise UsageError(f"{question.name} {verb} site", where="?site")
    try:
        return canonical(site if "://" in site else f"http://{site}/").host if site else ""
    except UrlError as error:
        raise UsageError(f"{site!r} is not a site", where="?site", hint="Give a host or a domain.") from error


_COLUMNS: Final = "SELECT table_name, column_name, data_type FROM information_schema.columns ORDER BY ordinal_position"
VIEWS: Final = {
    "crawldb": "All known URLs: status, score, when each is due.",
    "fetches": "Requests of all segments: status, reason, type, size and time of each response.",
    "pages": "Parsed pages of all segments: title, language, metadata, text, main text and Markdown.",
    "outlinks": "Links of all parsed pages.",
    "linkdb": "Inlinks of each URL, after invertlinks.",
    "problems": "Problems of the site, after checksite.",
    "hosts": "Facts about each host, after updatehostdb.",
    "segments": "Segments: when each was made, and its state.",
    "nodes": "URLs of the link graph with their ranks, after webgraph.",
    "links": "Links of the link graph.",
    "host_nodes": "Hosts of the link graph.",
    "host_links": "Links between hosts.",
    "domain_nodes": "Registered domains of the link graph.",
    "domain_links": "Links between registered domains.",
}


@route("GET", CRAWL_PATH + "/views", {200: ResponseSpec("The views.", ViewList)}, problems=(409, 429))
async def list_views(services: BatchServices, call: ApiRequest[None]) -> HandlerResult:
    """Describe the views that SQL queries can use, with their columns."""
    crawl = services.folder.crawl(call.path["name"])
    caller = call.caller.name
    table, _ = await services.queries.run(crawl.path, _COLUMNS, most=10_000, seconds=30.0, caller=caller)
    columns: dict[str, list[ViewColumn]] = {name: [] for name in VIEWS}
    for row in table.to_pylist():
        columns.setdefault(row["table_name"], []).append(ViewColumn(row["column_name"], row["data_type"]))
    found = [ViewInfo(name, VIEWS.get(name, ""), each) for name, each in columns.items() if each]
    return ApiResponse(msgspec.json.encode(ViewList(found)))


@route("POST", CRAWL_PATH + "/sql", {200: _ROWS}, body=SqlOrder, problems=(409, 429), waits=True)
async def query_crawl(services: BatchServices, call: ApiRequest[SqlOrder]) -> HandlerResult:
    """Run a read-only SQL query over the views of a crawl, as JSON, Arrow, CSV or Parquet."""
    order = call.body
    crawl = services.folder.crawl(call.path["name"])
    table, is_truncated = await services.queries.run(
        crawl.path, order.query, most=order.limit, seconds=order.seconds, caller=call.caller.name
    )
    return await services.read(_answer, table, is_truncated, call, order.exact)


def _answer(table: Any, is_truncated: bool, call: ApiRequest[Any], exact: bool) -> ApiResponse:
    form = accepted_form(call.headers, _FORMS)
    if form:
        headers = (
            (b"scoter-truncated", b"%d" % is_truncated),
            (b"content-disposition", b"attachment"),
        )
        return ApiResponse(encoded_table(table, form, exact=exact), media_type=form.encode(), headers=headers)
    rows = json_rows(table)
    return ApiResponse(msgspec.json.encode(SqlResult(columns=table.schema.names, rows=rows, truncated=is_truncated)))
