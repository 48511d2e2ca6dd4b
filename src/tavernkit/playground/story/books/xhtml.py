"""HTML that was made safe, as the XML that books consist of."""

from __future__ import annotations

import re
from collections.abc import Callable
from html.parser import HTMLParser
from xml.sax.saxutils import escape, quoteattr

_VOID = frozenset({"br", "hr", "img"})
_ATTRIBUTES = frozenset({"alt", "class", "dir", "href", "src", "start", "title"})
# Neither in XML, whatever stands before them.
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

FindPicture = Callable[[str], str | None]


def xml_text(text: str) -> str:
    """A text between two tags."""
    return escape(_NOT_XML.sub("", text))


def xml_attribute(text: str) -> str:
    """The value of an attribute, with its quotes."""
    return quoteattr(_NOT_XML.sub("", text))


def xhtml(html: str, find_picture: FindPicture) -> str:
    """A fragment as well-formed XML. A picture is where `find_picture` says, or words in its place."""
    writer = _Writer(find_picture)
    writer.feed(html)
    writer.close()
    return writer.finished()


class _Writer(HTMLParser):
    def __init__(self, find_picture: FindPicture) -> None:
        super().__init__(convert_charrefs=True)
        self._find_picture = find_picture
        self._parts: list[str] = []
        self._open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = {name: value or "" for name, value in attrs if name in _ATTRIBUTES}
        if tag == "img":
            place = self._find_picture(known.pop("src", ""))
            if place is None:
                self._parts.append(xml_text(known.get("alt", "")))
                return
            known = {"src": place, "alt": known.get("alt", "")}
        elif tag == "a" and not known.get("href", "").startswith(("http:", "https:", "mailto:")):
            known.pop("href", None)
        elif tag == "details":
            # Few readers can open one.
            known["open"] = "open"
        written = "".join(f" {name}={xml_attribute(value)}" for name, value in known.items())
        if tag in _VOID:
            self._parts.append(f"<{tag}{written}/>")
            return
        self._parts.append(f"<{tag}{written}>")
        self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in self._open:
            while (last := self._open.pop()) != tag:
                self._parts.append(f"</{last}>")
            self._parts.append(f"</{tag}>")

    def handle_data(self, data: str) -> None:
        self._parts.append(xml_text(data))

    def finished(self) -> str:
        return "".join(self._parts) + "".join(f"</{tag}>" for tag in reversed(self._open))
