"""Keyboard shortcuts: what there is to press, where it works, and the keys that an account has chosen for it.

A key is written as `Mod+Alt+Shift+key`: `Mod` is Ctrl, or ⌘ on a Mac, and the key is a character as it is printed on
a keyboard, in lower case, or the name that browsers have for it. `frontend/keys.ts` writes what is pressed alike.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal, TypeAlias

from pydantic import Field

from tavernkit.playground.base.accounts.viewer import Viewer, require_person
from tavernkit.playground.base.database.models import User
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.refused import Refused, existing
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.base.schemas import StrictModel
from tavernkit.values import Value

LONGEST_KEY = 40
Place: TypeAlias = Literal["everywhere", "conversation", "message_edit", "find_bar", "search"]

PLACES: Mapping[Place, str] = {
    "everywhere": _("On every page"),
    "conversation": _("In a conversation"),
    "message_edit": _("While editing a message"),
    "find_bar": _("In “Find in conversation”"),
    "search": _("On the search page"),
}


class Shortcut(Value, frozen=True, kw_only=True):
    """Something that a key does; `in_text` says that it is pressed while somebody types."""

    id: str
    label: str
    place: Place
    key: str = ""
    in_text: bool = False


SHORTCUTS: tuple[Shortcut, ...] = (
    Shortcut(id="palette", place="everywhere", key="Mod+k", label=_("Go to a page, a story or a character")),
    Shortcut(id="help", place="everywhere", key="?", label=_("Show keyboard shortcuts")),
    Shortcut(id="theme", place="everywhere", label=_("Switch theme")),
    Shortcut(id="send", place="conversation", key="Enter", in_text=True, label=_("Send the message")),
    Shortcut(id="regenerate", place="conversation", key="Mod+Enter", label=_("Regenerate the last reply")),
    Shortcut(id="continue", place="conversation", key="Alt+Enter", label=_("Continue the last reply")),
    Shortcut(id="stop", place="conversation", key="Escape", label=_("Stop the reply")),
    Shortcut(
        id="edit_last",
        place="conversation",
        key="ArrowUp",
        label=_("Edit your last message, if the text box is empty"),
    ),
    Shortcut(
        id="swipe_previous",
        place="conversation",
        key="ArrowLeft",
        label=_("Previous swipe of the last reply, if the text box is empty"),
    ),
    Shortcut(
        id="swipe_next",
        place="conversation",
        key="ArrowRight",
        label=_("Next swipe of the last reply, if the text box is empty"),
    ),
    Shortcut(id="find", place="conversation", key="Mod+f", label=_("Find in the conversation")),
    Shortcut(id="panel", place="conversation", label=_("Open or close the side panel")),
    Shortcut(id="save_edit", place="message_edit", key="Mod+Enter", in_text=True, label=_("Save the message")),
    Shortcut(id="find_next", place="find_bar", key="Enter", in_text=True, label=_("Next match")),
    Shortcut(id="find_previous", place="find_bar", key="Shift+Enter", in_text=True, label=_("Previous match")),
    Shortcut(id="search_box", place="search", key="/", label=_("Go to the search box")),
)
_BY_ID = {shortcut.id: shortcut for shortcut in SHORTCUTS}

FIXED_KEYS: tuple[tuple[str, str], ...] = (
    ("Escape", _("Close a dialog, a menu or the side panel; leave a text box without saving")),
    ("Shift+Enter", _("Start a new line")),
    ("Enter", _("Open what is selected in a list")),
    ("ArrowUp ArrowDown", _("Select in lists and results; move an item by its handle")),
    ("1 2 3 4", _("Choose a suggestion, if the text box is empty")),
)
"""Keys that cannot be changed."""

_KEY = re.compile(r"(Mod\+)?(Alt\+)?(Shift\+)?(.+)")
_SHOWN = {
    "Mod": "Ctrl",
    "Escape": "Esc",
    "ArrowUp": "↑",
    "ArrowDown": "↓",
    "ArrowLeft": "←",
    "ArrowRight": "→",
}
_FUNCTION_KEYS = frozenset(f"F{number}" for number in range(1, 13))
_NAMED = frozenset(
    {*_SHOWN, "Enter", "Space", "Home", "End", "PageUp", "PageDown", "Insert", "Delete", "Backspace"}
) - {"Mod"}
# What browsers and systems do not give to a page, or what everybody needs in a text.
_RESERVED = frozenset(
    {
        *(f"Mod+{key}" for key in "acvxyztnwqlrp0123456789+-="),
        *(f"Mod+Shift+{key}" for key in "tnwrzijc"),
        *(f"Alt+{key}" for key in ("ArrowLeft", "ArrowRight", "F4", "Space", "Home", "d")),
        *("F1", "F5", "F6", "F11", "F12", "Mod+F4", "Mod+F5", "Mod+PageUp", "Mod+PageDown"),
        *(f"Mod+{key}" for key in ("Home", "End", "ArrowLeft", "ArrowRight", "Backspace", "Delete")),
        *("Space", "Shift+Space", "Mod+Space", "Backspace", "Delete"),
    }
)


class ShortcutsPatch(StrictModel):
    """What to change; what is left out stays."""

    keys: dict[str, str | None] = Field(
        max_length=len(SHORTCUTS),
        description="Keys such as `Mod+Shift+k` by the id of the shortcut; an empty text is no key, null the default.",
    )


def bindings_of(chosen: Mapping[str, str]) -> dict[str, str]:
    """The key of every shortcut, with those that somebody has chosen."""
    return {shortcut.id: chosen.get(shortcut.id, shortcut.key) for shortcut in SHORTCUTS}


def key_caps(key: str) -> list[str]:
    """What is printed on what one presses: `Ctrl` and `Enter`."""
    modifiers, base = _parts(key)
    return [
        *(_SHOWN.get(modifier, modifier) for modifier in modifiers),
        _SHOWN.get(base, base.capitalize() if len(base) == 1 else base),
    ]


async def change_shortcuts(runtime: Runtime, viewer: Viewer, patch: ShortcutsPatch) -> dict[str, str]:
    """Give shortcuts other keys on one's account; the keys that all of them have then."""
    require_person(viewer)
    changes = {id: None if key is None else read_key(_known(id), key) for id, key in patch.keys.items()}
    async with runtime.database.write() as session:
        user = existing(await session.get(User, viewer.user_id, with_for_update=True), _("account"))
        chosen = {**(user.shortcuts or {}), **changes}
        # What is the default is not kept, so that nothing is left of a key that was changed back.
        kept = {id: key for id, key in chosen.items() if id in _BY_ID and key not in (None, _BY_ID[id].key)}
        bindings = bindings_of(kept)
        for id in changes:
            _check_free(_BY_ID[id], bindings)
        user.shortcuts = kept or None
        return bindings


