"""HTML that stands in a message, before it is sanitised: made such that it cannot swallow what comes after it.

Nothing here is about safety, which is the allow-list's part; it is about losing no words.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial

from markdown_it.common.utils import escapeHtml, unescapeAll
from markdown_it.rules_core import StateCore
from markdown_it.token import Token

from tavernkit.playground.base.text.pictures import PICTURES, link_class, own_address
from tavernkit.playground.base.text.sanitising import TAGS

_TAG = re.compile(r"<(/?)([a-z][^\s/<>]*)[^<>]*>", re.IGNORECASE)
_HIDDEN = ("script", "style")
_HEADING = re.compile(r"<(/?)h([1-3])(?=[\s>])", re.IGNORECASE)
_IMAGE = re.compile(r"<img\b[^<>]*>", re.IGNORECASE)
_IMAGE_ATTRIBUTE = re.compile(r"\b(src|alt)\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'>]+))", re.IGNORECASE)


def repair_html(state: StateCore) -> None:
    """Show comments and tags that never end, lower headings, and make links of pictures from elsewhere."""
    pictures = state.env.get(PICTURES, {})
    for token in state.tokens:
        if token.type == "html_block":
            _repair(token, token.content.lower(), pictures)
        for child in token.children or ():
            if child.type == "html_inline":
                _repair(child, token.content.lower(), pictures)


def _repair(token: Token, around: str, pictures: Mapping[str, str]) -> None:
    html = _without_comments(token.content)
    before, begin, rest = html.rpartition("<")
    if begin and ">" not in rest:
        html = f"{before}&lt;{rest}"
    html = _HEADING.sub(lambda heading: f"<{heading[1]}h{int(heading[2]) + 3}", html)
    html = _IMAGE.sub(partial(_picture, pictures), html)
    token.content = _TAG.sub(partial(_known_tag, around), html)


def _known_tag(around: str, tag: re.Match[str]) -> str:
    name = tag[2].lower()
    if name in _HIDDEN:
        # One that never ends would hide everything behind it.
        return tag[0] if f"</{name}" in around else escapeHtml(tag[0])
    # What other elements contain may be read by other rules, up to the end of everything, so only their words stay.
    return tag[0] if name in TAGS else ""


def _without_comments(html: str) -> str:
    kept = []
    done = 0
    # No regular expression: it would look for every end that is missing through the whole text.
    while (begin := html.find("<!--", done)) >= 0 and (end := html.find("-->", begin + 4)) >= 0:
        kept.append(html[done:begin])
        done = end + 3
    kept.append(html[done:].replace("<!--", "&lt;!--"))
    return "".join(kept)


def _picture(pictures: Mapping[str, str], tag: re.Match[str]) -> str:
    found = {match[1].lower(): match[2] or match[3] or match[4] or "" for match in _IMAGE_ATTRIBUTE.finditer(tag[0])}
    source = unescapeAll(found.get("src", "")).strip()
    words = escapeHtml(unescapeAll(found.get("alt", "")).strip())
    own = own_address(source, pictures)
    if own:
        return f'<img src="{own}" alt="{words}">'
    # The allow-list takes the address away from one that leads nowhere.
    return f'<a class="{link_class}" href="{escapeHtml(source)}">{words or "picture"}</a>' if source else words
