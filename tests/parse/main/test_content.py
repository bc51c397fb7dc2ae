"""Main content: which parts of a page it includes, which extractor finds it, and what that costs."""

from __future__ import annotations

import pytest
from tests.effort import seconds_of
from tests.parse.main.rendering import BASE, main_of, markdown

from scoter.parse.main import MainContent, main_content
from scoter.parse.main.tree import DEEPEST, MOST_TAGS, read_tree
from scoter.parse.prescan import is_harmless

LONG = "<p>" + "Words that are the page. " * 20 + "</p>"
WORDS = ("Words that are the page. " * 20).strip()


@pytest.mark.parametrize(
    "around",
    [
        *("<nav>x</nav>", "<aside>x</aside>", "<footer>x</footer>", "<form>x<input></form>", "<dialog open>x</dialog>"),
        *('<div role="navigation">x</div>', '<div class="cookie-banner">x</div>', '<ul id="breadcrumbs"><li>x</ul>'),
        *(
            '<div class="shareButtons">x</div>',
            '<section id="comments">x</section>',
            '<div class="menu"><a>x</a></div>',
        ),
        *("<div hidden>x</div>", '<p style="display: none">x</p>', '<p aria-hidden="true">x</p>', "<svg>x</svg>"),
        *("<script>x</script>", "<noscript>x</noscript>", "<template>x</template>", "<button>x</button>"),
        *(
            '<span class="sr-only">x</span>',
            "<header>x</header>",
            "<sup><a href='#n'>x</a></sup>",
            "<iframe>x</iframe>",
        ),
    ],
)
def test_boilerplate_is_removed(around: str) -> None:
    found = main_of(f"<body><div><div>{around}{LONG}{around}</div></div>")

    assert (found.text, found.markdown) == (WORDS, WORDS)


@pytest.mark.parametrize(
    "opening", ['<div class="has-sidebar ad">', "<form action=/>", '<div class="comments">', "<aside>"]
)
def test_nothing_is_left_out_for_its_name_that_holds_most_of_the_page(opening: str) -> None:
    assert main_of(f"<body>{opening}{LONG}").markdown == WORDS


TEASERS = "".join(
    f'<div><a href="/{n}"><h3>Terns</h3><p>They fly far, and they come back.</p></a></div>' for n in "abcdef"
)
FIRST = "<p>Grey seals rest on the rocks of the coast, where they are safe. " + "They sleep there. " * 20 + "</p>"
LAST = "<p>In winter their young are born on the beach, white as snow. " + "They grow fast. " * 20 + "</p>"
NEWS = f"""<div id=page><div class=top><a href=/>Coast</a> <span>Weather, tides and more.</span></div>
<div><div class=story><h1>Seals</h1><p class=when>5 March 2024, Ann Doe</p><figure><img src=/s.jpg alt=Seals>
<figcaption>A seal on a rock. Photo: J. Holm</figcaption></figure>{FIRST}<h2>Young</h2>
<div><a href=/more>Read more about seals and gulls.</a></div><ul><li>white<li>soft</ul>{LAST}<p>They leave soon.</p>
<p>Tags: <a href=/t>seals</a></p></div><div class=more-stories>{TEASERS}</div></div>
<div><p>Subscribe to our newsletter, and read about the coast every week.</p></div></div>"""


def test_article_is_its_paragraphs_and_what_belongs_between_them() -> None:
    lines = [line.strip() for line in main_of(NEWS).text.splitlines() if line.strip()]

    assert [line[:16] for line in lines] == [
        *("A seal on a rock", "Grey seals rest ", "Young", "white", "soft", "In winter their "),
        "They leave soon.",
    ]


def test_markdown_of_an_article_has_its_title_and_images() -> None:
    found = markdown(NEWS)

    assert found.startswith("# Seals\n\n![Seals](http://a.example/s.jpg)\n\n*A seal on a rock. Photo: J. Holm*\n\nGrey")
    assert "## Young\n\n- white\n- soft" in found


def test_article_in_several_parts_is_kept_whole() -> None:
    part = f"<div class=part>{FIRST}</div>"
    page = f"<div><div>{part}<div>Ad</div>{part.replace('Grey', 'Common')}</div><p>Contact us, we are here.</p></div>"

    text = main_of(page).text

    assert text.startswith("Grey seals")
    assert "Common seals" in text
    assert "Contact" not in text


