"""Filters about white space and words."""

from __future__ import annotations

import math
import re
from collections.abc import Callable

from tavernkit.artifacts.liquid.conversion import js_number, js_text
from tavernkit.artifacts.liquid.data import UNDEFINED, is_array, is_nil, plain
from tavernkit.artifacts.liquid.filters.texts import text_of
from tavernkit.artifacts.liquid.scope import Rendering
from tavernkit.text.js_strings import JS_WHITESPACE, js_trim

__all__ = ["FILTERS"]

_BLANKS = re.compile(f"[{JS_WHITESPACE}]+")
_LINE_END = re.compile("\r?\n")
_CJK = "\u4e00-\u9fff\uf900-\ufaff\u3400-\u4dbf\u3040-\u309f\u30a0-\u30ff\uac00-\ud7af"
_CJK_CHARACTER = re.compile(f"[{_CJK}]")
_OTHER_WORD = re.compile(f"[^{_CJK}{JS_WHITESPACE}]+")


def _truncatewords(
    rendering: Rendering, value: object, length: object = UNDEFINED, ending: object = "...", *_: object
) -> str:
    """The mark comes behind texts of exactly that many words, too; of no number at all nothing is left."""
    words = _BLANKS.split(text_of(rendering, value).lstrip(JS_WHITESPACE))
    most = 15.0 if length is UNDEFINED else js_number(length, rendering.meter)
    if math.isnan(most):
        return ""
    most = most if most > 0 else 1.0
    mark = text_of(rendering, "..." if ending is UNDEFINED else ending)
    return " ".join(words[: int(min(most, len(words)))]) + (mark if len(words) >= most else "")


def _normalize_whitespace(rendering: Rendering, value: object, *_: object) -> str:
    return _BLANKS.sub(" ", text_of(rendering, value))


def _squish(rendering: Rendering, value: object, *_: object) -> str:
    return _BLANKS.sub(" ", js_trim(text_of(rendering, value)))


def _strip_newlines(rendering: Rendering, value: object, *_: object) -> str:
    return _LINE_END.sub("", text_of(rendering, value))


def _number_of_words(rendering: Rendering, value: object, mode: object = UNDEFINED, *_: object) -> int:
    """With `cjk`, and with `auto` where there are any, every Chinese, Japanese or Korean sign is a word."""
    text = js_trim(text_of(rendering, value))
    if not text:
        return 0
    signs = len(_CJK_CHARACTER.findall(text)) if mode in ("cjk", "auto") else 0
    if mode == "cjk" or signs:
        return signs + len(_OTHER_WORD.findall(text))
    return len(_BLANKS.split(text))


def _array_to_sentence_string(rendering: Rendering, value: object, connector: object = UNDEFINED, *_: object) -> object:
    value = plain(value)
    if is_nil(value):
        return ""
    items = list(value) if is_array(value) else [value]
    rendering.meter.made(len(items))
    word = "and" if connector is UNDEFINED else text_of(rendering, connector)
    if len(items) < 2:
        return items[0] if items else ""
    listed = ["" if is_nil(item) else js_text(item, rendering.meter) for item in items[:-1]]
    last = f"{word} {js_text(items[-1], rendering.meter)}"
    if len(items) == 2:
        return f"{js_text(items[0], rendering.meter)} {last}"
    return f"{', '.join(listed)}, {last}"


FILTERS: dict[str, Callable[..., object]] = {
    "array_to_sentence_string": _array_to_sentence_string,
    "normalize_whitespace": _normalize_whitespace,
    "number_of_words": _number_of_words,
    "squish": _squish,
    "strip_newlines": _strip_newlines,
    "truncatewords": _truncatewords,
}
