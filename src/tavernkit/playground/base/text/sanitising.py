"""The allow-list that everything passes before it is shown as HTML."""

from __future__ import annotations

import re

import nh3
from markupsafe import Markup

from tavernkit.playground.base.text.pictures import is_own_picture

TAGS = {
    *("p", "br", "hr", "h4", "h5", "h6", "blockquote", "pre", "div", "span", "ul", "ol", "li", "details", "summary"),
    *("em", "strong", "b", "i", "u", "s", "del", "ins", "mark", "small", "sub", "sup", "code", "kbd", "q", "a", "img"),
    *("table", "thead", "tbody", "tr", "th", "td", "ruby", "rt", "rp"),
}
"""The elements that a message may have."""
# Each finds its own direction, and none can turn the next one round.
_BLOCKS = ("p", "h4", "h5", "h6", "blockquote", "pre", "div", "ul", "ol", "li", "summary", "th", "td")
_ATTEMPTS = 4
_OVERRIDES = re.compile("[\u202a-\u202e]")


def _attribute(tag: str, name: str, value: str) -> str | None:
    """The value that an attribute keeps, if any: pictures come from this server or not at all."""
    return value if (tag, name) != ("img", "src") or is_own_picture(value) else None


def _relative_address(address: str) -> str | None:
    return address if is_own_picture(address) else None


_CLEANER = nh3.Cleaner(
    tags=TAGS,
    clean_content_tags={"script", "style"},
    # No `style`, `class` or `id`: a message must not look like, or be found as, a part of the page.
    attributes={
        "*": {"lang"},
        "a": {"href", "title"},
        "img": {"src", "alt", "title"},
        "ol": {"start"},
        "details": {"open"},
    },
    attribute_filter=_attribute,
    allowed_classes={"q": {"said"}, "a": {"picture-link"}},
    url_schemes={"http", "https", "mailto"},
    url_relative=_relative_address,
    link_rel="noopener noreferrer nofollow",
    set_tag_attribute_values={
        "a": {"target": "_blank"},
        "img": {"loading": "lazy", "decoding": "async"},
        **{block: {"dir": "auto"} for block in _BLOCKS},
        # These scroll sideways, also without a mouse.
        "pre": {"dir": "auto", "tabindex": "0"},
        "table": {"tabindex": "0"},
    },
)

_DOCUMENTATION_CLEANER = nh3.Cleaner(
    tags=TAGS | {"h1", "h2", "h3"},
    attributes={"a": {"href", "target"}, **{heading: {"id"} for heading in ("h1", "h2", "h3", "h4", "h5", "h6")}},
    url_schemes={"http", "https", "mailto"},
    link_rel="noopener noreferrer",
    set_tag_attribute_values={"pre": {"tabindex": "0"}, "table": {"tabindex": "0"}},
)


def sanitise(html: str) -> Markup | None:
    """What is harmless in it, such that a browser reads it as it is meant; None for what no two readers agree about.

    Broken nesting can mean one thing when it is read first and another when what was read is written and read again.
    That is how attacks get past an allow-list, so only what stays the same when it is read again is good.
    """
    for _ in range(_ATTEMPTS):
        clean = without_overrides(_CLEANER.clean(html))
        if clean == html:
            return Markup(clean)  # noqa: S704 - cleaned by the allow-list
        html = clean
    return None


def sanitise_documentation(html: str) -> Markup:
    """The same for pages of the documentation, whose headings can be linked to."""
    return Markup(_DOCUMENTATION_CLEANER.clean(html))  # noqa: S704 - cleaned by the allow-list


def without_overrides(text: str) -> str:
    """Without the characters that make letters read backwards.

    Directional marks stay, and isolates, which end with their paragraph.
    """
    return text if text.isascii() else _OVERRIDES.sub("", text)