def test_paragraphs_beside_a_longer_part_belong_to_the_article() -> None:
    text = main_of(f"<div><article>{FIRST}<div>{LAST * 5}</div></article><div>{TEASERS}</div></div>").text

    assert text.startswith("Grey seals")
    assert "They fly far" not in text


def test_element_called_the_body_of_an_article_is_trusted() -> None:
    feed = "".join(
        f"<div class=item><p>{n} o'clock: a seal was seen on the beach, and left again soon.</p></div>"
        for n in range(9)
    )
    text = main_of(f"<div><div>{feed}</div><div class=article-body>{FIRST}</div></div>").text

    assert text.startswith("Grey seals")
    assert "o'clock" not in text


def test_nearly_empty_main_element_is_ignored() -> None:
    assert markdown(f"<main><p>a</p></main><div>{LONG}</div>").endswith(WORDS)


def test_paragraphs_in_a_cell_are_apart() -> None:
    found = main_of("<table><tr><td>Trains<p>I build them.<p>Since 1974.</td></tr></table>")

    assert found.text == "Trains\n\nI build them.\n\nSince 1974."


def test_block_within_a_markdown_line_separates_the_words_around_it() -> None:
    assert markdown("<h1><span>Part 1</span><div>Seals</div>of the sea</h1>") == "# Part 1 Seals of the sea"
    table = "<table><tr><th>Seal<td>2 m</tr><tr><th>Tern<td>40 cm<p>long</p></tr></table>"
    assert markdown(table).endswith("| Tern | 40 cm long |")


def test_the_title_before_an_article_belongs_to_it() -> None:
    assert markdown(f"<div><h1>Seals</h1><p>1,204 views</p></div><article>{LONG}</article>") == f"# Seals\n\n{WORDS}"


def test_a_button_is_a_title_only_when_it_is_all_of_it() -> None:
    assert markdown(f"<h2><button>Why?</button></h2><h3>How <button>Copy</button></h3>{LONG}").startswith(
        "## Why?\n\n### How\n\nWords"
    )


def test_a_list_near_the_root_is_content() -> None:
    assert main_of("<body><p>a</p><ul><li>b</ul>").text == "a\n\nb"


@pytest.mark.parametrize(
    "page", [b"", b"\0", b"<", b"<frameset><frame>", b"<svg><p>", b"\xff\xfe<p>\x80", b"<table><!--"]
)
def test_nearly_empty_page_is_read(page: bytes) -> None:
    main_content(page, markdown=True, base=BASE)


def test_very_deep_content_is_flattened() -> None:
    page = "<div>" * 1_000 + "<p>a</p>" + "</div>" * 1_000

    assert main_of(page).markdown == "a"
    element, depth = read_tree(page.encode()).body, 0
    while element.children and hasattr(element.children[0], "tag"):
        element, depth = element.children[0], depth + 1  # type: ignore[assignment]
    assert depth == DEEPEST


def test_page_is_read_up_to_the_limit_of_tags() -> None:
    page = b"<p>a</p>" * MOST_TAGS

    assert len(read_tree(page).body.elements()) <= MOST_TAGS // 2 + 1


HARD = {
    "nested": "<div>" * 7_000,
    "nested_lists": "<ul><li>x" * 3_500,
    "nested_quotations_of_lines": "<blockquote>" * 100 + "x<br>" * 7_000,
    "nested_tables": "<table><tr><td>x" * 2_000,
    "spans": "<table>" + "<tr><td colspan=9999 rowspan=9999>x" * 3_000,
    "links": "<a href=a>x</a>" * 3_500,
    "text_in_depth": "<div>" * 3_500 + "x " * 50_000,
    "signs": "<p>" + "*_[" * 80_000,
    "white_space_in_code": "<pre>x" + " " * 200_000 + "y",
    "formatting_left_open": "<p>" + "".join(f"<b a={number}>" for number in range(60)) + "<p>x" * 3_700,
    "emphasis": "<b>x<i>y</b>z</i>" * 1_900,
}


@pytest.mark.parametrize("page", HARD.values(), ids=HARD)
def test_hard_page_is_written_in_bounded_time_and_size(page: str) -> None:
    # A tenth of a second each; what is quadratic here takes minutes.
    found: list[MainContent] = []

    assert seconds_of(lambda: found.append(main_of(page))) < 5
    assert len(found[0].markdown) <= 2 * len(page) + 1_000


