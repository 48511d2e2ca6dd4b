"""What the pages about presets show."""

from __future__ import annotations

import json
from collections.abc import Mapping
from textwrap import shorten
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
from tavernkit.playground.edge.views.preset_fields import FieldGroup, groups_of, provider_kinds
from tavernkit.playground.edge.views.preset_looks import PROMPT_ROLES
from tavernkit.playground.story.access.access import may_edit
from tavernkit.playground.story.presets.prompts import EVERY_CHARACTER, listed_prompts, other_orders
from tavernkit.playground.story.presets.queries import decode_preset, default_preset_id, preset_for, presets_page
from tavernkit.playground.story.previews.presets import PresetTokens, measure_preset
from tavernkit.playground.story.prompting.fitting import PARTS
from tavernkit.prompt.tokens import default_estimator
from tavernkit.risuai import RisuSettings as RisuSettings
from tavernkit.risuai.module import Module
from tavernkit.risuai.settings import PromptCard
from tavernkit.sillytavern.presets import ChatPreset, PresetPrompt
from tavernkit.values import Json, Value

PRESETS_PER_PAGE = 200
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
NEW_KINDS: Final = tuple(kind for kind in KIND_NAMES if kind != "module")
"""Modules are made in RisuAI."""
CAN_BE_DEFAULT: Final = frozenset({"chat", "text", "risuai"})
"""The kinds that a prompt is built by; the others are parts of it."""

TEXT_KINDS: Final = frozenset({"text", "instruct", "context", "system_prompt", "reasoning", "master"})
"""The kinds that a text completion is put together from."""

PLAIN_CARD: Final = _("default format")
"""What a card says that has no text of its own."""
CARD_ROLES: Final[Mapping[str, str]] = {"system": _("System"), "user": _("User"), "bot": _("Assistant")}
CARD_NAMES: Final[Mapping[str, str]] = {
    "plain": _("Prompt"),
    "jailbreak": _("Jailbreak"),
    "cot": _("Chain of thought"),
    "chatML": _("ChatML"),
    "persona": _("Persona"),
    "description": _("Character description"),
    "authornote": _("Author's note"),
    "lorebook": _("Lore"),
    "postEverything": _("Post everything"),
    "memory": _("Memory"),
    "chat": _("Chat history"),
    "cache": _("Cache point"),
}
PLAIN_NAMES: Final[Mapping[str, str]] = {"main": _("Main prompt"), "globalNote": _("Global note")}
FORMATTED: Final = frozenset({"persona", "description", "authornote", "memory"})
"""Cards that put a text into a format."""
EXCERPT: Final = 160


class PresetRow(Value, frozen=True, kw_only=True):
    """A preset in the list."""

    id: UUID
    name: str
    description: str
    is_everybodys: bool
    is_default: bool
    can_be_default: bool
    can_be_deleted: bool


class PresetKindView(Value, frozen=True, kw_only=True):
    """The presets of one kind."""

    key: str
    name: str
    presets: tuple[PresetRow, ...]


class PresetsView(Value, frozen=True, kw_only=True):
    """The list of presets."""

    kinds: tuple[PresetKindView, ...]
    is_first: bool
    next: str | None


class PresetPromptView(Value, frozen=True, kw_only=True):
    """A prompt of the prompt manager; `enabled` is None for one that is in no place of the order. `share` is its part
    of the largest one, in percent."""

    identifier: str
    name: str
    role: str
    place: str
    excerpt: str
    is_marker: bool
    enabled: bool | None
    tokens: int
    share: float


class TemplateCardView(Value, frozen=True, kw_only=True):
    """A card of RisuAI's template."""

    place: int
    name: str
    type: str
    role: str
    excerpt: str
    tokens: int
    share: float


class PresetFactView(Value, frozen=True, kw_only=True):
    """A part of a module."""

    name: str
    value: str | float
    is_long: bool = False


class PresetView(PresetRow, frozen=True, kw_only=True):
    """A preset. `is_copied`: who changes it gets a copy of their own. `measured` has the tokens of its parts in a
    conversation; without it, they are those of their texts."""

    kind: str
    kind_name: str
    version: int
    is_copied: bool
    is_own: bool
    can_be_shared: bool
    prompts: tuple[PresetPromptView, ...] = ()
    orders: Mapping[str, str] = {}
    order: str = EVERY_CHARACTER
    cards: tuple[TemplateCardView, ...] | None = None
    card_types: Mapping[str, str] = {}
    groups: tuple[FieldGroup, ...] = ()
    providers: Mapping[str, str] = {}
    provider: str = ""
    facts: tuple[PresetFactView, ...] = ()
    measured: PresetTokens | None = None

    @property
    def is_text(self) -> bool:
        """Whether it makes one text of a chat."""
        return self.kind in TEXT_KINDS


