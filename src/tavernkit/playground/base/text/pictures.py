"""Pictures in messages: from this server only.

Pictures from elsewhere would tell their owner who reads what, and when. They become links that say what is to be seen.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from urllib.parse import unquote

from markdown_it.rules_core import StateCore
from markdown_it.token import Token

PICTURES = "pictures"
"""Where the parser's environment has what the text may call a picture, and its SHA-256."""

link_class = "picture-link"

_OWN = re.compile(r"/api/v1/(?:blobs/[0-9a-f]{64}|characters/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/avatar)")
_ELSEWHERE = re.compile(r"https?://", re.IGNORECASE)


def is_own_picture(address: str) -> bool:
    """Whether it is the address of a card's file or of a character's picture on this server, and nothing else."""
    return _OWN.fullmatch(address) is not None


def own_address(source: str, pictures: Mapping[str, str]) -> str | None:
    """Where the picture is that a text calls by this name or address, if it is one of ours."""
    if is_own_picture(source):
        return source
    sha256 = pictures.get(source) or pictures.get(unquote(source))
    return f"/api/v1/blobs/{sha256}" if sha256 else None


def settle_pictures(state: StateCore) -> None:
    """Point pictures to this server, and make links of the others."""
    for token in state.tokens:
        if token.type == "inline" and token.children and any(child.type == "image" for child in token.children):
            token.children = list(_settled(token.children, state.env.get(PICTURES, {})))


def _settled(children: list[Token], pictures: Mapping[str, str]) -> Iterator[Token]:
    links = 0
    for child in children:
        links += child.nesting if child.type in ("link_open", "link_close") else 0
        if child.type != "image":
            yield child
            continue
        source = str(child.attrs.get("src", ""))
        own = own_address(source, pictures)
        if own:
            child.attrs["src"] = own
            yield child
            continue
        words = Token("text", "", 0, content=_words(child) or "picture")
        # A link cannot stand in a link.
        if links or not _ELSEWHERE.match(source):
            yield words
        else:
            yield Token("link_open", "a", 1, attrs={"href": source, "class": link_class})
            yield words
            yield Token("link_close", "a", -1)


def _words(image: Token) -> str:
    """The description without its emphasis."""
    return "".join(_texts(image.children or [])).strip()


def _texts(tokens: list[Token]) -> Iterator[str]:
    for token in tokens:
        if token.type == "image":
            yield from _texts(token.children or [])
        elif token.type in ("softbreak", "hardbreak"):
            yield " "
        elif token.type != "html_inline":
            yield token.content
