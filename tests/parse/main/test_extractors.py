"""One extraction, two renderings: with every extractor, the Markdown of a page says what its main text says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples
from tests.parse.main.rendering import BASE, squeezed, tokens, words
from tests.parse.main.test_any_page import PAGE, TAGS, TEXT

from scoter.parse.main import MainContent, main_content
from scoter.parse.main.extraction import Extractor

pytest.importorskip("trafilatura")
EXTRACTORS: tuple[Extractor, ...] = ("resiliparse", "trafilatura")
WORDS = ("Words that are the page, in sentences. " * 20).strip()
LONG = f"<p>{WORDS}</p>"
_ADDED = str.maketrans("", "", ":,")  # what the Markdown of a definition list puts between terms and meanings

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

FAMILIES = {
    "docbook": DOCBOOK.encode(),
    "sphinx": SPHINX.encode(),
    **{path.stem: path.read_bytes() for path in (Path(__file__).parent / "pages").glob("*.html")},
}


def _extracted(page: bytes | str, extractor: Extractor) -> MainContent:
    data = page.encode() if isinstance(page, str) else page
    return main_content(data, extractor, markdown=True, base=BASE)


@pytest.mark.parametrize("extractor", EXTRACTORS)
@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_the_markdown_of_a_page_says_what_its_main_text_says(family: str, extractor: Extractor) -> None:
    found = _extracted(FAMILIES[family], extractor)
    said, text = words(found.markdown).translate(_ADDED), squeezed(found.text).translate(_ADDED)

    assert text
    if extractor == "resiliparse":
        assert said.endswith(text)  # only the Markdown of an article has its title
    else:
        assert said == text


@pytest.mark.parametrize("extractor", EXTRACTORS)
@pytest.mark.parametrize("family", ["docbook", "sphinx"])
def test_code_survives_in_markdown_and_text(family: str, extractor: Extractor) -> None:
    page = FAMILIES[family].decode()
    found = _extracted(page, extractor)

    blocks = [re.sub("<[^>]*>", "", block).replace("&gt;", ">") for block in re.findall("(?s)<pre.*?</pre>", page)]
    assert len(blocks) == 2
    assert [token.content.strip() for token in tokens(found.markdown) if token.type == "fence"] == [
        block.strip() for block in blocks
    ]
    assert all(block.strip() in found.text for block in blocks)


def test_trafilatura_selects_what_is_written() -> None:
    found = _extracted(DOCBOOK, "trafilatura")

    assert "| `shade` | plant trees on the bank |\n| `reeds` |  |" in found.markdown
    assert "\nshade plant trees on the bank\nreeds\n" in found.text
    assert "> Whoever digs a pond" in found.markdown
    assert "- Ponds are dug in spring.\n- They are cleaned in autumn." in found.markdown
    for navigation in ("Prev", "Next"):
        assert navigation not in found.markdown
        assert navigation not in found.text


def test_white_space_between_inline_elements_is_kept_with_trafilatura() -> None:
    found = _extracted(SPHINX, "trafilatura")

    assert "int pond_open(Pond *pond)\n" in found.text
    assert "¶" not in found.text + found.markdown


def test_images_stay_with_the_text_around_them() -> None:
    page = f"""<body><nav><a href=/><img src=/logo.png alt=Logo></a></nav><article><h1>Seals</h1>{LONG}
    <figure><img src=/seal.jpg alt=Seal><figcaption>A seal</figcaption></figure>{LONG}</article>
    <div class=ads><a href=/buy><img src=/ad.png alt=Ad>Buy this now</a></div>"""

    found = _extracted(page, "trafilatura")

    assert re.findall(r"!\[(\w+)\]", found.markdown) == ["Seal"]


def test_trafilatura_does_not_see_what_a_browser_hides() -> None:
    page = f"<body><article><noscript><div></noscript>{LONG}<noscript><p>Enable scripts.</p></noscript></article>"

    found = _extracted(page, "trafilatura")

    assert found.text == found.markdown == WORDS


def test_rare_ideographs_and_private_characters_are_no_markers() -> None:
    rare = "\U00020003\U00020bb7野家, and more"
    page = f"<body><nav>\U00020000 \U00020001 \U000f0001</nav><article>{LONG}<p>{rare}</p></article>"

    found = _extracted(page, "trafilatura")

    assert found.text == found.markdown == f"{WORDS}\n\n{rare}"


@settings(max_examples=examples(60), deadline=None)
@given(PAGE)
def test_markdown_says_what_the_text_says_that_trafilatura_selects(page: str) -> None:
    found = _extracted(page, "trafilatura")

    assert words(found.markdown) == squeezed(found.text)


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(st.one_of(TAGS, TEXT), max_size=40).map("".join))
def test_any_order_of_tags_is_passed_to_trafilatura(page: str) -> None:
    found = _extracted(page, "trafilatura")

    assert len(found.text) <= 2 * len(page.encode()) + 100


def test_code_in_a_figure_survives() -> None:
    page = f"<body><article>{LONG}<figure class=highlight><pre>go home\n  now</pre></figure>{LONG}</article>"

    found = _extracted(page, "trafilatura")

    assert found.text == f"{WORDS}\n\ngo home\n  now\n\n{WORDS}"
    assert found.markdown == f"{WORDS}\n\n```\ngo home\n  now\n```\n\n{WORDS}"


def test_a_short_selection_from_a_longer_page_is_not_trusted() -> None:
    # Trafilatura selects the last paragraph: a fifth of the page, so it does not look for more.
    items = "".join(f"<li>Fix the leak number {n} in the northern bank of the pond.</li>" for n in range(7))
    last = "A list of all releases is available, and so is a history of every change, in the archive of the pond."
    page = f"<body><h2>Release 3</h2><ol>{items}</ol><p>{last} It is kept.</p>"

    found = _extracted(page, "trafilatura")

    assert found.text.startswith("Release 3\n\nFix the leak number 0 in the northern bank of the pond.\n")
    assert found.text.endswith(f"number 6 in the northern bank of the pond.\n\n{last} It is kept.")
