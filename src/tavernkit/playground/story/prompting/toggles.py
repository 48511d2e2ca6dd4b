"""The switches that presets and modules of RisuAI bring, which macros read as the global variables `toggle_…`."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Conversation, Space
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.realtime.outbox import append_event
from tavernkit.playground.base.refused import Refused, existing
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.story.access.access import Access, active_members, conversation_for
from tavernkit.playground.story.paths.variables import (
    GlobalChanges,
    change_globals,
    check_room,
    check_variable,
    lock_globals,
    read_globals,
)
from tavernkit.playground.story.presets.queries import AnyPreset, default_preset_id
from tavernkit.playground.story.prompting.presets import decoded_presets
from tavernkit.playground.story.settings_schema.resolving import effective
from tavernkit.risuai import RisuSettings
from tavernkit.risuai.module import Module
from tavernkit.risuai.toggles import Toggle, parse_toggles
from tavernkit.values import Value

EVENT = "toggles"
PREFIX = "toggle_"
OF_PRESETS = "customPromptTemplateToggle"
"""The field of RisuAI's presets that lists their switches."""


class SetToggle(Value, frozen=True, kw_only=True):
    """A switch, and what it is set to: `1` or `0`, the place of an option, or a text; nothing where nobody has."""

    toggle: Toggle
    value: str

    @property
    def has_value(self) -> bool:
        return self.toggle.type in ("switch", "select", "text")


async def list_toggles(runtime: Runtime, viewer: Viewer, conversation_id: UUID) -> tuple[SetToggle, ...]:
    """The switches of the presets and modules that are in use in a conversation, in their order, for its members."""
    async with runtime.database.read() as session:
        conversation, access = await conversation_for(session, conversation_id, viewer, Access.READ)
        if access.member is None and access.level < Access.ADMINISTER:
            raise Refused("forbidden", _("Only members of the space can view prompts."))
        return await _toggles(session, access.space, conversation)


async def set_toggle(runtime: Runtime, viewer: Viewer, conversation_id: UUID, key: str, value: str) -> SetToggle:
    """Set a switch, for all spaces of the owner, as RisuAI does; the owner's variables are changed."""
    check_variable(PREFIX + key, value)
    async with runtime.database.write() as session:
        conversation, access = await conversation_for(session, conversation_id, viewer, Access.ADMINISTER)
        toggles = await _toggles(session, access.space, conversation)
        named = next((one for one in toggles if one.has_value and one.toggle.key == key), None)
        toggle = existing(named, _("toggle")).toggle
        _check(toggle, value)
        owner_id = access.space.owner_id
        await lock_globals(session, owner_id)
        check_room(await read_globals(session, owner_id), PREFIX + key)
        await change_globals(session, owner_id, GlobalChanges(set={PREFIX + key: value}), runtime.clock())
        await append_event(session, conversation_id, EVENT, runtime.clock())
        return SetToggle(toggle=toggle, value=value)


async def _toggles(session: AsyncSession, space: Space, conversation: Conversation) -> tuple[SetToggle, ...]:
    """Those of the presets of all characters, each once, then those of the modules."""
    speakers = [one for one in await active_members(session, space.id) if one.kind == "character"]
    chosen = dict.fromkeys(effective(space, member=one).settings.model.preset_id for one in speakers)
    modules = effective(space, conversation=conversation).settings.prompt.modules
    default = await default_preset_id(session, space.owner_id) if None in chosen else None
    ids = (*(id or default for id in chosen), *modules)
    found = await decoded_presets(session, ids)
    texts = dict.fromkeys(_toggle_text(found[id]) for id in ids if id in found)
    variables = await read_globals(session, space.owner_id)
    return tuple(
        SetToggle(toggle=toggle, value=str(variables.get(PREFIX + toggle.key, "")))
        for text in texts
        for toggle in parse_toggles(text)
    )


def _toggle_text(preset: AnyPreset) -> str:
    match preset:
        case RisuSettings():
            return str(preset.written.get(OF_PRESETS, ""))
        case Module():
            return preset.toggles
        case _:
            return ""


def _check(toggle: Toggle, value: str) -> None:
    match toggle.type:
        case "switch":
            allowed = ["0", "1"]
        case "select":
            allowed = [str(place) for place in range(len(toggle.options))]
        case _:
            return
    if value not in allowed:
        values = ", ".join(allowed)
        raise Refused("invalid", _("The toggle “{name}” must be one of: {values}.", name=toggle.label, values=values))
