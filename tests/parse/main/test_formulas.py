"""Formulas stay in the text and the Markdown of an article, however the page writes them."""

from __future__ import annotations

import pytest
from tests.parse.main.rendering import main_of

PARAGRAPH = "<p>" + "Waves break on the beach, and more of them follow. " * 10 + "</p>"
MATHML = "<math><semantics><mi>x</mi><annotation encoding='application/x-tex'>x^2</annotation></semantics></math>"
FORMULAS = {
    "katex": f"<span class=katex>{MATHML}<span class=katex-html aria-hidden=true>x2</span></span>",
    "mathjax_2": "<span class=MathJax_Preview>x2</span><script type='math/tex'>x^2</script>",
    "mathjax_3": f"<mjx-container><mjx-math aria-hidden=true>x2</mjx-math>{MATHML}</mjx-container>",
    "source": r"\[x^2\]",
}


@pytest.mark.parametrize("place", ["between", "last"])
@pytest.mark.parametrize("block", ["{}", "<div class=math>{}</div>", "<div><div>{}</div></div>"])
@pytest.mark.parametrize("kind", FORMULAS)
def test_displayed_formula_of_an_article_stays(kind: str, block: str, place: str) -> None:
    formula = block.format(FORMULAS[kind])
    after = PARAGRAPH if place == "between" else ""
    found = main_of(f"<article><h1>Waves</h1>{PARAGRAPH}{PARAGRAPH}{formula}{after}</article>")

    assert found.text.count("x^2") == 1
    assert "x2" not in found.text
    assert "x^2" in found.markdown


@pytest.mark.parametrize("kind", FORMULAS)
def test_formula_in_a_sentence_stays_in_its_line(kind: str) -> None:
    found = main_of(f"<article><h1>Waves</h1>{PARAGRAPH}<p>Then {FORMULAS[kind]} holds.</p>{PARAGRAPH}</article>")

    assert "Then x^2 holds." in found.text.replace(r"\[", "").replace(r"\]", "")
