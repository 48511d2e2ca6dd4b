"""What the side panel of a chat and the page of a space are given."""

from __future__ import annotations

from tavernkit.values import Value


class Face(Value, frozen=True, kw_only=True):
    """How somebody looks in a list; `picture` is an address, or empty."""

    name: str
    initials: str
    picture: str = ""


class TrailView(Value, frozen=True, kw_only=True):
    """Where a conversation stands: its space, and the root if it is none itself. `kind` is then what it is. A crumb is a
    name with an address, which is empty for those who may not go there.

    `has_panel`: the viewer is in the space, and may open the side panel.
    """

    space_id: str = ""
    crumbs: tuple[tuple[str, str], ...] = ()
    kind: str = ""
    has_panel: bool = False
    may_begin: bool = False


class ChoiceView(Value, frozen=True, kw_only=True):
    """Something to choose from a list."""

    value: str
    label: str
    is_chosen: bool = False
    hint: str = ""
