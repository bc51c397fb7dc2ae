"""Check an installation, a crawl directory or a live service, and say what to do."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from scoter.cli.invocation import invocation
from scoter.cli.output import paint, print_json, visible
from scoter.core.display import count

if TYPE_CHECKING:
    from scoter.cli.diagnosis.findings import Finding, Findings

_FAULTS = 1
_COLOURS = {"ok": "green", "advice": "yellow", "fault": "red"}


@click.command()
@click.argument("target", required=False, default="", metavar="[DIR|URL]")
@click.option("--thorough", is_flag=True, help="Also read all tables and databases, and compare checksums.")
@click.option("--host", default="example.com", show_default=True, metavar="NAME", help="Name to resolve.")
@click.option("--key", envvar="SCOTER_KEY", default="", metavar="KEY", help="API key of the service (SCOTER_KEY).")
def command(target: str, thorough: bool, host: str, key: str) -> int:
    """Check an installation, a crawl or a live service.

    Without an argument, checks this installation: versions, packages, clock, limits, DNS; with
    live.backend = "cluster" also Kafka and Cassandra. DIR is the directory of a crawl (or its URL in an object store)
    or of a live service: its permissions, disk, and damaged parts. URL is the address of a running service. Each line
    says what was found, and the next one what to do. In an object store, a small object is written and removed.

    Exit code 1: something must be mended.

    \b
    Example:
      scoter doctor
      scoter doctor mycrawl --thorough
      scoter doctor http://127.0.0.1:8008
    """
    from scoter.cli.diagnosis.findings import Findings

    findings = Findings()
    _examine(findings, target, host=host, key=key, is_thorough=thorough)
    if invocation().json:
        for each in findings:
            print_json(each)
    else:
        _show(findings)
    return _FAULTS if findings.has_faults else 0


def _examine(findings: Findings, target: str, *, host: str, key: str, is_thorough: bool) -> None:
    if target.startswith(("http://", "https://")):
        from scoter.cli.diagnosis.remote_service import check_running

        check_running(findings, target, key)
        return
    options = invocation()
    if target:
        options.use_crawl(target)
    config = options.config
    if not target:
        from scoter.cli.diagnosis.installation import check_installation

        check_installation(findings, config, host=host)
    else:
        from scoter.cli.diagnosis.service import check_service, is_service
        from scoter.store.objects.client import is_url

        if not is_url(target) and not Path(target, "crawl.json").exists() and is_service(Path(target)):
            check_service(findings, Path(target), config, is_thorough=is_thorough)
        else:
            from scoter.cli.diagnosis.crawl import check_crawl

            check_crawl(findings, target, config, is_thorough=is_thorough)
            return
    if config.live.backend == "cluster":
        from scoter.cli.diagnosis.service import check_servers

        check_servers(findings, config)


def _show(findings: Findings) -> None:
    widest = max((len(each.check) for each in findings), default=0)
    for each in findings:
        if invocation().quiet and each.verdict == "ok":
            continue
        click.echo(_line(each, widest))
        if each.remedy:
            click.echo(f"{'':{widest + 10}}{visible(each.remedy)}")
    faults = sum(each.verdict == "fault" for each in findings)
    advice = sum(each.verdict == "advice" for each in findings)
    if not invocation().quiet:
        click.echo(f"\n{faults} to mend, {advice} to consider, of {count(len(findings.all), 'check')}")


def _line(finding: Finding, widest: int) -> str:
    verdict = f"{finding.verdict:<6}"
    return f"{paint(verdict, _COLOURS[finding.verdict])}  {visible(finding.check):<{widest}}  {visible(finding.found)}"
