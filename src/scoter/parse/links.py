"""Which links of a page are kept.

A link is dropped when the page or the link itself says nofollow, when its target is too long, is the page itself,
leads where the crawl does not go (internal and external rules), is no URL after normalising, is refused by the URL
filters, or was met on the page before; of the rest the first ``db.max_outlinks_per_page`` are kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

from msgspec.structs import replace

from scoter.config import Config
from scoter.core.chain import Scope, keeps, respell
from scoter.core.page import Outlink, Page
from scoter.core.url import Url
from scoter.parse.kept import Dropped, Kept
from scoter.plugins import UrlExemption, UrlFilter, UrlNormalizer, chain

CACHE: Final = 16_384
_CACHED: Final = 512  # characters; what is longer is judged each time


Verdict: TypeAlias = Url | Dropped


class LinkRules:
    """Decides about links by a configuration and its chains of normalisers, filters and exemptions."""

    def __init__(
        self,
        config: Config,
        normalizers: Sequence[tuple[str, UrlNormalizer]] | None = None,
        filters: Sequence[tuple[str, UrlFilter]] | None = None,
        exemptions: Sequence[tuple[str, UrlExemption]] | None = None,
    ) -> None:
        """Chains that are not given are made as the configuration says."""
        db, parse = config.db, config.parse
        self._normalizers = chain("urlnormalizer", config) if normalizers is None else tuple(normalizers)
        self._filters = chain("urlfilter", config) if filters is None else tuple(filters)
        self._exemptions = chain("urlexemption", config) if exemptions is None else tuple(exemptions)
        self._normalizing, self._filtering = parse.normalize_urls, parse.filter_urls
        self._loops = config.urlnormalizer.loop_count
        self._longest = db.max_outlink_length
        self._most = db.max_outlinks_per_page
        self._no_internal, self._no_external = db.ignore_internal_links, db.ignore_external_links
        self._by_domain = db.ignore_external_links_mode == "domain"
        self._redirects_too = db.ignore_also_redirects
        self._verdicts: dict[str, Verdict] = {}

    def keep(self, page: Page) -> Kept:
        """Return the links of a page that are kept, in their order, each target once.

        The first link to a target counts, with the first anchor that has any words.
        """
        found = len(page.outlinks)
        if page.nofollow:
            return Kept((), found, {Dropped.PAGE_NOFOLLOW: found} if found else {})
        kept: dict[str, Outlink] = {}
        dropped: list[Verdict] = []
        repeated = too_many = 0
        most = found if self._most is None else self._most
        verdicts, own = self._verdicts, page.url.text
        restricted = self._no_internal or self._no_external
        for link in page.outlinks:
            target, rel = link.target, link.rel
            text: str = target.text
            # What most links of a site are: followed, known, and on their way to another page.
            verdict = verdicts.get(text)
            if verdict is None or restricted or text == own or (rel and "nofollow" in rel):
                verdict = self._judge(page.url, link)
            if verdict is target:
                fit = text
            elif type(verdict) is not Url:  # isinstance is slow where a class has a metaclass, as both of these have
                dropped.append(verdict)
                continue
            else:
                fit = verdict.text
            if fit in kept:
                repeated += 1
                if link.anchor and not kept[fit].anchor:
                    kept[fit] = replace(kept[fit], anchor=link.anchor)
            elif fit == own:
                dropped.append(Dropped.SELF)
            elif len(kept) >= most:
                too_many += 1
            else:
                kept[fit] = link if fit == text else replace(link, target=verdict)
        return Kept(tuple(kept.values()), found, _counted(dropped, repeated, too_many))

    def redirect(self, source: Url, target: Url) -> Verdict:
        """Return where a redirect leads in the spelling under which it is stored, or why it is not followed."""
        if self._redirects_too and (self._no_internal or self._no_external):
            side = self._wrong_side(source, target)
            if side is not None:
                return side
        verdict = self._fit(target, "fetcher")
        return Dropped.SELF if isinstance(verdict, Url) and verdict.text == source.text else verdict

    def _judge(self, source: Url, link: Outlink) -> Verdict:
        target = link.target
        text = target.text
        if link.rel and "nofollow" in link.rel.split():
            return Dropped.NOFOLLOW
        if text == source.text:
            return Dropped.SELF
        if self._no_internal or self._no_external:
            side = self._wrong_side(source, target)
            if side is not None:
                return side
        verdict = self._verdicts.get(text)
        if verdict is None:
            verdict = self._fit(target, "outlink")
            self._remember(text, verdict)
        return verdict

    def _wrong_side(self, source: Url, target: Url) -> Dropped | None:
        own = source.domain == target.domain if self._by_domain else source.host == target.host
        if own:
            return Dropped.INTERNAL if self._no_internal else None
        if self._no_external and not any(each.exempts(source, target) for _, each in self._exemptions):
            return Dropped.EXTERNAL
        return None

    def _fit(self, target: Url, scope: Scope) -> Verdict:
        """Judge a target whatever page it stands on."""
        if self._longest is not None and len(target.text) > self._longest:
            return Dropped.TOO_LONG
        if self._normalizing:
            normal = respell(target, self._normalizers, scope, self._loops)
            if normal is None:
                return Dropped.NO_URL
            target = normal
        return target if not self._filtering or keeps(target, self._filters) else Dropped.FILTERED

    def _remember(self, text: str, verdict: Verdict) -> None:
        if len(text) > _CACHED:
            return
        if len(self._verdicts) >= CACHE:
            self._verdicts.clear()  # a crawl that has moved on to other sites has no use for the old ones
        self._verdicts[text] = verdict


def _counted(dropped: list[Verdict], repeated: int, too_many: int) -> dict[Dropped, int]:
    """Count the reasons; the two frequent ones come as numbers, since to hash a member of an enum is slow."""
    counts: dict[Dropped, int] = {}
    if dropped:
        for reason in Dropped:
            count = dropped.count(reason)
            if count:
                counts[reason] = count
    if repeated:
        counts[Dropped.REPEATED] = counts.get(Dropped.REPEATED, 0) + repeated
    if too_many:
        counts[Dropped.TOO_MANY] = counts.get(Dropped.TOO_MANY, 0) + too_many
    return counts
