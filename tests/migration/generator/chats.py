"""Chats of one character: plain, unusual, damaged, and very long."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from random import Random
from typing import Any, TypeAlias

from tests.migration.generator.characters import Avatar
from tests.migration.generator.manifest import EMPTY, READ, READ_OR_KEPT, Expected, FolderWriter, line, lines
from tests.migration.generator.texts import chat_name, hex_id, iso, old_date, picture, sentence

Record: TypeAlias = dict[str, Any]


class ChatWriter:
    """Writes chats into one folder. Numbers of messages are the folder's, so that no two have the same date."""

    def __init__(self, folder: FolderWriter, worlds: tuple[str, ...], personas: Sequence[str]) -> None:
        self.folder = folder
        self.random = folder.random
        self.count = 0
        self._worlds = worlds
        self._personas = personas
        self._messages = 0

    def header(self, character: str = "unused", **metadata: Any) -> Record:
        user = "unused" if character == "unused" else "Sam"
        return {
            "chat_metadata": {"integrity": hex_id(self.random), **metadata},
            "user_name": user,
            "character_name": character,
        }

    def message(self, name: str, *, is_user: bool = False, **fields: Any) -> Record:
        self._messages += 1
        return {
            "name": name,
            "is_user": is_user,
            "is_system": False,
            "send_date": iso(self._messages),
            "mes": sentence(self.random),
            "extra": {},
            **fields,
        }

    def messages(self, name: str, count: int) -> list[Record]:
        """The character and the user in turn; the character's replies have swipes."""
        found = []
        for number in range(count):
            is_user = number % 2 == 1
            record = self.message("Sam" if is_user else name, is_user=is_user)
            found.append(record if is_user else with_swipes(self.random, record, 1 + number % 3))
        return found

    def write(self, avatar: Avatar, records: Sequence[Record], *, name: str = "", expected: Expected = READ) -> str:
        return self.write_bytes(avatar, lines(records), name=name, expected=expected)

    def write_bytes(self, avatar: Avatar, data: bytes, *, name: str = "", expected: Expected = READ) -> str:
        path = f"chats/{avatar.chats}/{name or chat_name(avatar.stem, self._messages)}.jsonl"
        self.folder.add(path, data, "chat", expected)
        self.folder.link("chat_character", path, avatar.stem, avatar.path)
        self.count += 1
        return path

    def link_book(self, path: str, stem: str) -> None:
        target = f"worlds/{stem}.json" if stem in self._worlds else None
        self.folder.link("chat_book", path, stem, target)

    def link_persona(self, path: str, file: str) -> None:
        target = f"User Avatars/{file}" if file in self._personas else None
        self.folder.link("chat_persona", path, file, target)

    def add_picture(self, avatar: Avatar) -> tuple[str, str]:
        """A picture that messages may show: its path, and the address by which they name it."""
        path = f"user/images/{avatar.name}/{hex_id(self.random)}.png"
        self.folder.add(path, picture(self.random), "chat_media", READ)
        return path, f"/{path}"


def with_swipes(random: Random, record: Record, count: int) -> Record:
    swipes = [record["mes"], *(sentence(random) for _ in range(count - 1))]
    chosen = random.randrange(count)
    info = {
        "send_date": record["send_date"],
        "gen_started": record["send_date"],
        "extra": {"api": "openai", "model": "m"},
    }
    extra = {"api": "openai", "model": "m", "token_count": random.randrange(400)}
    parts = {"swipe_id": chosen, "swipes": swipes, "swipe_info": [deepcopy(info) for _ in swipes]}
    return {**record, "mes": swipes[chosen], "extra": extra, **parts}


def write_plain_chat(chats: ChatWriter, avatar: Avatar) -> str:
    records = [chats.header(), *chats.messages(avatar.name, chats.random.randint(1, 16))]
    return chats.write(avatar, records)


