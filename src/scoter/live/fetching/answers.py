"""What is answered for a request that is not made."""

from __future__ import annotations

from datetime import timedelta

from scoter.api import DomainRule
from scoter.core.reply import Failed, Reason, Request


def blocked(request: Request, rule: DomainRule) -> Failed:
    """Nobody may ask its domain."""
    told = f"{rule.domain} is blocked" + (f": {rule.note}" if rule.note else "")
    return Failed(request.url, Reason.REFUSED_ADDRESS, told, transient=False, blames_host=False)


def resting(request: Request, rest: float) -> Failed:
    """Its domain asked to be left alone for longer than anybody waits here."""
    told = f"the domain is left alone for {rest:.0f} s more"
    return Failed(request.url, Reason.BUSY, told, blames_host=False, retry_after=timedelta(seconds=rest))


def stopped(request: Request) -> Failed:
    """The service ends."""
    return Failed(request.url, Reason.STOPPED, "the service ends", blames_host=False)


def deadly(request: Request, deaths: int) -> Failed:
    """Whoever has it dies."""
    told = f"{deaths} fetching processes ended while they had it"
    return Failed(request.url, Reason.BROKEN_PLUGIN, told, blames_host=False)


def unwanted(request: Request) -> Failed:
    """It was a hop to a robots.txt, and whoever wanted it is gone."""
    # A robots.txt whose turn was taken from it counts as unreachable for a while, in the fetcher that asked for it.
    return Failed(request.url, Reason.ROBOTS_UNREACHABLE, "it was not asked for in time", blames_host=False)
