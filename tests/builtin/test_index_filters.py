"""The built-in indexing filters, each by example."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from scoter.config import load
from scoter.core.datum import CrawlDatum, DbStatus
from scoter.core.document import CrawledPage, Document, Inlink
from scoter.core.metadata import Author, Image, PageMetadata
from scoter.core.page import Heading, Outlink, Page
from scoter.core.url import canonical
from scoter.errors import ConfigError, UserError
from scoter.index.documents import DocumentChain
from scoter.plugins import POINTS, find

URL = canonical("http://www.example.co.uk/a/b")
NOW = datetime(2026, 11, 15, tzinfo=UTC)


def crawled(*, metadata: dict[str, str] | None = None, **fields: Any) -> CrawledPage:
    known = {name: fields.pop(name) for name in list(fields) if name in CrawledPage.__struct_fields__}
    datum = CrawlDatum(status=DbStatus.FETCHED, score=4.0, signature=b"\x01\xff", metadata=metadata or {})
    return CrawledPage(page=Page(url=URL, **fields), **{"datum": datum, "fetched": NOW, **known})


def fill(name: str, page: CrawledPage, *overrides: str, before: dict[str, Any] | None = None) -> dict[str, Any] | None:
    """Return the fields that a filter leaves, or ``None`` if it drops the document."""
    made = find(POINTS["indexingfilter"], name).make(load(overrides=overrides))
    document = made.fill(Document(id=URL.text, fields=before or {}), page)
    return None if document is None else dict(document.fields)


def test_basic_sets_the_fields_of_nutch() -> None:
    found = fill("basic", crawled(title="T" * 200, text="words", segment="s1"))

    assert found == {
        "url": (URL.text,),
        "host": ("www.example.co.uk",),
        "domain": ("example.co.uk",),
        "title": ("T" * 100,),
        "content": ("words",),
        "tstamp": (NOW,),
        "digest": ("01ff",),
        "boost": (1.0,),
        "segment": ("s1",),
    }


def test_basic_keeps_what_the_page_says_beside_its_main_text() -> None:
    def rest(page: CrawledPage) -> str:
        (document, _) = DocumentChain.from_config(load(overrides=['index.filters=["basic"]'])).steps(page)
        assert document is not None
        return document.rest

    text = "Home\nGrey seals\neat fish.\nImprint"
    assert rest(crawled(text=text, main_text="Grey seals\neat fish.")) == "Home\nImprint"
    assert rest(crawled(text="Home\nGrey seals")) == ""


def test_basic_prefers_the_main_text_and_bounds_it() -> None:
    found = fill("basic", crawled(text="navigation and words", main_text="words"), "index.max_content_length=3")

    assert found is not None
    assert found["content"] == ("wor",)


@pytest.mark.parametrize(("policy", "value"), [("none", None), ("content", ("content",)), ("all", ("all",))])
def test_noarchive_sets_the_cache_policy(policy: str, value: Any) -> None:
    found = fill("basic", crawled(noarchive=True), f"parse.caching_forbidden_policy={policy}")

    assert found is not None
    assert found.get("cache") == value


def test_boost_is_the_root_of_the_score() -> None:
    document = DocumentChain.from_config(load()).document(crawled())

    assert document is not None
    assert document.boost == 2.0
    assert document.fields["boost"] == (2.0,)


@pytest.mark.parametrize(("score", "boost"), [(0.0, 0.0), (2.0, 2.0**0.5), (-1.0, 0.0)])
def test_boost_is_exact_even_if_it_is_zero(score: float, boost: float) -> None:
    datum = CrawlDatum(status=DbStatus.FETCHED, score=score)

    document = DocumentChain.from_config(load()).document(crawled(datum=datum))

    assert document is not None
    assert (document.boost, document.fields["boost"]) == (boost, (boost,))


@pytest.mark.parametrize(
    ("deduplicate", "expected"), [("true", ("Seals", "Walrus")), ("false", ("Seals", "seals", "Walrus"))]
)
def test_anchor_texts(deduplicate: str, expected: Any) -> None:
    links = tuple(Inlink("http://x.org/", text) for text in ("Seals", "seals", "", "Walrus"))

    found = fill("anchor", crawled(inlinks=links), f"index.anchor_deduplicate={deduplicate}")

    assert found == {"anchor": expected}


def test_anchor_texts_are_bounded() -> None:
    links = tuple(Inlink("http://x.org/", f"anchor {number}" * 20) for number in range(1_000))

    found = fill("anchor", crawled(inlinks=links))

    assert found is not None
    assert len(found["anchor"]) <= 100
    assert sum(map(len, found["anchor"])) <= 8_192


def test_more_sets_type_dates_and_length() -> None:
    headers = {"Content-Length": "12", "Last-Modified": "Tue, 05 Mar 2024 10:00:00 GMT"}

    found = fill("more", crawled(media_type="text/html", headers=headers))

    modified = datetime(2024, 3, 5, 10, tzinfo=UTC)
    assert found == {
        "lastModified": (modified,),
        "date": (modified,),
        "contentLength": (12,),
        "type": ("text/html", "text", "html"),
    }


def test_last_modified_is_what_the_server_says_and_nothing_else() -> None:
    datum = CrawlDatum(status=DbStatus.FETCHED, modified_time=NOW)  # the time of a fetch, as schedules count

    found = fill("more", crawled(media_type="text/html", datum=datum))

    assert found is not None
    assert "lastModified" not in found
    assert found["date"] == (NOW,)


def test_language_is_indexed_as_a_code() -> None:
    assert fill("language", crawled(language="Swedish"), "lang.index_languages=sv") == {"lang": ("sv",)}


def test_more_groups_types_on_request() -> None:
    found = fill("more", crawled(media_type="application/msword"), "index.more_map_mime_types=true")

    assert found is not None
    assert found["type"] == ("office",)


def test_more_reports_a_bad_line_of_the_type_groups(tmp_path: Path) -> None:
    file = tmp_path / "types.txt"
    file.write_text("# groups\npictures\n")

    with pytest.raises(UserError, match=r"types\.txt:2"):
        fill("more", crawled(), "index.more_map_mime_types=true", f"index.more_mime_types_file={file}")


def test_about_copies_page_metadata() -> None:
    about = PageMetadata(
        description="D",
        image=Image(url="http://i.org/"),
        site_name="S",
        authors=(Author(name="Ann"),),
        published=NOW,
        keywords=("k",),
    )

    found = fill("about", crawled(about=about, headings=(Heading(1, "H"),)))

    assert found == {
        "heading": ("H",),
        "description": ("D",),
        "image": ("http://i.org/",),
        "site": ("S",),
        "author": ("Ann",),
        "published": (NOW,),
        "keywords": ("k",),
    }


@pytest.mark.parametrize(
    ("language", "wanted", "kept"),
    [
        ("en-GB", "[]", True),
        ("en-GB", '["en"]', True),
        ("de", '["en"]', False),
        ("", '["en"]', False),
        ("de", '["all"]', True),
    ],
)
def test_language_restricts_what_is_indexed(language: str, wanted: str, kept: bool) -> None:
    found = fill("language", crawled(language=language), f"lang.index_languages={wanted}")

    assert (found is not None) == kept


def test_metadata_of_crawldb_response_and_page_become_fields() -> None:
    page = crawled(metadata={"a": "1"}, headers={"Content-Type": "text/x"}, segment="")
    page = CrawledPage(
        page=Page(url=URL, metadata={"metatag.keywords": "seals\twalrus"}), datum=page.datum, headers=page.headers
    )

    found = fill("metadata", page, 'index.db_md=["a"]', 'index.content_md=["content-type"]')

    assert found == {"a": ("1",), "content-type": ("text/x",), "metatag.keywords": ("seals", "walrus")}


def test_urlmeta_copies_tags_of_the_seed() -> None:
    assert fill("urlmeta", crawled(metadata={"topic": "seals"}), 'scoring.urlmeta_tags=["topic", "x"]') == {
        "topic": ("seals",)
    }


LINKS: dict[str, Any] = {
    "outlinks": (Outlink(target=canonical("http://o.org/x")), Outlink(target=canonical("http://www.example.co.uk/c"))),
    "inlinks": (Inlink("http://i.org/y"), Inlink("http://www.example.co.uk/d")),
}


def test_links_can_be_restricted_to_other_hosts_and_to_hosts() -> None:
    everything = fill("links", crawled(**LINKS))
    others = fill(
        "links",
        crawled(**LINKS),
        "index.links_outlinks_host_ignore=true",
        "index.links_inlinks_host_ignore=true",
        "index.links_hosts_only=true",
    )

    assert everything == {
        "outlinks": ("http://o.org/x", "http://www.example.co.uk/c"),
        "inlinks": ("http://i.org/y", "http://www.example.co.uk/d"),
    }
    assert others == {"outlinks": ("o.org",), "inlinks": ("i.org",)}


def test_feed_sets_fields_of_entries_only() -> None:
    about = PageMetadata(authors=(Author(name="Ann"),), keywords=("k",), published=NOW, modified=NOW)

    assert fill("feed", crawled(about=about)) == {}
    assert fill("feed", crawled(about=about, part_of="http://f.org/")) == {
        "author": ("Ann",),
        "tags": ("k",),
        "published": (NOW,),
        "updated": (NOW,),
        "feed": ("http://f.org/",),
    }


def page_with(**metadata: str) -> CrawledPage:
    return crawled().__class__(
        page=Page(url=URL, metadata={name.replace("_", "-"): value for name, value in metadata.items()}),
        datum=CrawlDatum(status=DbStatus.FETCHED),
    )


def test_creative_commons_licence() -> None:
    page = page_with(License_Url="https://l/", License_Features="by\tnc", License_Version="4.0", License_Location="rel")

    assert fill("creativecommons", page) == {"cc": ("license=https://l/", "by", "nc", "4.0", "meta=rel")}


def test_reltag_and_tld() -> None:
    assert fill("reltag", page_with(Rel_Tag="a\tb")) == {"tag": ("a", "b")}
    assert fill("tld", crawled()) == {"tld": ("co.uk",)}


def test_static_fields() -> None:
    assert fill("static", crawled(), 'index.static=["source:crawl", "x:a b"]') == {
        "source": ("crawl",),
        "x": ("a", "b"),
    }


@pytest.mark.parametrize("line", ["source", ":x", "x:"])
def test_a_static_field_without_name_or_value_is_refused(line: str) -> None:
    with pytest.raises(ConfigError, match="field:value"):
        fill("static", crawled(), f'index.static=["{line}"]')


REPLACEMENTS = [
    ('["title=/grey/gray/"]', {"title": ("gray seals", "Grey owls")}),
    ('["title=/grey/gray/2"]', {"title": ("gray seals", "gray owls")}),
    ('["title:short=/ .*//"]', {"title": ("grey seals", "Grey owls"), "short": ("grey", "Grey")}),
    ('["title=#(\\\\w+) (\\\\w+)#$2 $1#"]', {"title": ("seals grey", "owls Grey")}),
    ('["hostmatch=other", "title=/grey/gray/"]', {"title": ("grey seals", "Grey owls")}),
    ('["urlmatch=/a/b$", "title=/grey/gray/"]', {"title": ("gray seals", "Grey owls")}),
    ('["absent=/x/y/"]', {"title": ("grey seals", "Grey owls")}),
]


@pytest.mark.parametrize(("rules", "expected"), REPLACEMENTS)
def test_replace_rewrites_fields(rules: str, expected: dict[str, Any]) -> None:
    before = {"title": ("grey seals", "Grey owls")}

    assert fill("replace", crawled(), f"index.replace_regexp={rules}", before=before) == expected


@pytest.mark.parametrize(
    "rule", ["title", "title=", "title=/a", "title=/(/b/", "title=/a/$9/", "title=/a/b/64", "hostmatch=("]
)
def test_a_bad_replacement_is_refused(rule: str) -> None:
    with pytest.raises(ConfigError, match="replace_regexp"):
        fill("replace", crawled(), f'index.replace_regexp=["{rule}"]')


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("title == 'Seals' and score > 1", True),
        ("length(text) > 100", False),
        ("language in ['de']", False),
        ("metadata.topic == 'seals'", True),
        ("status == 'db_fetched'", True),
    ],
)
def test_expression_selects_documents(text: str, kept: bool) -> None:
    page = crawled(title="Seals", metadata={"topic": "seals"})

    assert (fill("expression", page, f"index.filter_expr={text}") is not None) == kept


def test_a_wrong_expression_is_refused() -> None:
    with pytest.raises(UserError, match="not a column"):
        fill("expression", crawled(), "index.filter_expr=colour == 'red'")


@pytest.mark.parametrize(
    ("rules", "kept"), [("+\nimage/", True), ("+\ntext/", False), ("-\ntext/html", True), ("-\nimage/", False)]
)
def test_mimetype_keeps_or_drops_types(tmp_path: Path, rules: str, kept: bool) -> None:
    file = tmp_path / "types.txt"
    file.write_text(f"# types\n{rules}\n")

    assert (fill("mimetype", crawled(media_type="text/html"), f"index.mimetype_filter_file={file}") is not None) == kept


def test_mimetype_needs_a_first_rule(tmp_path: Path) -> None:
    file = tmp_path / "types.txt"
    file.write_text("image/png\n")

    with pytest.raises(UserError, match=r"types\.txt:1"):
        fill("mimetype", crawled(), f"index.mimetype_filter_file={file}")


SUBCOLLECTIONS = """<?xml version="1.0"?>
<subcollections>
  <subcollection>
    <name>british</name><id>b</id>
    <whitelist>
      .co.uk/
      .uk/
    </whitelist>
    <blacklist>/private</blacklist>
  </subcollection>
  <subcollection><id>other</id><key>part</key><whitelist>example</whitelist><blacklist/></subcollection>
  <subcollection><name>none</name><whitelist>nowhere</whitelist></subcollection>
