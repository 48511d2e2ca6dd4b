"""What the pages of one prompt, of one card, and of the imported original show."""

from __future__ import annotations

import json
from collections.abc import Mapping
from difflib import SequenceMatcher
from typing import Final
from uuid import UUID

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Preset
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.base.storable import storable
from tavernkit.playground.edge.views.preset_fields import FieldGroup, card_groups, field_groups, prompt_groups
from tavernkit.playground.edge.views.presets import card_name, prompt_name
from tavernkit.playground.story.access.access import may_edit
from tavernkit.playground.story.presets.cards import card_at
from tavernkit.playground.story.presets.originals import KEYS, differences
from tavernkit.playground.story.presets.prompts import (
    EVERY_CHARACTER,
    built_in_text,
    found_prompt,
    listed_prompts,
)
from tavernkit.playground.story.presets.queries import decode_preset, original_of, preset_for
from tavernkit.risuai.settings import PromptCard, RisuSettings
from tavernkit.sillytavern.presets import ChatPreset, PresetPrompt
from tavernkit.values import Json, Value

TRIGGERS: Final[Mapping[str, str]] = {
    "normal": _("Normal"),
    "continue": _("Continue"),
    "impersonate": _("Impersonate"),
    "swipe": _("Swipe"),
    "regenerate": _("Regenerate"),
    "quiet": _("Quiet"),
}
"""The types of generation; a prompt with none of them is sent with all."""
MOST_COMPARED: Final = 1_000_000
STATES: Final[Mapping[str, str]] = {"on": _("Sent"), "off": _("Not sent"), "out": _("Not in the prompt order")}


class PromptPageView(Value, frozen=True, kw_only=True):
    """A prompt, or the form of a new one; `restorable` is the built-in text that it has no longer."""

    preset_id: UUID
    preset_name: str
    version: int
    is_copied: bool
    identifier: str
    name: str
    groups: tuple[FieldGroup, ...]
    triggers: tuple[str, ...]
    state: str
    order: str
    is_new: bool
    is_own: bool
    restorable: str | None


class CardPageView(Value, frozen=True, kw_only=True):
    """A card of RisuAI's template."""

    preset_id: UUID
    preset_name: str
    version: int
    is_copied: bool
    place: int
    name: str
    groups: tuple[FieldGroup, ...]


class ComparedText(Value, frozen=True, kw_only=True):
    """A piece of a text that is compared with another; `is_changed` says that the other has not got it."""

    text: str
    is_changed: bool


class DifferenceView(Value, frozen=True, kw_only=True):
    """A field that is not as it was imported. `path` names it for the form."""

    path: str
    label: str
    now: tuple[ComparedText, ...]
    before: tuple[ComparedText, ...]
    is_new: bool
    is_gone: bool


class ComparisonView(Value, frozen=True, kw_only=True):
    """A preset beside its imported file; `has_original` is false where nobody knows that."""

    preset_id: UUID
    preset_name: str
    version: int
    has_original: bool
    differences: tuple[DifferenceView, ...]


async def stored_prompt(
    runtime: Runtime, viewer: Viewer, preset_id: UUID, identifier: str | None, order: str = EVERY_CHARACTER
) -> tuple[PromptPageView, PresetPrompt]:
    """The page of a prompt; without an identifier, of a new one."""
    row = await _row(runtime, viewer, preset_id)
    preset = decode_preset(row.kind, row.data)[0]
    chat = preset if isinstance(preset, ChatPreset) else ChatPreset()
    prompt = PresetPrompt() if identifier is None else found_prompt(chat, identifier)
    states = {one.identifier: enabled for one, enabled in listed_prompts(chat, order)}
    enabled = states.get(prompt.identifier) if identifier is not None else True
    text = built_in_text(prompt.identifier)
    view = PromptPageView(
        preset_id=row.id,
        preset_name=row.name,
        version=row.settings_version,
        is_copied=_is_copied(row, viewer),
        identifier=storable(prompt.identifier),
        name=_("New prompt") if identifier is None else prompt_name(prompt),
        groups=prompt_groups(prompt),
        triggers=prompt.injection_trigger,
        state="out" if enabled is None else "on" if enabled else "off",
        order=order,
        is_new=identifier is None,
        is_own=not (prompt.system_prompt or prompt.marker),
        restorable=text if text is not None and text != prompt.content else None,
    )
    return view, prompt


async def stored_card(runtime: Runtime, viewer: Viewer, preset_id: UUID, place: int) -> tuple[CardPageView, PromptCard]:
    """The page of a card."""
    row = await _row(runtime, viewer, preset_id)
    settings = decode_preset(row.kind, row.data)[0]
    card = card_at(settings if isinstance(settings, RisuSettings) else RisuSettings(), place)
    view = CardPageView(
        preset_id=row.id,
        preset_name=row.name,
        version=row.settings_version,
        is_copied=_is_copied(row, viewer),
        place=place,
        name=card_name(card),
        groups=card_groups(card),
    )
    return view, card


async def comparison(runtime: Runtime, viewer: Viewer, preset_id: UUID) -> ComparisonView:
    """What of a preset is not as it was imported."""
    async with runtime.database.read() as session:
        row = await preset_for(session, viewer, preset_id)
        original = await original_of(session, row)
    labels = {field.name: field.label for group in field_groups(row.kind, row.data) for field in group.fields}
    found = [] if original is None else differences(row.data, original)
    return ComparisonView(
        preset_id=row.id,
        preset_name=row.name,
        version=row.settings_version,
        has_original=original is not None,
        differences=tuple(
            DifferenceView(
                path=json.dumps(difference.path),
                label=_label(difference.path, labels),
                now=() if difference.is_gone else text_pieces(_shown(difference.now), _shown(difference.before)),
                before=() if difference.is_new else text_pieces(_shown(difference.before), _shown(difference.now)),
                is_new=difference.is_new,
                is_gone=difference.is_gone,
            )
            for difference in found
        ),
    )


def _label(path: tuple[str, ...], labels: Mapping[str, str]) -> str:
    """The name of the field on the page, else its place in the file."""
    return labels.get(".".join(path)) or storable(" › ".join(part for part in path if part not in KEYS))


def _shown(value: Json) -> str:
    return storable(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2))


async def _row(runtime: Runtime, viewer: Viewer, preset_id: UUID) -> Preset:
    async with runtime.database.read() as session:
        return await preset_for(session, viewer, preset_id)


def _is_copied(row: Preset, viewer: Viewer) -> bool:
    return not may_edit(row, viewer)


def text_pieces(text: str, other: str) -> tuple[ComparedText, ...]:
    """The lines of a text, those marked that the other one has not got."""
    ours, theirs = text.splitlines(keepends=True), other.splitlines(keepends=True)
    if len(ours) * len(theirs) > MOST_COMPARED:
        return (ComparedText(text=text, is_changed=True),)
    matcher = SequenceMatcher(a=ours, b=theirs, autojunk=False)
    return tuple(
        ComparedText(text="".join(ours[start:end]), is_changed=kind != "equal")
        for kind, start, end, _other, _end in matcher.get_opcodes()
        if end > start
    )
