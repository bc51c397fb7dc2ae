"""Pages with metadata in meta and link elements: Open Graph, Twitter cards, Dublin Core, rels and plain names."""

from __future__ import annotations

from tests.parse.metadata.expectation import Case, case

AT = "2024-03-05T09:00:00Z"
CASES: tuple[Case, ...] = (
    case(
        "opengraph_time_as_mastodon_writes_it",
        """<meta content="2024-03-05T10:00:00Z" property="og:published_time">""",
        published=("opengraph", "2024-03-05T10:00:00Z"),
    ),
    case(
        "opengraph_article",
        """<meta property="og:title" content="Seals"><meta property="og:type" content="article">
        <meta property="og:description" content="They are back."><meta property="og:url" content="/news/seals.html">
        <meta property="og:image" content="/i.jpg"><meta property="og:image:alt" content="A seal">
        <meta property="og:image:width" content="1200"><meta property="og:image:height" content="800">
        <meta property="og:image:type" content="image/jpeg"><meta property="og:site_name" content="Coast">
        <meta property="og:locale" content="en_GB">
        <meta property="article:published_time" content="2024-03-05T10:00:00+01:00">
        <meta property="article:modified_time" content="2024-03-06"><meta property="article:tag" content="seals">
        <meta property="article:tag" content="coast"><meta property="article:author" content="Ann Doe">""",
        title=("opengraph", "Seals"),
        type=("opengraph", "article"),
        description=("opengraph", "They are back."),
        canonical=("opengraph", "https://a.example/news/seals.html"),
        image=(
            "opengraph",
            {
                "url": "https://a.example/i.jpg",
                "alt": "A seal",
                "width": 1200,
                "height": 800,
                "media_type": "image/jpeg",
            },
        ),
        site_name=("opengraph", "Coast"),
        language=("opengraph", "en-GB"),
        published=("opengraph", AT),
        modified=("opengraph", "2024-03-06T00:00:00Z"),
        keywords=("opengraph", ["seals", "coast"]),
        authors=("opengraph", [{"name": "Ann Doe"}]),
    ),
    case(
        "opengraph_in_name_attributes",
        '<meta name="og:title" content="Seals"><meta name="OG:Description" content="Grey ones">',
        title=("opengraph", "Seals"),
        description=("opengraph", "Grey ones"),
    ),
    case(
        "opengraph_two_images_the_first_is_meant",
        """<meta property="og:image" content="/one.png"><meta property="og:image:width" content="10px">
        <meta property="og:image" content="/two.png"><meta property="og:image:height" content="20">""",
        image=("opengraph", {"url": "https://a.example/one.png", "width": 10}),
    ),
    case(
        "opengraph_first_image_leads_nowhere",
        """<meta property="og:image" content="data:image/png;base64,AAAA"><meta property="og:image:alt" content="no">
        <meta property="og:image" content="//cdn.example/two.png">""",
        image=("opengraph", {"url": "https://cdn.example/two.png"}),
    ),
    case(
        "opengraph_secure_url_and_url_are_one_image",
        """<meta property="og:image" content="http://a.example/i.png"><meta property="og:image:url"
        content="http://a.example/i.png"><meta property="og:image:secure_url" content="https://a.example/i.png">
        <meta property="og:image:alt" content="One">""",
        image=("opengraph", {"url": "https://a.example/i.png", "alt": "One"}),
    ),
    case(
        "opengraph_size_before_the_image",
        '<meta property="og:image:width" content="5"><meta property="og:image" content="/i.png">',
        image=("opengraph", {"url": "https://a.example/i.png", "width": 5}),
    ),
    case(
        "opengraph_video_file_player_and_sound",
        """<meta property="og:type" content="video.other"><meta property="video:duration" content="90">
        <meta property="og:video" content="/v.mp4"><meta property="og:video:type" content="video/mp4">
        <meta property="og:video:width" content="640"><meta property="og:video:height" content="360">
        <meta property="og:video" content="/frame"><meta property="og:video:type" content="text/html">
        <meta property="og:audio" content="/a.mp3"><meta property="video:tag" content="sea, sand">
        <meta property="video:release_date" content="2024-03-05T09:00:00Z">""",
        type=("opengraph", "video.other"),
        media=(
            "opengraph",
            [
                {
                    "url": "https://a.example/v.mp4",
                    "kind": "video",
                    "media_type": "video/mp4",
                    "width": 640,
                    "height": 360,
                    "seconds": 90.0,
                },
                {"url": "https://a.example/frame", "kind": "player", "media_type": "text/html", "seconds": 90.0},
                {"url": "https://a.example/a.mp3", "kind": "audio", "seconds": 90.0},
            ],
        ),
        keywords=("opengraph", ["sea", "sand"]),
        published=("opengraph", AT),
    ),
    case(
        "opengraph_product",
        """<meta property="og:type" content="product"><meta property="og:title" content="A net">
        <meta property="product:price:amount" content="12.50"><meta property="product:price:currency" content="eur">
        <meta property="product:availability" content="in stock"><meta property="product:brand" content="Nets & Co">
        <meta property="product:retailer_item_id" content="N-1">""",
        type=("opengraph", "product"),
        title=("opengraph", "A net"),
        product=(
            "opengraph",
            {
                "name": "A net",
                "brand": "Nets & Co",
                "sku": "N-1",
                "price": "12.50",
                "currency": "EUR",
                "availability": "in stock",
            },
        ),
    ),
    case(
        "opengraph_book_and_music",
        """<meta property="book:author" content="Ann Doe"><meta property="book:tag" content="sea">
        <meta property="music:musician" content="Bob Roe"><meta property="book:release_date" content="2020-01-02">""",
        authors=("opengraph", [{"name": "Ann Doe"}, {"name": "Bob Roe"}]),
        keywords=("opengraph", ["sea"]),
        published=("opengraph", "2020-01-02T00:00:00Z"),
    ),
    case(
        "opengraph_author_that_is_an_address_is_no_name",
        """<meta property="article:author" content="https://social.example/ann">
        <meta name="twitter:creator" content="@a">""",
        authors=("twitter", [{"name": "@a"}]),
    ),
    case(
        "opengraph_empty_and_blank_values_are_none",
        """<meta property="og:title" content="  "><meta property="og:title" content="Second">
        <meta property="og:description" content=""><meta property="og:image" content=" ">""",
        title=("opengraph", "Second"),
    ),
    case(
        "twitter_card",
        """<meta name="twitter:card" content="summary"><meta name="twitter:title" content="Seals">
        <meta name="twitter:description" content="Grey"><meta name="twitter:image" content="i.jpg">
        <meta name="twitter:image:alt" content="A seal"><meta name="twitter:creator" content="@ann">
        <meta name="twitter:url" content="https://a.example/x">""",
        title=("twitter", "Seals"),
        description=("twitter", "Grey"),
        image=("twitter", {"url": "https://a.example/news/i.jpg", "alt": "A seal"}),
        authors=("twitter", [{"name": "@ann"}]),
        canonical=("twitter", "https://a.example/x"),
    ),
    case(
        "twitter_card_in_property_attributes_with_the_old_image_name",
        """<meta property="twitter:title" content="Seals"><meta property="twitter:image:src" content="/i.jpg">
        <meta property="twitter:image:width" content="300"><meta property="twitter:image:height" content="200">""",
        title=("twitter", "Seals"),
        image=("twitter", {"url": "https://a.example/i.jpg", "width": 300, "height": 200}),
    ),
    case(
        "twitter_player",
        """<meta name="twitter:player" content="https://a.example/frame">
        <meta name="twitter:player:width" content="480">
        <meta name="twitter:player:height" content="270"><meta name="twitter:player:stream" content="/s.mp3">
        <meta name="twitter:player:stream:content_type" content="audio/mpeg">""",
        media=(
            "twitter",
            [
                {"url": "https://a.example/frame", "kind": "player", "width": 480, "height": 270},
                {
                    "url": "https://a.example/s.mp3",
                    "kind": "audio",
                    "media_type": "audio/mpeg",
                    "width": 480,
                    "height": 270,
                },
            ],
        ),
    ),
    case(
        "dublin_core",
        """<meta name="DC.title" content="Seals"><meta name="DC.creator" content="Doe, Ann; Roe, Bob">
        <meta name="DC.description" content="On seals"><meta name="DC.date.issued" content="2024-03-05">
        <meta name="dcterms.modified" content="2024-03-06"><meta name="DC.language" content="en">
        <meta name="DC.subject" content="seals; coast"><meta name="DC.publisher" content="Coast">
        <meta name="DC.type" content="Text"><meta name="DC.identifier" content="https://a.example/1">
        <meta name="dcterms.license" content="https://creativecommons.example/by/4.0/">""",
        title=("dublincore", "Seals"),
        authors=("dublincore", [{"name": "Doe, Ann"}, {"name": "Roe, Bob"}]),
        description=("dublincore", "On seals"),
        published=("dublincore", "2024-03-05T00:00:00Z"),
        modified=("dublincore", "2024-03-06T00:00:00Z"),
        language=("dublincore", "en"),
        keywords=("dublincore", ["seals", "coast"]),
        site_name=("dublincore", "Coast"),
        type=("dublincore", "Text"),
        canonical=("dublincore", "https://a.example/1"),
        license=("dublincore", "https://creativecommons.example/by/4.0/"),
    ),
    case(
        "dublin_core_whose_identifier_and_rights_are_no_addresses",
        """<meta name="dcterms:title" content="Seals"><meta name="DC.identifier" content="isbn:123">
        <meta name="DC.rights" content="All rights reserved">""",
        title=("dublincore", "Seals"),
    ),
    case(
        "links",
        """<link rel="canonical" href="/news/seals"><link rel="shortcut icon" href="/favicon.ico">
        <link rel="icon" type="image/png" sizes="16x16 48x48" href="/48.png">
        <link rel="icon" sizes="32x32" href="/32.png">
        <link rel="license" href="https://creativecommons.example/by/4.0/"><link rel="image_src" href="/i.jpg">
        <link rel="author" href="/ann" title="Ann Doe">
        <link rel="alternate" type="application/rss+xml" title="News" href="/rss">
        <link rel="alternate" type="application/atom+xml" href="/atom"><link rel="alternate"
        type="application/feed+json" href="/feed.json"><link rel="alternate" type="application/json" href="/raw">
        <link rel="alternate" type="application/json+oembed" href="/oembed?u=1&amp;f=json">
        <link rel="alternate" type="text/xml+oembed" href="/oembed?u=1&amp;f=xml">
        <link rel="alternate" hreflang="de" href="/de"><link rel="stylesheet" href="/s.css">""",
        canonical=("link", "https://a.example/news/seals"),
        icon=("link", {"url": "https://a.example/48.png", "width": 48, "height": 48, "media_type": "image/png"}),
        license=("link", "https://creativecommons.example/by/4.0/"),
        image=("link", {"url": "https://a.example/i.jpg"}),
        authors=("link", [{"name": "Ann Doe", "url": "https://a.example/ann"}]),
        feeds=(
            "link",
            [
                {"url": "https://a.example/rss", "media_type": "application/rss+xml", "title": "News"},
                {"url": "https://a.example/atom", "media_type": "application/atom+xml"},
                {"url": "https://a.example/feed.json", "media_type": "application/feed+json"},
            ],
        ),
        embeds=(
            "link",
            [
                {"url": "https://a.example/oembed?u=1&f=json", "media_type": "application/json+oembed"},
                {"url": "https://a.example/oembed?u=1&f=xml", "media_type": "text/xml+oembed"},
            ],
        ),
    ),
    case(
        "touch_icon_without_sizes_is_larger_than_a_favicon",
        '<link rel="icon" href="/favicon.ico"><link rel="apple-touch-icon" href="/touch.png">',
        icon=("link", {"url": "https://a.example/touch.png"}),
    ),
    case(
        "mask_icon_only_for_want_of_another",
        '<link rel="mask-icon" href="/mask.svg" color="#000"><link rel="icon" href="/favicon.ico">',
        icon=("link", {"url": "https://a.example/favicon.ico"}),
    ),
    case(
        "mask_icon_alone",
        '<link rel="mask-icon" href="/mask.svg" color="#000">',
        icon=("link", {"url": "https://a.example/mask.svg"}),
    ),
    case(
        "icon_that_scales_and_one_that_is_larger_still",
        """<link rel="icon" sizes="any" type="image/svg+xml" href="/i.svg">
        <link rel="icon" sizes="512x512" href="/b.png">""",
        icon=("link", {"url": "https://a.example/b.png", "width": 512, "height": 512}),
    ),
    case(
        "canonical_in_the_body_and_a_second_one",
        '<body><p>x</p><link rel="canonical" href="javascript:void(0)"><link rel="Canonical" href="https://b.example">',
        canonical=("link", "https://b.example/"),
    ),
    case(
        "plain_metas",
        """<html lang="en-gb"><title>Seals</title><meta name="description" content="Grey seals">
        <meta name="keywords" content="seals, coast, Seals"><meta name="author" content="By Ann Doe">
        <meta name="theme-color" content="#FFF"><meta name="application-name" content="Coast">
        <meta name="date" content="2024-03-05"><meta http-equiv="Last-Modified" content="Wed, 06 Mar 2024 10:00:00 GMT">
        <meta name="msapplication-TileImage" content="/tile.png"><meta name="thumbnail" content="/t.jpg">""",
        title=("html", "Seals"),
        description=("meta", "Grey seals"),
        keywords=("meta", ["seals", "coast"]),
        authors=("meta", [{"name": "Ann Doe"}]),
        theme_color=("meta", "#fff"),
        site_name=("meta", "Coast"),
        published=("meta", "2024-03-05T00:00:00Z"),
        modified=("meta", "2024-03-06T10:00:00Z"),
        icon=("meta", {"url": "https://a.example/tile.png"}),
        image=("meta", {"url": "https://a.example/t.jpg"}),
        language=("html", "en-GB"),
    ),
    case(
        "scholarly_metas",
        """<meta name="citation_title" content="On seals"><meta name="citation_author" content="Doe, Ann">
        <meta name="citation_author" content="Roe, Bob"><meta name="citation_publication_date" content="2024/03/05">
        <meta name="citation_keywords" content="seals;coast">""",
        title=("meta", "On seals"),
        authors=("meta", [{"name": "Doe, Ann"}, {"name": "Roe, Bob"}]),
        published=("meta", "2024-03-05T00:00:00Z"),
        keywords=("meta", ["seals", "coast"]),
    ),
    case(
        "theme_colours_for_two_screens_and_for_all",
        """<meta name="theme-color" media="(prefers-color-scheme: dark)" content="black">
        <meta name="theme-color" content="rgb(1, 2, 3)">""",
        theme_color=("meta", "rgb(1, 2, 3)"),
    ),
    case("theme_colour_that_is_none", '<meta name="theme-color" content="url(javascript:1)">'),
    Case(
        "language_of_the_header_field",
        "<title>Seals</title>",
        {"title": ("html", "Seals"), "language": ("meta", "de")},
        header_language="de, en",
    ),
    Case(
        "language_of_the_meta_before_the_header_field",
        '<meta http-equiv="Content-Language" content="fr">',
        {"language": ("meta", "fr")},
        header_language="de",
    ),
)
