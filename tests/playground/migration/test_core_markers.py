"""Whoever changes what an import has made, in whatever way, changes its marker."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from sqlalchemy import select

from tavernkit.playground.base.database.base import Base
from tavernkit.playground.base.database.models import (
    ImportedFile,
    LorebookEntry,
    Preset,
    QuickReplySet,
    Space,
    SpaceMembership,
)
from tavernkit.playground.story.characters.assets import (
    NewPicture,
    add_pictures,
    change_asset,
    delete_asset,
    use_as_picture,
)
from tavernkit.playground.story.characters.queries import assets_of
from tavernkit.playground.story.characters.service import (
    change_own_tags,
    delete_character,
    edit_character,
    restore_version,
    set_avatar,
)
from tavernkit.playground.story.conversations.forking import fork
from tavernkit.playground.story.conversations.service import (
    change_conversation,
    create_conversation,
    delete_conversation,
)
from tavernkit.playground.story.lorebooks.documents import BulkChange, NewLink, NewLorebook, PatchLink, PatchLorebook
from tavernkit.playground.story.lorebooks.links import attach_lorebook, change_link, detach_lorebook
from tavernkit.playground.story.lorebooks.service import (
    add_entry,
    change_entries,
    create_lorebook,
    delete_entry,
    delete_lorebook,
    duplicate_entry,
    move_entry,
    reorder_entries,
    toggle_entries,
    update_entry,
    update_lorebook,
)
from tavernkit.playground.story.members.service import add_member, change_member, remove_member, reorder_members
from tavernkit.playground.story.messages.service import (
    add_swipe,
    delete_swipe,
    edit_message,
    exclude_message,
    hide_message,
    include_message,
    restore_message,
    select_swipe,
)
from tavernkit.playground.story.migration.items import TargetKind
from tavernkit.playground.story.migration.markers import is_as_imported, marker_of
from tavernkit.playground.story.paths.injections import InjectionIn, put_injection, remove_injection
from tavernkit.playground.story.paths.variables import delete_global, delete_variable, set_global, set_variable
from tavernkit.playground.story.personas.connections import connect_character, disconnect, lock_conversation_to
from tavernkit.playground.story.personas.documents import NewPersona, PatchPersona
from tavernkit.playground.story.personas.service import (
    create_persona,
    delete_persona,
    import_picture,
    set_picture,
    update_persona,
)
from tavernkit.playground.story.presets.documents import (
    NewPreset,
    NewPrompt,
    OrderPrompts,
    PatchPreset,
    PatchPrompt,
    PromptPlace,
    RestoreField,
)
from tavernkit.playground.story.presets.service import (
    add_prompt,
    change_prompt,
    create_preset,
    delete_preset,
    import_preset,
    order_prompts,
    remove_prompt,
    reset_prompt,
    restore_field,
    set_default_preset,
    share_preset,
    update_preset,
    write_prompt,
)
from tavernkit.playground.story.quick_replies.documents import (
    ButtonFields,
    ButtonOrder,
    NewPlace,
    NewQuickReplySet,
    PatchButton,
    PatchQuickReplySet,
    QuickReplyPlace,
)
from tavernkit.playground.story.quick_replies.service import (
    add_button,
    create_set,
    delete_set,
    disuse_set,
    duplicate_button,
    move_button,
    order_buttons,
    remove_button,
    update_button,
    update_set,
    use_set,
)
from tavernkit.playground.story.scripts.documents import mark_of
from tavernkit.playground.story.scripts.service import add_scripts, delete_script, script_at, switch_script
from tavernkit.playground.story.settings.service import (
    change_conversation_settings,
    change_member_settings,
)
from tavernkit.playground.story.spaces.service import change_space, delete_space
from tests.playground.characters.builders import brought, json_card, picture, png_card
from tests.playground.stories import Story, open_story
from tests.playground.support.databases import on_sqlite

pytestmark = pytest.mark.anyio


class Target:
    """Something that an import may have made, whose marker is compared."""

    def __init__(self, story: Story, kind: TargetKind, id: UUID) -> None:
        self._story, self._kind, self.id = story, kind, id

    async def marker(self) -> str | None:
        async with self._story.runtime.database.read() as session:
            return await marker_of(session, self._kind, self.id)

    async def changes_by(self, action: Awaitable[Any]) -> Any:
        """Do something that is to be noticed."""
        before = await self.marker()
        result = await action
        after = await self.marker()
        assert before is not None
        assert after not in (None, before), action
        return result

    async def stays_with(self, action: Awaitable[Any]) -> Any:
        """Do something that has no part in it."""
        before = await self.marker()
        result = await action
        assert await self.marker() == before is not None
        return result

    async def goes_by(self, action: Awaitable[Any]) -> None:
        assert await self.marker() is not None
        await action
        assert await self.marker() is None


async def fresh(story: Story, model: type[Base], id: UUID) -> Any:
    async with story.runtime.database.read() as session:
        return await session.get_one(model, id)


@asynccontextmanager
async def opened(url: str, folder: Path) -> AsyncIterator[tuple[Story, tuple[Any, Any]]]:
    async with open_story(url, folder) as story:
        yield story, (story.runtime, story.viewer)


async def test_characters(database_url: str, tmp_path: Path) -> None:
    async with opened(database_url, tmp_path) as (story, who):
        row = (await brought(story, png_card(name="Anna"))).character
        target = Target(story, "character", row.id)

        await target.changes_by(edit_character(*who, row.id, version=1, fields={"description": "Tall."}))
        await target.changes_by(restore_version(*who, row.id, version=2, number=1))
        await target.changes_by(set_avatar(*who, row.id, picture("red")))
        await target.changes_by(
            add_pictures(*who, row.id, [NewPicture(filename="joy.png", data=picture("gold"))], kind="emotion")
        )
        async with story.runtime.database.read() as session:
            (asset,) = await assets_of(session, row.id)
        await target.changes_by(change_asset(*who, row.id, asset.id, name="fear", kind=None))
        await target.changes_by(use_as_picture(*who, row.id, asset.id))
        await target.changes_by(delete_asset(*who, row.id, asset.id))
        await target.goes_by(delete_character(*who, row.id))


async def test_lorebooks(database_url: str, tmp_path: Path) -> None:
    async with opened(database_url, tmp_path) as (story, who):
        row = await create_lorebook(*who, NewLorebook(name="Harbour"))
        other = await create_lorebook(*who, NewLorebook(name="Other"))
        target = Target(story, "lorebook", row.id)
        await target.changes_by(update_lorebook(*who, row.id, PatchLorebook(settings_version=0, name="Port")))
        one = await target.changes_by(add_entry(*who, row.id, {"content": "Fog."}))
        two = await target.changes_by(duplicate_entry(*who, row.id, one.id))
        await target.changes_by(update_entry(*who, row.id, one.id, revision=1, data={"content": "Sun."}))
        await target.changes_by(reorder_entries(*who, row.id, [two.id, one.id]))
        await target.changes_by(move_entry(*who, row.id, one.id, behind=None, before=two.id))
        await target.changes_by(toggle_entries(*who, row.id, enabled=False))
        for change in (
            BulkChange(action="set", set_depth=9),
            BulkChange(action="place", ids=[two.id], to=1),
            BulkChange(action="move", ids=[two.id], lorebook_id=other.id),
        ):
            await target.changes_by(change_entries(*who, row.id, change))
        await target.stays_with(change_entries(*who, row.id, BulkChange(action="copy", lorebook_id=other.id)))
        await target.changes_by(change_entries(*who, other.id, BulkChange(action="copy", lorebook_id=row.id)))
        await target.changes_by(delete_entry(*who, row.id, one.id))
        await target.changes_by(change_entries(*who, row.id, BulkChange(action="delete")))
        async with story.runtime.database.read() as session:
            assert (await session.scalars(select(LorebookEntry).where(LorebookEntry.lorebook_id == row.id))).all() == []
        await target.goes_by(delete_lorebook(*who, row.id))


async def test_presets(database_url: str, tmp_path: Path) -> None:
    async with opened(database_url, tmp_path) as (story, who):
        row = await create_preset(*who, NewPreset(kind="chat", name="Mine"))
        target = Target(story, "preset", row.id)

        async def seen() -> int:
            return int((await fresh(story, Preset, row.id)).settings_version)

        for patch in ({"name": "Ours"}, {"description": "For two."}, {"data": {"temperature": 0.3}}):
            await target.changes_by(update_preset(*who, row.id, PatchPreset(settings_version=await seen(), **patch)))
        new = NewPrompt(settings_version=await seen(), identifier="own", content="Say it.")
        await target.changes_by(add_prompt(*who, row.id, new))
        changed = PatchPrompt(settings_version=await seen(), content="Sing it.")
        await target.changes_by(change_prompt(*who, row.id, "own", changed))
        written = {"changed": {"content": "Write it."}, "removed": (), "is_sent": True}
        await target.changes_by(write_prompt(*who, row.id, "own", await seen(), **written))
        await target.changes_by(
            change_prompt(*who, row.id, "main", PatchPrompt(settings_version=await seen(), content="!"))
        )
        await target.changes_by(reset_prompt(*who, row.id, "main", await seen()))
        order = OrderPrompts(settings_version=await seen(), order=[PromptPlace(identifier="own")])
        await target.changes_by(order_prompts(*who, row.id, order))
        await target.changes_by(remove_prompt(*who, row.id, "own", await seen()))
        await target.goes_by(delete_preset(*who, row.id))
        row, _report = await import_preset(
            *who, b'{"temperature": 1, "prompts": [], "prompt_order": [], "name": "File"}'
        )
        target = Target(story, "preset", row.id)
        await target.changes_by(update_preset(*who, row.id, PatchPreset(settings_version=0, data={"temperature": 0.5})))
        await target.changes_by(restore_field(*who, row.id, RestoreField(settings_version=1, path=["temperature"])))
        administrator = (story.runtime, story.viewer.with_(role="administrator"))
        await target.changes_by(share_preset(*administrator, row.id))


async def test_quick_replies(database_url: str, tmp_path: Path) -> None:
    async with opened(database_url, tmp_path) as (story, who):
        row = await create_set(*who, NewQuickReplySet(name="Mine", buttons=[ButtonFields(label="One")]))
        target = Target(story, "quick_replies", row.id)

        async def seen() -> int:
            return int((await fresh(story, QuickReplySet, row.id)).settings_version)

        await target.changes_by(update_set(*who, row.id, PatchQuickReplySet(settings_version=0, name="Ours")))
        await target.changes_by(add_button(*who, row.id, ButtonFields(label="Two")))
        await target.changes_by(
            update_button(*who, row.id, 1, PatchButton(settings_version=await seen(), message="Hi."))
        )
        await target.changes_by(duplicate_button(*who, row.id, 1))
        await target.changes_by(move_button(*who, row.id, 1, before=None))
        await target.changes_by(order_buttons(*who, row.id, ButtonOrder(settings_version=await seen(), ids=[1, 2, 3])))
        await target.changes_by(remove_button(*who, row.id, 3, settings_version=None))
        await target.stays_with(disuse_set(*who, row.id, QuickReplyPlace()))
        await target.goes_by(delete_set(*who, row.id))


async def test_personas(database_url: str, tmp_path: Path) -> None:
    async with opened(database_url, tmp_path) as (story, who):
        row, _is_new = await import_picture(*who, picture("red"), name="Sam")
        target = Target(story, "persona", row.id)
        file = ImportedFile(kind="persona_picture", marker=await target.marker())
        await target.changes_by(update_persona(*who, row.id, PatchPersona(settings_version=0, description="Old.")))
        # The picture is still the one of the file.
        assert is_as_imported(file, await target.marker())
        await target.changes_by(set_picture(*who, row.id, picture("blue"), settings_version=1))
        assert not is_as_imported(file, await target.marker())
        await target.changes_by(import_picture(*who, picture("green"), name="Sam"))
        await target.goes_by(delete_persona(*who, row.id))
        assert not is_as_imported(file, await target.marker())


async def test_spaces(database_url: str, tmp_path: Path) -> None:
    async with opened(database_url, tmp_path) as (story, who):
        space_id = (await story.conversation()).space_id
        target = Target(story, "space", space_id)
        await target.changes_by(change_space(*who, space_id, settings_version=0, name="Group"))
        await target.changes_by(story.change_space(reply_order="list"))
        character = (await brought(story, json_card(name="Bert"))).character
        member = await target.changes_by(add_member(*who, space_id, character_id=character.id))
        changes: dict[str, Any] = {"participation": "muted"}
        await target.changes_by(change_member(*who, member.id, settings_version=0, changes=changes))
        patch = {"prompt": {"platform": "risuai"}}
        seen = (await fresh(story, SpaceMembership, member.id)).settings_version
        await target.changes_by(change_member_settings(*who, member.id, settings_version=seen, patch=patch))
        async with story.runtime.database.read() as session:
            members = select(SpaceMembership.id).where(SpaceMembership.space_id == space_id)
            ids = list(await session.scalars(members.order_by(SpaceMembership.position.desc())))
        version = (await fresh(story, Space, space_id)).settings_version
        await target.changes_by(reorder_members(*who, space_id, settings_version=version, member_ids=ids))
        await target.changes_by(remove_member(*who, member.id))
        await target.changes_by(add_member(*who, space_id, character_id=character.id))
        other = await target.changes_by(create_conversation(*who, space_id))
        await target.changes_by(delete_conversation(*who, other.id))
        await target.stays_with(story.say())
        await target.goes_by(delete_space(*who, space_id))


async def test_conversations(database_url: str, tmp_path: Path) -> None:
    async with opened(database_url, tmp_path) as (story, who):
        id = story.conversation_id
        target = Target(story, "conversation", id)

        async def seen() -> int:
            return int((await story.conversation()).settings_version)

        (message,) = await target.changes_by(story.narrate("It rains."))
        await target.changes_by(edit_message(*who, message.id, content="It snows.", revision=None))
        swipe = await target.changes_by(add_swipe(*who, message.id, swipe_id=uuid4(), content="Hail.", activate=False))
        await target.changes_by(select_swipe(*who, message.id, "right"))
        await target.changes_by(delete_swipe(*who, message.id, swipe.id))
        for action in (exclude_message, include_message, hide_message, restore_message):
            await target.changes_by(action(*who, message.id))
        await target.changes_by(change_conversation(*who, id, settings_version=await seen(), title="Rain"))
        patch: dict[str, Any] = {"authors_note": {"text": "Slowly."}}
        await target.changes_by(change_conversation_settings(*who, id, settings_version=await seen(), patch=patch))
        await target.changes_by(put_injection(*who, id, "one", InjectionIn(content="Now.")))
        await target.changes_by(put_injection(*who, id, "one", InjectionIn(content="Later.")))
        await target.changes_by(remove_injection(*who, id, "one"))
        await target.changes_by(set_variable(*who, id, "mood", "good"))
        await target.changes_by(delete_variable(*who, id, "mood"))
        book = await create_lorebook(*who, NewLorebook(name="Harbour"))
        link, _name = await target.changes_by(attach_lorebook(*who, NewLink(lorebook_id=book.id, conversation_id=id)))
        await target.changes_by(change_link(*who, link.id, PatchLink(enabled=False)))
        await target.changes_by(detach_lorebook(*who, link.id))
        persona = await create_persona(*who, NewPersona(name="Sam"))
        await target.changes_by(lock_conversation_to(*who, id, persona.id))
        await target.changes_by(lock_conversation_to(*who, id, None))
        branch = await target.changes_by(fork(*who, id, message.id))
        # What the space does is in no chat file.
        space_id = (await story.conversation()).space_id
        await target.stays_with(change_space(*who, space_id, settings_version=0, name="Group"))
        await target.stays_with(attach_lorebook(*who, NewLink(lorebook_id=book.id, space_id=space_id)))
        async with story.working():
            await target.changes_by(story.say())
            await target.changes_by(story.until(lambda run: run.status == "succeeded"))
        await target.goes_by(delete_conversation(*who, id))
        other = Target(story, "conversation", branch.id)
        await other.goes_by(delete_space(*who, space_id))


async def test_settings(database_url: str, tmp_path: Path) -> None:
    async with opened(database_url, tmp_path) as (story, who):
        target = Target(story, "settings", story.user_id)
        character = (await brought(story, json_card(name="Bert"))).character
        book = await create_lorebook(*who, NewLorebook(name="Harbour"))
        persona = await target.changes_by(create_persona(*who, NewPersona(name="Sam")))
        await target.changes_by(update_persona(*who, persona.id, PatchPersona(settings_version=0, title="Dr")))
        await target.changes_by(set_picture(*who, persona.id, picture("red"), settings_version=1))
        connection = await target.changes_by(connect_character(*who, persona.id, character.id))
        await target.changes_by(disconnect(*who, persona.id, connection.id))
        for place in ({"character_id": character.id}, {"persona_id": persona.id}, {"user_id": story.user_id}):
            link, _name = await target.changes_by(attach_lorebook(*who, NewLink(lorebook_id=book.id, **place)))
            await target.changes_by(change_link(*who, link.id, PatchLink(enabled=False)))
            await target.changes_by(detach_lorebook(*who, link.id))
        made = await target.changes_by(create_set(*who, NewQuickReplySet(name="Mine")))
        await target.changes_by(use_set(*who, made.id, NewPlace(visible=False)))
        await target.changes_by(use_set(*who, made.id, NewPlace(character_id=character.id)))
        await target.changes_by(disuse_set(*who, made.id, QuickReplyPlace()))
        script = {"scriptName": "One", "findRegex": "a", "replaceString": "b"}
        of_scripts = (*who, "global", story.user_id, "sillytavern")
        await target.changes_by(add_scripts(*of_scripts, [script]))
        mark = mark_of((await script_at(*of_scripts, 0))[1])
        await target.changes_by(switch_script(*of_scripts, 0, mark=mark, enabled=False))
        mark = mark_of((await script_at(*of_scripts, 0))[1])
        await target.changes_by(delete_script(*of_scripts, 0, mark=mark))
        await target.changes_by(change_own_tags(*who, character.id, ["noir"]))
        await target.changes_by(change_own_tags(*who, character.id, []))
        await target.changes_by(set_global(*who, "mood", "good"))
        await target.changes_by(set_global(*who, "mood", "bad"))
        await target.changes_by(delete_global(*who, "mood"))
        preset = await create_preset(*who, NewPreset(kind="chat", name="Mine"))
        await target.changes_by(set_default_preset(*who, preset.id))
        await target.changes_by(delete_persona(*who, persona.id))
        # What a chat file says is no part of the settings.
        await target.stays_with(
            attach_lorebook(*who, NewLink(lorebook_id=book.id, conversation_id=story.conversation_id))
        )
        await target.stays_with(story.say())


@on_sqlite
async def test_what_never_was_has_no_marker(database_url: str, tmp_path: Path) -> None:
    async with opened(database_url, tmp_path) as (story, _who):
        kinds: tuple[TargetKind, ...] = (
            "character",
            "lorebook",
            "preset",
            "persona",
            "quick_replies",
            "space",
            "conversation",
            "settings",
        )
        assert {await Target(story, kind, uuid4()).marker() for kind in kinds} == {None}
