"""Normalise language tags as pages write them (``EN_us``, ``deu``, ``zh-Hans-CN-x-web``) to BCP 47.

Language, script and region are kept; variants and extensions are dropped.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

# ISO 639-2 codes, both bibliographic and terminological, and their ISO 639-1 equivalents. BCP 47 wants the shorter.
_CODES: Final = """
    aar:aa abk:ab afr:af aka:ak alb:sq amh:am ara:ar arg:an arm:hy asm:as ava:av ave:ae aym:ay aze:az bak:ba bam:bm
    baq:eu bel:be ben:bn bis:bi bod:bo bos:bs bre:br bul:bg bur:my cat:ca ces:cs cha:ch che:ce chi:zh chu:cu chv:cv
    cor:kw cos:co cre:cr cym:cy cze:cs dan:da deu:de div:dv dut:nl dzo:dz ell:el eng:en epo:eo est:et eus:eu ewe:ee
    fao:fo fas:fa fij:fj fin:fi fra:fr fre:fr fry:fy ful:ff geo:ka ger:de gla:gd gle:ga glg:gl glv:gv gre:el grn:gn
    guj:gu hat:ht hau:ha hbs:sh heb:he her:hz hin:hi hmo:ho hrv:hr hun:hu hye:hy ibo:ig ice:is ido:io iii:ii iku:iu
    ile:ie ina:ia ind:id ipk:ik isl:is ita:it jav:jv jpn:ja kal:kl kan:kn kas:ks kat:ka kau:kr kaz:kk khm:km kik:ki
    kin:rw kir:ky kom:kv kon:kg kor:ko kua:kj kur:ku lao:lo lat:la lav:lv lim:li lin:ln lit:lt ltz:lb lub:lu lug:lg
    mac:mk mah:mh mal:ml mao:mi mar:mr may:ms mkd:mk mlg:mg mlt:mt mon:mn mri:mi msa:ms mya:my nau:na nav:nv nbl:nr
    nde:nd ndo:ng nep:ne nld:nl nno:nn nob:nb nor:no nya:ny oci:oc oji:oj ori:or orm:om oss:os pan:pa per:fa pli:pi
    pol:pl por:pt pus:ps que:qu roh:rm ron:ro rum:ro run:rn rus:ru sag:sg san:sa sin:si slk:sk slo:sk slv:sl sme:se
    smo:sm sna:sn snd:sd som:so sot:st spa:es sqi:sq srd:sc srp:sr ssw:ss sun:su swa:sw swe:sv tah:ty tam:ta tat:tt
    tel:te tgk:tg tgl:tl tha:th tib:bo tir:ti ton:to tsn:tn tso:ts tuk:tk tur:tr twi:tw uig:ug ukr:uk urd:ur uzb:uz
    ven:ve vie:vi vol:vo wel:cy wln:wa wol:wo xho:xh yid:yi yor:yo zha:za zho:zh zul:zu
