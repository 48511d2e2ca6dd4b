"""What the pages about presets show."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID

from anyio import to_thread

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Preset
from tavernkit.playground.base.languages import Sentence
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.names import shown_name
from tavernkit.playground.base.paging import behind_name, cursor
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.base.storable import storable
from tavernkit.playground.story.presets.queries import decode_preset, default_preset_id, preset_for, presets_page
from tavernkit.playground.story.presets.service import listed_prompts
from tavernkit.prompt.tokens import default_estimator
from tavernkit.risuai import RisuSettings as RisuSettings
from tavernkit.risuai.module import Module
from tavernkit.sillytavern.presets import ChatPreset, PresetPrompt
from tavernkit.values import Json, JsonObject, Value

PRESETS_PER_PAGE = 200
FACTS_SHOWN = 300
SHORT_FACT = 80

KIND_NAMES: Final[Mapping[str, str]] = {
    "chat": _("Chat completion"),
    "text": _("Text completion"),
    "instruct": _("Instruct templates"),
    "context": _("Context templates"),
    "system_prompt": _("System prompts"),
    "reasoning": _("Reasoning templates"),
    "master": _("Master exports"),
    "risuai": _("RisuAI presets"),
    "module": _("RisuAI modules"),
}
CAN_BE_DEFAULT: Final = frozenset({"chat", "text", "risuai"})
"""The kinds that a prompt is built by; the others are parts of it."""

PLAIN_CARD: Final = _("default format")
"""What a card says that has no text of its own."""

_TEMPLATE: Final = "promptTemplate"
"""Where a preset of RisuAI has its cards."""

SAMPLERS: Final[Mapping[str, str]] = {
    "temperature": _("Temperature"),
    "top_p": _("Top P"),
    "top_k": _("Top K"),
    "min_p": _("Min P"),
    "top_a": _("Top A"),
    "frequency_penalty": _("Frequency penalty"),
    "presence_penalty": _("Presence penalty"),
    "repetition_penalty": _("Repetition penalty"),
    "seed": _("Seed"),
    "openai_max_context": _("Context size"),
    "openai_max_tokens": _("Response length"),
}
ROLES: Final[Mapping[str, str]] = {"system": _("System"), "user": _("User"), "assistant": _("Assistant")}


class PresetRow(Value, frozen=True, kw_only=True):
    """A preset in the list."""

    id: UUID
    name: str
    description: str
    is_everybodys: bool
    is_default: bool
    can_be_default: bool
    can_be_deleted: bool


class KindView(Value, frozen=True, kw_only=True):
    """The presets of one kind."""

    key: str
    name: str
    presets: tuple[PresetRow, ...]


class PresetsView(Value, frozen=True, kw_only=True):
    """The list of presets."""

    kinds: tuple[KindView, ...]
    is_first: bool
    next: str | None


class PresetPromptView(Value, frozen=True, kw_only=True):
    """A prompt of the prompt manager; `enabled` is None for one that is in no place of the order."""

    identifier: str
    name: str
    role: str
    place: str
    content: str
    is_marker: bool
    enabled: bool | None
    tokens: int
    is_first: bool = False
    is_last: bool = False


class PresetFactView(Value, frozen=True, kw_only=True):
    """A field of a preset."""

    name: str
    value: str | float
    is_long: bool = False


class PresetView(PresetRow, frozen=True, kw_only=True):
    """A preset. `is_copied`: who changes it gets a copy of their own."""

    kind: str
    version: int
    is_copied: bool
    is_chat: bool
    prompts: tuple[PresetPromptView, ...]
    facts: tuple[PresetFactView, ...]
    further_facts: int


async def presets_view(runtime: Runtime, viewer: Viewer, after: str | None = None) -> PresetsView:
    """The presets that the person can use, kind by kind."""
    async with runtime.database.read() as session:
        rows = await presets_page(session, viewer, kind=None, behind=behind_name(after), limit=PRESETS_PER_PAGE + 1)
        default = await default_preset_id(session, viewer.user_id)
    shown = rows[:PRESETS_PER_PAGE]
    kinds = (
        KindView(
            key=kind,
            name=name,
            presets=tuple(
                PresetRow(name=shown_name(row.name), **_common(row, viewer, default))
                for row in shown
                if row.kind == kind
            ),
        )
        for kind, name in KIND_NAMES.items()
    )
    return PresetsView(
        kinds=tuple(kind for kind in kinds if kind.presets),
        is_first=after is None,
        next=cursor(shown[-1].name, str(shown[-1].id)) if len(rows) > PRESETS_PER_PAGE else None,
    )


async def preset_view(runtime: Runtime, viewer: Viewer, preset_id: UUID) -> PresetView:
    """A preset in words."""
    async with runtime.database.read() as session:
        row = await preset_for(session, viewer, preset_id)
        default = await default_preset_id(session, viewer.user_id)
    preset = decode_preset(row.kind, row.data)[0]
    match preset:
        case ChatPreset():
            facts = _samplers(preset)
        case RisuSettings():
            facts = _cards(preset) + _fields({key: value for key, value in row.data.items() if key != _TEMPLATE})
        case Module():
            facts = _module_parts(preset)
        case _:
            facts = _fields(row.data)
    return PresetView(
        name=row.name,
        **_common(row, viewer, default),
        kind=KIND_NAMES[row.kind],
        version=row.settings_version,
        is_copied=row.owner_id is None and not viewer.is_administrator,
        is_chat=isinstance(preset, ChatPreset),
        prompts=await to_thread.run_sync(_prompts, preset) if isinstance(preset, ChatPreset) else (),
        facts=tuple(facts[:FACTS_SHOWN]),
        further_facts=max(0, len(facts) - FACTS_SHOWN),
    )


def _common(row: Preset, viewer: Viewer, default: UUID | None) -> dict[str, Any]:
    return {
        "id": row.id,
        "description": row.description,
        "is_everybodys": row.owner_id is None,
        "is_default": row.id == default,
        "can_be_default": row.kind in CAN_BE_DEFAULT,
        "can_be_deleted": row.owner_id is not None or viewer.is_administrator,
    }


def _prompts(preset: ChatPreset) -> tuple[PresetPromptView, ...]:
    estimator = default_estimator()
    listed = listed_prompts(preset)
    ordered = sum(enabled is not None for prompt, enabled in listed)
    return tuple(
        PresetPromptView(
            identifier=storable(prompt.identifier),
            name=_prompt_name(prompt),
            role=ROLES.get(prompt.role, storable(prompt.role)),
            place=_place(prompt),
            content=storable(prompt.content),
            is_marker=prompt.marker,
            enabled=enabled,
            tokens=estimator.estimate(prompt.content),
            is_first=place == 0,
            is_last=place == ordered - 1,
        )
        for place, (prompt, enabled) in enumerate(listed)
    )


def _place(prompt: PresetPrompt) -> str:
    return _("at depth {depth}", depth=prompt.injection_depth) if prompt.injection_position == 1 else ""


def _prompt_name(prompt: PresetPrompt) -> str:
    name = storable(prompt.name or prompt.identifier)
    return shown_name(name) if name.strip() else _("Unnamed")


def _samplers(preset: ChatPreset) -> list[PresetFactView]:
    values = {name: getattr(preset, field) for field, name in SAMPLERS.items()}
    return [
        PresetFactView(name=name, value=int(value) if float(value).is_integer() else value)
        for name, value in values.items()
    ]


def _cards(preset: RisuSettings) -> list[PresetFactView]:
    """The cards of RisuAI's template, in their order."""
    return [
        _fact(f"{number}. {card.name or card.type}", card.text or card.inner_format or PLAIN_CARD)
        for number, card in enumerate(preset.template or (), start=1)
    ]


def _module_parts(module: Module) -> list[PresetFactView]:
    """What is in a module of RisuAI."""
    parts: Mapping[str, str | int] = {
        _("Description"): module.description,
        _("Namespace"): module.namespace or "",
        _("Lore entries"): len(module.lore),
        _("Regex scripts"): len(module.scripts),
        _("Triggers"): len(module.triggers),
        _("Toggles"): module.toggles,
    }
    return [
        _fact(name, value) if isinstance(value, str) else PresetFactView(name=name, value=value)
        for name, value in parts.items()
        if value
    ]


def _fields(data: JsonObject, above: str = "") -> list[PresetFactView]:
    """The fields of a file in its order; what is inside another comes with the name of that."""
    facts: list[PresetFactView] = []
    for key, value in data.items():
        name = f"{above}{key}"
        if isinstance(value, dict):
            facts += _fields(value, f"{name}.")
        elif value not in ("", None, []):
            facts.append(_fact(name, value))
    return facts


def _fact(name: str, value: Json) -> PresetFactView:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    text = text if isinstance(text, Sentence) else storable(text)
    is_long = "\n" in text or len(text) > SHORT_FACT
    return PresetFactView(name=name if isinstance(name, Sentence) else storable(name), value=text, is_long=is_long)