async def reset_shortcuts(runtime: Runtime, viewer: Viewer) -> dict[str, str]:
    """Go back to the default keys."""
    return await change_shortcuts(runtime, viewer, ShortcutsPatch(keys=dict.fromkeys(_BY_ID)))


def read_key(shortcut: Shortcut, text: str) -> str:
    """A key in the one way in which it is stored, or why this shortcut cannot have it; an empty text is no key."""
    if not text:
        return ""
    modifiers, base = _parts(text)
    is_character = len(base) == 1 and "!" <= base <= "~"
    if len(text) > LONGEST_KEY or not (is_character or base in _NAMED or base in _FUNCTION_KEYS):
        raise Refused("invalid", _("This key cannot be used. Press another one."))
    if is_character:
        base = base.lower()
        # A sign says itself whether Shift is needed for it, which differs between keyboards.
        modifiers = modifiers if base.isalpha() else [modifier for modifier in modifiers if modifier != "Shift"]
    key = "+".join([*modifiers, base])
    if key in _RESERVED:
        raise Refused("invalid", _("Browsers use {key} themselves. Press another key.", key=_shown_key(key)))
    if base == "Escape" and (modifiers or shortcut.id != "stop"):
        raise Refused("invalid", _("{key} always closes what is open. Press another key.", key=_shown_key(key)))
    is_typed = not {"Mod", "Alt"} & {*modifiers} and base not in _FUNCTION_KEYS
    if base == "Enter" and is_typed and not shortcut.in_text:
        raise Refused("invalid", _("{key} is needed for buttons. Press another key.", key=_shown_key(key)))
    if base != "Enter" and is_typed and shortcut.in_text:
        raise Refused("invalid", _("{key} is needed for typing. Add Ctrl or Alt to it.", key=_shown_key(key)))
    return key


def _shown_key(key: str) -> str:
    return "+".join(key_caps(key))


def _parts(key: str) -> tuple[list[str], str]:
    found = _KEY.fullmatch(key)
    if found is None:
        return [], key
    *modifiers, base = found.groups()
    return [modifier[:-1] for modifier in modifiers if modifier], base


def _known(id: str) -> Shortcut:
    if id not in _BY_ID:
        raise Refused("invalid", _("There is no shortcut “{id}”.", id=id[:LONGEST_KEY]))
    return _BY_ID[id]


def _check_free(shortcut: Shortcut, bindings: Mapping[str, str]) -> None:
    key = bindings[shortcut.id]
    for other in SHORTCUTS:
        meet = other.place == shortcut.place or "everywhere" in (other.place, shortcut.place)
        if key and meet and other is not shortcut and bindings[other.id] == key:
            sentence = _(
                "{key} is already the key for “{action}”. Change or clear that one first.",
                key=_shown_key(key),
                action=other.label,
            )
            raise Refused("conflict", sentence)
