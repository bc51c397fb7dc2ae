"""What an article has besides paragraphs, in its text and its Markdown."""

from __future__ import annotations

import pytest
from tests.parse.main.rendering import main_of

TEXT = "<p>" + "Waves break on the beach, and more of them follow. " * 10 + "</p>"
ELEMENTS = {
    "figure": (
        '<figure><img src=/a.png alt="A seal"><figcaption>A seal on <a href=/r>a rock</a>.</figcaption></figure>',
        "A seal on a rock.",
        "![A seal](http://a.example/a.png)\n\n*A seal on [a rock](http://a.example/r).*",
    ),
    "terms": (
        "<dl><dt>Swell<dd>From far away.<dt>Surf<dt>Breakers<dd>At the shore.</dl>",
        "Swell\nFrom far away.\nSurf\nBreakers\nAt the shore.",
        "- **Swell**: From far away.\n- **Surf**, **Breakers**: At the shore.",
    ),
    "formula in MathML": (
        "<math display=block><mi>c</mi><mo>=</mo><mi>λ</mi><mi>f</mi></math>",
        "c=λf",
        "c=λf",
    ),
    "formula in TeX": (
        "<math display=block><mi>c</mi><annotation encoding='application/x-tex'>c = \\lambda f</annotation></math>",
        "c = \\lambda f",
        "$c = \\lambda f$",
    ),
}


@pytest.mark.parametrize(("element", "text", "markdown"), ELEMENTS.values(), ids=ELEMENTS)
def test_element_between_paragraphs_stays(element: str, text: str, markdown: str) -> None:
    found = main_of(f"<article>{TEXT}{element}{TEXT}</article>")

    assert found.text.split("\n\n", 1)[1].rsplit("\n\n", 1)[0] == text
    assert found.markdown.split("\n\n", 1)[1].rsplit("\n\n", 1)[0] == markdown


@pytest.mark.parametrize("opening", ['<section class="footnotes">', '<div id="endnotes">'])
def test_notes_after_an_article_stay_without_the_links_to_them(opening: str) -> None:
    notes = f'{opening}<ol><li id="n1">Doe, Seals, 2019. <a href="#r1">↩</a></ol>'
    mark = '<p>Seals rest here.<sup><a href="#n1" id="r1">1</a></sup> They sleep.</p>'
    text = main_of(f"<article>{TEXT}{mark}{TEXT}{notes}</article>").text

    assert "Seals rest here. They sleep." in text
    assert text.endswith("\n\nDoe, Seals, 2019.")
