"""Notices about cookies and prompts to subscribe are left out, whichever framework shows them."""

from __future__ import annotations

import pytest
from tests.parse.main.rendering import main_of

TEXT = "<p>" + "Grey seals rest on the rocks, where they are safe. " * 20 + "</p>"
CODE = "<pre>rest()</pre>" * 3
NOTICE = "<p>" + "We use cookies to analyse our traffic, and share what we learn with our partners. " * 3 + "</p>"
FRAMEWORKS = {
    "OneTrust": '<div id="onetrust-banner-sdk"><div class="ot-sdk-row">{}</div></div>',
    "OneTrust preferences": '<div id="onetrust-pc-sdk" class="otPcCenter"><div id="ot-pc-desc">{}</div></div>',
    "Cookiebot": '<div id="CybotCookiebotDialog"><div id="CybotCookiebotDialogBodyContentText">{}</div></div>',
    "Didomi": '<div id="didomi-host"><div class="didomi-popup-container">{}</div></div>',
    "Quantcast": '<div class="qc-cmp2-container" id="qc-cmp2-container"><div id="qc-cmp2-main">{}</div></div>',
    "Usercentrics": '<div id="usercentrics-root">{}</div>',
    "Usercentrics 1": '<div id="uc-banner-modal" class="uc-banner-content">{}</div>',
    "Sourcepoint": '<div id="sp_message_container_1">{}</div>',
    "TrustArc": '<div id="truste-consent-track"><div id="truste-consent-text">{}</div></div>',
    "Complianz": '<div class="cmplz-cookiebanner">{}</div>',
    "Borlabs": '<div id="BorlabsCookieBox">{}</div>',
    "CookieYes": '<div class="cky-consent-container">{}</div>',
    "Osano": '<div class="osano-cm-window"><div class="osano-cm-info">{}</div></div>',
    "cookieconsent": '<div class="cc-window cc-banner"><span class="cc-message">{}</span></div>',
    "Klaro": '<div class="klaro"><div class="cookie-notice">{}</div></div>',
    "iubenda": '<div id="iubenda-cs-banner">{}</div>',
    "plain": '<div class="cookie-banner">{}</div>',
    "plain, one word": '<section class="m-cookienotice">{}</section>',
    "plain, capitals": '<div id="PrivacyBanner">{}</div>',
}
PROMPTS = (
    "newsletter-signup",
    "c-newsletter",
    "email-signup",
    "newsletterBox",
    "subscribe",
    "subscription-widget-wrap",
)


@pytest.mark.parametrize("around", FRAMEWORKS.values(), ids=FRAMEWORKS)
def test_notice_about_cookies_is_left_out(around: str) -> None:
    notice = around.format(NOTICE)

    for page in (f"{notice}<div>{TEXT}</div>", f"<div>{TEXT}{notice}{TEXT}</div>", f"<div>{TEXT}{CODE}</div>{notice}"):
        text = main_of(f"<body>{page}").text
        assert "Grey seals" in text
        assert "cookies" not in text


@pytest.mark.parametrize("name", PROMPTS)
def test_prompt_to_subscribe_is_left_out(name: str) -> None:
    prompt = f"<div class={name}><h3>Never miss a seal</h3><p>Our newsletter comes once a week, and is free.</p></div>"

    assert "newsletter" not in main_of(f"<body><div>{TEXT}{prompt}{TEXT}</div>").text


def test_documentation_of_notices_about_cookies_stays() -> None:
    section = f'<section id="cookie-banner"><h2>Cookie banner</h2>{NOTICE}</section>'

    assert "We use cookies" in main_of(f"<body><main><h1>Options</h1>{CODE}{TEXT}{section}</main>").text
