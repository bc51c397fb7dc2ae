"""What a tag says about its element: what the reader does with it, and what its class, id and role suggest."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from msgspec import Struct

from scoter.parse.html.elements import name_set

INLINE: Final = name_set(
    "a abbr acronym amp-anim amp-img b bdi bdo big blink button cite code data del dfn em font i img ins kbd label",
    "mark math mjx-container mjx-assistive-mml nobr q rb rp rt ruby s samp small span strike strong sub sup time tt u",
    "var wbr br picture",
)
"""Inline elements; every other one starts a block."""
_VOID: Final = name_set("area base basefont bgsound col embed frame keygen link meta param source track")
_NEVER: Final = name_set(
    "textarea select button svg template object applet canvas datalist progress meter audio video map head title",
    "frameset dialog mjx-math",
)
_PLAIN: Final = name_set("b em i strong tbody thead tr br hr")  # their attributes say nothing about the content
_SPARED: Final = name_set("body main article h1 h2 h3 h4 h5 h6 code tbody tr th dt dd")  # never removed for their names

# What the reader does with a tag.
PASS, BLOCK, BLOCK_END, LINK, LINK_END, SKIP, NOTHING, IMAGE, PRE, MATH, INPUT, SUP_END, ASIDE = range(13)

# What class, id and role suggest, as bits: boilerplate; comments; boilerplate if it is mostly links; a note in the
# text; the text of an article; a role that is boilerplate, or a notice about cookies; hidden; the main part; the lead
# of an article; its author; a teaser.
SURE, COMMENTS, IF_LINKS, NOTE, TEXT, ROLE, HIDDEN, MAIN, LEAD = 1, 2, 4, 8, 16, 32, 64, 128, 256
AUTHOR, TEASER = 512, 1024

_ROLES: Final = name_set(
    "navigation banner contentinfo complementary search dialog alertdialog menu menubar toolbar alert status tooltip"
)
_WORDS: Final = name_set(
    "nav navbar navigation navbox breadcrumb breadcrumbs crumbs sidebar footer masthead cookie cookies consent gdpr",
    "newsletter subscribe signup share sharing sharebar social addthis sharethis related recommended recommendations",
    "recirculation promo promos promotion advert adverts advertisement advertising ad ads adsbygoogle adslot sponsor",
    "sponsored outbrain taboola pagination pager paginator skip skiplink skiplinks toolbar popup modal overlay",
    "lightbox tooltip paywall noprint editsection printfooter catlinks linenos lineno linenumber gutter",
    "copybutton headerlink backlink backlinks hatnote permalink navheader navfooter sphinxsidebar",
)
_CONSENT: Final = re.compile(
    r"^(?:onetrust-|ot-sdk-|CybotCookiebot|didomi-|qc-cmp|usercentrics-|uc-(?:banner|center|overlay)|sp_message|truste_"
    r"|truste-|cmplz-|Borlabs|cky-|cli-modal|osano-cm|cc-(?:window|banner)|klaro|iubenda-cs|termly-|tarteaucitron"
    r"|axeptio_|fides-)"
    r"|(?:cookies?|gdpr|privacy|consent)[-_]?(?:ba(?:nner|r)|box|consent|hint|law|message|modal|notice|overlay|pop-?up)",
    re.IGNORECASE,
)
_COMMENTS: Final = frozenset(("comment", "comments", "disqus", "respond", "replies"))
# Often content: removed only if mostly links.
_IF_LINKS: Final = name_set(
    "menu header topbar top bar tags tag categories category popular trending latest more links tools tabs next prev",
    "previous topics archive meta bottom login account follow actions action toc",
)
_TOKENS: Final = name_set(
    "sr-only visually-hidden visuallyhidden screen-reader-text screen-reader-only screenreader-text assistive-text",
    "hidden d-none is-hidden anchor-link line-numbers noprint print-only edit-link MathJax_Preview",
    "subscription-widget-wrap srclink",
)
_NOTES: Final = name_set(
    "admonition note notes warning tip callout important caution hint info pullquote footnote footnotes endnotes"
)
_FAR: Final = ("has-", "no-", "with-", "without-", "is-", "js-", "supports-", "deprecat")
_CAPITAL: Final = re.compile("(?<=[a-z])(?=[A-Z])")
_TEXTS: Final = re.compile(
    r"\b(?:article|entry|post|story|news|blog)s?[-_]{0,2}(?:body|content|text|entry|copy|main)"
    r"|\b(?:body|content)[-_]{0,2}(?:text|copy|body|article)|articlebody|\bmw-parser-output|\bfield-name-body",
    re.IGNORECASE,
)
_LEADS: Final = re.compile(
    r"\b(?:lead|lede|intro|introduction|standfirst|excerpt|subtitle|sub-?head(?:line)?|dek|summary|vorspann|teaser-?text)(?:\b|[-_])"
    r"|[-_](?:lead|intro|subheadline|standfirst|excerpt)\b",
    re.IGNORECASE,
)
_AUTHORS: Final = re.compile(
    r"\bauthor[-_]{0,2}(?:bio|box|info|desc|card|section|profile|about)|\babout[-_]?(?:the[-_])?author|\bsabox"
    r"|(?:\b|[-_])(?:post-?ratings?|postmetadata)\b",
    re.IGNORECASE,
)
_WIDGETS: Final = frozenset(("widget", "textwidget", "widget-content"))
_SAID: Final = re.compile(r' (class|id|role|itemprop|style|hidden|aria-hidden|type)="([^"]*)"')
_UNSEEN: Final = ("display:none", "visibility:hidden")
_FORMULA: Final = re.compile(r' class="[^"]*\b(?:math|tex|latex|equation|mwe-math)')
_LONGEST: Final = 1_000


class About(Struct, frozen=True):
    """A tag: its element's name, its attributes as written, what to do with it, and what they suggest, as bits."""

    name: str
    attributes: str = ""
    act: int = PASS
    bits: int = 0


