"""Pages with schema.org metadata: valid and broken JSON-LD, microdata and RDFa."""

from __future__ import annotations

from tests.parse.metadata.expectation import Case, case, ld

ANN = {"name": "Ann Doe", "url": "https://a.example/ann"}
CASES: tuple[Case, ...] = (
    case(
        "jsonld_article",
        ld("""{"@context": "https://schema.org", "@type": "NewsArticle", "headline": "Seals &amp; terns",
        "description": "<p>They are back.</p>", "url": "https://a.example/news/seals.html",
        "image": {"@type": "ImageObject", "url": "/i.jpg", "width": 1200, "height": {"value": "800"}, "caption": "One"},
        "author": {"@type": "Person", "name": "Ann Doe", "url": "/ann"}, "publisher": {"name": "Coast"},
        "datePublished": "2024-03-05T10:00:00+01:00", "dateModified": "2024-03-06", "inLanguage": "en-GB",
        "keywords": "seals, coast", "license": "https://l.example/by"}"""),
        title=("jsonld", "Seals & terns"),
        description=("jsonld", "They are back."),
        canonical=("jsonld", "https://a.example/news/seals.html"),
        image=("jsonld", {"url": "https://a.example/i.jpg", "width": 1200, "height": 800, "alt": "One"}),
        authors=("jsonld", [ANN]),
        site_name=("jsonld", "Coast"),
        published=("jsonld", "2024-03-05T09:00:00Z"),
        modified=("jsonld", "2024-03-06T00:00:00Z"),
        language=("jsonld", "en-GB"),
        type=("jsonld", "NewsArticle"),
        keywords=("jsonld", ["seals", "coast"]),
        license=("jsonld", "https://l.example/by"),
    ),
    case(
        "jsonld_graph_with_references",
        ld("""{"@context": "https://schema.org", "@graph": [
        {"@type": "WebSite", "@id": "#site", "name": "Coast"},
        {"@type": "WebPage", "@id": "https://a.example/news/seals.html", "name": "Seals - Coast", "inLanguage": "en",
         "description": "Of seals", "primaryImageOfPage": {"@id": "#image"}, "isPartOf": {"@id": "#site"}},
        {"@type": "Article", "headline": "Seals", "isPartOf": {"@id": "https://a.example/news/seals.html"},
         "author": [{"@id": "#ann"}, "Bob Roe"], "mainEntityOfPage": {"@id": "https://a.example/news/seals.html"}},
        {"@type": "Person", "@id": "#ann", "name": "Ann Doe", "url": "https://a.example/ann"},
        {"@type": "ImageObject", "@id": "#image", "contentUrl": "/i.jpg"}]}"""),
        title=("jsonld", "Seals"),
        description=("jsonld", "Of seals"),
        image=("jsonld", {"url": "https://a.example/i.jpg"}),
        canonical=("jsonld", "https://a.example/news/seals.html"),
        site_name=("jsonld", "Coast"),
        authors=("jsonld", [ANN, {"name": "Bob Roe"}]),
        language=("jsonld", "en"),
        type=("jsonld", "Article"),
    ),
    case(
        "jsonld_reference_to_a_thing_within_a_thing",
        ld("""[{"@type": "Review", "name": "On nets", "author": {"@id": "_:a"}},
        {"@type": "Organization", "founder": {"@id": "_:a", "@type": "Person", "name": "Ann Doe"}}]"""),
        title=("jsonld", "On nets"),
        authors=("jsonld", [{"name": "Ann Doe"}]),
        type=("jsonld", "Review"),
    ),
    case(
        "jsonld_nested_graphs_and_arrays",
        ld("""[[{"@graph": [{"@graph": {"@type": ["Thing", "BlogPosting"], "headline": ["Seals"]}}]}]]"""),
        title=("jsonld", "Seals"),
        type=("jsonld", "BlogPosting"),
    ),
    case(
        "jsonld_in_two_scripts_one_of_them_of_another_spelling",
        ld('{"@type": "WebSite", "name": "Coast"}')
        + """<SCRIPT TYPE="application/LD+JSON; charset=utf-8">{"@type": "Event", "name": "Seal day"}</SCRIPT>""",
        title=("jsonld", "Seal day"),
        type=("jsonld", "Event"),
        site_name=("jsonld", "Coast"),
    ),
    case(
        "jsonld_site_and_organization_are_not_what_a_page_is_about",
        ld('[{"@type": "WebSite", "name": "Coast", "description": "x"}, {"@type": "Organization", "name": "C Ltd"}]'),
        site_name=("jsonld", "Coast"),
    ),
    case(
        "jsonld_list_of_other_pages",
        ld("""[{"@type": "CollectionPage", "name": "All news"},
        {"@type": "Article", "headline": "One", "url": "/1"}, {"@type": "Article", "headline": "Two", "url": "/2"}]"""),
        title=("jsonld", "All news"),
        type=("jsonld", "CollectionPage"),
    ),
    case(
        "jsonld_of_several_articles_the_one_that_is_here",
        ld("""[{"@type": "Article", "headline": "One", "url": "/1"},
        {"@type": "Article", "headline": "Seals", "url": "http://www.a.example/news/seals.html?utm=1"}]"""),
        title=("jsonld", "Seals"),
        type=("jsonld", "Article"),
        canonical=("jsonld", "http://www.a.example/news/seals.html?utm=1"),
    ),
    case(
        "jsonld_main_entity_of_a_profile",
        ld("""{"@type": "ProfilePage", "name": "x",
        "mainEntity": {"@type": "Person", "name": "Ann Doe", "image": "/a.jpg"}}"""),
        title=("jsonld", "Ann Doe"),
        type=("jsonld", "Person"),
        image=("jsonld", {"url": "https://a.example/a.jpg"}),
    ),
    case(
        "jsonld_product",
        ld("""{"@type": "Product", "name": "A net", "image": ["/1.jpg", "/2.jpg"], "sku": 1234,
        "brand": {"@type": "Brand", "name": "Nets"}, "offers": {"@type": "Offer", "price": 12.5, "priceCurrency": "EUR",
        "availability": "https://schema.org/InStock"},
        "aggregateRating": {"ratingValue": "4.5", "reviewCount": "1,204"}}"""),
        title=("jsonld", "A net"),
        type=("jsonld", "Product"),
        image=("jsonld", {"url": "https://a.example/1.jpg"}),
        product=(
            "jsonld",
            {
                "name": "A net",
                "brand": "Nets",
                "sku": "1234",
                "price": "12.5",
                "currency": "EUR",
                "availability": "InStock",
                "rating": 4.5,
                "ratings": 1204,
            },
        ),
    ),
    case(
        "jsonld_product_of_many_offers",
        ld("""{"@type": "ProductGroup", "name": "Net", "hasVariant": [{"@type": "Product", "offers":
        [{"@type": "AggregateOffer", "lowPrice": "9.00", "highPrice": "19.00", "priceCurrency": "usd"}]}]}"""),
        title=("jsonld", "Net"),
        type=("jsonld", "ProductGroup"),
        product=("jsonld", {"name": "Net", "price": "9.00", "currency": "USD"}),
    ),
    case(
        "jsonld_price_in_a_specification",
        ld("""{"@type": "Book", "name": "On seals", "isbn": "978",
        "offers": {"@type": "Offer", "availability": "InStock",
        "priceSpecification": {"price": "20", "priceCurrency": "EUR"}}}"""),
        title=("jsonld", "On seals"),
        type=("jsonld", "Book"),
        product=(
            "jsonld",
            {"name": "On seals", "sku": "978", "price": "20", "currency": "EUR", "availability": "InStock"},
        ),
    ),
    case(
        "jsonld_video",
        ld("""{"@type": "VideoObject", "name": "Seals", "contentUrl": "/v.mp4", "embedUrl": "/frame",
        "duration": "PT1M30S",
        "thumbnailUrl": ["/t.jpg"], "uploadDate": "2024-03-05", "width": 640, "height": "360px",
        "encodingFormat": "video/mp4"}"""),
        title=("jsonld", "Seals"),
        type=("jsonld", "VideoObject"),
        image=("jsonld", {"url": "https://a.example/t.jpg"}),
        published=("jsonld", "2024-03-05T00:00:00Z"),
        media=(
            "jsonld",
            [
                {
                    "url": "https://a.example/v.mp4",
                    "kind": "video",
                    "media_type": "video/mp4",
                    "width": 640,
                    "height": 360,
                    "seconds": 90.0,
                },
                {
                    "url": "https://a.example/frame",
                    "kind": "player",
                    "width": 640,
                    "height": 360,
                    "seconds": 90.0,
                },
            ],
        ),
    ),
    case(
        "jsonld_recipe_on_an_article_with_a_video",
        ld("""[{"@type": "Article", "headline": "How I cook"}, {"@type": "Recipe", "name": "Soup",
        "author": ["Ann Doe", "Ann Doe", {"name": "Bob Roe", "sameAs": ["https://b.example/bob"]}],
        "video": {"@type": "VideoObject", "contentUrl": "https://a.example/v?a=1&copy=2"}}]"""),
        title=("jsonld", "Soup"),
        type=("jsonld", "Recipe"),
        authors=("jsonld", [{"name": "Ann Doe"}, {"name": "Bob Roe", "url": "https://b.example/bob"}]),
        media=("jsonld", [{"url": "https://a.example/v?a=1&copy=2", "kind": "video"}]),
    ),
    case(
        "jsonld_with_prefixes_and_language_tags",
        ld("""{"@context": {"schema": "http://schema.org/"}, "@type": "schema:Article",
        "schema:headline": {"@value": "Seals", "@language": "en"}, "schema:name": "x",
        "schema:author": {"schema:name": "Ann Doe"}}""")
        + "<h1>Seals</h1>",
        title=("jsonld", "Seals"),
        type=("jsonld", "Article"),
        authors=("jsonld", [{"name": "Ann Doe"}]),
    ),
    case(
        "jsonld_broken_by_commas_and_comments",
        ld("""/* made by hand */ {"@type": "Article", // the kind
        "headline": "Seals // not a comment, }", "keywords": ["a", "b",],}"""),
        title=("jsonld", "Seals // not a comment, }"),
        type=("jsonld", "Article"),
        keywords=("jsonld", ["a", "b"]),
    ),
    case(
        "jsonld_broken_by_a_comma_behind_a_backslash",
        ld(r"""{"@type": "Article", "headline": "In C:\\seals, \"all\" \of them \u0026 more",}"""),
        title=("jsonld", r'In C:\seals, "all" of them & more'),
        type=("jsonld", "Article"),
    ),
    case(
        "jsonld_broken_by_a_wrapper_and_line_ends",
        ld("""
        //<![CDATA[
        {"@type": "Article", "headline": "Seals
        are back", "description": "It\\'s	true"};
        //]]>
        """),
        title=("jsonld", "Seals are back"),
        type=("jsonld", "Article"),
        description=("jsonld", "It's true"),
    ),
    case(
        "jsonld_in_a_comment_and_escaped_as_html",
        ld('<!-- {"@type": "WebSite", "name": "Coast"} -->')
        + ld("{&quot;@type&quot;: &quot;Article&quot;, &quot;headline&quot;: &quot;Seals&quot;}"),
        title=("jsonld", "Seals"),
        type=("jsonld", "Article"),
        site_name=("jsonld", "Coast"),
    ),
    case(
        "jsonld_after_comments",
        ld("""<!-- it's "quoted" --><!-- and another -->
        {"@type": "Article", "headline": "Seals <!-- it's --> are back"}"""),
        title=("jsonld", "Seals are back"),
        type=("jsonld", "Article"),
    ),
    case(
        "jsonld_two_documents_in_one_script",
        ld('{"@type": "WebSite", "name": "Coast"} {"@type": "Article", "headline": "Seals"}'),
        title=("jsonld", "Seals"),
        type=("jsonld", "Article"),
        site_name=("jsonld", "Coast"),
    ),
    case(
        "jsonld_beyond_repair_beside_one_that_is_not",
        ld('{"@type": "Article", "headline": "Sea') + ld("null") + ld("") + ld('{"@type": "Course", "name": "Rowing"}'),
        title=("jsonld", "Rowing"),
        type=("jsonld", "Course"),
    ),
    case(
        "jsonld_page_under_another_name_is_not_about_its_author",
        ld("""{"@graph": [{"@type": "Article", "headline": "Seals", "url": "https://b.example/seals"},
        {"@type": "WebPage", "url": "https://b.example/seals"}, {"@type": "Person", "name": "Ann Doe"}]}"""),
        title=("jsonld", "Seals"),
        canonical=("jsonld", "https://b.example/seals"),
        type=("jsonld", "Article"),
    ),
    case(
        "jsonld_episode_whose_file_is_any_media",
        ld("""{"@type": "PodcastEpisode", "name": "Seals", "associatedMedia": {"@type": "MediaObject",
        "contentUrl": "/s.mp3", "duration": "PT30M"}}"""),
        title=("jsonld", "Seals"),
        type=("jsonld", "PodcastEpisode"),
        media=("jsonld", [{"url": "https://a.example/s.mp3", "kind": "audio", "seconds": 1800.0}]),
    ),
    case(
        "jsonld_file_that_says_what_it_is",
        ld("""{"@type": "Article", "name": "Seals", "associatedMedia": [{"@type": "MediaObject", "contentUrl": "/s.mp4",
        "encodingFormat": "video/mp4"}, {"@type": "MediaObject", "contentUrl": "/s.pdf"}]}"""),
        title=("jsonld", "Seals"),
        type=("jsonld", "Article"),
        media=("jsonld", [{"url": "https://a.example/s.mp4", "kind": "video", "media_type": "video/mp4"}]),
    ),
    case(
        "microdata_article",
        """<article itemscope itemtype="https://schema.org/BlogPosting"><h1 itemprop="headline">Seals</h1>
        <meta itemprop="datePublished" content="2024-03-05"><time itemprop="dateModified" datetime="2024-03-06">x</time>
        <img itemprop="image" src="/i.jpg" alt="A seal" width="640" height="480">
        <span itemprop="author" itemscope itemtype="https://schema.org/Person"><a itemprop="url" href="/ann">
        <span itemprop="name">Ann Doe</span></a></span><p itemprop="description">They are back.</p>
        <div itemprop="publisher" itemscope itemtype="https://schema.org/Organization"><b itemprop="name">Coast
        </b></div>
        <a itemprop="license" href="https://l.example/by">CC</a><span itemprop="keywords">a, b</span></article>""",
        title=("microdata", "Seals"),
        type=("microdata", "BlogPosting"),
        published=("microdata", "2024-03-05T00:00:00Z"),
        modified=("microdata", "2024-03-06T00:00:00Z"),
        image=("microdata", {"url": "https://a.example/i.jpg", "alt": "A seal", "width": 640, "height": 480}),
        authors=("microdata", [ANN]),
        description=("microdata", "They are back."),
        site_name=("microdata", "Coast"),
        license=("microdata", "https://l.example/by"),
        keywords=("microdata", ["a", "b"]),
    ),
    case(
        "microdata_product",
        """<div itemscope itemtype="http://schema.org/Product"><span itemprop="name">A net</span>
        <div itemprop="brand" itemscope itemtype="http://schema.org/Brand"><span itemprop="name">Nets</span></div>
        <div itemprop="offers" itemscope itemtype="http://schema.org/Offer">
        <span itemprop="price" content="12.50">€12</span>
        <meta itemprop="priceCurrency" content="EUR">
        <link itemprop="availability" href="http://schema.org/InStock"></div>
        <div itemprop="aggregateRating" itemscope><span itemprop="ratingValue">4</span>
        <span itemprop="ratingCount">7 votes</span></div></div>""",
        title=("microdata", "A net"),
        type=("microdata", "Product"),
        product=(
            "microdata",
            {
                "name": "A net",
                "brand": "Nets",
                "price": "12.50",
                "currency": "EUR",
                "availability": "InStock",
                "rating": 4.0,
                "ratings": 7,
            },
        ),
    ),
    case(
        "microdata_list_is_about_none_of_its_items",
        """<div itemscope itemtype="http://schema.org/Product"><b itemprop="name">One</b></div>
        <div itemscope itemtype="http://schema.org/Product"><b itemprop="name">Two</b></div>""",
    ),
    case(
        "microdata_on_the_root_and_properties_without_an_item",
        """<html itemscope itemtype="http://schema.org/WebPage"><head><meta itemprop="name" content="Seals">
        <meta itemprop="image" content="/i.jpg"></head><body><p itemprop="description">On seals</p>""",
        title=("microdata", "Seals"),
        type=("microdata", "WebPage"),
        image=("microdata", {"url": "https://a.example/i.jpg"}),
        description=("microdata", "On seals"),
    ),
    case(
        "microdata_metas_of_no_item_are_the_pages",
        '<meta itemprop="name" content="Seals"><meta itemprop="description" content="Grey"><b itemprop="name">no</b>',
        title=("microdata", "Seals"),
        type=("microdata", "WebPage"),
        description=("microdata", "Grey"),
    ),
    case(
        "microdata_that_refers_to_elements_elsewhere",
        """<div itemscope itemtype="http://schema.org/Event" itemref="when what"></div>
        <p id="what"><b itemprop="name">Seal day</b></p><p id="when" itemprop="description">In May</p>""",
        title=("microdata", "Seal day"),
        type=("microdata", "Event"),
        description=("microdata", "In May"),
    ),
    case(
        "rdfa_lite_article",
        """<div vocab="https://schema.org/" typeof="NewsArticle"><h1 property="headline">Seals</h1>
        <span property="author" typeof="Person"><a property="url" href="/ann"><b property="name">Ann Doe</b></a></span>
        <time property="datePublished" datetime="2024-03-05T09:00Z">x</time><img property="image" src="/i.jpg" alt="">
        </div>""",
        title=("rdfa", "Seals"),
        type=("rdfa", "NewsArticle"),
        authors=("rdfa", [ANN]),
        published=("rdfa", "2024-03-05T09:00:00Z"),
        image=("rdfa", {"url": "https://a.example/i.jpg"}),
    ),
    case(
        "rdfa_things_within_a_thing_are_not_what_the_page_is_about",
        """<div vocab="https://schema.org/" typeof="MusicEvent"><h1 property="name">Shanties</h1>
        <span property="location" typeof="Place"><span property="name">Old Quay</span></span>
        <span property="performer" typeof="MusicGroup"><span property="name">Quay Singers</span></span></div>""",
        title=("rdfa", "Shanties"),
        type=("rdfa", "MusicEvent"),
    ),
    case(
        "microdata_post_of_a_blog_is_what_the_page_is_about",
        """<div itemscope itemtype="https://schema.org/Blog"><b itemprop="name">Coast</b>
        <div itemprop="blogPost" itemscope itemtype="https://schema.org/BlogPosting"><h1 itemprop="headline">Seals</h1>
        </div></div>""",
        title=("microdata", "Seals"),
        type=("microdata", "BlogPosting"),
    ),
    case(
        "rdfa_with_prefixes",
        """<div prefix="schema: http://schema.org/" typeof="schema:Recipe"><span property="schema:name">Soup</span>
        <a property="cc:license" href="https://l.example/by">CC</a><i property="og:title">no</i></div>""",
        title=("rdfa", "Soup"),
        type=("rdfa", "Recipe"),
        license=("rdfa", "https://l.example/by"),
    ),
    case(
        "rdfa_as_drupal_writes_it",
        """<div about="/node/1" typeof="sioc:Item foaf:Document"><span property="dc:title" content="Seals"></span>
        <span property="dc:date dc:created" content="2024-03-05T10:00:00+01:00">March</span></div>""",
        title=("rdfa", "Seals"),
        type=("rdfa", "WebPage"),
        published=("rdfa", "2024-03-05T09:00:00Z"),
    ),
)
