"""Pages of the synthetic web are parsed as generated; the generator shares no code with the parser."""

from __future__ import annotations

import pytest

from scoter.core.url import canonical
from scoter.parse.html import HtmlReader
from scoter.parse.mediatype import make_content
from scoter.simweb import WebSpec
from scoter.simweb.facts import AnswerClass
from scoter.simweb.web import SimWeb


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_synthetic_pages_are_parsed_as_generated(seed: int) -> None:
    web = SimWeb(WebSpec(seed=seed, hosts=24, pages=400))
    reader = HtmlReader()
    wrong = []
    pages = 0

    for host in web.hosts():
        for resource in web.resources(host):
            if resource.answer not in (AnswerClass.PAGE, AnswerClass.REFRESH_NOW, AnswerClass.REFRESH_LATER):
                continue
            headers = (("Content-Type", resource.content_type), *resource.headers)
            content = make_content(canonical(resource.url), headers, resource.body(0))
            if content.media_type != "text/html":
                continue
            page = reader.read(content)
            pages += 1
            # The generator does not list canonical links and feeds as links.
            told = [link for link in page.outlinks if link.rel not in ("canonical", "alternate")]
            found = {(link.target.text, "nofollow" in link.rel) for link in told}
            links = {(link.url, link.nofollow) for link in resource.links if link.url.startswith("http")}
            if resource.answer is AnswerClass.REFRESH_LATER:
                links.add((resource.target, False))
            if resource.answer is AnswerClass.REFRESH_NOW:
                assert page.refresh is not None
                assert page.refresh.is_redirect
                assert page.refresh.target.text == resource.target
            if (found, page.noindex, page.nofollow) != (links, resource.noindex, resource.nofollow):
                wrong.append((resource.url, sorted(found ^ links)))
            if resource.title and page.title != resource.title:
                wrong.append((resource.url, [(page.title, False)]))

    assert wrong == []
    assert pages > 400
