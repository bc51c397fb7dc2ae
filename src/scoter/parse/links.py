"""Resolve the links of a page and decide which of them to keep.

A link is dropped if the page or the link is marked nofollow; if its target is too long, is the page itself, is ruled
out as internal or external, is no URL after normalising, or is rejected by the URL filters. Of the others the first
``db.max_outlinks_per_page`` are kept, on pages of ``fetch.own_hosts`` all. Those with the same target become one link
that counts them: as in Nutch, each of them counts towards the limit and for the score.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

from msgspec.structs import replace

from scoter.config import Config
from scoter.core.chain import Scope, keeps, respell
from scoter.core.page import Outlink, Page
from scoter.core.url import Url, depends_on_folder, folder_of, host_of, join
from scoter.parse.records import DropReason, KeptLinks
from scoter.plugins import UrlExemption, UrlFilter, UrlNormalizer, chain

CACHE: Final = 16_384
_CACHED: Final = 512  # characters; longer targets are not cached
_JOINED: Final = 16_384
_LONGEST_JOINED: Final = 512  # characters; a data: URL of megabytes must not fill the cache

Verdict: TypeAlias = Url | DropReason


class LinkRules:
    """Decides which links to keep, by the configuration and its URL normalisers, filters and exemptions."""

    def __init__(
        self,
        config: Config,
        normalizers: Sequence[tuple[str, UrlNormalizer]] | None = None,
        filters: Sequence[tuple[str, UrlFilter]] | None = None,
        exemptions: Sequence[tuple[str, UrlExemption]] | None = None,
    ) -> None:
        """Chains that are not passed are built from the configuration."""
        db, parse = config.db, config.parse
        self._normalizers = chain("urlnormalizer", config) if normalizers is None else tuple(normalizers)
        self._filters = chain("urlfilter", config) if filters is None else tuple(filters)
        self._exemptions = chain("urlexemption", config) if exemptions is None else tuple(exemptions)
        self._normalizing, self._filtering = parse.normalize_urls, parse.filter_urls
        self._loops = config.urlnormalizer.loop_count
        self._longest = db.max_outlink_length
        self._most = db.max_outlinks_per_page
        self._own_hosts = frozenset(host_of(name.strip()) for name in config.fetch.own_hosts)
        self._no_internal, self._no_external = db.ignore_internal_links, db.ignore_external_links
        self._by_domain = db.ignore_external_links_mode == "domain"
        self._redirects_too = db.ignore_also_redirects
        self._verdicts: dict[str, Verdict] = {}

    def keep(self, page: Page) -> KeptLinks:
        """Return the links to keep in page order, each target once.

        The first link to a target is kept, with the first anchor text that is not empty and the number of such links.
        """
        found = len(page.outlinks)
        if page.nofollow:
            return KeptLinks((), found, {DropReason.PAGE_NOFOLLOW: found} if found else {})
        kept: dict[str, Outlink] = {}
        again: dict[str, int] = {}  # how often a target was repeated
        dropped: list[Verdict] = []
        repeated = too_many = to_itself = 0
        most = found if self._most is None or page.url.host in self._own_hosts else self._most
        verdicts, own = self._verdicts, page.url.text
        restricted = self._no_internal or self._no_external
        for link in page.outlinks:
            target, rel = link.target, link.rel
            text: str = target.text
            if text == own and not rel:  # a quarter of the links of documentation
                to_itself += 1
                continue
            # The fast path: most links of a site are followed, cached, and lead to another page.
            verdict = verdicts.get(text)
            if verdict is None or restricted or text == own or (rel and "nofollow" in rel):
                verdict = self._judge(page.url, link)
            if verdict is target:
                fit = text
            elif type(verdict) is not Url:  # isinstance is slow for classes with a metaclass
                dropped.append(verdict)
                continue
            else:
                fit = verdict.text
            if fit == own:
                dropped.append(DropReason.SELF)
            elif len(kept) + repeated >= most:
                too_many += 1
            elif fit in kept:
                repeated += 1
                again[fit] = again.get(fit, 0) + 1
                if link.anchor and not kept[fit].anchor:
                    kept[fit] = replace(kept[fit], anchor=link.anchor)
            else:
                kept[fit] = link if fit == text else replace(link, target=verdict)
        dropped += [DropReason.SELF] * to_itself
        for fit, times in again.items():
            kept[fit] = replace(kept[fit], count=times + 1)
        return KeptLinks(tuple(kept.values()), found, _counted(dropped, repeated, too_many))

    def redirect(self, source: Url, target: Url) -> Verdict:
        """Return the normalised target of a redirect, or why it is not followed."""
        if self._redirects_too and (side := self._wrong_side(source, target)) is not None:
            return side
        verdict = self._fit(target, "fetcher")
        return DropReason.SELF if isinstance(verdict, Url) and verdict.text == source.text else verdict

    def _judge(self, source: Url, link: Outlink) -> Verdict:
        target = link.target
        text = target.text
        if link.rel and "nofollow" in link.rel.split():
            return DropReason.NOFOLLOW
        if text == source.text:
            return DropReason.SELF
        restricted = self._no_internal or self._no_external
        if restricted and (side := self._wrong_side(source, target)) is not None:
            return side
        verdict = self._verdicts.get(text)
        if verdict is None:
            verdict = self._fit(target, "outlink")
            if len(self._verdicts) >= CACHE:
                self._verdicts.clear()  # a crawl that has moved on to other sites has no use for the old ones
            if len(text) <= _CACHED:
                self._verdicts[text] = verdict
        return verdict

    def _wrong_side(self, source: Url, target: Url) -> DropReason | None:
        own = source.domain == target.domain if self._by_domain else source.host == target.host
        if own:
            return DropReason.INTERNAL if self._no_internal else None
        if self._no_external and not any(each.exempts(source, target) for _, each in self._exemptions):
            return DropReason.EXTERNAL
        return None

    def _fit(self, target: Url, scope: Scope) -> Verdict:
        """Check what does not depend on the page with the link: length, normalisers and filters."""
        if self._longest is not None and len(target.text) > self._longest:
            return DropReason.TOO_LONG
        if self._normalizing:
            normal = respell(target, self._normalizers, scope, self._loops)
            if normal is None:
                return DropReason.NO_URL
            target = normal
        return target if not self._filtering or keeps(target, self._filters) else DropReason.FILTERED


def _counted(dropped: list[Verdict], repeated: int, too_many: int) -> dict[DropReason, int]:
    """Count the reasons; the two frequent ones are passed as numbers."""
    counts = {reason: dropped.count(reason) for reason in dict.fromkeys(dropped) if isinstance(reason, DropReason)}
    if repeated:
        counts[DropReason.REPEATED] = repeated
    if too_many:
        counts[DropReason.TOO_MANY] = too_many
    return counts


class LinkJoiner:
    """Resolves links like ``core.url.join`` and caches those that pages of a site share.

    A link that begins with a slash has the same target on all pages of an origin, most others on all pages of a
    folder, and ``#fragment`` leads to the page itself. A lookup here takes a fifth of the time of the more general
    cache in ``join``.
    """

    def __init__(self) -> None:
        self.absolute: dict[str, Url] = {}
        """Targets of absolute links, which do not depend on the page."""
        self._shared: dict[str, dict[str, Url]] = {}  # by origin, and by folder
        self._count = 0

    def known(self, base: Url) -> tuple[dict[str, Url], dict[str, Url]]:
        """Return the cached targets of links on pages of this origin, and of this folder, by href."""
        text = base.text
        if not text.startswith("http"):  # file: URLs resolve differently
            return {}, {}
        return self._targets(text[: text.index("/", 8)]), self._targets(folder_of(base))

    def join(self, base: Url, href: str, known: tuple[dict[str, Url], dict[str, Url]]) -> Url | None:
        """Resolve a link that is not cached, and cache it."""
        if href[:1] == "#":
            return base
        end = href.find("#")
        # A space at the end is stripped, but before a fragment it is part of the path.
        if end > 0 and href[end - 1] > " ":
            bare, (in_origin, in_folder) = href[:end], known
            target = (
                in_origin.get(bare) or in_folder.get(bare) or self.absolute.get(bare) or self.join(base, bare, known)
            )
        else:
            target = join(base, href)
        if target is None or len(href) > _LONGEST_JOINED:
            return target
        if href.startswith(("http://", "https://")):
            if len(self.absolute) >= _JOINED:
                self.absolute.clear()
            self.absolute[href] = target
        elif depends_on_folder(href):
            if self._count >= _JOINED:
                self._clear()
            self._count += 1
            in_origin, in_folder = known
            (in_origin if href[0] == "/" else in_folder)[href] = target
        return target

    def _targets(self, place: str) -> dict[str, Url]:
        found = self._shared.get(place)
        if found is None:
            if len(self._shared) >= _JOINED:
                self._clear()
            found = self._shared[place] = {}
        return found

    def _clear(self) -> None:
        self._shared.clear()
        self._count = 0
