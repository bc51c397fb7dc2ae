"""Pages with metadata in their content: microformats, plain elements and images."""

from __future__ import annotations

from tests.parse.metadata.expectation import Case, case

LONG = "Grey seals have come back to the islands off the coast, and those who count them say that they will stay."
CASES: tuple[Case, ...] = (
    case(
        "microformats_entry",
        """<article class="h-entry"><h1 class="p-name">Seals</h1><a class="u-url" href="/news/seals">#</a>
        <p class="p-summary">They are back.</p><time class="dt-published" datetime="2024-03-05T10:00:00+01:00">x</time>
        <time class="dt-updated" datetime="2024-03-06">x</time><img class="u-photo" src="/i.jpg" alt="A seal">
        <a class="p-author h-card" href="/ann"><span class="p-name">Ann Doe</span></a>
        <a class="p-category">seals</a><a class="p-category">coast</a></article>""",
        title=("microformats", "Seals"),
        canonical=("microformats", "https://a.example/news/seals"),
        description=("microformats", "They are back."),
        published=("microformats", "2024-03-05T09:00:00Z"),
        modified=("microformats", "2024-03-06T00:00:00Z"),
        image=("microformats", {"url": "https://a.example/i.jpg", "alt": "A seal"}),
        authors=("microformats", [{"name": "Ann Doe", "url": "https://a.example/ann"}]),
        keywords=("microformats", ["seals", "coast"]),
        type=("microformats", "h-entry"),
    ),
    case(
        "microformats_classic_hatom",
        """<title>Seals - Coast</title><div class="post hentry"><h2 class="entry-title">Seals</h2>
        <abbr class="published" title="2024-03-05T09:00:00Z">March</abbr>
        <span class="author vcard"><a class="url fn" href="/ann">Ann Doe</a></span>
        <a rel="tag" href="/t/seals">seals</a></div>""",
        title=("microformats", "Seals"),
        published=("microformats", "2024-03-05T09:00:00Z"),
        authors=("microformats", [{"name": "Ann Doe", "url": "https://a.example/ann"}]),
        keywords=("html", ["seals"]),
        type=("microformats", "h-entry"),
    ),
    case(
        "microformats_entry_in_both_spellings_is_one",
        """<title>Seals - Coast</title><article class="h-entry post hentry"><h1 class="p-name entry-title">Seals</h1>
        <span class="p-author h-card author vcard"><a class="u-url fn" href="/ann">Ann Doe</a></span></article>""",
        title=("microformats", "Seals"),
        authors=("microformats", [{"name": "Ann Doe", "url": "https://a.example/ann"}]),
        type=("microformats", "h-entry"),
    ),
    case(
        "microformats_list_is_about_none_of_its_entries",
        """<title>Blog</title><div class="hentry"><h2 class="entry-title">One</h2></div>
        <div class="hentry"><h2 class="entry-title">Two</h2></div>""",
        title=("html", "Blog"),
    ),
    case(
        "microformats_of_several_entries_the_one_that_is_here",
        """<div class="h-entry"><b class="p-name">One</b><a class="u-url" href="/1">#</a></div>
        <div class="h-entry"><b class="p-name">Seals</b><a class="u-url" href="seals.html">#</a></div>""",
        title=("microformats", "Seals"),
        canonical=("microformats", "https://a.example/news/seals.html"),
        type=("microformats", "h-entry"),
    ),
    case(
        "microformats_author_is_the_one_card_of_the_page",
        """<div class="h-card"><a class="p-name u-url" href="/ann">Ann Doe</a></div>
        <div class="h-entry"><b class="p-name">Seals</b></div>""",
        title=("microformats", "Seals"),
        authors=("microformats", [{"name": "Ann Doe", "url": "https://a.example/ann"}]),
        type=("microformats", "h-entry"),
    ),
    case(
        "microformats_product",
        """<div class="h-product"><h1 class="p-name">A net</h1><span class="p-brand">Nets</span>
        <data class="p-price" value="12.50">€12</data><div class="e-description">For fish</div></div>""",
        title=("microformats", "A net"),
        description=("microformats", "For fish"),
        type=("microformats", "h-product"),
        product=("microformats", {"name": "A net", "brand": "Nets", "price": "12.50"}),
    ),
    case(
        "html_title_and_not_that_of_a_drawing",
        "<body><svg><title>Arrow</title></svg><title> Seals\n of the   North </title>",
        title=("html", "Seals of the North"),
    ),
    case("html_heading_for_want_of_a_title", "<h1></h1><h1>Seals <b>today</b></h1>", title=("html", "Seals today")),
    case("html_language_of_the_body", '<body lang="pt-br"><p>x', language=("html", "pt-BR")),
    case("html_language_that_is_none", '<html lang="English (UK)">'),
    case(
        "html_times_the_one_that_says_so",
        """<aside><time datetime="2020-01-01">old</time></aside><time datetime="2024-03-04">x</time>
        <time class="updated" datetime="2024-03-06">x</time>
        <time class="entry-date published" datetime="2024-03-05">x</time>""",
        published=("html", "2024-03-05T00:00:00Z"),
        modified=("html", "2024-03-06T00:00:00Z"),
    ),
    case(
        "html_time_not_beside_the_content",
        '<aside><time datetime="2020-01-01">old</time></aside><p><time datetime="2024-03-05 10:00">x</time>',
        published=("html", "2024-03-05T10:00:00Z"),
    ),
    case(
        "html_time_of_an_event_is_not_that_of_the_page",
        """<time itemprop="startDate" datetime="2024-06-21T20:00">21 June</time>
        <time class="dt-start" datetime="2024-06-22">x</time><time class="event-end-date" datetime="2024-06-23">x</time>
        <time property="schema:endDate" datetime="2024-06-24">x</time>""",
    ),
    case(
        "html_time_that_is_what_it_shows",
        """<p>Since <time>2019</time>. Posted <time>2024-03-05</time>, <time class=updated> 6 March 2024 </time>
        <time>today</time>""",
        published=("html", "2024-03-05T00:00:00Z"),
        modified=("html", "2024-03-06T00:00:00Z"),
    ),
    case(
        "content_byline_with_a_day",
        """<title>Seals</title><h1>Seals</h1><div class="byline">By Harriet Stone | March 5, 2024</div>""",
        title=("html", "Seals"),
        authors=("content", [{"name": "Harriet Stone"}]),
        published=("content", "2024-03-05T00:00:00Z"),
    ),
    case(
        "content_byline_of_two_with_a_link_and_a_day_beside_it",
        """<h1>Seals</h1><div class="post-meta"><span class="post-author">Posted by <a href="/ann">Ann van Doe</a>
        and Bob Roe</span> <span>Updated 6 March 2024</span> <span>on 5 March 2024</span></div>""",
        title=("html", "Seals"),
        authors=("content", [{"name": "Ann van Doe", "url": "https://a.example/ann"}, {"name": "Bob Roe"}]),
        published=("content", "2024-03-05T00:00:00Z"),
    ),
    case(
        "content_byline_that_says_what_the_author_is",
        """<h1>Seals</h1><p class="article__byline"><b class="author">By Ann Doe</b>, Science Editor</p>""",
        title=("html", "Seals"),
        authors=("content", [{"name": "Ann Doe"}]),
    ),
    case(
        "content_bylines_of_teasers_and_comments_are_not_the_page_s",
        """<h1>Latest</h1><div><h2><a href="/1">One</a></h2><div class="byline">By Ann Doe, 5 March 2024</div></div>
        <div class="comment"><span class="author">Bob Roe</span></div>
        <blockquote>To be <i class="author">William Shakespeare</i></blockquote>""",
        title=("html", "Latest"),
    ),
    case(
        "content_byline_of_three_in_german",
        """<h1>Robben</h1><p class="article__author">Von Jürgen Groß, Ole Dam und Anna Weiß, 5. März 2024</p>""",
        title=("html", "Robben"),
        authors=("content", [{"name": "Jürgen Groß"}, {"name": "Ole Dam"}, {"name": "Anna Weiß"}]),
    ),
    case(
        "content_bylines_of_a_forum_whose_first_has_no_name",
        """<h1>Seals?</h1><p><b class="author">ann_d</b> Where?</p><p><b class="author">Bob Roe</b> There.</p>""",
        title=("html", "Seals?"),
    ),
    case(
        "content_byline_within_a_line_that_says_more",
        """<h1>Seals</h1><div class="byline"><div class="byline__name">BY HARRIET STONE</div><p>Science reporter</p>
        <p>Published: 2024-03-05 | Updated: 2024-03-06</p></div>""",
        title=("html", "Seals"),
        authors=("content", [{"name": "HARRIET STONE"}]),
        published=("content", "2024-03-05T00:00:00Z"),
    ),
    case(
        "content_byline_of_two_who_are_marked_each",
        """<h1>Seals</h1><p class="byline">By <a class="author" href="/ann">Ann Doe</a> and
        <a class="author" href="/bob">Bob Roe</a></p>""",
        title=("html", "Seals"),
        authors=(
            "content",
            [{"name": "Ann Doe", "url": "https://a.example/ann"}, {"name": "Bob Roe", "url": "https://a.example/bob"}],
        ),
    ),
    case(
        "content_byline_under_the_name_of_the_site",
        """<div><h1><a href="/">The Coast</a></h1><h2>Seals</h2><p class="byline">By Ann Doe</p></div>""",
        title=("html", "The Coast"),
        authors=("content", [{"name": "Ann Doe"}]),
    ),
    case(
        "content_bylines_that_disagree_or_name_nobody",
        """<h1>Seals</h1><p class="author">Ann Doe</p><p class="author">Bob Roe</p><p class="author">by admin</p>
        <p class="author">About the author</p><p class="byline">5 min read</p>""",
        title=("html", "Seals"),
    ),
    case(
        "html_list_of_articles_has_neither_time_nor_author",
        """<title>News</title><h1>Latest</h1>
        <article><h2><a href="/1">One</a></h2><time datetime="2024-03-05">x</time>
        <a rel="author" href="/ann">Ann Doe</a></article>
        <article><h2><a href="/2">Two</a></h2><time datetime="2024-03-04">x</time>
        <a rel="author" href="/bob">Bob</a></article>""",
        title=("html", "News"),
    ),
    case(
        "html_article_that_is_here_among_others",
        """<title>Seals</title><article><h2><a href="/3">Before</a></h2><time datetime="2024-03-01">x</time></article>
        <article><h1><a href="seals.html">Seals</a></h1><time datetime="2024-03-05">x</time>
        <a rel="author" href="/ann">Ann Doe</a><article><time datetime="2024-03-06">x</time></article></article>
        <article><h2><a href="/4">After</a></h2><time datetime="2024-03-04">x</time>
        <a rel="author" href="/bob">Bob</a></article>""",
        title=("html", "Seals"),
        published=("html", "2024-03-05T00:00:00Z"),
        authors=("html", [{"name": "Ann Doe", "url": "https://a.example/ann"}]),
    ),
    case(
        "html_links_to_author_licence_and_tags",
        """<a rel="author" href="/ann">By Ann Doe</a> <a rel="license noopener" href="//l.example/by">CC</a>
        <a rel="tag" href="/t/1">seals</a> <a rel="nofollow tag" href="/t/2">coast</a>""",
        authors=("html", [{"name": "Ann Doe", "url": "https://a.example/ann"}]),
        license=("html", "https://l.example/by"),
        keywords=("html", ["seals", "coast"]),
    ),
    case(
        "html_videos_and_sounds",
        """<video width="640" height="360"><source src="/v.webm" type="video/webm"><source src="/v.mp4"></video>
        <audio src="/a.mp3"></audio><video src="blob:x"></video>""",
        media=(
            "html",
            [
                {
                    "url": "https://a.example/v.webm",
                    "kind": "video",
                    "media_type": "video/webm",
                    "width": 640,
                    "height": 360,
                },
                {"url": "https://a.example/a.mp3", "kind": "audio"},
            ],
        ),
    ),
    case(
        "content_first_good_paragraph",
        f"""<p>{LONG.upper()}</p><main><p>Short.</p><p><a href="/">{LONG}</a></p><aside><p>{LONG.lower()}</p></aside>
        <p>{LONG}</p></main>""",
        description=("content", LONG),
    ),
    case(
        "content_paragraph_without_the_marks_of_its_notes",
        f"""<p>{LONG}<sup class="reference"><a href="#n1">[1]</a></sup> So they say.<sup>[<i>citation needed</i>]</sup>
        1<sup>st</sup></p>""",
        description=("content", LONG + " So they say. 1st"),
    ),
    case(
        "content_paragraph_in_a_script_of_few_characters",
        "<p>灰海豹生活在北大西洋两岸。</p><p>灰海豹生活在北大西洋两岸，主要以鱼类为食。它们的数量逐年增加，渔民对此并不高兴。</p>",
        description=("content", "灰海豹生活在北大西洋两岸，主要以鱼类为食。它们的数量逐年增加，渔民对此并不高兴。"),
    ),
    case(
        "content_long_paragraph_is_cut_after_a_word",
        f"<p>{'seal ' * 200}</p>",
        description=("content", ("seal " * 100).strip()[:499] + "…"),
    ),
    case(
        "content_largest_picture_of_the_article",
        """<header><img src="/top.jpg" width="2000" height="900"></header>
        <img src="/beside.jpg" width="900" height="900">
        <article><img src="/small.jpg" width="200" height="150">
        <img src="/large.jpg" width="800" height="600" alt="A seal">
        <img src="/rule.jpg" width="1200" height="100"><img src="/img/sprite.png" width="900" height="900">
        </article>""",
        image=("content", {"url": "https://a.example/large.jpg", "alt": "A seal", "width": 800, "height": 600}),
    ),
    case(
        "content_picture_that_is_loaded_late",
        '<p><img src="data:image/gif;base64,R0" data-src="/late.jpg"><img src="/pixel.gif" width="1" height="1">',
        image=("content", {"url": "https://a.example/late.jpg"}),
    ),
    case(
        "content_picture_of_an_amp_page",
        """<article><amp-img src="/a.jpg" width="900" height="600" alt="A seal"><noscript><img src="/a.jpg"></noscript>
        </amp-img><amp-img src="/b.jpg" width="300" height="200"></amp-img></article>""",
        image=("content", {"url": "https://a.example/a.jpg", "alt": "A seal", "width": 900, "height": 600}),
    ),
    case(
        "content_largest_of_a_set_of_sources",
        """<p><img src="/s.jpg" srcset="/s.jpg 320w, /l.jpg 1280w, /m.jpg 640w">
        <img src="/other.jpg" width="300" height="200">""",
        image=("content", {"url": "https://a.example/l.jpg"}),
    ),
    case(
        "content_picture_with_one_side_counts_as_three_to_two",
        """<p><img src="/less.jpg" width="500" height="470"><img src="/wide.jpg" width="600">
        <img src="/high.jpg" height="590">""",
        image=("content", {"url": "https://a.example/wide.jpg", "width": 600}),
    ),
    case(
        "content_picture_larger_than_one_with_one_side",
        """<p><img src="/wide.jpg" width="600"><img src="/more.jpg" width="500" height="490">""",
        image=("content", {"url": "https://a.example/more.jpg", "width": 500, "height": 490}),
    ),
    case(
        "content_no_picture_but_decoration",
        """<img src="/logo.png"><img src="/x.svg"><img src="/a.jpg" class="avatar"><img src="https://b.doubleclick.net/x">
        <img src="/i.png" width="16"><img><img src=""><footer><img src="/foot.jpg"></footer><img src="javascript:x">""",
    ),
)
