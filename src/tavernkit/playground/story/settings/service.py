"""Reading and changing the settings of a space, a member or a conversation, one transaction each."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from anyio import to_thread
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.errors import TavernKitError
from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.base import advance
from tavernkit.playground.base.database.models import Conversation, Preset, Provider, Space, SpaceMembership
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.realtime.outbox import append_event
from tavernkit.playground.base.refused import Refused, not_found
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.story.access.access import (
    Access,
    append_space_event,
    conversation_for,
    conversation_to_change,
    is_usable,
    member_for,
    space_for,
)
from tavernkit.playground.story.runs.round_control import stop_auto_mode
from tavernkit.playground.story.settings.documents import SettingsOut, settings_out
from tavernkit.playground.story.settings.sillytavern_file import read_sillytavern_file
from tavernkit.playground.story.settings_schema.models import Layer, Reference
from tavernkit.playground.story.settings_schema.resolving import (
    SETTINGS,
    Changes,
    Layered,
    apply_changes,
    effective,
    read_patch,
)
from tavernkit.values import JsonObject


async def refuse_unknown_in(
    session: AsyncSession, viewer: Viewer, changes: Changes, before: SettingsOut | None = None
) -> None:
    """Refuse changes that point to what is not there or belongs to somebody else; what a list had before may stay."""
    for path, value in changes.items():
        setting = SETTINGS[path]
        if not setting.leaf.refers_to or value is None:
            continue
        ids, known = [value], set[str]()
        if isinstance(value, list) and before is not None:
            ids, known = value, set(before.effective[setting.group][setting.name].value)
        for id in ids:
            if str(id) not in known:
                await _refuse_unknown(session, viewer, path, id, setting.leaf.refers_to)


async def _refuse_unknown(
    session: AsyncSession, viewer: Viewer, path: str, id: UUID, wanted: Sequence[Reference]
) -> None:
    """Refuse an id that is none of a provider in use, or of a preset of these kinds that this person may use."""
    if "provider" in wanted:
        found = await session.scalar(select(Provider.id).where(Provider.id == id, ~Provider.disabled))
    else:
        found = await session.scalar(
            select(Preset.id).where(
                Preset.id == id,
                Preset.trashed_at.is_(None),
                Preset.kind.in_(wanted),
                is_usable(Preset, viewer.user_id),
            )
        )
    if found is None:
        if "provider" in wanted:
            raise Refused("invalid", _("The setting {path} was not saved: the model does not exist.", path=path))
        kinds = ", ".join(wanted)
        raise Refused(
            "invalid",
            _("The setting {path} was not saved: no such preset exists (kinds: {kinds}).", path=path, kinds=kinds),
        )


async def read_space_settings(runtime: Runtime, viewer: Viewer, space_id: UUID) -> SettingsOut:
    """What holds in a space unless a member or a conversation says otherwise."""
    async with runtime.database.read() as session:
        return _of_space((await space_for(session, space_id, viewer, Access.READ)).space)


async def read_member_settings(runtime: Runtime, viewer: Viewer, member_id: UUID) -> SettingsOut:
    """What holds for a member."""
    async with runtime.database.read() as session:
        member, access = await member_for(session, member_id, viewer, Access.READ)
        return _of_member(access.space, member)


async def read_conversation_settings(
    runtime: Runtime, viewer: Viewer, conversation_id: UUID, *, member_id: UUID | None = None
) -> SettingsOut:
    """What holds in a conversation, for everybody or while one member speaks."""
    async with runtime.database.read() as session:
        conversation, access = await conversation_for(session, conversation_id, viewer, Access.READ)
        member = None if member_id is None else await session.get(SpaceMembership, member_id)
        if member_id is not None and (member is None or member.space_id != access.space.id):
            raise not_found(_("member"))
        return _of_conversation(access.space, conversation, member)


async def import_space_settings(runtime: Runtime, viewer: Viewer, space_id: UUID, file: bytes) -> SettingsOut:
    """Take over from SillyTavern's `settings.json` what a space can set, whatever it has set so far."""
    try:
        patch = await to_thread.run_sync(read_sillytavern_file, file)
    except TavernKitError as error:
        raise Refused("invalid", error.args[0]) from None
    return await change_space_settings(runtime, viewer, space_id, settings_version=None, patch=patch)


async def change_space_settings(
    runtime: Runtime, viewer: Viewer, space_id: UUID, *, settings_version: int | None, patch: JsonObject
) -> SettingsOut:
    """Merge a patch into the settings of a space; without a version, into whatever they are."""
    now = runtime.clock()
    async with runtime.database.write() as session:
        access = await space_for(session, space_id, viewer, Access.ADMINISTER, lock=True)
        space = access.space
        was_automatic = space.auto_mode_enabled
        await _change(session, viewer, space, "space", settings_version, patch, _of_space(space))
        space.updated_at = now
        await session.flush()
        if was_automatic and not space.auto_mode_enabled:
            await stop_auto_mode(session, runtime, space.id)
        await append_space_event(session, space.id, "settings", now)
        return _of_space(space)


async def change_member_settings(
    runtime: Runtime, viewer: Viewer, member_id: UUID, *, settings_version: int, patch: JsonObject
) -> SettingsOut:
    """Merge a patch into the settings of a member: one's own, or as the owner anybody's."""
    now = runtime.clock()
    async with runtime.database.write() as session:
        member, access = await member_for(session, member_id, viewer, Access.ADMINISTER, lock=True)
        if member.status == "removed":
            raise was_removed(member)
        before = _of_member(access.space, member)
        await _change(session, viewer, member, "member", settings_version, patch, before)
        await session.flush()
        await append_space_event(session, member.space_id, "settings", now, member_id=str(member.id))
        return _of_member(access.space, member)


async def change_conversation_settings(
    runtime: Runtime, viewer: Viewer, conversation_id: UUID, *, settings_version: int, patch: JsonObject
) -> SettingsOut:
    """Merge a patch into the settings of a conversation."""
    async with runtime.database.write() as session:
        conversation, access = await conversation_to_change(session, conversation_id, viewer, Access.MODERATE)
        before = _of_conversation(access.space, conversation, None)
        await _change(session, viewer, conversation, "conversation", settings_version, patch, before)
        await session.flush()
        await append_event(session, conversation_id, "settings", runtime.clock())
        return _of_conversation(access.space, conversation, None)


async def _change(
    session: AsyncSession,
    viewer: Viewer,
    row: Layered,
    layer: Layer,
    settings_version: int | None,
    patch: JsonObject,
    before: SettingsOut,
) -> None:
    """Check the whole patch, count the change, and make it; or none of the three."""
    changes = read_patch(patch, layer)
    await refuse_unknown_in(session, viewer, changes, before)
    advance(row, settings_version, what=_("settings"), current=before)
    apply_changes(row, changes)


def was_removed(member: SpaceMembership) -> Refused:
    """Why nothing can be changed for somebody who has left."""
    name = member.cached_display_name
    return Refused("conflict", _("{name} is not a member any more. Add them back first.", name=name))


def _of_space(space: Space) -> SettingsOut:
    return settings_out(space, "space", effective(space))


def _of_member(space: Space, member: SpaceMembership) -> SettingsOut:
    return settings_out(member, "member", effective(space, member=member))


def _of_conversation(space: Space, conversation: Conversation, member: SpaceMembership | None) -> SettingsOut:
    return settings_out(conversation, "conversation", effective(space, member=member, conversation=conversation))
