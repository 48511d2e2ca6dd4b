"""Cards with their sprites, whole, unusual and damaged."""

from __future__ import annotations

import json
from collections.abc import Iterator
from io import BytesIO
from random import Random
from typing import Any, NamedTuple
from unicodedata import normalize

from PIL import Image

from tests.characters.card_files import exif, packed, png, text, v1
from tests.migration.generator.manifest import COPY, READ, READ_OR_KEPT, REFUSED, Expected, FolderWriter
from tests.migration.generator.scripts import regex_script
from tests.migration.generator.texts import iso, picture, sentence


class Avatar(NamedTuple):
    """A card: its file below `characters`, who it is, and the folder of its chats; None where it has no chats."""

    file: str
    name: str
    chats: str | None

    @property
    def path(self) -> str:
        return f"characters/{self.file}"

    @property
    def stem(self) -> str:
        return self.file.replace(".png", "", 1)


def write_characters(folder: FolderWriter, count: int, worlds: tuple[str, ...]) -> tuple[Avatar, ...]:
    """At least so many cards that can be read, and some files that cannot."""
    random = folder.random
    avatars: list[Avatar] = []
    for avatar, card in _unusual_cards(random):
        folder.add(avatar.path, card_file(random, card), "character", READ)
        avatars.append(avatar)
        _link_world(folder, avatar, card, worlds)
    olivia = avatars[0]
    folder.add("characters/Olivia2.png", folder.place_of(olivia.path).read_bytes(), "character", COPY)
    avatars.append(Avatar("Olivia2.png", "Olivia", "Olivia2"))
    for avatar, data, expected in _unusual_files(random):
        folder.add(avatar.path, data, "character", expected)
        if expected is not REFUSED:
            avatars.append(avatar)
    for number in range(len(avatars), count):
        avatar = Avatar(f"Person {number}.png", f"Person {number}", f"Person {number}")
        card = tavern_card(random, avatar.name)
        if number % 4 == 0:
            card = tavern_card(random, avatar.name, world=random.choice(worlds))
            _link_world(folder, avatar, card, worlds)
        folder.add(avatar.path, card_file(random, card), "character")
        avatars.append(avatar)
    _write_sprites(folder)
    return tuple(avatars)


def _unusual_cards(random: Random) -> Iterator[tuple[Avatar, dict[str, Any]]]:
    # Three who are called Olivia: an import gives a number, the button for a copy an underscore.
    for file in ("Olivia.png", "Olivia1.png", "Olivia_1.png"):
        yield Avatar(file, "Olivia", file[:-4]), tavern_card(random, "Olivia")
    for name in ("Mira", "mira", normalize("NFC", "Zoë"), normalize("NFD", "Zoë")):
        yield Avatar(f"{name}.png", name, name), tavern_card(random, name)
    # Chat folders that are found only by ignoring case or the form of the accents.
    yield Avatar("Quinn.png", "Quinn", "QUINN"), tavern_card(random, "Quinn")
    rene = normalize("NFC", "René")
    yield Avatar(f"{rene}.png", rene, normalize("NFD", rene)), tavern_card(random, rene)
    yield Avatar("Dr.png.png", "Dr", "Dr.png"), tavern_card(random, "Dr")
    yield Avatar("Mr. X.png", "Mr. X: <the> second?", "Mr. X"), tavern_card(random, "Mr. X: <the> second?")
    yield Avatar("Shout.PNG", "Shout", None), tavern_card(random, "Shout")
    yield Avatar("Silent.png", "Silent", None), tavern_card(random, "Silent")
    yield (
        Avatar("Anna.png", "Anna", "Anna"),
        tavern_card(random, "Anna", world="Linked", fav=True, tags=["Clock", "sea"]),
    )
    yield Avatar("Lost.png", "Lost", "Lost"), tavern_card(random, "Lost", world="No such book")
    scripts = [regex_script(random, "Of the card"), regex_script(random, "Off", disabled=True)]
    yield Avatar("Script.png", "Script", "Script"), tavern_card(random, "Script", regex_scripts=scripts)
    unknown: dict[str, Any] = {"vendor/x": {"a": [1, None, "\ud83e"]}, "__proto__": {"polluted": 1}}
    yield Avatar("🦊 Fox.png", "🦊 Fox", "🦊 Fox"), tavern_card(random, "🦊 Fox", **unknown)