def write_unusual_chats(chats: ChatWriter, avatar: Avatar) -> None:
    """Each unusual thing in a chat of its own, called after it."""
    name, random = avatar.name, chats.random
    equal, short, bare, beyond = (with_swipes(random, chats.message(name), 3) for _ in range(4))
    shown = chats.message(name)
    rows: Mapping[str, Sequence[Record]] = {
        "equal swipes": [{**equal, "swipes": ["Same.", "Same.", "Other."], "swipe_id": 0, "mes": "Same."}],
        "swipe out of range": [{**beyond, "swipe_id": 9}],
        "short swipe info": [{**short, "swipe_info": short["swipe_info"][:1]}],
        "no swipe info": [{key: value for key, value in bare.items() if key != "swipe_info"}],
        "reasoning": [chats.message(name, extra={"reasoning": sentence(random), "reasoning_duration": 1234})],
        "hidden": [chats.message(name, is_system=True), chats.message("Sam", is_user=True, is_system=True)],
        "narrator": [chats.message("Narrator", is_system=False, extra={"type": "narrator"})],
        "comment": [chats.message("Note", is_system=True, extra={"type": "comment", "isSmallSys": True})],
        "display text": [{**shown, "extra": {"display_text": "What is shown.", "bias": "x"}}],
        "tools": [chats.message(name, extra={"tool_invocations": [{"id": "1", "name": "f", "result": "r"}]})],
        "summary": [chats.message(name, extra={"memory": sentence(random)})],
        "old dates": [chats.message(name, send_date=old_date(number)) for number in range(8)],
        "dates out of order": [chats.message(name, send_date=iso(number)) for number in (9, 3, 7)],
        "no date": [{key: value for key, value in chats.message(name).items() if key != "send_date"}],
        "lone surrogates": [chats.message(name, mes="half \ud83e and \udd8a, whole 🦊")],
        "nested text": [chats.message(name, mes={"message": "As Chub writes."}, swipes=[{"message": "a"}], swipe_id=0)],
        "unknown keys": [chats.message(name, x_unknown={"__proto__": 1}, variables=[{"hp": 3}], title="t")],
        "no messages": [],
    }
    for title, records in rows.items():
        chats.write(avatar, [chats.header(), *records], name=f"{name} - {title}")
    _write_metadata(chats, avatar)
    _write_pictures(chats, avatar)


def _write_metadata(chats: ChatWriter, avatar: Avatar) -> None:
    name = avatar.name
    note: Record = {"note_prompt": "Be brief.", "note_interval": 1, "note_depth": 4, "note_position": 1, "note_role": 0}
    timed = {"sticky": {"Harbour.1": {"hash": 77, "start": 1, "end": 9, "protected": False}}, "cooldown": {}}
    full = chats.header(
        **note,
        scenario=sentence(chats.random),
        variables={"hp": "3", "list": "[1,2]"},
        timedWorldInfo=timed,
        script_injects={"a": {"value": "x", "position": 1, "depth": 2, "scan": False, "role": 0}},
        custom_background='url("backgrounds/forest.png")',
        x_extension={"deep": [None]},
    )
    chats.write(avatar, [full, *chats.messages(name, 4)], name=f"{name} - metadata")
    for stem in ("Chat book", "No such book"):
        path = chats.write(avatar, [chats.header(world_info=stem), *chats.messages(name, 2)], name=f"{name} - {stem}")
        chats.link_book(path, stem)
    for file in ("sam.png", "nobody.png"):
        path = chats.write(avatar, [chats.header(persona=file), *chats.messages(name, 2)], name=f"{name} - {file}")
        chats.link_persona(path, file)
    old = {**chats.header(name), "create_date": old_date(3)}
    chats.write(avatar, [old, *chats.messages(name, 3)], name=f"{name} - names in the header")


