"""Documentation keeps its code, tables, lists, headings and formulas, and loses what turns its pages."""

from __future__ import annotations

import re

import pytest
from tests.parse.main.rendering import main_of, squeezed, tokens, words

DOCBOOK = """<!DOCTYPE html><html><head><title>5.2. Keeping Ponds</title></head><body id="docContent">
<div class="navheader"><table summary="Navigation header"><tr><th colspan="3">5.2. Keeping Ponds</th></tr><tr>
<td><a accesskey="p" href="a.html">Prev</a></td><td><a href="b.html">Up</a></td><td><a href="c.html">Next</a></td></tr>
</table><hr></div>
<div class="sect1" id="KEEPING-PONDS"><div class="titlepage"><div><div><h2 class="title">5.2. Keeping Ponds</h2></div>
</div></div>
<p>A pond is created with the command <code class="command">CREATE POND</code>, which takes a name and, after the word
<code class="literal">WITH</code>, a list of options. Every pond has an owner, the user that created it. Example:</p>
<pre class="programlisting">
CREATE POND duck (
    depth   numeric,   -- in metres
    fish    text[]
) WITH (shade = on);
</pre>
<p>The owner may remove a pond at any time, with everything that lives in it. Others need a <em>privilege</em>, which is
described in <a class="xref" href="privileges.html">Section 5.7</a>. The following program prints all deep ponds:</p>
<pre class="screen"><code class="prompt">pond=&gt;</code> <strong class="userinput"><code>PRINT ponds;</code></strong>
<code class="computeroutput"> name
------
 duck</code>
</pre>
<div class="table"><p class="title"><strong>Table 5.1. Options of Ponds</strong></p><table class="table"><thead><tr>
<th>Option</th><th>Meaning</th></tr></thead><tbody><tr><td><code>shade</code></td><td>plant trees on the bank</td></tr>
<tr><td><code>reeds</code></td><td></td></tr></tbody></table></div>
<div class="variablelist"><dl><dt><span class="term"><code>--drain</code></span></dt><dd><p>Let the water out.</p></dd>
<dt><span class="term"><code>--quiet</code></span></dt><dd><p>Print no progress messages.</p></dd></dl></div>
<blockquote class="blockquote"><p>Whoever digs a pond should know where the water will come from.</p></blockquote>
<ul class="itemizedlist"><li><p>Ponds are dug in spring.</p></li><li><p>They are cleaned in autumn.</p></li></ul>
<p>Ponds that were created before release 4 have no depth. Set it with <code>ALTER POND</code>, as the planner
otherwise takes them for puddles and gives them no fish, however deep they are.</p></div>
<div class="navfooter"><hr><table summary="Navigation footer"><tr><td><a href="a.html">Prev</a></td>
<td><a href="c.html">Next</a></td></tr></table></div></body></html>"""

SPHINX = """<!DOCTYPE html><html><head><title>Ponds — pond 2.1 documentation</title></head><body>
<div class="related" role="navigation"><ul><li><a href="genindex.html">index</a></li></ul></div>
<div class="document"><div class="documentwrapper"><div class="bodywrapper"><div class="body" role="main">
<section id="ponds"><h1>Ponds<a class="headerlink" href="#ponds" title="Link to this heading">¶</a></h1>
<p>A pond is opened by its name. It is closed at the end of the block, even if an exception was raised in it, so that
nobody falls into it at night. The depth is measured in metres, at the deepest place.</p>
<div class="highlight-python notranslate"><div class="highlight"><pre><span></span><span class="kn">import</span> <span
class="nn">pond</span>

<span class="k">with</span> <span class="n">pond</span><span class="o">.</span><span class="n">open</span><span
class="p">(</span><span class="s2">"duck"</span><span class="p">)</span> <span class="k">as</span> <span
class="n">duck</span><span class="p">:</span>
    <span class="nb">print</span><span class="p">(</span><span class="n">duck</span><span class="p">)</span>
</pre></div></div>
<dl class="c function"><dt class="sig sig-object c"><span class="kt">int</span><span class="w"> </span><span
class="sig-name">pond_open</span>(<a href="types.html"><span>Pond</span></a><span class="w"> </span>*pond)</dt>
<dd><p>Open a pond in C. It returns -1 if the pond is frozen, and sets an exception.</p></dd></dl>
<section id="depth"><h2>Depth<a class="headerlink" href="#depth">¶</a></h2>
<div class="highlight-console"><div class="highlight"><pre><span></span><span class="gp">$ </span>pond depth duck
<span class="go">2.5</span>
</pre></div></div>
<p>The depth of a pond changes with the seasons, and it is measured again whenever somebody asks for it.</p>
</section></section></div></div></div>
<div class="sphinxsidebar" role="navigation"><h3>Contents</h3><ul><li><a href="#">Ponds</a></li></ul></div></div>
<div class="footer">Created using Sphinx.</div></body></html>"""

FAMILIES = {"docbook": DOCBOOK, "sphinx": SPHINX}
WORDS = ("Words that are the page, in sentences. " * 20).strip()
LONG = f"<p>{WORDS}</p>"
_ADDED = str.maketrans("", "", ":,")  # what the Markdown of a definition list puts between terms and meanings


@pytest.mark.parametrize("family", FAMILIES)
def test_the_markdown_of_documentation_says_what_its_text_says(family: str) -> None:
    found = main_of(FAMILIES[family])

    assert words(found.markdown).translate(_ADDED) == squeezed(found.text).translate(_ADDED)
    assert found.kept > 0.9


