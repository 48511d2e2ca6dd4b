"""Filters that encode texts, for addresses and otherwise."""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import unicodedata
from collections.abc import Callable
from urllib.parse import quote

from tavernkit.artifacts.liquid.comparing import is_falsy
from tavernkit.artifacts.liquid.data import UNDEFINED
from tavernkit.artifacts.liquid.filters.texts import text_of
from tavernkit.artifacts.liquid.problems import CannotRenderError
from tavernkit.artifacts.liquid.scope import Rendering
from tavernkit.text.js_strings import JS_WHITESPACE, join_halves

__all__ = ["FILTERS"]

_COMPONENT = "-_.!~*'()"
_ADDRESS = _COMPONENT + ";,/?:@&=+$#[]"
_PERCENT = re.compile(r"(?:%[0-9a-fA-F]{2})+")
_BASE64 = re.compile(r"[A-Za-z0-9+/]*")
_ASCII_BLANKS = re.compile(r"[\t\n\f\r ]")
_LONE_HALF = re.compile("[\ud800-\udfff]")
_PRETTY = "._~!$&'()+,;=@"
_ACCENTS = (
    ("àáâãäå", "a"), ("æ", "ae"), ("ç", "c"), ("èéêë", "e"), ("ìíîï", "i"), ("ð", "d"), ("ñ", "n"),
    ("òóôõöø", "o"), ("ùúûü", "u"), ("ýÿ", "y"), ("ß", "ss"), ("œ", "oe"), ("þ", "th"), ("ẞ", "SS"),
    ("Œ", "OE"), ("Þ", "TH"),
)  # fmt: skip
_WITHOUT_ACCENTS = str.maketrans({letter: plain for letters, plain in _ACCENTS for letter in letters})
_BLANK = frozenset(JS_WHITESPACE)


def _text(rendering: Rendering, value: object) -> str:
    return join_halves(text_of(rendering, value))


def _bytes(rendering: Rendering, value: object) -> bytes:
    return _LONE_HALF.sub("\ufffd", _text(rendering, value)).encode()


def _quoted(rendering: Rendering, value: object, safe: str) -> str:
    try:
        return quote(_text(rendering, value), safe=safe)
    except UnicodeEncodeError:
        raise CannotRenderError("a text with half a character cannot be part of an address") from None


def _url_encode(rendering: Rendering, value: object, *_: object) -> str:
    return _quoted(rendering, value, _COMPONENT).replace("%20", "+")


def _cgi_escape(rendering: Rendering, value: object, *_: object) -> str:
    return _quoted(rendering, value, "-_.~").replace("%20", "+")


def _uri_escape(rendering: Rendering, value: object, *_: object) -> str:
    return _quoted(rendering, value, _ADDRESS)


def _url_decode(rendering: Rendering, value: object, *_: object) -> str:
    text = _text(rendering, value)
    if "%" in _PERCENT.sub("", text):
        raise CannotRenderError("url_decode met a % that no two hexadecimal digits follow")
    # A plus that is written as %2B stays one.
    return _PERCENT.sub(_decoded, text.replace("+", " "))


def _decoded(match: re.Match[str]) -> str:
    try:
        return bytes.fromhex(match[0].replace("%", "")).decode()
    except UnicodeDecodeError:
        raise CannotRenderError("url_decode met bytes that are no text") from None


def _base64_encode(rendering: Rendering, value: object, *_: object) -> str:
    return base64.b64encode(_bytes(rendering, value)).decode("ascii")


def _base64_decode(rendering: Rendering, value: object, *_: object) -> str:
    """Blanks are skipped, and the signs that fill up the end may be missing."""
    text = _ASCII_BLANKS.sub("", _text(rendering, value))
    if len(text) % 4 == 0:
        text = text.removesuffix("=").removesuffix("=")
    if len(text) % 4 == 1 or not _BASE64.fullmatch(text):
        raise CannotRenderError("base64_decode met a text that is not Base64")
    return base64.b64decode(text + "=" * (-len(text) % 4)).decode("utf-8", "replace")


def _sha256(rendering: Rendering, value: object, *_: object) -> str:
    return hashlib.sha256(_bytes(rendering, value)).hexdigest()


def _hmac_sha256(rendering: Rendering, value: object, key: object = UNDEFINED, *_: object) -> str:
    return hmac.new(_bytes(rendering, key), _bytes(rendering, value), hashlib.sha256).hexdigest()


def _slugify(
    rendering: Rendering, value: object, mode: object = UNDEFINED, cased: object = UNDEFINED, *_: object
) -> str:
    text = _text(rendering, value)
    way = "default" if mode is UNDEFINED else mode
    if way == "latin":
        text = text.translate(_WITHOUT_ACCENTS)
    keeps = _SLUGS.get(way) if isinstance(way, str) else None
    if keeps is not None:
        text = _with_dashes(text, keeps).removeprefix("-").removesuffix("-")
    return text.lower() if is_falsy(cased) else text


def _with_dashes(text: str, keeps: Callable[[str], bool]) -> str:
    """The text with one dash for each run of characters that are not kept."""
    made: list[str] = []
    in_run = False
    for character in text:
        kept = keeps(character)
        if kept:
            made.append(character)
        elif not in_run:
            made.append("-")
        in_run = not kept
    return "".join(made)


def _is_letter_or_digit(character: str) -> bool:
    category = unicodedata.category(character)
    return category[0] in "ML" or category == "Nd"


_SLUGS: dict[str, Callable[[str], bool]] = {
    "raw": lambda character: character not in _BLANK,
    "default": _is_letter_or_digit,
    "latin": _is_letter_or_digit,
    "pretty": lambda character: _is_letter_or_digit(character) or character in _PRETTY,
    "ascii": lambda character: character.isascii() and character.isalnum(),
}

FILTERS: dict[str, Callable[..., object]] = {
    "base64_decode": _base64_decode,
    "base64_encode": _base64_encode,
    "cgi_escape": _cgi_escape,
    "hmac_sha256": _hmac_sha256,
    "sha256": _sha256,
    "slugify": _slugify,
    "uri_escape": _uri_escape,
    "url_decode": _url_decode,
    "url_encode": _url_encode,
}
