"""Records are bounded in size, whatever a page contains."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.live.fakes import PNG, Bench, ScriptedWeb, moved, page, picture, simulated

from scoter.core.metadata import Author, Feed, Image, Media, PageMetadata
from scoter.live.pipeline.parser import bounded
from scoter.live.records import State

# Long texts from few random characters: generating 300 of them would take most of the test's time.
_texts = st.builds(lambda text, times: text * times, st.text(max_size=10), st.integers(0, 30))
_abouts = st.builds(
    PageMetadata,
    title=_texts,
    description=_texts,
    canonical=_texts,
    license=_texts,
    image=st.none() | st.builds(Image, url=_texts),
    authors=st.lists(st.builds(Author, name=_texts), max_size=5).map(tuple),
    keywords=st.lists(_texts, max_size=5).map(tuple),
    feeds=st.lists(st.builds(Feed, url=_texts, media_type=_texts), max_size=5).map(tuple),
    sources=st.dictionaries(st.sampled_from(["title", "feeds", "canonical", "image"]), st.just("meta"), max_size=4),
)


@given(about=_abouts, most=st.integers(200, 2_000))
def test_metadata_never_exceeds_its_limit(about: PageMetadata, most: int) -> None:
    cut = bounded(about, most)

    assert len(msgspec.json.encode(cut)) <= most
    for field in set(about.sources) & {"canonical", "image"}:
        assert (field in cut.sources) == bool(getattr(cut, field)) or not getattr(about, field)


def test_small_metadata_is_unchanged() -> None:
    about = PageMetadata(title="A title", keywords=("a", "b"), sources={"title": "html"})

    assert bounded(about, 10_000) is about


def test_largest_field_is_shortened_first_and_urls_are_never_truncated() -> None:
    media = tuple(Media(url=f"http://a.example/{number}{'x' * 4_000}", kind="video") for number in range(10))
    about = PageMetadata(
        title="A title", description="d" * 3_000, media=media, sources={"title": "html", "media": "og"}
    )

    cut = bounded(about, 9_000)

    assert cut.title == "A title"
    assert cut.description == about.description
    assert cut.media == media[:1]
    assert bounded(about, 4_000).media == ()
    assert dict(bounded(about, 4_000).sources) == {"title": "html"}


@simulated
async def test_redirect_to_a_too_long_url_is_not_followed() -> None:
    start, far = "http://a.example/", "http://b.example/" + "x" * 60_000
    bench = Bench(ScriptedWeb({start: moved(far), far: page()}))

    done = await bench.submit(start)

    assert bench.web.asked == [start]
    assert done.record is not None
    assert (done.record.state, done.record.reason) == (State.FAILED, "redirects")
    assert len(msgspec.json.encode(done.record)) < 2_000


@simulated
async def test_large_metadata_is_shortened_before_it_is_stored() -> None:
    links = "".join(
        f'<link rel="alternate" type="application/rss+xml" href="/{number}{"x" * 4_000}">' for number in range(20)
    )
    url = "http://a.example/"
    bench = Bench(ScriptedWeb({url: page(f"<title>Hello</title>{links}")}))

    done = await bench.submit(url)

    assert done.record is not None
    assert done.record.metadata is not None
    assert done.record.metadata.title == "Hello"
    assert 0 < len(done.record.metadata.feeds) < 20
    assert len(msgspec.json.encode(done.record)) < 33 * 1024


@simulated
@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "10.0.0.7", "[::1]", "169.254.169.254", "localhost", "cms", "img.local", "a.internal", "router.lan."],
)
async def test_picture_that_is_not_public_is_left_out(host: str) -> None:
    url = "http://a.example/page"
    markup = f'<title>A</title><meta property="og:image" content="http://{host}/i.png"><link rel=icon href="http://{host}/i">'
    bench = Bench(ScriptedWeb({url: page(markup)}))

    done = await bench.submit(url)

    assert done.record is not None
    about = done.record.metadata
    assert about is not None
    assert about.image is None
    assert about.icon == Image(url="http://a.example/favicon.ico")
    assert dict(about.sources) == {"title": "html", "icon": "guess"}


@simulated
async def test_public_pictures_are_kept() -> None:
    url = "http://a.example/page"
    markup = '<meta property="og:image" content="http://8.8.8.8/i.png"><link rel=icon href="http://cdn.example/i">'
    bench = Bench(ScriptedWeb({url: page(markup)}))

    done = await bench.submit(url)

    assert done.record is not None
    about = done.record.metadata
    assert about is not None
    assert about.image is not None
    assert about.icon is not None
    assert (about.image.url, about.icon.url) == ("http://8.8.8.8/i.png", "http://cdn.example/i")
    assert about.sources["icon"] == "link"


@simulated
async def test_icon_is_guessed_for_pages_only() -> None:
    url = "http://a.example/feed"
    feed = "<rss version='2.0'><channel><title>A feed</title></channel></rss>"
    bench = Bench(ScriptedWeb({url: page(feed, content_type="application/rss+xml")}))

    done = await bench.submit(url)

    assert done.record is not None
    assert done.record.metadata is None or done.record.metadata.icon is None


@simulated
@pytest.mark.parametrize("received", [60, 10_000])
async def test_record_of_an_image_has_its_size_even_if_only_the_first_bytes_arrived(received: int) -> None:
    url = "http://a.example/i.png"
    bench = Bench(ScriptedWeb({url: picture(PNG[:received])}))

    done = await bench.submit(url)

    assert done.record is not None
    about = done.record.metadata
    assert about is not None
    assert about.image is not None
    assert (about.image.url, about.image.media_type) == (url, "image/png")
    assert about.image.width
    assert about.image.height
    assert about.sources["image"] == "content"
