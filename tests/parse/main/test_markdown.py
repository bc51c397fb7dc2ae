"""How elements are written as Markdown."""

from __future__ import annotations

import pytest
from tests.parse.main.rendering import markdown

CASES = {
    "a_list_in_a_list_is_indented": ("<ol><li>a<ul><li>b</ul><li>c</ol>", "1. a\n   - b\n2. c"),
    "a_list_goes_on_counting_where_it_starts": ("<ol start=7><li>a<li>b</ol>", "7. a\n8. b"),
    "an_item_may_have_its_number": ("<ol><li>a<li value=7>b<li>c<li value=x>d</ol>", "1. a\n7. b\n8. c\n9. d"),
    "a_list_counts_backwards": (
        "<ol reversed><li>a<li>b<li value=7>c<li>d</ol><p>x<ol reversed start=2><li>e<li>f</ol>",
        "4. a\n3. b\n7. c\n6. d\n\nx\n\n2. e\n1. f",
    ),
    "a_list_of_tasks": (
        """<ul><li class="task-list-item"><input type="checkbox" checked> a</li><li><label>
        <input type="checkbox" disabled>b</label></li><li><p><input type="checkbox" disabled>c</p><ul><li>d</ul>
        <li><input type=checkbox>e</ul>""",
        "- [x] a\n- [ ] b\n- [ ] c\n  - d\n- e",
    ),
    "two_lists_in_a_row_stay_two": ("<ul><li>a</ul><ul><li>b</ul>", "- a\n\n* b"),
    "an_item_of_paragraphs_keeps_them_apart": ("<ul><li><p>a<p>b</ul>", "- a\n\n  b"),
    "a_list_between_items_belongs_to_the_one_before": ("<ul><li>a<ul></ul></li><ol><li>b</ol></ul>", "- a\n  1. b"),
    "a_quotation_of_blocks": ("<blockquote><p>a<ul><li>b</ul></blockquote>", "> a\n>\n> - b"),
    "a_line_break": ("<p>a<br>b</p>", "a\\\nb"),
    "two_line_breaks_end_a_paragraph": ("<div>a<br><br>b</div>", "a\n\nb"),
    "a_rule_between_paragraphs": ("<p>a</p><hr><hr><p>b</p><hr>", "a\n\n---\n\nb"),
    "a_heading_is_one_line": ("<h2>a<br>b #</h2><p>c", "## a b \\#\n\nc"),
    "code_keeps_its_white_space": ("<pre>  a\n\n    b</pre>", "```\n  a\n\n    b\n```"),
    "code_says_its_language": ('<pre><code class="hljs language-c++">a</code></pre>', "```c++\na\n```"),
    "code_says_its_language_by_what_is_around": (
        '<div class="highlight-python"><pre>a</pre></div>',
        "```python\na\n```",
    ),
    "code_says_its_language_by_what_is_around_it_and_a_button": (
        '<div class="highlight highlight-source-rust"><pre>a</pre><div><clipboard-copy></clipboard-copy></div></div>',
        "```rust\na\n```",
    ),
    "code_beside_an_image_does_not_hide_it": (
        '<div class="highlight-c"><pre>a</pre><p><img src="/b.png" alt="c"></p></div>',
        "```\na\n```\n\n![c](http://a.example/b.png)",
    ),
    "code_says_its_language_in_an_attribute": ('<pre data-language="rust"><code>a</code></pre>', "```rust\na\n```"),
    "code_says_its_language_beside_its_highlighter": (
        '<pre><code class="hljs python">a</code></pre>',
        "```python\na\n```",
    ),
    "code_in_elements_a_line": (
        "<pre><ol><li>a</li><li>b</li></ol></pre><pre><div>c</div><div>d\n</div>e</pre>",
        "```\na\nb\n```\n\n```\nc\nd\ne\n```",
    ),
    "a_fence_is_longer_than_those_inside": ("<pre>````</pre>", "`````\n````\n`````"),
    "code_in_a_list": ("<ul><li>a<pre>b\nc</pre></ul>", "- a\n\n  ```\n  b\n  c\n  ```"),
    "ticks_in_code": ("<p><code>a`b</code></p>", "``a`b``"),
    "spaces_leave_emphasis": ("<p>a<b> b </b>c</p>", "a **b** c"),
    "emphasis_that_cannot_be_written_is_left_out": ("<p><b>a:</b>b</p>", "a:b"),
    "a_script_is_no_link": ('<p><a href="javascript:x()">a</a></p>', "a"),
    "a_link_is_absolute": ('<p><a href="../b c?d#e">a</a></p>', "[a](http://a.example/b%20c?d#e)"),
    "a_link_with_brackets": ('<p><a href="/b_(c)">a</a></p>', "[a](<http://a.example/b_(c)>)"),
    "an_exclamation_makes_no_image_of_a_link": ('<p>a!<a href="/b">c</a></p>', "a\\![c](http://a.example/b)"),
    "a_link_around_a_heading": ('<a href="/b"><h2>c</h2><p>d</p></a>', "## [c](http://a.example/b)\n\nd"),
    "an_image_in_a_link": (
        '<p><a href="/b">t <img src="c.png" alt="d"></a></p>',
        "[t ![d](http://a.example/dir/c.png)](http://a.example/b)",
    ),
    "an_image_of_an_amp_page": (
        '<p>a</p><amp-img src="b.png" width="9" height="9" alt="c"><noscript><img src="b.png"></noscript></amp-img>',
        "a\n\n![c](http://a.example/dir/b.png)",
    ),
    "a_note_without_the_way_back": (
        '<ol><li><p>a&nbsp;<a href="#fnref:1" class="footnote-backref">&#8617;&#xfe0e;</a></p></li></ol>',
        "1. a",
    ),
    "an_image_for_no_reader": ('<p>a<img src="b" alt=""><img src="c" width="1" height="1"></p>', "a"),
    "a_table_without_heads_takes_its_first_row": (
        "<table><tr><td>a<td>b<tr><td>c|<td><b>d</b></table>",
        "| a | b |\n| --- | --- |\n| c\\| | **d** |",
    ),
    "a_table_whose_rows_have_heads": (
        "<table><tr><th>a<td>b<tr><th>c<td>d</table>",
        "|  |  |\n| --- | --- |\n| a | b |\n| c | d |",
    ),
    "cells_that_span": (
        "<table><tr><th rowspan=2>a<th colspan=2>b<tr><th>c<th>d<tr><td>1<td>2<td>3</table>",
        "| a | b |  |\n| --- | --- | --- |\n|  | c | d |\n| 1 | 2 | 3 |",
    ),
    "a_table_that_places_things": ("<table><tr><td><h2>a</h2><td><p>b</table>", "## a\n\nb"),
    "a_table_of_one_column": ("<table><tr><td>a<tr><td>b</table>", "a\n\nb"),
    "a_term_and_what_it_means": ("<dl><dt>a<dd>b<dt>c<dd><p>d<p>e</dl>", "- **a**: b\n\n- **c**\n\n  d\n\n  e"),
    "figures_that_are_raised": ("<p>m<sup>2</sup>, 19<sup>th</sup></p>", "m², 19th"),
    "tags_that_are_words": ("<p>&lt;script&gt; &amp;lt; &copy;</p>", "\\<script> \\&lt; ©"),
}


@pytest.mark.parametrize(("page", "expected"), CASES.values(), ids=CASES)
def test_markdown(page: str, expected: str) -> None:
    assert markdown(f"<body>{page}") == expected
