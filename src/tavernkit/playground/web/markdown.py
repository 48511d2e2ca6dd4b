"""Message text to safe HTML.

Text comes from models, cards and other people's files, and none of them is trusted: whatever Markdown and HTML make of
it passes through an allow-list last. Text that is so long or so strange that parsing it would take a noticeable time is
shown as plain paragraphs instead; nothing of it is lost.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

import nh3
from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from markdown_it.renderer import RendererHTML
from markdown_it.rules_core import StateCore
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict
from markupsafe import Markup, escape

__all__ = ["render_markdown"]

# A novel's chapter has fewer characters, and fewer marks among them.
MAX_LENGTH = 60_000
MAX_MARKS = 10_000
# Texts up to this length are remembered; the memory is then bounded by the number of them.
MAX_CACHED_LENGTH = 20_000
CACHED_TEXTS = 1_000

_MARKS = re.compile(r"[\[\]<>*_`~!&|\\\"“«„「『]")
_PARAGRAPHS = re.compile(r"\n[ \t]*\n\s*")

_TAGS = {
    *("p", "br", "hr", "h4", "h5", "h6", "blockquote", "pre", "div", "span", "ul", "ol", "li", "details", "summary"),
    *("em", "strong", "b", "i", "u", "s", "del", "ins", "mark", "small", "sub", "sup", "code", "kbd", "q", "a"),
    *("table", "thead", "tbody", "tr", "th", "td", "ruby", "rt", "rp"),
}
_CLEANER = nh3.Cleaner(
    tags=_TAGS,
    clean_content_tags={"script", "style"},
    # No `style`, `class` or `id`: a message must not look like, or be found as, a part of the page.
    attributes={"*": {"lang"}, "a": {"href", "title"}, "ol": {"start"}, "details": {"open"}},
    allowed_classes={"q": {"said"}},
    url_schemes={"http", "https", "mailto"},
    url_relative="deny",
    link_rel="noopener noreferrer nofollow",
    set_tag_attribute_values={"a": {"target": "_blank"}},
)


def render_markdown(text: str) -> Markup:
    """Markdown with some HTML, as safe HTML; what is said in quotation marks is `<q class="said">`."""
    return _render_cached(text) if len(text) <= MAX_CACHED_LENGTH else _render(text)


def _render(text: str) -> Markup:
    if len(text) > MAX_LENGTH or len(_MARKS.findall(text)) > MAX_MARKS:
        return _plain(text)
    return Markup(_CLEANER.clean(_MARKDOWN.render(text)))  # noqa: S704 - cleaned by the allow-list


_render_cached = lru_cache(maxsize=CACHED_TEXTS)(_render)


def _plain(text: str) -> Markup:
    paragraphs = _PARAGRAPHS.split(str(escape(text.strip())))
    html = "\n".join(f"<p>{paragraph}</p>" for paragraph in paragraphs).replace("\n", "<br>\n")
    return Markup(html.replace("</p><br>", "</p>"))  # noqa: S704 - escaped above


def _lower_headings(state: StateCore) -> None:
    # The page and the message have headings of their own above these.
    for token in state.tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, int(token.tag[1]) + 3)}"


_CLOSING = {'"': '"', "“": "”", "„": "“", "«": "»", "「": "」", "『": "』"}
_QUOTES = re.compile("[" + "".join(sorted({*_CLOSING, *_CLOSING.values()})) + "]")


class _Quote:
    """A quotation mark: which of the inline tokens it is in, and where."""

    __slots__ = ("index", "mark", "position")

    def __init__(self, mark: str, index: int, position: int) -> None:
        self.mark = mark
        self.index = index
        self.position = position


def _mark_speech(state: StateCore) -> None:
    for token in state.tokens:
        if token.type == "inline" and token.children and _QUOTES.search(token.content):
            token.children = _with_speech(token.children)


def _with_speech(children: list[Token]) -> list[Token]:
    pairs = _speech(children)
    if not pairs:
        return children
    opens = {(pair[0].index, pair[0].position) for pair in pairs}
    closes = {(pair[1].index, pair[1].position) for pair in pairs}
    marked: list[Token] = []
    for index, child in enumerate(children):
        cuts = [(position, True) for at, position in opens if at == index]
        cuts += [(position + 1, False) for at, position in closes if at == index]
        done = 0
        for position, is_opening in sorted(cuts):
            marked.append(_text(child.content[done:position]))
            marked.append(_speech_start() if is_opening else Token("said_close", "q", -1))
            done = position
        marked.append(_text(child.content[done:]) if cuts else child)
    return marked


def _speech(children: Sequence[Token]) -> list[tuple[_Quote, _Quote]]:
    """Pairs of quotation marks that stand in the same element, the outermost ones only."""
    pairs: list[tuple[_Quote, _Quote]] = []
    # For each element that is open, the mark in it that waits for its partner.
    waiting: list[_Quote | None] = [None]
    for index, child in enumerate(children):
        if child.nesting == 1:
            waiting.append(None)
        elif child.nesting == -1:
            waiting.pop()
        elif child.type == "text":
            for match in _QUOTES.finditer(child.content):
                opening = waiting[-1]
                if opening and match[0] == _CLOSING[opening.mark]:
                    pairs.append((opening, _Quote(match[0], index, match.start())))
                    waiting[-1] = None
                elif not any(waiting) and match[0] in _CLOSING and _can_open(child.content, match.start()):
                    waiting[-1] = _Quote(match[0], index, match.start())
    return pairs


def _can_open(text: str, position: int) -> bool:
    """Whether a mark stands at the start of words: not after a letter, as in 6'2", and not before a space."""
    before, after = text[:position][-1:], text[position + 1 :][:1]
    return not before.isalnum() and not after.isspace()


def _speech_start() -> Token:
    return Token("said_open", "q", 1, attrs={"class": "said"})


def _text(content: str) -> Token:
    return Token("text", "", 0, content=content)


def _picture(self: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType) -> str:
    # Pictures from elsewhere would tell their owner who reads what, and when; their description stays.
    return escapeHtml(self.renderInlineAsText(tokens[index].children, options, env))


def _build_parser() -> MarkdownIt:
    # Line breaks are kept, as people mean them in a chat.
    parser = MarkdownIt("commonmark", {"html": True, "breaks": True, "maxNesting": 20})
    parser.enable(["table", "strikethrough"])
    # An indented paragraph is no program, and a line of dashes below a paragraph is a break between scenes.
    parser.disable(["code", "lheading", "reference"])
    parser.core.ruler.push("lower_headings", _lower_headings)
    parser.core.ruler.push("speech", _mark_speech)
    parser.add_render_rule("image", _picture)
    return parser


_MARKDOWN = _build_parser()
