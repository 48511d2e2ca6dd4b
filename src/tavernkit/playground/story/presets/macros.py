"""The macros of both platforms, as editors complete them and as a page lists them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Final, Literal, TypeAlias

from tavernkit.playground.base.languages import gettext as _
from tavernkit.risuai.cbs.engine import shared_functions
from tavernkit.risuai.cbs.reference import cbs_reference
from tavernkit.risuai.cbs.registry import plain_name
from tavernkit.sillytavern.macros.engine import shared_registry
from tavernkit.sillytavern.macros.registry import MacroDefinition
from tavernkit.values import Value

Platform: TypeAlias = Literal["sillytavern", "risuai"]
PLATFORMS: Final[Mapping[Platform, str]] = {"sillytavern": "SillyTavern", "risuai": "RisuAI"}

TOPICS: Final[Mapping[str, str]] = {
    "names": _("Names"),
    "character": _("Character and persona"),
    "chat": _("Chat"),
    "history": _("Chat"),
    "time": _("Time"),
    "clock": _("Time"),
    "variable": _("Variables"),
    "variables": _("Variables"),
    "prompts": _("Prompts and templates"),
    "random": _("Chance"),
    "chance": _("Chance"),
    "utility": _("Utility"),
    "state": _("State"),
    "logic": _("Logic"),
    "strings": _("Texts"),
    "numbers": _("Numbers"),
    "arrays": _("Arrays"),
    "objects": _("Objects"),
    "encoding": _("Encoding"),
    "escapes": _("Escapes"),
    "display": _("Display"),
    "settings": _("Settings"),
    "blocks": _("Blocks"),
    "custom": _("Extensions"),
}


class MacroView(Value, frozen=True, kw_only=True):
    """A macro: its name, how its arguments are written, what it gives, and its other names."""

    name: str
    arguments: str
    description: str
    topic: str
    aliases: tuple[str, ...] = ()

    @property
    def call(self) -> str:
        """How it is written in a text."""
        between = "" if not self.arguments else " " if self.name.startswith("#") else "::"
        return f"{{{{{self.name}{between}{self.arguments}}}}}"


@cache
def macros_of(platform: Platform) -> tuple[MacroView, ...]:
    """Every macro that texts of the platform may use, those of extensions last."""
    if platform == "sillytavern":
        return tuple(map(_macro, shared_registry("1.19")))
    known = shared_functions().table
    names: dict[int, list[str]] = {}
    for name, function in known.items():
        names.setdefault(id(function), []).append(name)
    listed = [
        MacroView(
            name=one.name,
            arguments=one.arguments,
            description=one.description,
            topic=one.topic,
            aliases=tuple(alias for alias in names.get(id(known.get(plain_name(one.name))), ()) if alias != one.name),
        )
        for one in cbs_reference()
    ]
    described = {name for macro in listed for name in (macro.name, *macro.aliases)}
    added = {group[0] for group in names.values() if not described.intersection(group)}
    return (*listed, *(MacroView(name=name, arguments="", description="", topic="custom") for name in sorted(added)))


def _macro(definition: MacroDefinition) -> MacroView:
    arguments = [f"[{one.name}]" if one.optional else one.name for one in definition.arguments]
    return MacroView(
        name=definition.name,
        arguments="::".join([*arguments, *(["…"] if definition.takes_list else [])]),
        description=definition.description,
        topic=definition.category if definition.category in TOPICS else "custom",
        aliases=tuple(alias.name for alias in definition.aliases if alias.visible),
    )


def macros_by_topic(platform: Platform, search: str = "") -> dict[str, list[MacroView]]:
    """The macros whose name or description contains what was searched for, under their topics."""
    wanted = search.strip().lower()
    found: dict[str, list[MacroView]] = {}
    for macro in macros_of(platform):
        texts = (macro.name, macro.description, *macro.aliases)
        if any(wanted in text.lower() for text in texts):
            found.setdefault(TOPICS[macro.topic], []).append(macro)
    return found