</subcollections>
"""


def test_subcollections_are_named(tmp_path: Path) -> None:
    file = tmp_path / "sub.xml"
    file.write_text(SUBCOLLECTIONS)

    found = fill("subcollection", crawled(), f"plugin.indexingfilter-subcollection.file={file}")

    assert found == {"subcollection": ("british",), "part": ("other",)}


def test_broken_subcollections_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "sub.xml"
    file.write_text("<subcollections>\n<subcollection>\n")

    with pytest.raises(UserError, match=r"sub\.xml:3"):
        fill("subcollection", crawled(), f"plugin.indexingfilter-subcollection.file={file}")


def test_geoip_without_a_database_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"maxminddb|cannot be read"):
        fill("geoip", crawled(), f"plugin.indexingfilter-geoip.database={tmp_path / 'none.mmdb'}")


def word_count(document: Document, page: CrawledPage) -> int:
    return len(page.page.text.split())


def test_arbitrary_calls_functions() -> None:
    name = f"words={__name__}:word_count"

    assert fill("arbitrary", crawled(text="a b c"), f'plugin.indexingfilter-arbitrary.functions=["{name}"]') == {
        "words": (3,)
    }


@pytest.mark.parametrize("name", ["words", "words=nowhere.module:f", "words=os:nothing_here"])
def test_arbitrary_reports_functions_that_do_not_exist(name: str) -> None:
    with pytest.raises(ConfigError, match="arbitrary"):
        fill("arbitrary", crawled(), f'plugin.indexingfilter-arbitrary.functions=["{name}"]')


def test_steps_show_which_filter_set_a_field() -> None:
    chain = DocumentChain.from_config(load(overrides=['index.filters=["basic", "static"]', 'index.static=["a:b"]']))

    document, steps = chain.steps(crawled(title="T"))

    assert document is not None
    assert [(step.name, sorted(step.fields)) for step in steps][1] == ("static", ["a"])


def test_group_of_a_content_type_may_have_a_field_of_its_own() -> None:
    settings = ("index.more_map_mime_types=true", "index.more_map_mime_types_field=format")

    found = fill("more", crawled(media_type="application/msword"), *settings)
    unknown = fill("more", crawled(media_type="image/x-seal"), *settings)

    assert found is not None
    assert unknown is not None
    assert (found["format"], found["type"][0]) == (("office",), "application/msword")
    assert "format" not in unknown


def test_metadata_may_hold_several_values_in_one_text() -> None:
    page = crawled(metadata={"tags": "seals; walrus;otter"})

    assert fill("metadata", page, 'index.db_md=["tags"]', "index.metadata_separator=;") == {
        "tags": ("seals", "walrus", "otter")
    }


def test_constant_fields_may_have_other_separators() -> None:
    found = fill(
        "static", crawled(), 'index.static=["source=my crawl|web"]', "index.static_keysep==", "index.static_valuesep=|"
    )

    assert found == {"source": ("my crawl", "web")}


def test_subcollections_may_ignore_case(tmp_path: Path) -> None:
    file = tmp_path / "sub.xml"
    rule = f"<whitelist>{str(URL).upper()}</whitelist>"
    file.write_text(f"<subcollections><subcollection><name>all</name>{rule}</subcollection></subcollections>")
    setting = f"plugin.indexingfilter-subcollection.file={file}"

    assert fill("subcollection", crawled(), setting) == {}
    assert fill("subcollection", crawled(), setting, "index.subcollection_case_insensitive=true") == {
        "subcollection": ("all",)
    }