"""
_SHORT: Final = dict(pair.split(":") for pair in _CODES.split())
# English names, which some pages declare instead of a tag.
_ENGLISH: Final = """
    afrikaans:af albanian:sq amharic:am arabic:ar aragonese:an armenian:hy assamese:as azerbaijani:az bashkir:ba
    basque:eu belarusian:be bengali:bn bosnian:bs breton:br bulgarian:bg burmese:my catalan:ca chechen:ce chinese:zh
    chuvash:cv cornish:kw corsican:co croatian:hr czech:cs danish:da dutch:nl english:en esperanto:eo estonian:et
    faroese:fo farsi:fa finnish:fi french:fr frisian:fy galician:gl georgian:ka german:de greek:el greenlandic:kl
    guarani:gn gujarati:gu haitian:ht hausa:ha hebrew:he hindi:hi hungarian:hu icelandic:is ido:io igbo:ig
    indonesian:id interlingua:ia inuktitut:iu irish:ga italian:it japanese:ja javanese:jv kannada:kn kashmiri:ks
    kazakh:kk khmer:km kinyarwanda:rw korean:ko kurdish:ku kyrgyz:ky lao:lo latin:la latvian:lv limburgish:li
    lingala:ln lithuanian:lt luxembourgish:lb macedonian:mk malagasy:mg malay:ms malayalam:ml maltese:mt manx:gv
    maori:mi marathi:mr mongolian:mn navajo:nv nepali:ne norwegian:no occitan:oc oriya:or oromo:om ossetian:os
    pashto:ps persian:fa polish:pl portuguese:pt punjabi:pa quechua:qu romanian:ro romansh:rm russian:ru samoan:sm
    sanskrit:sa sardinian:sc serbian:sr shona:sn sindhi:sd sinhala:si sinhalese:si slovak:sk slovene:sl slovenian:sl
    somali:so spanish:es sundanese:su swahili:sw swedish:sv tagalog:tl tajik:tg tamil:ta tatar:tt telugu:te thai:th
    tibetan:bo tigrinya:ti tongan:to turkish:tr turkmen:tk uighur:ug ukrainian:uk urdu:ur uzbek:uz vietnamese:vi
    volapuk:vo walloon:wa welsh:cy wolof:wo xhosa:xh yiddish:yi yoruba:yo zulu:zu
"""
_NAMES: Final = dict(pair.split(":") for pair in _ENGLISH.split())
_RENAMED: Final = {"iw": "he", "in": "id", "ji": "yi", "jw": "jv", "mo": "ro"}  # withdrawn codes that are still in use
_KNOWN: Final = frozenset(_SHORT.values()) | {"bh"}
_NONE: Final = frozenset({"und", "mul", "mis", "zxx"})  # undetermined, multiple, uncoded, no linguistic content
_END: Final = "(?![a-z0-9])"
_TAG: Final = re.compile(
    f"([a-z]{{2,3}}){_END}(?:-[a-z]{{3}}{_END}){{0,3}}(?:-([a-z]{{4}}){_END})?(?:-([a-z]{{2}}|[0-9]{{3}}){_END})?"
)
_LONGEST: Final = 100


def language_tag(text: str) -> str:
    """Return the tag in a declaration, or an empty string if it names no language or several.

    >>> language_tag("EN_us"), language_tag("deu"), language_tag("zh-hans-cn-x-web"), language_tag("en, de")
    ('en-US', 'de', 'zh-Hans-CN', '')
    >>> language_tag("Swedish"), language_tag("English (United States)")
    ('sv', 'en')
    """
    return _known_tag(text[:_LONGEST])


@lru_cache(maxsize=1_024)  # all pages of a site declare the same
def _known_tag(text: str) -> str:
    words = (word.partition(";")[0] for word in text.lower().replace(",", " ").split())
    tags = [tag for word in words if (tag := _tag(word))]
    # The HTML standard, too, ignores a content-language with several languages.
    return tags[0] if len({primary(tag) for tag in tags}) == 1 else ""


def shortest(code: str) -> str:
    """Return the two-letter code for a three-letter one, if there is one.

    >>> shortest("deu"), shortest("gsw")
    ('de', 'gsw')
    """
    return _SHORT.get(code, code)


def primary(tag: str) -> str:
    """Return the language of a tag without script and region.

    >>> primary("pt-BR")
    'pt'
    """
    return tag.partition("-")[0]


def _tag(word: str) -> str:
    if word in _NAMES:
        return _NAMES[word]
    found = _TAG.match(word.replace("_", "-"))
    if found is None:
        return ""
    language, script, region = found.groups()
    language = _SHORT.get(language, language)
    language = _RENAMED.get(language, language)
    if language in _NONE or (len(language) == 2 and language not in _KNOWN):
        return ""
    return "-".join(filter(None, (language, (script or "").title(), (region or "").upper())))