async def presets_view(runtime: Runtime, viewer: Viewer, after: str | None = None) -> PresetsView:
    """The presets that the person can use, kind by kind."""
    async with runtime.database.read() as session:
        rows = await presets_page(session, viewer, kind=None, behind=behind_name(after), limit=PRESETS_PER_PAGE + 1)
        default = await default_preset_id(session, viewer.user_id)
    shown = rows[:PRESETS_PER_PAGE]
    kinds = (
        PresetKindView(
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


async def preset_view(
    runtime: Runtime,
    viewer: Viewer,
    preset_id: UUID,
    *,
    order: str = EVERY_CHARACTER,
    provider: str = "",
    conversation_id: UUID | None = None,
) -> PresetView:
    """A preset with its fields; `order` is the character whose order is shown, `provider` the kind whose ranges count,
    and the tokens are those of the next prompt in a conversation."""
    async with runtime.database.read() as session:
        row = await preset_for(session, viewer, preset_id)
        default = await default_preset_id(session, viewer.user_id)
    preset = decode_preset(row.kind, row.data)[0]
    measured = None
    if conversation_id is not None and isinstance(preset, ChatPreset | RisuSettings):
        measured = await measure_preset(runtime, viewer, preset, conversation_id)
    parts: dict[str, Any] = {}
    match preset:
        case ChatPreset():
            parts["prompts"] = await to_thread.run_sync(_prompts, preset, order, measured)
            parts["orders"] = {EVERY_CHARACTER: _("All characters")} | {
                storable(name): _("Character {id}", id=shown_name(storable(name))) for name in other_orders(preset)
            }
        case RisuSettings():
            parts["card_types"] = CARD_NAMES
            parts["cards"] = await to_thread.run_sync(_cards, preset, measured)
        case Module():
            parts["facts"] = tuple(_module_parts(preset))
    providers = provider_kinds(row.kind)
    chosen = provider if provider in providers else ""
    return PresetView(
        name=row.name,
        **_common(row, viewer, default),
        kind=row.kind,
        kind_name=KIND_NAMES[row.kind],
        version=row.settings_version,
        is_copied=not may_edit(row, viewer),
        is_own=row.owner_id == viewer.user_id,
        can_be_shared=viewer.is_administrator and row.owner_id == viewer.user_id,
        groups=groups_of(preset, row.data, chosen),
        providers=providers,
        provider=chosen,
        order=order,
        measured=measured,
        **parts,
    )


def _common(row: Preset, viewer: Viewer, default: UUID | None) -> dict[str, Any]:
    return {
        "id": row.id,
        "description": row.description,
        "is_everybodys": row.owner_id != viewer.user_id,
        "is_default": row.id == default,
        "can_be_default": row.kind in CAN_BE_DEFAULT,
        "can_be_deleted": may_edit(row, viewer),
    }


def _prompts(preset: ChatPreset, order: str, measured: PresetTokens | None) -> tuple[PresetPromptView, ...]:
    estimator = default_estimator()
    prompts = listed_prompts(preset, order)
    tokens = [
        estimator.estimate(prompt.content) if measured is None else measured.parts.get(prompt.identifier, 0)
        for prompt, _enabled in prompts
    ]
    most = max(tokens, default=0)
    return tuple(
        PresetPromptView(
            identifier=storable(prompt.identifier),
            name=prompt_name(prompt),
            role=PROMPT_ROLES.get(prompt.role, storable(prompt.role)),
            place=_place(prompt),
            excerpt=_excerpt(prompt.content),
            is_marker=prompt.marker,
            enabled=enabled,
            tokens=count,
            share=_share(count, most),
        )
        for (prompt, enabled), count in zip(prompts, tokens, strict=True)
    )


def _cards(preset: RisuSettings, measured: PresetTokens | None) -> tuple[TemplateCardView, ...] | None:
    if preset.template is None:
        return None
    estimator = default_estimator()
    tokens = [
        estimator.estimate(card.text) if measured is None else measured.parts.get(str(place), 0)
        for place, card in enumerate(preset.template)
    ]
    most = max(tokens, default=0)
    return tuple(
        TemplateCardView(
            place=place,
            name=card_name(card),
            type=storable(card.type),
            role=CARD_ROLES.get(card.role, storable(card.role)) if card.text else "",
            excerpt=_excerpt(card.text or card.inner_format or "") or (PLAIN_CARD if card.type in FORMATTED else ""),
            tokens=count,
            share=_share(count, most),
        )
        for place, (card, count) in enumerate(zip(preset.template, tokens, strict=True))
    )


def _share(count: int, most: int) -> float:
    return round(100 * count / most, 1) if most else 0


def _excerpt(text: str) -> str:
    return shorten(storable(text[:EXCERPT]), EXCERPT, placeholder="…")


def _place(prompt: PresetPrompt) -> str:
    return _("at depth {depth}", depth=prompt.injection_depth) if prompt.injection_position == 1 else ""


def prompt_name(prompt: PresetPrompt) -> str:
    """What a prompt is called on a page."""
    name = storable(prompt.name) or PARTS.get(prompt.identifier, "") or storable(prompt.identifier)
    return shown_name(name) if name.strip() else _("Unnamed")


def card_name(card: PromptCard) -> str:
    """What a card is called on a page."""
    if card.name.strip():
        return shown_name(storable(card.name))
    kind = card.kind if card.type == "plain" and card.kind != "normal" else card.type
    return PLAIN_NAMES.get(kind) or CARD_NAMES.get(card.type, storable(card.type))


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


def _fact(name: str, value: Json) -> PresetFactView:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    text = text if isinstance(text, Sentence) else storable(text)
    is_long = "\n" in text or len(text) > SHORT_FACT
    return PresetFactView(name=name if isinstance(name, Sentence) else storable(name), value=text, is_long=is_long)
