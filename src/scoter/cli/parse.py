"""Parse fetched segments."""

from __future__ import annotations

from contextlib import ExitStack

import click

from scoter.cli.invocation import INTERRUPTED, NOTHING_TO_DO, off_switch, remark
from scoter.cli.output import note, progress_bar
from scoter.cli.results import print_result
from scoter.cli.session import crawl_session
from scoter.core.display import count


@click.command()
@click.argument("directory", metavar="DIR")
@click.argument("segments", nargs=-1, metavar="[SEGMENT]...")
@click.option("--force", is_flag=True, help="Parse segments again that are already parsed.")
@off_switch("filter", "Do not apply the URL filters to links (parse.filter_urls).", default=None)
@off_switch("normalize", "Do not normalise links (parse.normalize_urls).", default=None)
def command(directory: str, segments: tuple[str, ...], force: bool, filter: bool | None, normalize: bool | None) -> int:
    """Parse fetched segments.

    Without SEGMENT, parses all segments that are fetched but not parsed yet. Pages are read from the archive. After an
    interruption, parsing resumes where it was. --force parses again with the current settings and replaces the earlier
    result; the crawldb and the linkdb are not changed. Exit code 1: there is no segment to parse.

    \b
    Example:
      scoter parse mycrawl
      scoter parse mycrawl 20261115033000
      scoter parse mycrawl --force -D parse.markdown=true
    """
    from msgspec.structs import replace

    from scoter.batch.crawldir.directory import StopRequest
    from scoter.batch.jobs.parse import parse

    with crawl_session("parse", directory, lock=False) as session, ExitStack() as stack:
        config = session.scoped_config
        settings = config.parse
        if filter is not None:
            settings = replace(settings, filter_urls=filter)
        if normalize is not None:
            settings = replace(settings, normalize_urls=normalize)
        stopping = StopRequest(on_signal=session.status.acknowledge_stop)
        stack.enter_context(stopping.handle_signals())
        every = session.crawl.all_segments()
        chosen = [session.crawl.segment(name) for name in segments] or [
            each for each in every if each.is_fetched and (force or not each.is_parsed)
        ]
        if not chosen:
            is_parsed = any(each.is_parsed for each in every)
            note("There is no segment to parse." + (" To parse them again, use --force." if is_parsed else ""))
            return NOTHING_TO_DO
        for segment in chosen:

            def report(number: int, total: int) -> None:
                share = number / max(total, 1)
                session.status.show(progress_bar("parse", share))
                session.progress.add("parse", share=round(share, 4), done=number, total=total)

            done = parse(
                segment,
                replace(config, parse=settings),
                again=force,
                on_progress=report,
                stopping=stopping,
            )
            session.status.clear()
            print_result(
                done, lambda done: remark(f"{done.segment}: {count(done.pages, 'page')}, {count(done.links, 'link')}.")
            )
    return INTERRUPTED if stopping.is_interrupted else 0