def test_hard_pages_are_parsed_in_place() -> None:
    assert sum(is_harmless(page.encode()) for page in HARD.values()) >= len(HARD) - 1


def test_multi_line_cells_have_no_tabs_but_code_keeps_them() -> None:
    cells = "<table><tr><td>Grey seals<br>Terns</td><td>Gulls<br>Crabs</td><td> x</td></tr></table>"

    assert main_of(cells).text == "Grey seals\nTerns\nGulls\nCrabs\nx"
    assert main_of("<pre>if x:\n\treturn\n y</pre>").text == "if x:\n\treturn\n y"


def test_lead_in_a_heading_and_the_last_list_belong_to_an_article() -> None:
    lead = "Seals come back to the coast after thirty years of absence"
    page = f"<div><h1>Seals</h1><h2>{lead}</h2></div><div>{FIRST}{LAST}<ul><li>white<li>soft</ul></div>"
    text = main_of(f"<body>{page}<div>{TEASERS}</div>").text

    assert text.startswith(lead) or lead in text
    assert text.endswith("white\nsoft")


@pytest.mark.parametrize("title", ["<h1>Seals</h1>", ""])
def test_lead_before_an_article_belongs_to_it_with_and_without_a_title(title: str) -> None:
    lead = "<div class=lead><p>Seals come back to the coast, after thirty years of absence.</p></div>"
    text = main_of(
        f"<body><div>{title}{lead}</div><div class=article-body>{FIRST}{LAST}</div><div>{TEASERS}</div>"
    ).text

    assert text.startswith("Seals come back")


def test_short_lines_before_the_first_and_after_the_last_paragraph_stay() -> None:
    text = main_of(f"<body><div><p>Dear reader,</p>{FIRST}{LAST}<p>Yours, Ann</p></div><div>{TEASERS}</div>").text

    assert text.startswith("Dear reader,")
    assert text.endswith("Yours, Ann")


def test_column_whose_name_is_misleading_stays_if_it_has_most_of_the_text() -> None:
    links = "".join(f"<li><a href=/{n}>Seals and terns, news of number {n}</a>" for n in range(99))
    text = main_of(f"<body><div><div class=col-top><div>{FIRST}{LAST}</div><ul>{links}</ul></div></div>").text

    assert "Grey seals rest" in text


def test_box_about_the_author_and_heading_of_teasers_are_left_out() -> None:
    author = "<div class=author-bio><p>Ann Doe has written about seals, and about whales, for many years.</p></div>"
    text = main_of(f"<body><div>{FIRST}{LAST}{author}<h2>Read on</h2><div>{TEASERS}</div></div>").text

    assert "Ann Doe" not in text
    assert "Read on" not in text
    assert text.endswith("They grow fast.")


def test_text_is_in_the_normal_form_of_unicode() -> None:
    assert main_of("<p>Mu\u0308ll").text == "M\u00fcll"


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (r"Grey seals rest.\nThey sleep &amp; eat.", "Grey seals rest.\n\nThey sleep & eat."),
        ("<p>Grey seals rest.</p><ul><li>They &lt;eat&gt;</ul>.", "Grey seals rest.\n\nThey <eat>\n."),
        ("&lt;p&gt;Grey seals rest.&lt;/p&gt;&lt;p&gt;They sleep.&lt;/p&gt;", "Grey seals rest.\n\nThey sleep."),
        ("Seals < whales, and whales > gulls.", "Seals < whales, and whales > gulls."),
        ("Grey seals\nrest on rocks, and sleep.", "Grey seals\n\nrest on rocks, and sleep."),
        (r"Grey seals rest on rocks, and broken \x", "Hi."),
    ],
)
def test_text_that_only_the_json_ld_has_is_read(body: str, text: str) -> None:
    data = f'{{"@type": "NewsArticle", "articleBody": "{body}"}}'
    page = f"<head><script type='application/ld+json'>{data}</script></head><body><p>Hi.</p>"

    assert main_of(page).text == text


def test_json_ld_is_ignored_where_the_page_has_the_text() -> None:
    data = '{"articleBody": "Words that are the page. Or a summary."}'

    assert main_of(f"<script type=application/ld+json>{data}</script>{LONG}").text == WORDS
