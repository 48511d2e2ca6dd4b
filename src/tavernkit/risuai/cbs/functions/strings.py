"""Looking into texts and changing them; places and lengths are those of UTF-16."""

from __future__ import annotations

from tavernkit.risuai.arrays import write_array
from tavernkit.risuai.cbs.call import CBSCall, LeftAsText
from tavernkit.risuai.cbs.functions.arguments import LONGEST_TEXT, flag, text_at
from tavernkit.risuai.cbs.registry import FunctionPack
from tavernkit.text.graphemes import split_graphemes
from tavernkit.text.js_strings import join_halves, js_trim, replace_all, split_halves, utf16_length

_LAST_OF_ONE_UNIT = "\uffff"

STRINGS = FunctionPack(
    "strings",
    {
        "startswith": lambda call: flag(split_halves(call.need(0)).startswith(split_halves(text_at(call, 1)))),
        "endswith": lambda call: flag(split_halves(call.need(0)).endswith(split_halves(text_at(call, 1)))),
        "contains": lambda call: flag(split_halves(text_at(call, 1)) in split_halves(call.need(0))),
        "trim": lambda call: js_trim(call.need(0)),
        "length": lambda call: str(utf16_length(call.need(0))),
        "lower": lambda call: call.need(0).lower(),
        "upper": lambda call: call.need(0).upper(),
        # The macro's own text backwards, its name included, which is what RisuAI does.
        "reverse": lambda call: "".join(reversed(split_graphemes(call.text))),
    },
)


@STRINGS.function("replace")
def replace(call: CBSCall) -> str:
    try:
        return replace_all(call.need(0), text_at(call, 1), text_at(call, 2), longest=LONGEST_TEXT)
    except OverflowError:
        raise LeftAsText from None


@STRINGS.function("split")
def split(call: CBSCall) -> str:
    text, between = call.need(0), call.get(1)
    if between is None:
        return write_array([text])
    if not between:
        return write_array(split_halves(text))
    return write_array(map(join_halves, split_halves(text).split(split_halves(between))))


@STRINGS.function("capitalize")
def capitalize(call: CBSCall) -> str:
    text = call.need(0)
    first = text[:1]
    # The first half of a pair has no capital, and so such a character stays as it is.
    return text if first > _LAST_OF_ONE_UNIT else first.upper() + text[1:]
