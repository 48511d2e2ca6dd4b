"""Chats of RisuAI: each becomes a conversation in the one space of its character, or in that of its group."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.migration.risuai import ChatNames, branch_link, chat_to_file
from tavernkit.migration.risuai.parts import ROOT, chat_path, part_path
from tavernkit.playground.base.database.models import Conversation, Persona, Space
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.languages import ngettext
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.base.storable import titled
from tavernkit.playground.story.access.access import lock_story
from tavernkit.playground.story.access.personas import lock_to, unlock
from tavernkit.playground.story.chatfiles.importing import MAX_MESSAGES
from tavernkit.playground.story.chatfiles.storing import LateSpeakers, new_chat
from tavernkit.playground.story.migration.chat_homes import ChatHome, open_home
from tavernkit.playground.story.migration.chats import PreparedChat, store_chat
from tavernkit.playground.story.migration.in_step import WholeChat, bring_up_to_date
from tavernkit.playground.story.migration.items import ImportJob, Item, ItemOutcome
from tavernkit.playground.story.migration.risuai_characters import GROUP
from tavernkit.playground.story.migration.risuai_source import loose, part_at, read_part, target_with_id
from tavernkit.playground.story.migration.risuai_spaces import modules_of, set_lore, space_of_character
from tavernkit.playground.story.settings_schema.models import MAX_MODULES
from tavernkit.playground.story.settings_schema.resolving import apply_changes, effective, read_patch
from tavernkit.text.js_json import to_json
from tavernkit.values import Json, JsonObject, Value

MEMORY = ("supaMemoryData", "hypaV2Data", "hypaV3Data")
MAX_KEPT_CHARACTERS = 256 * 1024
"""A field of a chat that is longer is kept in its file alone, and not in the settings, which are read very often."""
TITLE = "Chat"
EARLIEST, LATEST = datetime(1980, 1, 1, tzinfo=UTC).timestamp(), datetime(2100, 1, 1, tzinfo=UTC).timestamp()


class PreparedRisuChat(Value, frozen=True, kw_only=True):
    """A chat that has been read: what RisuAI says of it, and its messages as they are stored. `is_orphan`: its
    character is in the trash."""

    stem: str
    fields: dict[str, Json]
    chat: PreparedChat
    plan: dict[str, Json]
    is_orphan: bool


class RisuChatHandler:
    """Chats with a character or in a group."""

    def prepare(self, job: ImportJob, item: Item, data: bytes) -> PreparedRisuChat:
        fields = read_part(data, item.path)
        messages = fields.get("message")
        count = len(messages) if isinstance(messages, list) else 0
        if count > MAX_MESSAGES:
            sentence = _(
                "The chat is too long: {count} messages. The limit is {limit}.", count=count, limit=MAX_MESSAGES
            )
            raise Refused("too_long", sentence)
        stem = item.path.split("/")[1]
        owner = part_at(job, f"characters/{stem}.json")
        greetings = greetings_of(owner)
        file = chat_to_file(_without_long(fields), greetings, _names(job, owner, fields))
        chat = PreparedChat(
            id=job.runtime.ids(),
            chat=new_chat(file),
            speakers=LateSpeakers(),
            rows=(),
            moment=item.modified or job.now,
            shown=(),
            notes=tuple(_notes(fields)),
            is_exact=True,
        )
        return PreparedRisuChat(
            stem=stem,
            fields=fields,
            chat=chat,
            plan=_plan(job, stem, fields, has_greeting=len(file.messages) > count),
            is_orphan=bool(owner.get("trashTime")),
        )

    async def store(self, session: AsyncSession, job: ImportJob, item: Item, prepared: PreparedRisuChat) -> ItemOutcome:
        if prepared.is_orphan:
            return ItemOutcome(verdict="kept", notes=(_("Its character is in the trash of RisuAI."),))
        item = item.with_(plan={**item.plan, **prepared.plan})
        outcome = await self._stored(session, job, item, prepared)
        if outcome.target_id is not None and outcome.verdict != "skipped":
            conversation = await session.get_one(Conversation, outcome.target_id)
            is_new = conversation.id == prepared.chat.id
            if is_new or not item.is_changed_here:
                await _set_up(session, job, conversation, prepared.fields, is_new=is_new)
            lore = loose(prepared.fields).items("localLore")
            await set_lore(session, job, item, lore, name=conversation.title, conversation_id=conversation.id)
            moment = _moment(loose(prepared.fields).optional_number("lastDate"))
            if is_new and moment is not None:
                conversation.updated_at = moment
            await session.flush()
        return outcome

    async def _stored(
        self, session: AsyncSession, job: ImportJob, item: Item, prepared: PreparedRisuChat
    ) -> ItemOutcome:
        if item.target_id is None:
            space = await space_of_character(session, job, prepared.stem)
            if space is None:
                return ItemOutcome(verdict="kept", notes=(_("Its character was not imported."),))
            home = await _home(session, job, prepared, space.id)
            return await store_chat(session, job, item, prepared.chat, home)
        conversation = await lock_story(session, item.target_id)
        home = await _home(session, job, prepared, conversation.space_id)
        step = await bring_up_to_date(session, job, item, conversation, WholeChat(prepared.chat.chat), home)
        if isinstance(step, ItemOutcome):
            return step.with_(notes=(*step.notes, *prepared.chat.notes))
        outcome = await store_chat(session, job, item, prepared.chat, home, place=step.place)
        return outcome.with_(notes=(step.note, *outcome.notes))


def greetings_of(owner: JsonObject) -> list[str]:
    """The first message of a character or a group, and the alternate ones."""
    source = loose(owner)
    return [source.text("firstMessage"), *source.texts("alternateGreetings")]


def _names(job: ImportJob, owner: JsonObject, chat: JsonObject) -> ChatNames:
    """Who talks in a chat. The user is the persona that the chat is bound to, else who they are in all chats."""
    bound = loose(chat).text("bindedPersona")
    persona = part_at(job, part_path("personas", bound)) if bound else {}
    user = loose(persona).text("name") or loose(part_at(job, ROOT)).text("username") or "User"
    source = loose(owner)
    members: dict[str, str] = {}
    if owner.get("type") == GROUP:
        for id in source.texts("characters"):
            member = loose(part_at(job, part_path("characters", id)))
            members[id] = member.text("nickname") or member.text("name")
    character = source.text("nickname") or source.text("name")
    return ChatNames(user=titled(user, "User"), character=titled(character, "Character"), members=members)


def _plan(job: ImportJob, stem: str, chat: JsonObject, *, has_greeting: bool) -> dict[str, Json]:
    """Where a chat that was branched from another one stands in the tree."""
    link = branch_link(chat)
    if link is None:
        return {}
    parent = chat_path(stem, link.chat_id)
    ids = [one.raw("chatId") for one in loose(part_at(job, parent)).objects("message")]
    place = ids.index(link.message_id) + 1 if link.message_id in ids else link.messages
    return {"parent": parent, "fork": place + has_greeting, "certain": True, "kind": "branch"}


def _without_long(chat: dict[str, Json]) -> dict[str, Json]:
    """A chat without fields that are too long for the settings of a conversation; its file has them."""
    return {
        key: value
        for key, value in chat.items()
        if key in ("message", "scriptstate", "note") or len(to_json(value)) <= MAX_KEPT_CHARACTERS
    }


def _notes(chat: JsonObject) -> list[str]:
    notes: list[str] = []
    if any(_is_said(chat.get(key)) for key in MEMORY):
        notes.append(_("The memory of RisuAI is kept. It has no use here."))
    lore = loose(chat).items("localLore")
    if lore:
        notes.append(
            ngettext(
                "Its lorebook of {count} entry is used in this conversation.",
                "Its lorebook of {count} entries is used in this conversation.",
                len(lore),
            )
        )
    return notes


def _is_said(memory: Json) -> bool:
    """Whether there is something in a memory; RisuAI writes empty ones into every chat."""
    return any(memory.values()) if isinstance(memory, dict) else bool(memory)


async def _home(session: AsyncSession, job: ImportJob, prepared: PreparedRisuChat, space_id: UUID) -> ChatHome:
    """The space of a chat; in a group, messages name their speakers by the ids of their characters."""
    home = await open_home(session, job, space_id, is_group=False)
    group = part_at(job, f"characters/{prepared.stem}.json")
    if group.get("type") == GROUP:
        members = {member.character_id: member for member, _card in home.members if member.character_id is not None}
        ids = {id: await target_with_id(session, job, "characters", id) for id in loose(group).texts("characters")}
        home.avatars = {id: members[target] for id, target in ids.items() if target in members}
    return home


async def _set_up(
    session: AsyncSession, job: ImportJob, conversation: Conversation, chat: JsonObject, *, is_new: bool
) -> None:
    """Give a conversation the title, the persona and the modules of its chat."""
    source = loose(chat)
    conversation.title = titled(source.text("name"), TITLE)
    bound = source.text("bindedPersona")
    persona_id = await target_with_id(session, job, "personas", bound) if bound else None
    persona = None if persona_id is None else await session.get(Persona, persona_id)
    if persona is not None and persona.trashed_at is None:
        await lock_to(job.runtime, session, conversation.id, persona)
    elif not is_new:
        await unlock(session, conversation.id, job.viewer.user_id)
    own = await modules_of(session, job, chat, "modules")
    space = await session.get_one(Space, conversation.space_id)
    modules = dict.fromkeys((*effective(space).settings.prompt.modules, *own))
    wanted: Json = [str(id) for id in modules][:MAX_MODULES] if own else None
    apply_changes(conversation, read_patch({"prompt": {"modules": wanted}}, "conversation"))


def _moment(milliseconds: float | None) -> datetime | None:
    """The moment of a time of RisuAI's, if it makes sense."""
    if milliseconds is None or not EARLIEST <= milliseconds / 1000 <= LATEST:
        return None
    return datetime.fromtimestamp(milliseconds / 1000, UTC)