@lru_cache(maxsize=4096)
def about_tag(tag: str) -> About:
    """Return what a tag says, written as between angle brackets.

    >>> bool(about_tag('div class="site-navBar"').bits & SURE), about_tag("/p").act == BLOCK_END
    (True, True)
    """
    name, space, rest = tag.partition(" ")
    if name[:1] == "/":
        name = name[1:]
        if name == "sup":
            return About(name, act=SUP_END)
        return About(name, act=LINK_END if name == "a" else PASS if name in INLINE else BLOCK_END)
    rest = space + rest
    if name[:1] in {"?", "!"}:
        return About(name, act=NOTHING)
    bits = 0
    if rest and name not in _PLAIN:
        bits = _bits(name, rest[:_LONGEST])
    if name == "input":
        return About(name, rest, INPUT)
    if name in _VOID:
        return About(name, rest, NOTHING)
    if name in {"img", "amp-img", "amp-anim"}:
        return About("img", rest, MATH if _FORMULA.search(rest) else IMAGE, bits)
    if name == "math":
        return About(name, rest, MATH, bits)
    if name in _NEVER or bits & HIDDEN:
        return About(name, rest, PASS if name in {"br", "wbr"} else SKIP, bits)
    if name == "a":
        return About(name, rest, ASIDE if bits & SURE else LINK if ' href="' in rest else PASS, bits)
    if name in INLINE:
        return About(name, rest, ASIDE if bits & SURE else PASS, bits)
    return About(name, rest, PRE if name == "pre" else BLOCK, bits)


def _bits(name: str, attributes: str) -> int:
    names: list[str] = []
    bits = 0
    for key, value in _SAID.findall(attributes):
        if key in {"class", "id"}:
            names.append(value)
        elif key == "role":
            if value in _ROLES:
                bits |= ROLE
            elif value == "main":
                bits |= MAIN
        elif key == "itemprop":
            if value == "articleBody":
                bits |= TEXT
        elif key == "style":
            style = value.replace(" ", "").lower()
            if any(rule in style for rule in _UNSEEN):
                bits |= HIDDEN
        elif (key == "hidden" and value != "until-found") or (key == "aria-hidden" and value == "true"):
            bits |= HIDDEN
    if not names:
        return bits
    suggested = 0
    for value in names:
        for token in value.split():
            suggested |= _suggested(token)
    return bits | suggested if name not in _SPARED else bits | (suggested & (TEXT | LEAD))


@lru_cache(maxsize=16_384)
def _suggested(token: str) -> int:
    """Return what a class or id suggests."""
    bits = TEXT if _TEXTS.search(token) else 0
    if _LEADS.search(token):
        bits |= LEAD
    if token in _WIDGETS or _AUTHORS.search(token):
        bits |= AUTHOR
    elif "teaser" in token.lower():
        bits |= TEASER
    if token in _TOKENS:
        bits |= SURE
    if _CONSENT.search(token):
        bits |= ROLE
    lower = token.lower()
    if lower.startswith(_FAR):
        return bits
    # ``site-navBar`` contains site, nav and bar.
    found = set(lower.replace("_", "-").split("-"))
    if lower != token:
        found.update(_CAPITAL.sub("-", token).lower().replace("_", "-").split("-"))
    for words, bit in ((_WORDS, SURE), (_COMMENTS, COMMENTS), (_IF_LINKS, IF_LINKS), (_NOTES, NOTE)):
        if not words.isdisjoint(found):
            bits |= bit
    return bits
