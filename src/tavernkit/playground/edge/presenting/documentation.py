"""The pages of the documentation: Markdown files that the package carries, as safe HTML."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from itertools import pairwise
from pathlib import Path, PurePosixPath
from posixpath import normpath
from urllib.parse import urlsplit

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup

import tavernkit
from tavernkit.playground.base.text.sanitising import sanitise_documentation
from tavernkit.values import Value

ADDRESS = "/docs"
INDEX = "README.md"
"""Of a folder: its page has the name of the folder."""

_PARSER = MarkdownIt("commonmark", {"html": False}).enable("table")
_NOT_IN_ANCHORS = re.compile(r"[^\w\- ]")


class DocsLink(Value, frozen=True, kw_only=True):
    """A page in the list of pages."""

    title: str
    address: str


class DocsGroup(Value, frozen=True, kw_only=True):
    """Pages that belong together, under the heading that the index gives them."""

    title: str
    links: tuple[DocsLink, ...]


class DocsPage(Value, frozen=True, kw_only=True):
    """A page: its title, its HTML and the anchors in it."""

    title: str
    address: str
    html: Markup
    anchors: frozenset[str]


def docs_folder() -> Path:
    """Where the files are: in the package, or beside `src` in a checkout."""
    package = Path(tavernkit.__file__).parent
    shipped = package / "documentation"
    return shipped if shipped.is_dir() else package.parents[1] / "docs"


@cache
def docs_files() -> Mapping[str, str]:
    """The name of each page in addresses, and its file below the folder."""
    files = (path.relative_to(docs_folder()).as_posix() for path in docs_folder().rglob("*.md"))
    return {_name(file): file for file in sorted(files)}


@cache
def docs_page(name: str) -> DocsPage | None:
    """The page of this name; the index has the empty name."""
    file = docs_files().get(name)
    if file is None:
        return None
    tokens = _PARSER.parse((docs_folder() / file).read_text(encoding="utf-8"))
    titles = _add_anchors(tokens)
    _name_no_empty_header(tokens)
    for token in tokens:
        _rewrite_links(file, token.children or [])
    html = sanitise_documentation(_PARSER.renderer.render(tokens, _PARSER.options, {}))
    return DocsPage(title=next(iter(titles.values())), address=_address(name), html=html, anchors=frozenset(titles))


@cache
def docs_groups() -> tuple[DocsGroup, ...]:
    """The pages in the order of the index, under its headings."""
    groups: list[tuple[str, list[DocsLink]]] = []
    tokens = _PARSER.parse((docs_folder() / INDEX).read_text(encoding="utf-8"))
    for before, token in pairwise(tokens):
        if before.type == "heading_open" and before.tag == "h2":
            groups.append((_text(token), []))
        for position, child in enumerate(token.children or ()):
            address = _own_address(INDEX, str(child.attrs.get("href", "")))
            if child.type == "link_open" and groups and address:
                groups[-1][1].append(DocsLink(title=(token.children or [])[position + 1].content, address=address))
    return tuple(DocsGroup(title=title, links=tuple(links)) for title, links in groups)


def _name(file: str) -> str:
    path = PurePosixPath(file)
    name = path.parent if path.name == INDEX else path.with_suffix("")
    return "" if name == PurePosixPath() else name.as_posix()


def _address(name: str) -> str:
    return f"{ADDRESS}/{name}" if name else ADDRESS


def _add_anchors(tokens: list[Token]) -> dict[str, str]:
    """Give each heading its id, made as GitHub makes it, and return the titles under their ids."""
    titles: dict[str, str] = {}
    for opened, inline in pairwise(tokens):
        if opened.type == "heading_open":
            title = _text(inline)
            anchor = base = _NOT_IN_ANCHORS.sub("", title.lower()).replace(" ", "-")
            number = 0
            while anchor in titles:
                number += 1
                anchor = f"{base}-{number}"
            opened.attrSet("id", anchor)
            titles[anchor] = title
    return titles


def _name_no_empty_header(tokens: list[Token]) -> None:
    """Make an empty cell of a table's head an ordinary cell: screen readers read headers out."""
    for opened, inline, closed in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if opened.type == "th_open" and not inline.content:
            opened.tag = closed.tag = "td"


def _text(inline: Token) -> str:
    return "".join(child.content for child in inline.children or ())


def _rewrite_links(file: str, children: list[Token]) -> None:
    """Let links lead to pages of the application or out of it; what is only in a checkout is no link."""
    is_dropped = False
    for child in children:
        if child.type == "link_open":
            href = str(child.attrs["href"])
            address = _own_address(file, href)
            is_dropped = not address and not urlsplit(href).scheme
            if address:
                child.attrSet("href", address)
            else:
                child.attrSet("target", "_blank")
        if is_dropped and child.type in ("link_open", "link_close"):
            child.type, child.tag, child.nesting = "text", "", 0


def _own_address(file: str, href: str) -> str:
    """Where a link on a page leads inside the application, or nothing."""
    url = urlsplit(href)
    if url.scheme or url.netloc:
        return ""
    target = normpath((PurePosixPath(file).parent / url.path).as_posix()) if url.path else file
    name = _name(target)
    if docs_files().get(name) != target:
        return ""
    return _address(name) + (f"#{url.fragment}" if url.fragment else "")