def _write_pictures(chats: ChatWriter, avatar: Avatar) -> None:
    (first, one), (second, two), (third, three) = (chats.add_picture(avatar) for _ in range(3))
    note = chats.folder.add(
        "user/files/1718000000000_abc.txt", sentence(chats.random).encode(), "chat_media", READ_OR_KEPT
    )
    new = {"media": [{"url": one, "type": "image", "title": "A fox"}], "media_index": 0, "media_display": "list"}
    missing = {"media": [{"url": "/user/images/Gone/x.png", "type": "image"}]}
    file = {"url": f"/{note}", "size": 9, "name": "note.txt", "created": 1718000000000}
    records = [
        chats.header(),
        chats.message(avatar.name, extra={**new, "inline_image": True}),
        chats.message("Sam", is_user=True, extra={"image": two, "title": "old", "image_swipes": [two, three]}),
        chats.message("Sam", is_user=True, extra={"files": [file]}),
        chats.message("Sam", is_user=True, extra={"file": file}),
        chats.message(avatar.name, extra=missing),
    ]
    path = chats.write(avatar, records, name=f"{avatar.name} - pictures")
    for target in (first, second, third, note):
        chats.folder.link("media", path, f"/{target}", target)
    chats.folder.link("media", path, "/user/images/Gone/x.png", None)


def write_damaged_chats(chats: ChatWriter, avatar: Avatar) -> None:
    """Files that SillyTavern reads with losses, or not at all, called after the damage."""

    def text() -> str:
        return lines([chats.header(), *chats.messages(avatar.name, 5)]).decode()

    def changed(change: Callable[[str], str]) -> bytes:
        before, one, after = text().split("\n", 2)
        return "\n".join((before, change(one), after)).encode()

    files: Mapping[str, bytes] = {
        "headerless": text().partition("\n")[2].encode(),
        "byte order mark": b"\xef\xbb\xbf" + text().encode(),
        "windows lines": text().replace("\n", "\r\n").encode(),
        "last line ends": text().encode() + b"\n",
        "blank lines": text().replace("\n", "\n\n \n").encode() + b"\n\n",
        "cut last line": text().encode()[:-40],
        "cut in the middle": changed(lambda one: one[: len(one) // 2]),
        "broken header": text().encode()[1:],
        "no object": changed(lambda _: "[1, 2]"),
        "nul": text().encode() + b"\n" + b"\0" * 64,
        "nul inside": changed(lambda one: one.replace(" ", "\0")),
        "not utf-8": text().encode().replace(b" ", b" \xff\xfe ", 9),
        "deep nesting": changed(lambda _: '{"mes":' + "[" * 5000 + "]" * 5000 + "}"),
    }
    for title, data in files.items():
        chats.write_bytes(avatar, data, name=f"{avatar.name} - {title}")
    chats.write_bytes(avatar, b"", name=f"{avatar.name} - empty", expected=EMPTY)


def write_orphan_chats(chats: ChatWriter) -> None:
    """Chats whose card is gone, chats of two cards that differ only in case from their folder, and one in no folder."""
    for stem in ("Deleted", "Old friend"):
        path = f"chats/{stem}/{stem} - 2023-6-19 @14h 20m 00s 0ms.jsonl"
        records = [chats.header(stem), *chats.messages(stem, 4)]
        chats.folder.add(path, lines(records), "chat", READ)
        chats.folder.link("chat_character", path, stem, None)
        chats.count += 1
    # Both Mira and mira would do: a match that is not the only one is none.
    path = "chats/MIRA/ambiguous.jsonl"
    records = [chats.header(), *chats.messages("MIRA", 2)]
    chats.folder.add(path, lines(records), "chat", READ)
    chats.folder.link("chat_character", path, "MIRA", None)
    loose = [chats.header("Anna"), *chats.messages("Anna", 2)]
    chats.folder.add("chats/loose.jsonl", lines(loose), "chat", READ)
    chats.count += 2


def write_long_chat(chats: ChatWriter, avatar: Avatar, size: int) -> str:
    """A chat of at least so many bytes, written piece by piece."""
    block = [chats.message(avatar.name, mes=sentence(chats.random, 60)) for _ in range(2000)]

    def pieces() -> Iterator[bytes]:
        yield line(chats.header()).encode()
        written, number = 0, 0
        while written < size:
            record = block[number % len(block)]
            piece = "\n" + line({**record, "mes": f"{number}: {record['mes']}"})
            yield piece.encode()
            written += len(piece)
            number += 1

    path = f"chats/{avatar.chats}/{avatar.name} - long.jsonl"
    chats.folder.add(path, pieces(), "chat", READ)
    chats.folder.link("chat_character", path, avatar.stem, avatar.path)
    chats.count += 1
    return path