@pytest.mark.parametrize("family", FAMILIES)
def test_code_survives_in_markdown_and_text(family: str) -> None:
    page = FAMILIES[family]
    found = main_of(page)

    blocks = [re.sub("<[^>]*>", "", block).replace("&gt;", ">") for block in re.findall("(?s)<pre.*?</pre>", page)]
    assert [token.content.strip() for token in tokens(found.markdown) if token.type == "fence"] == [
        block.strip() for block in blocks
    ]
    assert all(block.strip() in found.text for block in blocks)


def test_tables_lists_and_quotations_survive_but_not_what_turns_pages() -> None:
    found = main_of(DOCBOOK)

    assert found.markdown.startswith("## 5.2. Keeping Ponds\n\nA pond is created")
    assert "| `shade` | plant trees on the bank |\n| `reeds` |  |" in found.markdown
    assert "\nshade plant trees on the bank\nreeds\n" in found.text
    assert "> Whoever digs a pond" in found.markdown
    assert "- Ponds are dug in spring.\n- They are cleaned in autumn." in found.markdown
    assert "- **`--drain`**: Let the water out." in found.markdown
    for navigation in ("Prev", "Up", "Next"):
        assert f"[{navigation}]" not in found.markdown


def test_white_space_between_inline_elements_is_kept() -> None:
    found = main_of(SPHINX)

    assert "int pond_open(Pond *pond)\n" in found.text
    assert "¶" not in found.text + found.markdown


def test_what_a_name_misleads_about_stays_if_it_is_most_of_the_text() -> None:
    found = main_of(f"<div>Some words beside it.</div><div class='entry share'>{LONG}</div>")

    assert WORDS in found.text


@pytest.mark.parametrize(
    ("markup", "text", "markdown"),
    [
        (
            '<math><mi>x</mi><annotation encoding="application/x-tex">\\frac{1}{x}</annotation></math>',
            "\\frac{1}{x}",
            "$\\frac{1}{x}$",
        ),
        ('<math alttext="x^2"><msup><mi>x</mi><mn>2</mn></msup></math>', "x^2", "$x^2$"),
        ("<math><mi>x</mi><mo>=</mo><mn>2</mn></math>", "x=2", "x=2"),
        ('<img class="math" src="a.png" alt="a_{1}^2">', "a_{1}^2", "$a_{1}^2$"),
        ('<script type="math/tex">a < b</script>', "a < b", "$a \\lt  b$"),
    ],
)
def test_formulas_are_written_as_tex_where_the_page_has_it(markup: str, text: str, markdown: str) -> None:
    found = main_of(f"<p>Since {markup} holds.</p>")

    assert found.text == f"Since {text} holds."
    assert found.markdown == f"Since {markdown} holds."


def test_figures_keep_their_captions_and_notes_their_text() -> None:
    page = f"""<article><h1>Seals</h1>{LONG}<figure><img src=/seal.jpg alt=Seal><figcaption>A seal</figcaption></figure>
    {LONG}<p>Born white.<sup><a href="#n1">1</a></sup></p>{LONG}<ol class=footnotes><li id=n1>As Holm wrote in 1986,
    when nobody had seen one for years. <a href="#r1">↩</a></li></ol>{LONG}</article>"""

    found = main_of(page)

    assert "![Seal](http://a.example/seal.jpg)\n\n*A seal*" in found.markdown
    assert "Born white.\n" in found.text
    assert "As Holm wrote in 1986, when nobody had seen one for years." in found.text


def test_a_page_that_shows_nothing_without_scripts_is_read_with_its_hidden_elements() -> None:
    assert WORDS in main_of(f"<body><div style='display:none'>{LONG}</div><p>Loading</p>").text


def test_script_and_comment_are_no_text() -> None:
    found = main_of(f"{LONG}<!-- <p>a</p> --><script>if (a < b) document.write('<p>x</p>')</script><p>End of it.</p>")

    assert found.text == f"{WORDS}\n\nEnd of it."


def test_section_whose_id_is_its_heading_is_no_boilerplate() -> None:
    code = "<p><code>a</code> <code>b</code> <code>c</code></p>"
    section = "<section id=skip-all-ponds><h2>Skip all ponds</h2><p>Use the option.</p></section>"

    assert "Use the option." in main_of(f"<body>{'<p>Ponds hold water.</p>' * 20}{code}{section}").text


def test_description_is_no_generator() -> None:
    said = '<meta name="description" content="A Republican on the coast">'
    paragraph = "<p>" + "Grey seals rest on the rocks, where they are safe. " * 12 + "</p>"
    page = f"<head>{said}</head><body><div>{paragraph}{paragraph}</div><div><p>Weather</p><p>Tides</p></div>"

    assert "Tides" not in main_of(page).text


@pytest.mark.parametrize("place", ["first", "last", "beside"])
def test_single_piece_of_code_of_an_article_stays(place: str) -> None:
    paragraph = "<p>" + "Grey seals rest on the rocks, where they are safe. " * 12 + "</p>"
    code = "<div class=box><pre>rest(seal)</pre></div>"
    article = f"<div>{code * (place == 'first')}{paragraph}{paragraph}{code * (place == 'last')}</div>"

    assert "rest(seal)" in main_of(f"<body>{article}<div><p>Weather</p>{code * (place == 'beside')}</div>").text
