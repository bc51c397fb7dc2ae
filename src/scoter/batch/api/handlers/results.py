"""What a crawl has found: rows of the crawldb, hosts, segments, one URL, links and texts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec

from scoter.batch.api.handlers.crawls import CRAWL_PATH
from scoter.batch.api.records import (
    CopyQuery,
    HostsQuery,
    LinksQuery,
    ListQuery,
    PageText,
    RowPage,
    UrlExplanation,
    UrlLinks,
    UrlQuery,
    UrlsQuery,
)
from scoter.batch.api.rows import (
    ARROW,
    RowTable,
    accepted_form,
    crawldb_page,
    encoded_table,
    host_rows,
    json_rows,
)
from scoter.batch.api.rows import segment_rows as read_segments
from scoter.batch.api.services import BatchServices
from scoter.batch.crawldir.crawldb import open_linkdb, table_exists
from scoter.batch.crawldir.directory import CrawlDir
from scoter.batch.crawldir.export import json_value
from scoter.batch.crawldir.lookup import find_rows, url_rows
from scoter.batch.crawldir.segment import SegmentSources
from scoter.batch.jobs.explain import explain, explanation_facts, summarize
from scoter.batch.jobs.readseg import SegmentEntry, find_entries
from scoter.batch.main_text.page import page_main_text
from scoter.core.url import canonical
from scoter.engine.sources import source_of
from scoter.http.asgi import ApiRequest, ApiResponse
from scoter.http.problems import problem
from scoter.http.routes import HandlerResult, ResponseSpec, route

_ROWS: Final = ResponseSpec("Rows.", RowPage, others=(ARROW,))
_UNKNOWN: Final = problem(404, "unknown", "The crawl has no such page.")


def _page(found: RowTable, call: ApiRequest[Any]) -> ApiResponse:
    form = accepted_form(call.headers, (ARROW,))
    if form:
        headers = ((b"scoter-next", found.next.encode()),) if found.next is not None else ()
        return ApiResponse(encoded_table(found.table, form), media_type=form.encode(), headers=headers)
    return ApiResponse(msgspec.json.encode(RowPage(rows=json_rows(found.table), next=found.next)))


@route("GET", CRAWL_PATH + "/urls", {200: _ROWS}, query=UrlsQuery, problems=(409,))
async def list_urls(services: BatchServices, call: ApiRequest[None]) -> HandlerResult:
    """Return rows of the crawldb by key, as JSON or Arrow."""
    name = call.path["name"]
    crawl = services.folder.crawl(name)
    found = await services.read(crawldb_page, crawl, services.config(name), call.query)
    return await services.read(_page, found, call)


@route("GET", CRAWL_PATH + "/hosts", {200: _ROWS}, query=HostsQuery, problems=(409, 503))
async def list_hosts(services: BatchServices, call: ApiRequest[None]) -> HandlerResult:
    """Return the hosts of a crawl with their URLs by status, sorted and filtered, as JSON or Arrow."""
    query: HostsQuery = call.query
    name = call.path["name"]
    crawl = services.folder.crawl(name)
    table = await services.read(services.hosts.hosts, name, crawl)
    return await services.read(_hosts, table, query, call)


def _hosts(table: Any, query: HostsQuery, call: ApiRequest[Any]) -> ApiResponse:
    return _page(host_rows(table, query), call)


@route(
    "GET",
    CRAWL_PATH + "/segments",
    {200: ResponseSpec("Segments, oldest first.", RowPage)},
    query=ListQuery,
    problems=(409,),
)
async def list_segments(services: BatchServices, call: ApiRequest[None]) -> HandlerResult:
    """Return the segments of a crawl."""
    query: ListQuery = call.query
    crawl = services.folder.crawl(call.path["name"])
    rows, after = await services.read(read_segments, crawl, query.after, query.limit)
    return ApiResponse(msgspec.json.encode(RowPage(rows=[json_value(row) for row in rows], next=after)))


@route(
    "GET",
    CRAWL_PATH + "/url",
    {200: ResponseSpec("Everything known about the URL.", UrlExplanation)},
    query=UrlQuery,
    problems=(409,),
)
async def show_url(services: BatchServices, call: ApiRequest[None]) -> HandlerResult:
    """Show everything known about a URL, and why it was fetched or not."""
    return ApiResponse(await services.read(_explained, services, call.path["name"], call.query.url))


def _explained(services: BatchServices, name: str, url: str) -> bytes:
    now = services.clock()
    found = explain(services.folder.crawl(name), services.config(name), url, now=now)
    facts = explanation_facts(found, summarize(found, now))
    return msgspec.json.encode(UrlExplanation(url=facts["url"], verdict=facts["verdict"], facts=facts))


_LINKS: Final = ResponseSpec("The links.", UrlLinks)


@route("GET", CRAWL_PATH + "/inlinks", {200: _LINKS}, query=LinksQuery, problems=(409,))
async def list_inlinks(services: BatchServices, call: ApiRequest[None]) -> HandlerResult:
    """Return the inlinks of a URL from the linkdb."""
    return ApiResponse(await services.read(_inlinks, services.folder.crawl(call.path["name"]), call.query))


def _inlinks(crawl: CrawlDir, query: LinksQuery) -> bytes:
    url, rows = canonical(query.url), []
    if table_exists(crawl.linkdb):
        with open_linkdb(crawl) as linkdb:
            row = next(url_rows(source_of(linkdb), url), None)
        rows = sorted((row or {}).get("inlinks") or (), key=lambda link: (link["url"], link["anchor"] or ""))
    return _link_page(url.text, rows, query)


@route("GET", CRAWL_PATH + "/outlinks", {200: _LINKS}, query=LinksQuery, problems=(409,))
async def list_outlinks(services: BatchServices, call: ApiRequest[None]) -> HandlerResult:
    """Return the outlinks of a page, from the newest segment that has it."""
    return ApiResponse(await services.read(_outlinks, services.folder.crawl(call.path["name"]), call.query))


def _outlinks(crawl: CrawlDir, query: LinksQuery) -> bytes:
    url, rows = canonical(query.url), []
    for segment in reversed(crawl.all_segments()):
        rows = list(find_rows(SegmentSources([segment]).links, {"source": url.text}))
        if rows:
            break
    return _link_page(url.text, rows, query)


def _link_page(url: str, rows: list[dict[str, Any]], query: LinksQuery) -> bytes:
    shown = [json_value(row) for row in rows[query.offset : query.offset + query.limit]]
    return msgspec.json.encode(UrlLinks(url=url, count=len(rows), rows=shown))


@route(
    "GET",
    CRAWL_PATH + "/text",
    {200: ResponseSpec("The texts.", PageText)},
    query=CopyQuery,
    problems=(404, 409),
)
async def show_text(services: BatchServices, call: ApiRequest[None]) -> HandlerResult:
    """Return the title and the texts of a page; main text and Markdown are made if they are not stored."""
    name = call.path["name"]
    found = await services.read(find_entry, services, name, call.query, _has_text)
    if found is None or found.parse_text is None:
        return _UNKNOWN
    page, text = found.parse_data or {}, found.parse_text
    names = ("text", "main_text", "markdown")
    texts = {each: text.get(each) for each in names}
    if not (texts["main_text"] and texts["markdown"]) and found.fetch is not None:
        segment = services.folder.crawl(name).segment(found.segment)
        made = await services.read(page_main_text, segment, services.config(name), found.fetch)
        if made is not None:
            texts = {**texts, "main_text": texts["main_text"] or made.text, "markdown": made.markdown}
    return ApiResponse(
        msgspec.json.encode(PageText(url=found.url, segment=found.segment, title=page.get("title"), **texts))
    )


def _has_text(entry: SegmentEntry) -> bool:
    """Return whether an entry has the text of the page itself, not that of an entry in a feed."""
    return entry.parse_text is not None and entry.parse_text["part_of"] is None


def find_entry(
    services: BatchServices, name: str, query: CopyQuery, fits: Callable[[SegmentEntry], bool]
) -> SegmentEntry | None:
    """Return what the newest segment that fits holds of a URL, or the given segment."""
    crawl = services.folder.crawl(name)
    segments = [crawl.segment(query.segment)] if query.segment else list(reversed(crawl.all_segments()))
    config = services.config(name)
    for segment in segments:
        for entry in find_entries(config, [segment], query.url):
            if fits(entry):
                return entry
    return None
