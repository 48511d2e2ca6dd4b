"""The files of groups: what they say, and writing them from what a space is now."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Conversation, Space, SpaceMembership
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.base.storable import titled
from tavernkit.playground.story.access.access import Access, conversation_for
from tavernkit.playground.story.chatfiles.exporting import FolderNames, header_of, is_headless, members_of
from tavernkit.playground.story.chatfiles.messages import GROUP_FILE
from tavernkit.playground.story.settings_schema.resolving import effective
from tavernkit.reading import LooseObject, ReportBuilder
from tavernkit.text.js_json import to_json
from tavernkit.values import Json, JsonObject, Value

ORDERS = {0: "natural", 1: "list", 2: "manual", 3: "pooled"}
MODES = {0: "swap", 1: "append", 2: "append_disabled"}
MILLISECONDS = 1000


class GroupFile(Value, frozen=True, kw_only=True):
    """What the file of a group says, as far as it has a counterpart here; `settings` is a patch of a space's. `chats`
    are the `listed` ones and the current one, which need not have a file yet."""

    id: str
    name: str
    members: tuple[str, ...]
    muted: frozenset[str]
    chats: tuple[str, ...]
    listed: tuple[str, ...]
    chat_id: str
    settings: Mapping[str, Mapping[str, Json]]


def read_group_file(document: JsonObject, path: str = "") -> GroupFile:
    """Read the file of a group; `path` is that of the file, for one that has no id."""
    source = LooseObject(document, ReportBuilder())
    id = source.text("id") or stem_of(path)
    # The oldest groups have one chat, which is called as they are.
    chat_id = source.text("chat_id", default=id)
    listed = tuple(_ids(source.items("chats")))
    chats = tuple(dict.fromkeys(filter(None, (*listed, chat_id))))
    delay = source.optional_number("auto_mode_delay")
    space: dict[str, Json] = {
        "reply_order": ORDERS.get(source.integer("activation_strategy"), "natural"),
        "card_handling_mode": MODES.get(source.integer("generation_mode"), "swap"),
        "allow_self_responses": source.flag("allow_self_responses"),
        "auto_mode_delay_ms": None if delay is None else int(min(max(delay, 0), 600) * MILLISECONDS),
    }
    prompt: dict[str, Json] = {
        "join_prefix": source.text("generation_mode_join_prefix") or None,
        "join_suffix": source.text("generation_mode_join_suffix") or None,
    }
    return GroupFile(
        id=id,
        name=source.text("name"),
        members=tuple(dict.fromkeys(_ids(source.items("members")))),
        muted=frozenset(_ids(source.items("disabled_members"))),
        chats=chats,
        listed=listed,
        chat_id=chat_id,
        settings={"space": space, "prompt": prompt},
    )


def _ids(values: Iterable[Json]) -> list[str]:
    """Names and ids; these may be numbers."""
    return [str(value) for value in values if isinstance(value, str | int) and not isinstance(value, bool)]


def stem_of(path: str) -> str:
    return path.rpartition("/")[2].rpartition(".")[0]


_NEW_GROUP: JsonObject = {
    "id": "",
    "name": "",
    "members": [],
    "avatar_url": "",
    "allow_self_responses": False,
    "activation_strategy": 0,
    "generation_mode": 0,
    "disabled_members": [],
    "fav": False,
    "chat_id": "",
    "chats": [],
    "auto_mode_delay": 5,
    "generation_mode_join_prefix": "",
    "generation_mode_join_suffix": "",
    "hideMutedSprites": False,
}


async def group_bytes(runtime: Runtime, session: AsyncSession, space_id: UUID, names: FolderNames) -> bytes:
    """The file of a group: as it was imported, with what has changed here; for a space that was made here, a new one.

    Where the file had what the headers of chats say, it has it again, and its chats have no headers.
    """
    space = await session.get_one(Space, space_id)
    kept = space.prompt_settings.get(GROUP_FILE)
    moment = int(space.created_at.timestamp() * MILLISECONDS)
    new = {**_NEW_GROUP, "id": names.groups.get(space_id, str(moment)), "name": space.name}
    document = new if kept is None else dict(kept)
    members = await members_of(session, space_id)
    rows = await session.scalars(
        select(Conversation).where(Conversation.space_id == space_id).order_by(Conversation.created_at, Conversation.id)
    )
    conversations = [row for row in rows if row.id in names.chats]
    document |= _changed_settings(space, read_group_file(document))
    document |= _changed_members(read_group_file(document), [member for member, _ in members], names)
    document |= _changed_chats(read_group_file(document), [names.chats[row.id] for row in conversations])
    for conversation in conversations:
        if is_headless(space, conversation):
            viewer = Viewer(user_id=space.owner_id)
            _, access = await conversation_for(session, conversation.id, viewer, Access.READ)
            header = await header_of(session, viewer, conversation, access, members, names)
            _put_metadata(document, names.chats[conversation.id], {} if header is None else header.chat_metadata)
    return to_json(document, indent=4).encode()


def _changed_settings(space: Space, before: GroupFile) -> dict[str, Json]:
    now = effective(space).settings
    was = {path: value for group in before.settings.values() for path, value in group.items()}
    changed: dict[str, Json] = {}
    for name, key, value, written in (
        ("reply_order", "activation_strategy", now.space.reply_order, _number(ORDERS, now.space.reply_order)),
        ("card_handling_mode", "generation_mode", *_mode(now.space.card_handling_mode)),
        ("allow_self_responses", "allow_self_responses", *(now.space.allow_self_responses,) * 2),
        ("auto_mode_delay_ms", "auto_mode_delay", *_seconds(now.space.auto_mode_delay_ms)),
        ("join_prefix", "generation_mode_join_prefix", *(now.prompt.join_prefix,) * 2),
        ("join_suffix", "generation_mode_join_suffix", *(now.prompt.join_suffix,) * 2),
    ):
        if value != (_USUAL.get(name) if was[name] is None else was[name]):
            changed[key] = written
    if space.name != titled(before.name, space.name):
        changed["name"] = space.name
    return changed


_USUAL: Mapping[str, Json] = {"auto_mode_delay_ms": 5 * MILLISECONDS, "join_prefix": "", "join_suffix": ""}


def _number(names: Mapping[int, str], value: str) -> int:
    return next(number for number, name in names.items() if name == value)


def _mode(value: str) -> tuple[str, int]:
    return value, _number(MODES, value)


def _seconds(value: int) -> tuple[int, float]:
    return value, value // MILLISECONDS if value % MILLISECONDS == 0 else value / MILLISECONDS


def _changed_members(before: GroupFile, rows: Sequence[SpaceMembership], names: FolderNames) -> dict[str, Json]:
    """The members in their order, as the file spells those that it has. Of the others that it names, those stay whose
    card is missing."""
    spelt: dict[UUID, str] = {}
    known: set[str] = set()
    for row in rows:
        if row.kind == "character" and row.character_id is not None:
            avatar = names.avatars.get(row.character_id, f"{row.cached_display_name}.png")
            own = [name for name in before.members if name in (avatar, row.cached_display_name)]
            spelt[row.id] = own[0] if own else avatar
            known.add(spelt[row.id])
    active = sorted((row for row in rows if row.id in spelt and row.status == "active"), key=lambda row: row.position)
    now = [spelt[row.id] for row in active]
    listed = [name for name in before.members if name not in known or name in now]
    if [name for name in listed if name in now] != now:
        listed = [*now, *(name for name in listed if name not in now)]
    muted = {spelt[row.id] for row in active if row.participation != "active"}
    muted |= {name for name in before.muted if name not in known}
    changed: dict[str, Json] = {}
    if tuple(listed) != before.members:
        changed["members"] = [*listed]
    if muted != before.muted:
        changed["disabled_members"] = [name for name in listed if name in muted]
    return changed


def _changed_chats(before: GroupFile, chats: Sequence[str]) -> dict[str, Json]:
    new = [name for name in chats if name not in before.chats]
    changed: dict[str, Json] = {"chats": [*before.chats, *new]} if new else {}
    if not before.chat_id and chats:
        changed["chat_id"] = chats[-1]
    return changed


def _put_metadata(document: dict[str, Json], chat: str, metadata: JsonObject) -> None:
    """Let the file of a group say what the header of a chat would."""
    if document.get("chat_id") is not None and str(document["chat_id"]) == chat:
        if document.get("chat_metadata", {}) != metadata:
            document["chat_metadata"] = dict(metadata)
        return
    past = document.get("past_metadata")
    others = past if isinstance(past, dict) else {}
    if others.get(chat, {}) != metadata:
        document["past_metadata"] = {**others, chat: dict(metadata)}
