"""Message text to safe HTML.

Text comes from models, cards and other people's files, and none of them is trusted: whatever Markdown and HTML make of
it passes through an allow-list last. Text that is so long or so strange that parsing it would take a noticeable time is
shown as plain paragraphs instead, and of a text longer than any book's chapter only the beginning is shown.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable, Mapping
from functools import partial
from hashlib import blake2b
from threading import Lock

from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml, unescapeAll
from markdown_it.rules_core import StateCore
from markdown_it.token import Token
from markupsafe import Markup, escape

from tavernkit.playground.base.storable import storable
from tavernkit.playground.base.text.pictures import PICTURES, link_class, own_address, settle_pictures
from tavernkit.playground.base.text.sanitising import TAGS, sanitise, without_overrides
from tavernkit.playground.base.text.speech import mark_speech


class TextCache:
    """Keeps what was asked for last. A single text may take an eighth of the room; longer ones are made every time."""

    def __init__(self, *, max_characters: int) -> None:
        self.max_characters = max_characters
        self.characters = 0
        self._texts: OrderedDict[bytes, Markup] = OrderedDict()
        self._lock = Lock()

    def get(self, key: bytes, make: Callable[[], Markup]) -> Markup:
        """The text that was kept under this key, or that is made now."""
        with self._lock:
            known = self._texts.get(key)
            if known is not None:
                self._texts.move_to_end(key)
                return known
        # Two threads may make the same text; that is no harm, and neither waits.
        made = make()
        if len(made) <= self.max_characters // 8:
            self._keep(key, made)
        return made

    def _keep(self, key: bytes, text: Markup) -> None:
        with self._lock:
            if key in self._texts:
                return
            self._texts[key] = text
            self.characters += len(text)
            while self.characters > self.max_characters:
                _, oldest = self._texts.popitem(last=False)
                self.characters -= len(oldest)


# A novel's chapter has fewer characters, and fewer marks and line breaks among them.
MAX_LENGTH = 60_000
MAX_MARKS = 6_000
MAX_NESTING = 40
# More than a message can have; only files and models write longer ones. Browsers need seconds to lay out millions.
MAX_SHOWN = 200_000

_MARKS = re.compile(r"[\[\]<>*_`~!&|\\\"“«„「『\n]")
_PARAGRAPHS = re.compile(r"\n[ \t]*\n\s*")
_PICTURE = re.compile(r"!\[|<img", re.IGNORECASE)
# Of HTML that stands in a message.
_TAG = re.compile(r"<(/?)([a-z][^\s/<>]*)[^<>]*>", re.IGNORECASE)
_HIDDEN = ("script", "style")
_HEADING = re.compile(r"<(/?)h([1-3])(?=[\s>])", re.IGNORECASE)
_IMAGE = re.compile(r"<img\b[^<>]*>", re.IGNORECASE)
_IMAGE_ATTRIBUTE = re.compile(r"\b(src|alt)\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'>]+))", re.IGNORECASE)
_NO_PICTURES: Mapping[str, str] = {}

# About 32 million characters of HTML at most.
_rendered = TextCache(max_characters=32_000_000)


def render_markdown(text: str, pictures: Mapping[str, str] = _NO_PICTURES) -> Markup:
    """Markdown with some HTML, as safe HTML; what is said in quotation marks is `<q class="said">`.

    `pictures` says what the text may call a picture (an asset's name or address in its card), and the SHA-256 of it.
    """
    used = pictures if pictures and calls_pictures(text) else _NO_PICTURES
    return _rendered.get(_key(text, used), partial(_render, text, used))


def calls_pictures(text: str) -> bool:
    """Whether the pictures of a card could make a difference to this text."""
    return _PICTURE.search(text) is not None


def _key(text: str, pictures: Mapping[str, str]) -> bytes:
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16)
    for name, sha256 in sorted(pictures.items()):
        digest.update(f"\0{name}\0{sha256}".encode("utf-8", "surrogatepass"))
    return digest.digest()


def _render(text: str, pictures: Mapping[str, str]) -> Markup:
    text = storable(text)
    if len(text) > MAX_LENGTH or len(_MARKS.findall(text)) > MAX_MARKS:
        return _plain(text)
    environment = {PICTURES: pictures}
    tokens = _MARKDOWN.parse(text, environment)
    if any(token.level >= MAX_NESTING - 1 for token in tokens):
        # The parser leaves out what is nested deeper.
        return _plain(text)
    safe = sanitise(_MARKDOWN.renderer.render(tokens, _MARKDOWN.options, environment))
    return _plain(text) if safe is None else safe


def _plain(text: str) -> Markup:
    left_out = len(text) - MAX_SHOWN
    paragraphs = _PARAGRAPHS.split(str(escape(without_overrides(text[:MAX_SHOWN]).strip())))
    html = "\n".join(f'<p dir="auto">{paragraph}</p>' for paragraph in paragraphs).replace("\n", "<br>\n")
    html = html.replace("</p><br>", "</p>")
    if left_out > 0:
        note = f"{left_out:,} more characters are not shown here; an export has them all."
        html += f'\n<p dir="auto"><small>{note}</small></p>'
    return Markup(html)  # noqa: S704 - escaped above


def _lower_headings(state: StateCore) -> None:
    # The page and the message have headings of their own above these.
    for token in state.tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, int(token.tag[1]) + 3)}"


def _repair_html(state: StateCore) -> None:
    """Show comments and tags that never end, lower headings, and make links of pictures from elsewhere.

    Nothing here is about safety, which is the allow-list's part; it is about losing no words.
    """
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


def _build_parser() -> MarkdownIt:
    # Line breaks are kept, as people mean them in a chat.
    parser = MarkdownIt("commonmark", {"html": True, "breaks": True, "maxNesting": MAX_NESTING})
    parser.enable(["table", "strikethrough"])
    # An indented paragraph is no program, and a line of dashes below a paragraph is a break between scenes.
    parser.disable(["code", "lheading", "reference"])
    parser.core.ruler.push("lower_headings", _lower_headings)
    parser.core.ruler.push("embedded_html", _repair_html)
    parser.core.ruler.push("pictures", settle_pictures)
    parser.core.ruler.push("speech", mark_speech)
    return parser


_MARKDOWN = _build_parser()
