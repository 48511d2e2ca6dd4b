"""Triggers and runs of them in few words."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime
from typing import Any

from tavernkit.macros.variables import Variables
from tavernkit.reading import LooseObject, ReportBuilder
from tavernkit.risuai.character import RisuCharacter, read_character
from tavernkit.risuai.chat import RisuChat, RisuMessage
from tavernkit.risuai.scene import RisuScene
from tavernkit.risuai.settings import RisuSettings
from tavernkit.risuai.triggers import TriggerResult, run_triggers


def trigger(*effects: dict[str, Any], type: str = "start", name: str = "t", **fields: Any) -> dict[str, Any]:
    return {"comment": name, "type": type, "conditions": [], "effect": list(effects), **fields}


def character(*triggers: dict[str, Any], **fields: Any) -> RisuCharacter:
    """A character with fields as RisuAI spells them."""
    source = {"name": "Mira", "firstMessage": "Welcome, {{user}}", "triggerscript": list(triggers), **fields}
    return read_character(LooseObject(source, ReportBuilder()))


def scene(
    *triggers: dict[str, Any], messages: tuple[str, ...] = ("u:one", "c:two", "u:three"), **fields: Any
) -> RisuScene:
    """A scene of three messages with these triggers; `variables` are the chat's."""
    roles = {"u": "user", "c": "char"}
    variables = Variables(fields.pop("variables", None))
    return RisuScene(
        character=character(*triggers, **fields),
        chat=RisuChat(messages=[RisuMessage(role=roles[text[0]], data=text[2:]) for text in messages]),
        settings=RisuSettings(),
        now=lambda: datetime(2025, 3, 9, 14, 7, 5, tzinfo=UTC),
        random=itertools.cycle([0.5]).__next__,
        user_name="Tess",
        variables=variables,
    )


def run(*effects: dict[str, Any], variables: dict[str, Any] | None = None, **options: Any) -> TriggerResult:
    """The result of one trigger with these effects."""
    return run_triggers(scene(trigger(*effects), variables=variables), "start", **options)


def effect(type: str, indent: int = 0, **fields: Any) -> dict[str, Any]:
    """An effect of the second version whose operands are values, unless it says otherwise."""
    kinds = {f"{key}Type": "value" for key in fields if f"{key}Type" not in fields and not key.endswith("Type")}
    return {"type": f"v2{type}", "indent": indent, **kinds, **fields}


def set_(name: str, value: str, operator: str = "=", indent: int = 0) -> dict[str, Any]:
    return effect("SetVar", indent, var=name, value=value, operator=operator)


def end(indent: int, *, loop: bool = False) -> dict[str, Any]:
    return {"type": "v2EndIndent", "indent": indent, "endOfLoop": loop}