def _unusual_files(random: Random) -> Iterator[tuple[Avatar, bytes, Expected]]:
    third = {**tavern_card(random, "Third"), "spec": "chara_card_v3", "spec_version": "3.0"}
    third["data"] |= {
        "nickname": "Tertia",
        "assets": [{"type": "icon", "uri": "ccdefault:", "name": "main", "ext": "png"}],
    }
    yield Avatar("Third.png", "Third", "Third"), picture(random, text("ccv3", packed(third))), READ
    yield Avatar("First.png", "First", "First"), picture(random, text("chara", packed(v1(name="First")))), READ
    comment = exif(json.dumps(v1(name="Webbed")).encode())
    yield Avatar("Webbed.png", "Webbed", "Webbed"), _photo(random, "WEBP", exif=comment), READ
    yield Avatar("Photo.png", "", None), _photo(random, "JPEG"), REFUSED
    yield Avatar("Picture only.png", "", None), picture(random), REFUSED
    whole = card_file(random, tavern_card(random, "Cut"))
    yield Avatar("Cut.png", "", None), whole[: whole.index(b"chara") + 100], REFUSED
    yield Avatar("No JSON.png", "", None), png(text("chara", b"bm8ganNvbg==")), REFUSED


def _photo(random: Random, format: str, **options: Any) -> bytes:
    file = BytesIO()
    Image.new("RGB", (8, 8), (random.randrange(256), random.randrange(256), 0)).save(file, format, **options)
    return file.getvalue()


def _link_world(folder: FolderWriter, avatar: Avatar, card: dict[str, Any], worlds: tuple[str, ...]) -> None:
    stem = card["data"]["extensions"]["world"]
    if stem:
        folder.link("character_book", avatar.path, stem, f"worlds/{stem}.json" if stem in worlds else None)


def tavern_card(
    random: Random, name: str, *, world: str = "", fav: bool = False, tags: list[str] | None = None, **extensions: Any
) -> dict[str, Any]:
    """A card as SillyTavern keeps it: the fields of version 1 beside those of version 2."""
    first = {**v1(name=name), "description": sentence(random), "first_mes": sentence(random, 6)}
    data = {
        **first,
        "creator_notes": sentence(random, 5),
        "system_prompt": "",
        "post_history_instructions": "",
        "tags": tags or [],
        "creator": "me",
        "character_version": "1.0",
        "alternate_greetings": [sentence(random, 5)],
        "extensions": {
            "talkativeness": "0.5",
            "fav": fav,
            "world": world,
            "depth_prompt": {"prompt": sentence(random, 4), "depth": 4, "role": "system"},
            **extensions,
        },
    }
    if world or random.random() < 0.3:
        data["character_book"] = {"name": world or f"Book of {name}", "extensions": {}, "entries": [_entry(random)]}
    return {
        **first,
        "creatorcomment": data["creator_notes"],
        "avatar": "none",
        "chat": f"{name} - 2024-05-01@10h00m00s",
        "talkativeness": "0.5",
        "fav": fav,
        "tags": data["tags"],
        "spec": "chara_card_v2",
        "spec_version": "2.0",
        "data": data,
        "create_date": iso(random.randrange(100_000)),
    }


def _entry(random: Random) -> dict[str, Any]:
    entry = {"id": 0, "keys": ["gear"], "secondary_keys": [], "comment": "", "content": sentence(random)}
    options = {"constant": False, "selective": True, "insertion_order": 100, "enabled": True, "position": "before_char"}
    return {**entry, **options, "extensions": {"position": 0, "display_index": 0, "probability": 100}}


def card_file(random: Random, card: dict[str, Any]) -> bytes:
    """SillyTavern writes the card twice, as version 2 and as version 3."""
    third = {**card, "spec": "chara_card_v3", "spec_version": "3.0"}
    return picture(random, text("chara", packed(card)), text("ccv3", packed(third)))


def _write_sprites(folder: FolderWriter) -> None:
    """Namesakes share the folder of their display name."""
    for path in (
        "Olivia/joy.png",
        "Olivia/joy-2.png",
        "Olivia/anger.webp",
        "Olivia/summer/joy.png",
        "Gone/neutral.png",
    ):
        is_webp = path.endswith("webp")
        data = _photo(folder.random, "WEBP") if is_webp else picture(folder.random)
        folder.add(f"characters/{path}", data, "sprite", READ_OR_KEPT)
