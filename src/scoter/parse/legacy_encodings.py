"""EUC-JP, ISO-2022-JP and Big5 as the Encoding standard defines them.

Python's codecs for these encodings are fast, but know other versions of the character sets. They decode the text here;
this module adds the characters that they lack, corrects those that they map differently, and replaces invalid bytes as
the standard does: an ASCII byte after a broken lead byte is kept, so that no markup is lost.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer as Buffer

_REPLACEMENT: Final = "\ufffd"
_EUC_JP_ERRORS: Final = "scoter.euc-jp"
_BIG5_ERRORS: Final = "scoter.big5"

# The standard has the signs of Windows, Python those of JIS.
_JAPANESE_SIGNS: Final = (
    *(("\u301c", "\uff5e"), ("\u2016", "\u2225"), ("\u2212", "\uff0d")),
    *(("\xa2", "\uffe0"), ("\xa3", "\uffe1"), ("\xac", "\uffe2")),
)
_JIS_TILDE: Final = (b"\x8f\xa2\xb7", b"\xa1\xc1")  # U+FF5E in both sets of the standard; in Python, "~" in one
_BIG5_SIGNS: Final = (
    *(("\u2022", "\u2027"), ("\uff64", "\ufe51"), ("\u203e", "\xaf"), ("\u223c", "\uff5e"), ("\u2641", "\u2295")),
    *(("\u2609", "\u2299"), ("\xa5", "\uffe5"), ("\xa2", "\uffe0"), ("\xa3", "\uffe1")),
)
_BIG5_SLASHES: Final = {b"\xa2A": "\u2215", b"\xa2B": "\ufe68"}  # Python decodes two codes to each of "／" and "＼"
_BIG5_UNIT: Final = re.compile(rb"(\xa2[AB])|[\x81-\xfe][\x40-\x7e\x80-\xff]|[^\x81-\xfe]++|[\x81-\xfe]")
# Characters of the standard's index that Python's big5hkscs lacks, each run after its first pointer.
_BIG5_LACKING: Final = (
    "1000㡵𡵓𣚞𦀡㻬𥣞㫵竼龗𤅡𨤍𣇪𠪊𣉞䌊蒄龖鐯䤰蘓墖靊鈘秐稲晠権袝瑌篅枂稬剏遆㓦珄𥶹瓆鿇垳䤯呌䄱𣚎堘穲𧭥讏䚮𦺈䆁𥶙"
    "箮𢒼鿈𢓁𢓉𢓌鿉蔄𣖻䂴鿊䓡𪷿拁灮鿋 2082箸 2088簆 2103糎 2114緒 2123縝 2148者 2151耨 2221菁 2239蒨 2244萏 "
    "2303覦覩 2354起 2400都 2413銹 2477靜 2498響 2605鼖 2673蔃 2746兙兛兝兞 2771鍮 2780瑹 2990浧 3087禛 3259邗 "
    "3301靝 3436瀞 3451嬨 4136爁 4138矗 4141纇 4182駖 4206釔 4220惞 4230澶 4241輶 4258侻 4273營 4279鄄 4282鷰 "
    "4294菏 4329尐秣 4349婧 4419輋 4422筑 4494拐 4624恢 4694痹 4708汊 4742鬮 4748鼗 4815僭 4828弌 4902蠏 4922拎 "
    "4982瑨 4992煢 4997牐 5432␀␁␂␃␄␅␆␇␈␉␊␋␌␍␎␏␐␑␒␓␔␕␖␗␘␙␚␛␜␝␞␟␡€ 10942廴 10946无 10948癶 10950隶 10957〃仝 "
    "19028倩 19035偽 19088包 19096卄 19112卿 19162嘅 19240婷 19299幵 19305廐 19326彘 19355悤 19398撐 19439晴 "
    "19454杞 19553沜渝 19557港 19611煮 19643猪 19672瑜 19697瓩 19748砉"
)
_BIG5_RUN: Final = re.compile(r"([0-9]+)([^0-9 ]+)")
_BIG5_MORE: Final[Mapping[int, str]] = {
    int(start) + place: sign for start, run in _BIG5_RUN.findall(_BIG5_LACKING) for place, sign in enumerate(run)
}

_ESCAPES: Final = re.compile(rb"(\x1b(?:\([BJI]|\$[@B]))|\x1b|[^\x1b]++")
_JIS_PAIR: Final = re.compile(rb"((?:[\x21-\x7e]{2})++)|[\x21-\x7e][^\x21-\x7e]?|[^\x21-\x7e]")
_AS_EUC: Final = bytes(byte | 0x80 for byte in range(256))
_ROMAN: Final = {0x0E: _REPLACEMENT, 0x0F: _REPLACEMENT, 0x5C: "\xa5", 0x7E: "\u203e"}
_ASCII: Final = {0x0E: _REPLACEMENT, 0x0F: _REPLACEMENT}
_ASCII_STATE, _ROMAN_STATE, _KATAKANA_STATE = b"\x1b(B", b"\x1b(J", b"\x1b(I"
_KATAKANA: Final = "".join(chr(0xFF40 + byte) if 0x21 <= byte <= 0x5F else _REPLACEMENT for byte in range(256))
_LONGEST_UNIT: Final = 3  # bytes of a character


def _decode_euc_jp(body: bytes) -> str:
    text = body.replace(*_JIS_TILDE).decode("euc_jp", _EUC_JP_ERRORS)
    return _corrected(text, _JAPANESE_SIGNS)


def _decode_big5(body: bytes) -> str:
    if not any(code in body for code in _BIG5_SLASHES):
        return _corrected(body.decode("big5hkscs", _BIG5_ERRORS), _BIG5_SIGNS)
    pieces: list[str] = []
    start = 0
    for unit in _BIG5_UNIT.finditer(body):
        if unit[1]:
            pieces += (body[start : unit.start()].decode("big5hkscs", _BIG5_ERRORS), _BIG5_SLASHES[unit[1]])
            start = unit.end()
    return _corrected("".join(pieces) + body[start:].decode("big5hkscs", _BIG5_ERRORS), _BIG5_SIGNS)


def _decode_iso_2022_jp(body: bytes) -> str:
    pieces: list[str] = []
    state, was_escape = _ASCII_STATE, False
    for part in _ESCAPES.finditer(body):
        if part[1]:
            if was_escape:  # nothing between two escape sequences: somebody may be hiding something
                pieces.append(_REPLACEMENT)
            state, was_escape = part[1], True
            continue
        was_escape = False
        data = part[0]
        if data == b"\x1b":
            pieces.append(_REPLACEMENT)
        elif state == _KATAKANA_STATE:
            pieces.append(data.decode("latin-1").translate(_KATAKANA))
        elif state in (_ASCII_STATE, _ROMAN_STATE):
            pieces.append(data.decode("ascii", "replace").translate(_ROMAN if state == _ROMAN_STATE else _ASCII))
        else:
            units = _JIS_PAIR.finditer(data)
            pieces += (_decode_euc_jp(unit[1].translate(_AS_EUC)) if unit[1] else _REPLACEMENT for unit in units)
    return "".join(pieces)


def _corrected(text: str, signs: tuple[tuple[str, str], ...]) -> str:
    for theirs, ours in signs:
        text = text.replace(theirs, ours)
    return text


def _beyond_euc_jp(error: UnicodeError) -> tuple[str, int]:
    """Decode a character of JIS X 0208 that Python lacks (①, ㈱, 髙), or replace an invalid one."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    start = error.start
    unit = error.object[start : start + 3]
    if unit[0] == 0x8F and len(unit) > 1 and 0xA1 <= unit[1] <= 0xFE:
        return _REPLACEMENT, start + (3 if len(unit) == 3 and unit[2] >= 0x80 else 2)
    if not 0xA1 <= unit[0] <= 0xFE or len(unit) < 2 or not 0xA1 <= unit[1] <= 0xFE:
        return _invalid(unit, start, first=0x8E)
    row, cell = unit[0] - 0xA0, unit[1] - 0xA0
    # The same position in Shift_JIS, for which Python has the extensions by NEC and IBM.
    lead = (row - 1) // 2 + 0x81
    trail = cell + 0x3F + (cell > 63) if row % 2 else cell + 0x9E
    text = bytes((lead if lead < 0xA0 else lead + 0x40, trail)).decode("cp932", "replace")
    return text if len(text) == 1 else _REPLACEMENT, start + 2


