"""A form of a page, as a browser would send it."""

from __future__ import annotations

from html.parser import HTMLParser


def form_in(html: str, id: str) -> dict[str, str]:
    """What the form of this id would send, box by box; of several buttons none."""
    reader = _FormReader(id)
    reader.feed(html)
    assert reader.was_found, f"there is no form {id}"
    return reader.fields


class _FormReader(HTMLParser):
    def __init__(self, id: str) -> None:
        super().__init__()
        self._id = id
        self._is_inside = False
        self._box = ""
        self._choice = ""
        self.was_found = False
        self.fields: dict[str, str] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "form" and given.get("id") == self._id:
            self._is_inside = self.was_found = True
        name = given.get("name", "")
        if not self._is_inside:
            return
        if tag == "input" and name and (given.get("type") != "checkbox" or "checked" in given):
            self.fields[name] = given.get("value", "")
        elif tag == "textarea":
            self._box = name
            self.fields[name] = ""
        elif tag == "select":
            self._choice = name
        elif tag == "option" and (self._choice not in self.fields or "selected" in given):
            self.fields[self._choice] = given.get("value", "")

    def handle_data(self, data: str) -> None:
        if self._box:
            self.fields[self._box] += data

    def handle_endtag(self, tag: str) -> None:
        if tag == "textarea" and self._box:
            # A browser leaves out the line break behind the tag.
            self.fields[self._box] = self.fields[self._box].removeprefix("\n")
            self._box = ""
        elif tag == "form":
            self._is_inside = False
