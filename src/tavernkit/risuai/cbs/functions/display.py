"""HTML and other markup for the page, and comments and files, which look different there."""

from __future__ import annotations

from tavernkit.risuai.cbs.call import CBSCall, LeftAsText
from tavernkit.risuai.cbs.functions.arguments import text_at
from tavernkit.risuai.cbs.registry import FunctionPack
from tavernkit.text.js_base64 import decode_base64, decode_utf8

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
