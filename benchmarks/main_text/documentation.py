"""Documentation in Debian packages, and where each generator puts the content of a page.

``content`` selects the content, ``menus`` what is boilerplate inside it, and ``either`` what may be kept or left out:
tables of contents, and links beside headings.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct


class Host(Struct, frozen=True):
    """The documentation of one package, as if it were a host."""

    package: str
    folder: str
    generator: str
    content: str = "body"
    menus: str = ""
    either: str = ""
    named: tuple[str, ...] = ()


_TOC: Final = ".toc, .contents.topic, .toctree-wrapper, #toc, a.headerlink"
_NAV: Final = ".navheader, .navfooter, .footer"
_DOXYGEN: Final = "div.header .headertitle, div.contents"
_TEXINFO: Final = "div.header, div.nav-panel, table.header, body > p:first-child"

HOSTS: Final = (
    Host("apache2-doc", "usr/share/doc/apache2-doc/manual/en", "own", "#page-content", ".top", "#quickview, #toc"),
    Host("bind9-doc", "usr/share/doc/bind9-doc/arm", "sphinx-rtd", "[itemprop=articleBody]", "", _TOC),
    Host(
        "cppreference-doc-en-html",
        "usr/share/cppreference/doc/html/en/cpp",
        "mediawiki",
        "#firstHeading, #bodyContent",
        ".t-navbar, #siteSub, #contentSub, .editsection, .printfooter, .catlinks, #catlinks",
        _TOC,
    ),
    Host(
        "debian-handbook",
        "usr/share/doc/debian-handbook/html/en-US",
        "publican",
        "body",
        "#banner, #title, .docnav",
        _TOC,
    ),
    Host("debian-policy", "usr/share/doc/debian-policy/policy.html", "sphinx-alabaster", "div.body", "", _TOC),
    Host(
        "debian-reference-en",
        "usr/share/debian-reference",
        "docbook",
        "body",
        _NAV,
        _TOC,
        named=tuple(f"ch{n:02}.en.html" for n in range(1, 13)),
    ),
    Host("developers-reference", "usr/share/developers-reference", "sphinx-nature", "div.body", "", _TOC),
    Host("doxygen-doc", "usr/share/doc/doxygen/html", "doxygen", _DOXYGEN, "", _TOC),
    Host("erlang-doc", "usr/share/doc/erlang-doc/lib/stdlib-4.2/doc/html", "erl-docgen", "#content", ".footer", _TOC),
    Host("exim4-doc-html", "usr/share/doc/exim4-doc-html/spec_html", "docbook", "#inner", "", _TOC),
    Host("ghc-doc", "usr/share/doc/ghc-doc/html/libraries/ghc-9.0.2", "haddock", "#content", "", "#table-of-contents"),
    Host("gimp-help-en", "usr/share/gimp/2.0/help/en", "docbook", "body", _NAV, _TOC),
    Host("git-doc", "usr/share/doc/git-doc", "asciidoc", "#header, #content", "", _TOC, named=("git-config.html",)),
    Host("installation-guide-amd64", "usr/share/doc/installation-guide-amd64/en", "docbook", "body", _NAV, _TOC),
    Host("junit4-doc", "usr/share/doc/junit4/api", "javadoc", "main"),
    Host("libcommons-lang3-java-doc", "usr/share/doc/libcommons-lang3-java/api", "javadoc", "main"),
    Host("libeigen3-doc", "usr/share/doc/libeigen3-dev/html", "doxygen", _DOXYGEN, "", _TOC),
    Host("libglib2.0-doc", "usr/share/gtk-doc/html/gio", "gtk-doc", "body", ".navigation, .footer", _TOC),
    Host("libusb-1.0-doc", "usr/share/doc/libusb-1.0-doc/api-1.0", "doxygen", _DOXYGEN, "", _TOC),
    Host("linux-doc-6.1", "usr/share/doc/linux-doc-6.1/html", "sphinx-rtd", "[itemprop=articleBody]", "", _TOC),
    Host("mandoc", "usr/share/man", "mandoc", "div.manual-text", "", "a.permalink"),
    Host("maxima-doc", "usr/share/doc/maxima-doc/html", "texinfo", "body", _TEXINFO, ".contents, .menu"),
    Host("mkdocs-doc", "usr/share/doc/mkdocs/html", "mkdocs", "[role=main]", "", _TOC),
    Host("nodejs-doc", "usr/share/doc/nodejs/api", "own", "#apicontent", "", "#toc, .mark"),
    Host("octave-doc", "usr/share/doc/octave/octave.html", "texinfo", "body", _TEXINFO, ".contents, .menu"),
    Host("postfix-doc", "usr/share/doc/postfix/html", "man2html"),
    Host(
        "postgresql-doc-15",
        "usr/share/doc/postgresql-doc-15/html",
        "docbook",
        "body",
        _NAV,
        _TOC,
        named=("sql-keywords-appendix.html",),
    ),
    Host("python-django-doc", "usr/share/doc/python-django-doc/html", "sphinx-own", "#yui-main", "", _TOC),
    Host("python-pytest-doc", "usr/share/doc/python-pytest-doc/html", "sphinx-flask", "div.body", "", _TOC),
    Host("python3.11-doc", "usr/share/doc/python3.11/html", "sphinx-classic", "div.body", "", _TOC),
    Host("qtbase5-doc-html", "usr/share/qt5/doc/qtwidgets", "qdoc", ".mainContent", "", ".toc, .sidebar"),
    Host("r-doc-html", "usr/share/R/doc/manual", "texinfo", "body", _TEXINFO, ".contents, .shortcontents, .menu"),
    Host("rust-doc", "usr/share/doc/rust-doc/html/book", "mdbook", "main", "", ".nav-wrapper"),
    Host(
        "rust-doc",
        "usr/share/doc/rust-doc/html/std",
        "rustdoc",
        "#main-content",
        "",
        "a.anchor, a.srclink, .notable-traits",
    ),
    Host("sphinx-doc", "usr/share/doc/sphinx-doc/html/usage", "sphinx-own", "div.body", "", _TOC),
    Host("sqlite3-doc", "usr/share/doc/sqlite3", "own", "body", ".nosearch", ".fancy_toc, .fancy-toc, #toc_sub"),
    Host("zsh-doc", "usr/share/doc/zsh-common/html", "texi2html", "body", "table[cellpadding='1']", ".contents, .menu"),
)
