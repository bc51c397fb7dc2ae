"""Why URLs gave no page, or only a part: the number of each reason, an example, and the setting that decided it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final

import pyarrow.compute as pc
from msgspec import Struct

from scoter.batch.crawldir.segment import Segment
from scoter.batch.urls.refusals import FILTERED, TRUNCATED, remedy
from scoter.config import Config
from scoter.core.chain import trace_filters
from scoter.core.reply import Truncation
from scoter.core.url import canonical
from scoter.plugins import chain

_MOST: Final = 10
_NO_FAILURE: Final = "moved"


class Cause(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A reason why URLs gave no page: how many, and one of them with the detail.

    ``setting`` is the setting that decided it, if one did; ``words`` change it on the command line of `scoter crawl`.
    """

    reason: str
    urls: int
    url: str
    detail: str = ""
    setting: str = ""
    words: tuple[str, ...] = ()


def causes(segments: Iterable[Segment], config: Config, *, filtered: int = 0, example: str = "") -> tuple[Cause, ...]:
    """Return the most frequent reasons in fetched segments, those of settings first.

    ``filtered`` is the number of URLs that filters dropped from the last fetch list, ``example`` one of them.
    """
    counts: Counter[str] = Counter()
    examples: dict[str, tuple[str, str]] = {}
    for segment in segments:
        for batch in segment.crawl_fetch().scan(["url", "reason", "detail", "truncated"]):
            is_cut = pc.equal(batch.column("truncated"), Truncation.LENGTH.value)
            reasons = pc.if_else(pc.fill_null(is_cut, False), TRUNCATED, batch.column("reason"))
            for each in pc.value_counts(reasons).to_pylist():
                reason = each["values"]
                if not reason or reason == _NO_FAILURE:
                    continue
                counts[reason] += each["counts"]
                if reason not in examples:
                    row = batch.slice(pc.index(reasons, reason).as_py(), 1).to_pylist()[0]
                    examples[reason] = row["url"], row["detail"] or ""
    found = [_cause(reason, urls, *examples[reason], config) for reason, urls in counts.most_common()]
    if filtered:
        found.append(_filtered(filtered, example, config))
    return tuple(sorted(found, key=lambda each: not each.setting)[:_MOST])


def _cause(reason: str, urls: int, url: str, detail: str, config: Config) -> Cause:
    known = remedy(reason, url, detail, config)
    setting, words = ("", ()) if known is None else (known.setting, known.words)
    return Cause(reason=reason, urls=urls, url=url, detail=detail, setting=setting, words=words)


def _filtered(urls: int, url: str, config: Config) -> Cause:
    """Return the cause of URLs that filters dropped, with the filter and the setting that holds its rules."""
    _, steps = trace_filters(canonical(url), chain("urlfilter", config))
    dropping = next((step for step in steps if not step.kept), None)
    name = "" if dropping is None else dropping.name
    setting = f"urlfilter.{name}_file" if hasattr(config.urlfilter, f"{name}_file") else "urlfilter.filters"
    why = "" if dropping is None else ": ".join(filter(None, (name, dropping.why)))
    return Cause(reason=FILTERED, urls=urls, url=url, detail=why, setting="--scope" if name == "scope" else setting)
