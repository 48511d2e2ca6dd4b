"""What looks different on the page: markup, comments, files, and characters that the parser would not leave alone."""

from __future__ import annotations

from tavernkit.risuai.cbs.call import CBSCall, CBSFunction, LeftAsText
from tavernkit.risuai.cbs.functions.arguments import LONGEST_TEXT, number_at, text_at
from tavernkit.risuai.cbs.registry import FunctionPack
from tavernkit.text.js_base64 import decode_base64, decode_utf8
from tavernkit.text.js_numbers import to_integer

_CODE = str.maketrans({'"': "&quot;", "'": "&#39;", "<": "&lt;", ">": "&gt;"})  # the ampersand stays as it is

DISPLAY = FunctionPack(
    "display",
    {
        "button": lambda call: (
            f'<button class="button-default" risu-trigger="{text_at(call, 1)}">{text_at(call, 0)}</button>'
        ),
        "comment": lambda call: (
            f'<div class="risu-comment">{text_at(call, 0)}</div>' if call.options.is_display else ""
        ),
        "tex latex katex": lambda call: f"$${text_at(call, 0)}$$",
        "ruby furigana": lambda call: (
            f"<ruby>{text_at(call, 0)}<rp> (</rp><rt>{text_at(call, 1)}</rt><rp>) </rp></ruby>"
        ),
    },
)


@DISPLAY.function("risu")
def logo(call: CBSCall) -> str:
    size = call.get(0) or "45"
    return f'<img src="/logo2.png" style="height:{size}px;width:{size}px" />'


@DISPLAY.function("file")
def file(call: CBSCall) -> str:
    if call.options.is_display:
        return f'<br><div class="risu-file">{text_at(call, 0)}</div><br>'
    return decode_utf8(decode_base64(call.need(1)))


@DISPLAY.function("codeblock")
def code_block(call: CBSCall) -> str:
    if not call.arguments:
        raise LeftAsText
    code = call.arguments[-1].translate(_CODE)
    if len(call.arguments) > 1:
        return f'<pre-hljs-placeholder lang="{call.arguments[0]}">{code}</pre-hljs-placeholder>'
    return f"<pre><code>{code}</code></pre>"


def _saying(text: str) -> CBSFunction:
    return lambda _: text


# What the parser would not leave alone travels in the private use area until it is shown.
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