def _beyond_big5(error: UnicodeError) -> tuple[str, int]:
    """Decode a character of the standard's index that Python lacks, or replace an invalid one."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    start = error.start
    unit = error.object[start : start + 2]
    if len(unit) == 2 and (0x40 <= unit[1] <= 0x7E or 0xA1 <= unit[1] <= 0xFE):
        pointer = (unit[0] - 0x81) * 157 + unit[1] - (0x40 if unit[1] < 0x7F else 0x62)
        if sign := _BIG5_MORE.get(pointer):
            return sign, start + 2
    return _invalid(unit, start, first=0x81)


def _invalid(unit: bytes, start: int, *, first: int) -> tuple[str, int]:
    """Replace a broken character: a byte that begins none, or a lead byte with what follows unless that is ASCII."""
    is_lead = first <= unit[0] <= 0xFE and not (first == 0x8E and 0x8F < unit[0] < 0xA1)
    return _REPLACEMENT, start + (2 if is_lead and len(unit) > 1 and unit[1] >= 0x80 else 1)


codecs.register_error(_EUC_JP_ERRORS, _beyond_euc_jp)
codecs.register_error(_BIG5_ERRORS, _beyond_big5)


def _multibyte_end(data: bytes) -> int:
    """Return where an unfinished text may be cut: after the last byte that is a character in any case."""
    for place in range(len(data), max(0, len(data) - 4_096), -1):
        if data[place - 1] < 0x40:
            return place
    return max(0, len(data) - _LONGEST_UNIT)


def _escaped_end(data: bytes) -> int:
    """Return where an unfinished text may be cut: before the last escape sequence that is still in effect."""
    last = data.rfind(b"\x1b")
    if last < 0 or data.startswith(_ASCII_STATE, last):
        return len(data)
    return last


def _codec(name: str, decode: Callable[[bytes], str], end: Callable[[bytes], int]) -> codecs.CodecInfo:
    class Decoder(codecs.BufferedIncrementalDecoder):
        def _buffer_decode(self, data: Buffer, errors: str, final: bool) -> tuple[str, int]:
            body = bytes(data)
            stop = len(body) if final else end(body)
            return decode(body[:stop]), stop

    def whole(data: Buffer, errors: str = "replace") -> tuple[str, int]:
        body = bytes(data)
        return decode(body), len(body)

    encode = codecs.lookup(name).encode
    return codecs.CodecInfo(encode, whole, incrementaldecoder=Decoder, name=name)


WEB_CODECS: Final[Mapping[str, codecs.CodecInfo]] = {
    "euc-jp": _codec("euc-jp", _decode_euc_jp, _multibyte_end),
    "iso-2022-jp": _codec("iso-2022-jp", _decode_iso_2022_jp, _escaped_end),
    "big5": _codec("big5", _decode_big5, _multibyte_end),
}
"""Decoders by the standard's names of encodings. They never fail: invalid bytes become U+FFFD."""
