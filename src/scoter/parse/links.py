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
from scoter.core.url import Url, join
from scoter.parse.records import DropReason, KeptLinks
from scoter.plugins import UrlExemption, UrlFilter, UrlNormalizer, chain

CACHE: Final = 16_384
_CACHED: Final = 512  # characters; what is longer is judged each time


Verdict: TypeAlias = Url | DropReason


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

    def keep(self, page: Page) -> KeptLinks:
        """Return the links of a page that are kept, in their order, each target once.

        The first link to a target counts, with the first anchor that has any words.
        """
        found = len(page.outlinks)
        if page.nofollow:
            return KeptLinks((), found, {DropReason.PAGE_NOFOLLOW: found} if found else {})
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
                dropped.append(DropReason.SELF)
            elif len(kept) >= most:
                too_many += 1
            else:
                kept[fit] = link if fit == text else replace(link, target=verdict)
        return KeptLinks(tuple(kept.values()), found, _counted(dropped, repeated, too_many))

    def redirect(self, source: Url, target: Url) -> Verdict:
        """Return where a redirect leads in the spelling under which it is stored, or why it is not followed."""
        if self._redirects_too and (self._no_internal or self._no_external):
            side = self._wrong_side(source, target)
            if side is not None:
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
        if self._no_internal or self._no_external:
            side = self._wrong_side(source, target)
            if side is not None:
                return side
        verdict = self._verdicts.get(text)
        if verdict is None:
            verdict = self._fit(target, "outlink")
            self._remember(text, verdict)
        return verdict

    def _wrong_side(self, source: Url, target: Url) -> DropReason | None:
        own = source.domain == target.domain if self._by_domain else source.host == target.host
        if own:
            return DropReason.INTERNAL if self._no_internal else None
        if self._no_external and not any(each.exempts(source, target) for _, each in self._exemptions):
            return DropReason.EXTERNAL
        return None

    def _fit(self, target: Url, scope: Scope) -> Verdict:
        """Judge a target whatever page it stands on."""
        if self._longest is not None and len(target.text) > self._longest:
            return DropReason.TOO_LONG
        if self._normalizing:
            normal = respell(target, self._normalizers, scope, self._loops)
            if normal is None:
                return DropReason.NO_URL
            target = normal
        return target if not self._filtering or keeps(target, self._filters) else DropReason.FILTERED

    def _remember(self, text: str, verdict: Verdict) -> None:
        if len(text) > _CACHED:
            return
        if len(self._verdicts) >= CACHE:
            self._verdicts.clear()  # a crawl that has moved on to other sites has no use for the old ones
        self._verdicts[text] = verdict


def _counted(dropped: list[Verdict], repeated: int, too_many: int) -> dict[DropReason, int]:
    """Count the reasons; the two frequent ones come as numbers, since to hash a member of an enum is slow."""
    counts: dict[DropReason, int] = {}
    if dropped:
        for reason in DropReason:
            count = dropped.count(reason)
            if count:
                counts[reason] = count
    if repeated:
        counts[DropReason.REPEATED] = counts.get(DropReason.REPEATED, 0) + repeated
    if too_many:
        counts[DropReason.TOO_MANY] = counts.get(DropReason.TOO_MANY, 0) + too_many
    return counts


_JOINED: Final = 16_384
_LONGEST_JOINED: Final = 512  # characters; a data: URL may be megabytes long and must not fill the cache


class LinkJoiner:
    """Joins links to the URLs of pages as ``core.url.join`` does, and remembers those that a whole site shares.

    A link that begins with a slash leads to the same place from all pages of an origin. To look it up
    here takes a fifth of what ``join`` takes to find it in its own cache, which knows more kinds of links by heart.
    """

    def __init__(self) -> None:
        self.absolute: dict[str, Url] = {}
        """What is known of links that name their host: they lead to the same place from everywhere."""
        self._origins: dict[str, dict[str, Url]] = {}
        self._count = 0

    def known(self, base: Url) -> dict[str, Url]:
        """Return what is known of the links on pages of a base's origin, by the links' text."""
        text = base.text
        if not text.startswith("http"):  # file: has rules of its own
            return {}
        origin = text[: text.index("/", 8)]
        found = self._origins.get(origin)
        if found is None:
            if len(self._origins) >= _JOINED:
                self._forget()
            found = self._origins[origin] = {}
        return found

    def join(self, base: Url, href: str, known: dict[str, Url]) -> Url | None:
        """Return where a link leads that is not known, and know it from now on."""
        target = join(base, href)
        if target is None or len(href) > _LONGEST_JOINED:
            return target
        if href.startswith(("http://", "https://")):
            if len(self.absolute) >= _JOINED:
                self.absolute.clear()
            self.absolute[href] = target
        elif href.startswith("/"):
            if self._count >= _JOINED:
                self._forget()
            self._count += 1
            known[href] = target
        return target

    def _forget(self) -> None:
        self._origins.clear()
        self._count = 0
