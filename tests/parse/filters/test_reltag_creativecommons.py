from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.parse.filters.pages import content, link, page, setup

from scoter.core.metadata import PageMetadata
from scoter.core.url import canonical
from scoter.parse.filters.creativecommons import CreativeCommonsFilter, licence_at
from scoter.parse.filters.page_fields import ReltagFilter, tag_of

CC = "https://creativecommons.org"


def test_page_tags_come_from_its_tag_links() -> None:
    links = (
        link("http://b.example/tag/grey%20seals", "tag"),
        link("http://b.example/tag/walruses/?page=2", "nofollow TAG"),
        link("http://b.example/tag/grey+seals", "tag"),
        link("http://b.example/tag/%E6%B5%B7%E8%B1%B9", "tag"),
        link("http://b.example/", "tag"),
        link("http://b.example/vintage", "vintage"),
        link("http://b.example/none"),
    )

    found = ReltagFilter(setup()).refine(content(), page(outlinks=links))

    assert found.metadata == {"Rel-Tag": "grey seals\twalruses\t海豹"}
    assert found.outlinks == links


def test_tag_that_is_not_utf_8_is_decoded_with_replacement_characters() -> None:
    assert tag_of(canonical("http://a.example/tag/caf%E9")) == "caf\ufffd"


@pytest.mark.parametrize(
    ("address", "url", "features", "version", "jurisdiction"),
    [
        (f"{CC}/licenses/by/4.0/", f"{CC}/licenses/by/4.0/", ("by",), "4.0", ""),
        ("http://www.creativecommons.org/licenses/by-nc-sa/2.5", f"{CC}/licenses/by-nc-sa/2.5/", "by nc sa", "2.5", ""),
        (f"{CC}/licenses/by-nd/3.0/us/legalcode", f"{CC}/licenses/by-nd/3.0/us/", "by nd", "3.0", "us"),
        (f"{CC}/licenses/by/2.5/scotland/", f"{CC}/licenses/by/2.5/scotland/", ("by",), "2.5", "scotland"),
        (f"{CC}/licenses/by/3.0/igo/deed.fr", f"{CC}/licenses/by/3.0/igo/", ("by",), "3.0", "igo"),
        (f"{CC}/licenses/by-sa/4.0/deed.de?ref=x#top", f"{CC}/licenses/by-sa/4.0/", "by sa", "4.0", ""),
        (f"{CC}/licenses/nc-sampling+/1.0/", f"{CC}/licenses/nc-sampling+/1.0/", "nc sampling+", "1.0", ""),
        (f"{CC}/publicdomain/zero/1.0/", f"{CC}/publicdomain/zero/1.0/", ("zero",), "1.0", ""),
        (f"{CC}/publicdomain/mark/1.0/", f"{CC}/publicdomain/mark/1.0/", ("mark",), "1.0", ""),
        (f"{CC}/licenses/publicdomain/", f"{CC}/licenses/publicdomain/", ("publicdomain",), "", ""),
    ],
)
def test_a_licence_is_read_from_its_address(
    address: str, url: str, features: str | tuple[str, ...], version: str, jurisdiction: str
) -> None:
    found = licence_at(address)

    assert found is not None
    assert found.url == url
    assert found.features == (tuple(features.split()) if isinstance(features, str) else features)
    assert (found.version, found.jurisdiction) == (version, jurisdiction)


@pytest.mark.parametrize(
    "address",
    [
        "",
        f"{CC}/",
        f"{CC}/licenses/",
        f"{CC}/licenses/list.en",
        f"{CC}/licenses/by/4.0/88x31.png",
        f"{CC}/licenses/by-xx/4.0/",
        f"{CC}/publicdomain/by/1.0/",
        f"{CC}/share-your-work/",
        "http://creativecommons.org.evil.example/licenses/by/4.0/",
        "ftp://creativecommons.org/licenses/by/4.0/",
        "https://www.gnu.org/licenses/fdl-1.3.html",
    ],
)
def test_other_addresses_are_not_licences(address: str) -> None:
    assert licence_at(address) is None


@given(st.text() | st.from_regex(r"https?://creativecommons\.org/licenses/.*", fullmatch=True))
def test_canonical_licence_url_names_the_same_licence(address: str) -> None:
    found = licence_at(address)

    if found is not None:
        assert licence_at(found.url) == found


def test_rel_license_takes_precedence() -> None:
    licensed = page(
        outlinks=(
            link(f"{CC}/licenses/by-nc/4.0/"),
            link("https://www.gnu.org/licenses/fdl-1.3.html", "license"),
            link(f"{CC}/licenses/by-sa/3.0/de/deed.en", "noopener License", "link"),
        ),
        about=PageMetadata(license=f"{CC}/publicdomain/zero/1.0/"),
    )

    found = CreativeCommonsFilter(setup()).refine(content(), licensed)

    assert found.metadata == {
        "License-Url": f"{CC}/licenses/by-sa/3.0/de/",
        "License-Location": "rel",
        "License-Features": "by\tsa",
        "License-Version": "3.0",
        "License-Jurisdiction": "de",
    }


def test_what_a_page_says_about_itself_comes_before_links_without_a_word() -> None:
    links = (link(f"{CC}/licenses/by/4.0/", kind="img"), link(f"{CC}/licenses/by-nc/4.0/"))
    about = PageMetadata(license=f"{CC}/publicdomain/zero/1.0/")
    plugin = CreativeCommonsFilter(setup())

    assert plugin.refine(content(), page(outlinks=links, about=about)).metadata["License-Location"] == "about"
    only_linked = plugin.refine(content(), page(outlinks=links, about=PageMetadata())).metadata
    assert (only_linked["License-Location"], only_linked["License-Features"]) == ("a", "by\tnc")
    unlicensed = page(outlinks=links[:1])
    assert plugin.refine(content(), unlicensed) is unlicensed
