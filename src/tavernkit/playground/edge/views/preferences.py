"""What the page about the appearance is given: the choices in words, and the form as texts."""

from __future__ import annotations

from collections.abc import Mapping

from tavernkit.playground.base.accounts.appearance import AppearanceFields, AppearancePatch
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.edge.web.forms import typed, understood

CHOICES: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "scheme": (
        _("Colour scheme"),
        {
            "system": _("Same as the device"),
            "light": _("Light"),
            "dark": _("Dark"),
            "sepia": _("Sepia"),
            "contrast_light": _("High contrast, light"),
            "contrast_dark": _("High contrast, dark"),
        },
    ),
    "accent": (
        _("Accent colour"),
        {
            "rust": _("Rust"),
            "amber": _("Amber"),
            "green": _("Green"),
            "teal": _("Teal"),
            "blue": _("Blue"),
            "violet": _("Violet"),
            "rose": _("Rose"),
            "own": _("Own colour"),
        },
    ),
    "typeface": (
        _("Typeface of stories"),
        {"serif": _("Serif"), "sans": _("Sans serif"), "system": _("Font of the device")},
    ),
    "text_size": (
        _("Text size of stories"),
        {str(size): _("{size} px", size=size) for size in (14, 16, 18, 20, 22, 24)},
    ),
    "width": (
        _("Width of the text"),
        {"narrow": _("Narrow"), "medium": _("Medium"), "wide": _("Wide"), "full": _("Full width")},
    ),
    "spacing": (
        _("Line spacing"),
        {"compact": _("Compact"), "normal": _("Normal"), "relaxed": _("Relaxed")},
    ),
    "chips": (_("Figures below replies"), {"shown": _("Show"), "hidden": _("Hide")}),
}
"""What pages call the fields, and what one can choose for each."""


@typed
class AppearanceForm(AppearanceFields):
    """The boxes of the form."""

    def patch(self, version: int) -> AppearancePatch:
        """What is to be changed, or a sentence about the first box that is wrong."""
        texts = self.model_dump()
        size = texts["text_size"]
        fields = {
            **texts,
            "own_accent": texts["own_accent"].lower(),
            "text_size": int(size) if size.isdecimal() and len(size) < 3 else size,
        }
        return understood(AppearancePatch, version=version, **fields)


def differences(mine: AppearanceForm, theirs: AppearanceForm) -> tuple[tuple[str, str], ...]:
    """The fields in which what is there now is not what somebody wants to save, with what is there."""
    wanted = mine.model_dump()
    return tuple(
        (label, choices[value])
        for name, (label, choices) in CHOICES.items()
        if (value := getattr(theirs, name)) != wanted[name]
    )
