"""Groups and their chats, which lie flat in a folder of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.migration.generator.characters import Avatar
from tests.migration.generator.chats import ChatWriter, Record
from tests.migration.generator.manifest import READ, lines
from tests.migration.generator.texts import hex_id


def write_groups(chats: ChatWriter, avatars: Sequence[Avatar], count: int) -> tuple[str, ...]:
    """The ids of at least so many groups: the unusual ones, then plain ones."""
    olivia, olivia1, _, mira = avatars[:4]
    members = (olivia, olivia1, mira)
    ids = ["natural", "listed", "manual", "pooled", "1690000000000", "headerless"]
    _write_group(chats, "natural", members, ["natural one", "natural two"], activation_strategy=0, fav=True)
    # A chat may belong to two groups.
    _write_group(
        chats,
        "listed",
        members,
        ["listed one", "shared"],
        activation_strategy=1,
        disabled_members=[olivia1.file],
        generation_mode=1,
        generation_mode_join_prefix="<{{char}}>",
        generation_mode_join_suffix="</{{char}}>",
    )
    manual = _group("manual", avatars[1:4], ["manual one", "shared", "never saved"], activation_strategy=2)
    manual["members"].append("Nobody.png")
    _store_group(chats, manual, avatars[1:4], ["manual one"])
    _write_group(chats, "pooled", avatars[2:5], ["pooled one"], activation_strategy=3, generation_mode=2)
    numbers: dict[str, Any] = {"id": 1690000000000, "chat_id": 1690000000001, "chats": [1690000000001]}
    _store_group(chats, _group("", members, ["1690000000001"]) | numbers, members, ["1690000000001"])
    _write_headerless(chats, members)
    _write_oldest(chats, avatars[3:8:4])
    # A chat that no group names any more.
    chats.folder.add("group chats/forgotten.jsonl", _lines(chats, members), "group_chat", READ)
    for number in range(len(ids), count):
        ids.append(f"group {number}")
        names = [f"group {number} chat {part}" for part in range(3)]
        _write_group(chats, ids[-1], chats.random.sample(avatars, 3), names)
    return tuple(ids)


def _group(id: str, members: Sequence[Avatar], names: Sequence[str], **fields: Any) -> dict[str, Any]:
    speaking = {"activation_strategy": 0, "generation_mode": 0, "allow_self_responses": False, "auto_mode_delay": 5}
    joining = {"generation_mode_join_prefix": "", "generation_mode_join_suffix": "", "disabled_members": []}
    group = {"id": id, "name": f"Group {id}", "members": [member.file for member in members], "avatar_url": ""}
    return {**group, "fav": False, "chat_id": names[0], "chats": list(names), **speaking, **joining, **fields}


def _write_group(chats: ChatWriter, id: str, members: Sequence[Avatar], names: Sequence[str], **fields: Any) -> None:
    _store_group(chats, _group(id, members, names, **fields), members, names)


def _store_group(chats: ChatWriter, group: dict[str, Any], avatars: Sequence[Avatar], names: Sequence[str]) -> None:
    folder = chats.folder
    for name in names:
        folder.add(f"group chats/{name}.jsonl", _lines(chats, avatars, chats.header()), "group_chat", READ)
    path = folder.add_json(f"groups/{group['id']}.json", group, "group", READ)
    known = {avatar.file: avatar.path for avatar in avatars}
    for member in group["members"]:
        folder.link("group_member", path, member, known.get(member))
    for name in map(str, group["chats"]):
        folder.link("group_chat", path, name, None if name == "never saved" else f"group chats/{name}.jsonl")


def _write_headerless(chats: ChatWriter, members: Sequence[Avatar]) -> None:
    """Before 1.15, what is in the header now was in the group's file, for the current chat and for each other one."""
    names = ["headerless one", "headerless two"]
    for name in names:
        chats.folder.add(f"group chats/{name}.jsonl", _lines(chats, members), "group_chat", READ)
    now, before = {"integrity": hex_id(chats.random), "note_prompt": "Now."}, {"note_prompt": "Before."}
    group = _group("headerless", members, names, chat_metadata=now, past_metadata={names[1]: before})
    _store_group(chats, group, members, [])


def _write_oldest(chats: ChatWriter, members: Sequence[Avatar]) -> None:
    """The first form: members by display name, and one chat with the group's id."""
    group = {"id": "1680000000000", "name": "Oldest", "members": [member.name for member in members], "avatar_url": ""}
    path = chats.folder.add_json("groups/1680000000000.json", group, "group", READ)
    chat = chats.folder.add("group chats/1680000000000.jsonl", _lines(chats, members), "group_chat", READ)
    chats.folder.link("group_chat", path, "1680000000000", chat)
    for member in members:
        chats.folder.link("group_member", path, member.name, member.path)


def _lines(chats: ChatWriter, members: Sequence[Avatar], *header: Record) -> bytes:
    """Each member says something once, named by its card, by an old address of its picture, or by its name alone."""
    records = [*header, chats.message("Sam", is_user=True)]
    for number, member in enumerate(members):
        address: Record = {"force_avatar": f"/thumbnail?type=avatar&file={member.file}"} if number < 2 else {}
        card: Record = {"original_avatar": member.file} if number == 0 else {}
        records.append(chats.message(member.name, **address, **card, extra={"gen_id": number}))
    return lines(records)
