"""Characters that the parser would not leave alone: they travel in the private use area until they are shown."""

from __future__ import annotations

from tavernkit.risuai.cbs.call import CBSCall, CBSFunction, LeftAsText
from tavernkit.risuai.cbs.functions.arguments import LONGEST_TEXT, number_at
from tavernkit.risuai.cbs.registry import FunctionPack
from tavernkit.text.js_numbers import to_integer


def _saying(text: str) -> CBSFunction:
    return lambda _: text


_ESCAPED = {
    "decbo displayescapedcurlybracketopen": "\ue9b8",
    "decbc displayescapedcurlybracketclose": "\ue9b9",
    "bo ddecbo doubledisplayescapedcurlybracketopen": "\ue9b8\ue9b8",
    "bc ddecbc doubledisplayescapedcurlybracketclose": "\ue9b9\ue9b9",
    "displayescapedbracketopen debo (": "\ue9ba",
    "displayescapedbracketclose debc )": "\ue9bb",
    "displayescapedanglebracketopen deabo <": "\ue9bc",
    "displayescapedanglebracketclose deabc >": "\ue9bd",
    "displayescapedcolon dec :": "\ue9be",
    "displayescapedsemicolon ;": "\ue9bf",
    "br newline": "\n",
    "blank none": "",
    "hiddenkey": "",  # a key for lore, which looks at the text before it is parsed
}

ESCAPES = FunctionPack("escapes", {names: _saying(text) for names, text in _ESCAPED.items()})


@ESCAPES.function("cbr", "cnl", "cnewline")
def escaped_newline(call: CBSCall) -> str:
    """The escape of a newline; with a count it is the macro's own text that RisuAI repeats."""
    if not call.arguments:
        return r"\n"
    count = number_at(call, 0)
    count = 1 if count < 1 else to_integer(count)
    if count * len(call.text) > LONGEST_TEXT:
        raise LeftAsText
    return call.text * int(count)
