"""Pages in every encoding of the web, declared correctly, wrongly and not at all, with the expected text.

Each row: a name; the bytes; what the server says; the encoding that is found and why; words that must come out.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct
from tests.parse.encodings.words import (
    ARABIC,
    CHINESE,
    CZECH,
    FRENCH,
    GERMAN,
    GREEK,
    HEBREW,
    ICELANDIC,
    JAPANESE,
    KOREAN,
    LITHUANIAN,
    POLISH,
    RUSSIAN,
    TAIWANESE,
    THAI,
    TURKISH,
    UKRAINIAN,
    VIETNAMESE,
)


class Case(Struct, frozen=True):
    """One row of the table."""

    name: str
    body: bytes
    http: str
    encoding: str
    why: str
    words: str


def page(text: str, codec: str, charset: str = "", *, head: str = "") -> bytes:
    """A page in an encoding, with a declaration if ``charset`` is given."""
    meta = f'<meta charset="{charset}">' if charset else ""
    return f"<!DOCTYPE html><html><head>{meta}{head}</head><body><p>{text}</p></body></html>".encode(codec)


def http_equiv(attributes: str, text: str, codec: str) -> bytes:
    return f"<html><head><META {attributes}></head><body>{text}".encode(codec)


DECLARED: Final = (
    Case("gbk in a meta", page(CHINESE, "gbk", "gbk"), "", "gbk", "meta", CHINESE),
    Case("gb2312 is gbk", page(CHINESE, "gbk", "GB2312"), "", "gbk", "meta", CHINESE),
    Case("gb18030", page(CHINESE + "𠀀", "gb18030", "gb18030"), "", "gb18030", "meta", CHINESE + "𠀀"),
    Case("gbk with what only gb18030 has", page(CHINESE + "𠀀", "gb18030", "gbk"), "", "gbk", "meta", CHINESE + "𠀀"),
    Case("big5", page(TAIWANESE, "big5", "big5"), "", "big5", "meta", TAIWANESE),
    Case("big5 by the server", page(TAIWANESE, "big5"), "Big5", "big5", "http", TAIWANESE),
    Case("big5 of Hong Kong", page("嘅咗" + TAIWANESE, "big5hkscs", "big5-hkscs"), "", "big5", "meta", "嘅咗"),
    Case("shift_jis", page(JAPANESE, "shift_jis", "Shift_JIS"), "", "shift_jis", "meta", JAPANESE),
    Case("shift_jis of Windows", page(JAPANESE + "①㈱", "cp932", "x-sjis"), "", "shift_jis", "meta", "①㈱"),
    Case("euc-jp", page(JAPANESE, "euc_jp", "euc-jp"), "", "euc-jp", "meta", JAPANESE),
    Case("iso-2022-jp", page(JAPANESE, "iso2022_jp", "iso-2022-jp"), "", "iso-2022-jp", "meta", JAPANESE),
    Case("euc-kr", page(KOREAN, "euc_kr", "euc-kr"), "", "euc-kr", "meta", KOREAN),
    Case(
        "ks_c_5601-1987 is what Windows has",
        page(KOREAN + "똠", "cp949", "ks_c_5601-1987"),
        *("", "euc-kr", "meta", "똠"),
    ),
    Case("windows-1250", page(POLISH, "cp1250", "windows-1250"), "", "windows-1250", "meta", POLISH),
    Case("windows-1251", page(RUSSIAN, "cp1251", "cp1251"), "", "windows-1251", "meta", RUSSIAN),
    Case("windows-1252", page(FRENCH + "€“”", "cp1252", "windows-1252"), "", "windows-1252", "meta", "€“”"),
    Case("latin-1 is windows-1252", page(FRENCH + "€", "cp1252", "iso-8859-1"), "", "windows-1252", "meta", "€"),
    Case("us-ascii is windows-1252", page(FRENCH, "cp1252"), "us-ascii", "windows-1252", "http", FRENCH),
    Case("windows-1253", page(GREEK, "cp1253", "windows-1253"), "", "windows-1253", "meta", GREEK),
    Case("windows-1254", page(TURKISH, "cp1254", "iso-8859-9"), "", "windows-1254", "meta", TURKISH),
    Case("windows-1255", page(HEBREW, "cp1255", "windows-1255"), "", "windows-1255", "meta", HEBREW),
    Case("windows-1256", page(ARABIC, "cp1256", "windows-1256"), "", "windows-1256", "meta", ARABIC),
    Case("windows-1257", page(LITHUANIAN, "cp1257", "windows-1257"), "", "windows-1257", "meta", LITHUANIAN),
    Case("windows-1258", page(VIETNAMESE, "cp1258", "windows-1258"), "", "windows-1258", "meta", VIETNAMESE),
    Case("windows-874", page(THAI, "cp874", "tis-620"), "", "windows-874", "meta", THAI),
    Case("koi8-r", page(RUSSIAN, "koi8_r", "koi8-r"), "", "koi8-r", "meta", RUSSIAN),
    Case("koi8-u", page(UKRAINIAN, "koi8_u", "koi8-u"), "", "koi8-u", "meta", UKRAINIAN),
    Case("ibm866", page(RUSSIAN, "cp866", "cp866"), "", "ibm866", "meta", RUSSIAN),
    Case("x-mac-cyrillic", page(RUSSIAN, "mac_cyrillic", "x-mac-cyrillic"), "", "x-mac-cyrillic", "meta", RUSSIAN),
    Case("macintosh", page(FRENCH, "mac_roman", "macintosh"), "", "macintosh", "meta", FRENCH),
    Case("iso-8859-2", page(CZECH, "iso8859_2", "latin2"), "", "iso-8859-2", "meta", CZECH),
    Case("iso-8859-4", page(LITHUANIAN, "iso8859_4", "iso-8859-4"), "", "iso-8859-4", "meta", LITHUANIAN),
    Case("iso-8859-5", page(RUSSIAN, "iso8859_5", "iso-8859-5"), "", "iso-8859-5", "meta", RUSSIAN),
    Case("iso-8859-6", page("سمك البحر", "iso8859_6", "iso-8859-6"), "", "iso-8859-6", "meta", "سمك البحر"),
    Case("iso-8859-7", page(GREEK, "iso8859_7", "iso-8859-7"), "", "iso-8859-7", "meta", GREEK),
    Case("iso-8859-8", page(HEBREW, "iso8859_8", "iso-8859-8-i"), "", "iso-8859-8-i", "meta", HEBREW),
    Case("iso-8859-10", page(ICELANDIC, "iso8859_10", "latin6"), "", "iso-8859-10", "meta", ICELANDIC),
    Case("iso-8859-13", page(LITHUANIAN, "iso8859_13", "iso-8859-13"), "", "iso-8859-13", "meta", LITHUANIAN),
    Case("iso-8859-15", page(FRENCH + "œ€", "iso8859_15", "latin-9"), "iso-8859-15", "iso-8859-15", "http", "œ€"),
    Case("iso-8859-16", page("pește și țărm", "iso8859_16", "iso-8859-16"), "", "iso-8859-16", "meta", "pește și țărm"),
    Case(
        "x-user-defined in a meta is windows-1252",
        page("café", "cp1252", "x-user-defined"),
        *("", "windows-1252", "meta", "café"),
    ),
    Case("x-user-defined by the server", b"<p>caf\xe9", "x-user-defined", "x-user-defined", "http", "caf\uf7e9"),
)  # fmt: skip

UNICODE: Final = (
    Case("utf-8", page(RUSSIAN, "utf-8", "utf-8"), "", "utf-8", "meta", RUSSIAN),
    Case("utf-8 with a mark", page(RUSSIAN, "utf-8-sig", "koi8-r"), "gbk", "utf-8", "bom", RUSSIAN),
    Case("utf-16le with a mark", b"\xff\xfe" + page(CHINESE, "utf-16-le"), "utf-8", "utf-16le", "bom", CHINESE),
    Case("utf-16be with a mark", b"\xfe\xff" + page(CHINESE, "utf-16-be"), "", "utf-16be", "bom", CHINESE),
    Case("utf-16le without a mark", page(RUSSIAN, "utf-16-le"), "", "utf-16le", "detector", RUSSIAN),
    Case("utf-16be without a mark", page(RUSSIAN, "utf-16-be"), "", "utf-16be", "detector", RUSSIAN),
    Case("utf-16 by the server", page(CHINESE, "utf-16-le"), "utf-16", "utf-16le", "http", CHINESE),
    Case("utf-16 of few ASCII characters", (CHINESE * 9).encode("utf-16-be"), "utf-16be", "utf-16be", "http", CHINESE),
    Case("utf-16 that the server calls utf-8", page(RUSSIAN, "utf-16-le"), "utf-8", "utf-16le", "detector", RUSSIAN),
    Case("utf-16 that is utf-8", page(RUSSIAN, "utf-8"), "utf-16", "utf-8", "utf-8", RUSSIAN),
    Case("utf-16 in a meta that could be read", page(RUSSIAN, "utf-8", "utf-16"), "", "utf-8", "meta", RUSSIAN),
    Case("utf-7 is refused", b"<meta charset=utf-7><p>+ADw-script+AD4-", "utf-7", "utf-8", "utf-8", "+ADw-script+AD4-"),
    Case("utf-32 is unknown", page(RUSSIAN, "utf-8"), "utf-32", "utf-8", "utf-8", RUSSIAN),
    Case(
        "iso-2022-kr is refused, and its links are read",
        b"<a href=/x>\x1b$)C\x0e\x1b</a>",
        *("iso-2022-kr", "utf-8", "utf-8", "<a href=/x>"),
    ),
    Case("cut inside a character", page(RUSSIAN, "utf-8")[:-15] + b"\xd1", "utf-8", "utf-8", "http", RUSSIAN),
    Case("cut inside a character, undeclared", "<p>тюлень".encode() + b"\xd1", "", "utf-8", "utf-8", "тюлень\ufffd"),
    Case("cut inside a character of gbk", page(CHINESE, "gbk") + b"\xba", "gbk", "gbk", "http", CHINESE),
    Case(
        "half of it another",
        page(RUSSIAN * 3, "utf-8") + "é".encode("cp1252") * 9,
        *("utf-8", "utf-8", "http", RUSSIAN),
    ),
    Case("zeros in it", b"<p>a\0b</p>\0<p>" + RUSSIAN.encode(), "", "utf-8", "utf-8", RUSSIAN),
    Case("nothing", b"", "", "utf-8", "utf-8", ""),
    Case("ASCII", b"<p>plain", "", "utf-8", "utf-8", "plain"),
)  # fmt: skip

UNDECLARED: Final = (
    Case("gbk", page(CHINESE * 4, "gbk"), "", "gb18030", "detector", CHINESE),
    Case("big5", page(TAIWANESE * 4, "big5"), "", "big5", "detector", TAIWANESE),
    Case("shift_jis", page(JAPANESE * 4, "shift_jis"), "", "shift_jis", "detector", JAPANESE),
    Case("euc-jp", page(JAPANESE * 4, "euc_jp"), "", "euc-jp", "detector", JAPANESE),
    Case("iso-2022-jp", page(JAPANESE, "iso2022_jp"), "", "iso-2022-jp", "detector", JAPANESE),
    Case("euc-kr", page(KOREAN * 4, "euc_kr"), "", "euc-kr", "detector", KOREAN),
    Case("windows-1251", page(RUSSIAN * 4, "cp1251"), "", "windows-1251", "detector", RUSSIAN),
    Case("koi8-r", page(RUSSIAN * 4, "koi8_r"), "", "koi8-r", "detector", RUSSIAN),
    Case("windows-1253", page(GREEK * 4, "cp1253"), "", "windows-1253", "detector", GREEK),
    Case("windows-1255", page(HEBREW * 4, "cp1255"), "", "windows-1255", "detector", HEBREW),
    Case("windows-1252", page(GERMAN * 4, "cp1252"), "", "windows-1252", "detector", GERMAN),
    Case("windows-1250", page(POLISH * 2, "cp1250"), "", "windows-1250", "detector", POLISH),
    Case("iso-8859-2", page(CZECH * 2, "iso8859_2"), "", "iso-8859-2", "detector", CZECH),
    Case("windows-1254", page(TURKISH * 2, "cp1254"), "", "windows-1254", "detector", TURKISH),
    Case("windows-1256", page(ARABIC * 2, "cp1256"), "", "windows-1256", "detector", ARABIC),
    Case("windows-1257", page(LITHUANIAN * 2, "cp1257"), "", "windows-1257", "detector", LITHUANIAN),
    Case("windows-874", page(THAI * 2, "cp874"), "", "windows-874", "detector", THAI),
    Case("one accented letter", b"<p>caf\xe9", "", "windows-1252", "default", "café"),
    Case(
        "behind a long script",
        page(RUSSIAN * 4, "cp1251", head=f"<script>{'var a = 1;' * 4_000}</script>"),
        *("", "windows-1251", "detector", RUSSIAN),
    ),
)

WRONG: Final = (
    Case("utf-8 that a meta calls latin-1", page(RUSSIAN, "utf-8", "iso-8859-1"), "", "utf-8", "utf-8", RUSSIAN),
    Case("utf-8 that the server calls gbk", page(RUSSIAN, "utf-8"), "gbk", "utf-8", "utf-8", RUSSIAN),
    Case(
        "utf-8 that the server calls latin-1, and a meta rightly",
        page(FRENCH, "utf-8", "utf-8"),
        *("latin1", "utf-8", "meta", FRENCH),
    ),
    Case(
        "latin-1 that the server calls utf-8, and a meta rightly",
        page(FRENCH, "cp1252", "latin1"),
        *("utf-8", "windows-1252", "meta", FRENCH),
    ),
    Case(
        "windows-1251 that a meta calls utf-8",
        page(RUSSIAN * 4, "cp1251", "utf-8"),
        *("", "windows-1251", "detector", RUSSIAN),
    ),
    Case(
        "shift_jis that the server calls utf-8",
        page(JAPANESE * 4, "shift_jis"),
        *("utf-8", "shift_jis", "detector", JAPANESE),
    ),
    Case("gbk that the server calls latin-1", page(CHINESE, "gbk", "gbk"), "ISO-8859-1", "gbk", "meta", CHINESE),
    Case("euc-kr that the server calls latin-1", page(KOREAN, "euc_kr", "euc-kr"), "latin1", "euc-kr", "meta", KOREAN),
    Case(
        "latin-1 that a meta calls gbk, and the server rightly",
        page(FRENCH * 3, "cp1252", "gbk"),
        *("ISO-8859-1", "windows-1252", "http", FRENCH),
    ),
    Case(
        "too little gbk to know better than the server",
        page("é«", "cp1252", "gbk"),
        *("ISO-8859-1", "windows-1252", "http", "é«"),
    ),
    Case("the server before the meta", page(RUSSIAN, "koi8_r", "windows-1251"), "koi8-r", "koi8-r", "http", RUSSIAN),
    Case("a server that says nonsense", page(RUSSIAN, "koi8_r", "koi8-r"), "none", "koi8-r", "meta", RUSSIAN),
    Case(
        "a meta after the first kilobyte",
        page(FRENCH, "utf-8", head="<!--" + "x" * 1_100 + '--><meta charset="koi8-r">'),
        *("", "utf-8", "utf-8", FRENCH),
    ),
    Case(
        "a meta in a comment",
        page(POLISH, "utf-8", head="<!-- <meta charset=gbk> -->"),
        *("", "utf-8", "utf-8", POLISH),
    ),
    Case(
        "a meta in a script counts for the standard's prescan",
        page("café", "cp1252", head='<script>"<meta charset=latin1>"</script>'),
        *("", "windows-1252", "meta", "café"),
    ),
    Case(
        "a meta in an attribute",
        page(POLISH, "utf-8", head='<link title="<meta charset=gbk>">'),
        *("", "utf-8", "utf-8", POLISH),
    ),
    Case(
        "two metas: the first",
        page(RUSSIAN, "koi8_r", "koi8-r", head="<meta charset=gbk>"),
        *("", "koi8-r", "meta", RUSSIAN),
    ),
    Case(
        "http-equiv with odd spacing",
        http_equiv('http-equiv = "Content-Type"\tCONTENT = " text/html ;\n charset = koi8-r ; x"', RUSSIAN, "koi8_r"),
        *("", "koi8-r", "meta", RUSSIAN),
    ),
    Case(
        "http-equiv the other way round, without quotes",
        http_equiv("content=text/html;charset=koi8-r http-equiv=Content-Type", RUSSIAN, "koi8_r"),
        *("", "koi8-r", "meta", RUSSIAN),
    ),
    Case(
        "http-equiv that is another",
        http_equiv('http-equiv=refresh content="9; charset=koi8-r"', POLISH, "utf-8"),
        *("", "utf-8", "utf-8", POLISH),
    ),
    Case(
        "a charset that failed is not mended by content",
        http_equiv('charset=none http-equiv=content-type content="x; charset=koi8-r"', POLISH, "utf-8"),
        *("", "utf-8", "utf-8", POLISH),
    ),
    Case(
        "an XML declaration",
        f'<?xml version="1.0" encoding="koi8-r"?><html><p>{RUSSIAN}'.encode("koi8_r"),
        *("", "koi8-r", "xml", RUSSIAN),
    ),
    Case(
        "a meta before an XML declaration",
        f'<?xml version="1.0" encoding="gbk"?><meta charset=koi8-r>{RUSSIAN}'.encode("koi8_r"),
        *("", "koi8-r", "meta", RUSSIAN),
    ),
    Case(
        "an XML declaration of UTF-16 that could be read",
        f'<?xml version="1.0" encoding="utf-16"?><p>{RUSSIAN}'.encode(),
        *("", "utf-8", "xml", RUSSIAN),
    ),
    Case(
        "an XML declaration with a space in the name",
        f"<?xml encoding=' koi8-r'?><p>{RUSSIAN}".encode(),
        *("", "utf-8", "utf-8", RUSSIAN),
    ),
)  # fmt: skip

ALL: Final = (*DECLARED, *UNICODE, *UNDECLARED, *WRONG)
