"""A story as a user has it on disk: a card, a preset, lorebooks, a chat, and what SillyTavern keeps in its settings."""

from __future__ import annotations

import json
import random
from datetime import UTC, datetime
from pathlib import Path

from tavernkit import characters, chats, sillytavern
from tavernkit.characters import Character, User
from tavernkit.lore.book import Book
from tavernkit.lore.files import read_book
from tavernkit.prompt.build import BuildInputs
from tavernkit.prompt.message import Message
from tavernkit.prompt.plan import Plan
from tavernkit.reading import LooseObject, ReportBuilder
from tavernkit.sillytavern import AuthorsNote, PersonaPlace, PersonaPosition, QuietPrompt, Story, read_user_settings
from tavernkit.sillytavern.extension_prompts import extension_place, extension_role
from tavernkit.sillytavern.groups import Decided, GroupMember, StoryGroup, decide, read_group
from tavernkit.sillytavern.presets import ChatPreset, MasterExport, TextPreset, read_preset
from tavernkit.sillytavern.regex_scripts import RegexScripts, embedded_scripts, read_regex_scripts
from tavernkit.sillytavern.turns import ChatTurn
from tavernkit.sillytavern.world_info import SHIPPED_SETTINGS, WorldInfoSettings, read_settings
from tavernkit.values import JsonObject

__all__ = ["FOLDERS", "NOW", "StoryFolder"]

NOW = datetime(2026, 3, 14, 15, 9, 26, tzinfo=UTC)
FOLDERS = tuple(sorted(path.parent for path in Path(__file__).parent.glob("*/story.json")))


class StoryFolder:
    """Everything in one folder, read through the doors that users have.

    `story.json` says the rest: who the user is, which kind of generation it is, whether the card comes as a picture
    (`card_file`), which group is at the table, and the parts of SillyTavern's settings that matter here.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.facts: JsonObject = json.loads(self._text("story.json"))
        (self.chat,), _ = chats.read_chat((path / "history.jsonl").read_bytes(), now=lambda: NOW)
        self.history = chats.to_messages(self.chat)
        self.decided = self._decide()
        self.preset, self.export = self._read_preset()
        self.character = self._character()

    @property
    def is_text(self) -> bool:
        return isinstance(self.preset, TextPreset)

    def build(self) -> Plan:
        inputs = BuildInputs(
            character=self.character,
            user=User(name=self.facts["user"], persona=self.facts["persona"]["description"]),
            preset=self.preset,
            history=self.history,
            message=self.facts["message"],
            books=self._books("global"),
            generation_type=self.facts["generation_type"],
            model="gpt-4o",
            clock=lambda: NOW,
            rng=random.Random(1),
        )
        return sillytavern.build(story=self.story(), **inputs).plan

    def story(self) -> Story:
        persona = self.facts["persona"]
        quiet = self.facts.get("quiet")
        story = Story(
            settings=read_user_settings(self.facts.get("power_user", {})).value,
            world_info=self._world_info(),
            persona=PersonaPlace(
                position=PersonaPosition(persona["position"]),
                depth=persona.get("depth", 2),
                role=extension_role(persona.get("role", 0)),
            ),
            note=self._note(),
            group=self._group(),
            speaker=None if self.decided is None else self.decided.decision.speakers[0],
            chat_books=self._books("chat"),
            regex_scripts=self._scripts(),
            quiet=None if quiet is None else QuietPrompt(**quiet),
            chat_id=self.path.name,
        )
        return story if self.export is None else sillytavern.with_templates(story, self.export)

    def _text(self, name: str) -> str:
        return (self.path / name).read_text(encoding="utf-8")

    def _metadata(self) -> JsonObject:
        return {} if self.chat.header is None else self.chat.header.chat_metadata

    def _read_preset(self) -> tuple[ChatPreset | TextPreset, MasterExport | None]:
        match read_preset(self._text("preset.json"))[0]:
            case ChatPreset() as preset:
                return preset, None
            case MasterExport(preset=TextPreset() as preset) as export:
                return preset, export
            case other:
                raise AssertionError(f"{self.path.name}: no story can be told with a {type(other).__name__}")

    def _character(self) -> Character:
        if self.decided is not None and (group := self._group()) is not None:
            return group.find(self.decided.decision.speakers[0]).character
        bundle = characters.load((self.path / "card.json").read_bytes())
        if self.facts.get("card_file") == "card.png":
            bundle = characters.load(characters.to_png(bundle.card))
        return bundle.card.character

    def _books(self, scope: str) -> tuple[Book, ...]:
        return tuple(read_book(self._text(f"lore/{name}"))[0] for name in self.facts.get("books", {}).get(scope, ()))

    def _world_info(self) -> WorldInfoSettings:
        given = self.facts.get("world_info")
        return SHIPPED_SETTINGS if given is None else read_settings(LooseObject(given, ReportBuilder()))

    def _note(self) -> AuthorsNote:
        """The note, which SillyTavern keeps in the header of the chat."""
        chat = self._metadata()
        return AuthorsNote(
            text=chat.get("note_prompt", ""),
            position=extension_place(chat.get("note_position", 1)),
            depth=chat.get("note_depth", 4),
            role=extension_role(chat.get("note_role", 0)),
            interval=chat.get("note_interval", 1),
        )

    def _scripts(self) -> RegexScripts:
        own = read_regex_scripts(self._text(self.facts["regex"]))[0] if "regex" in self.facts else ()
        return RegexScripts(
            global_=own,
            preset=embedded_scripts(self.preset.extensions),
            scoped=embedded_scripts(self.character.extensions),
        )

    def _group(self) -> StoryGroup | None:
        if "group" not in self.facts:
            return None
        cast = [
            GroupMember.of(characters.load(card.read_bytes()).card.character, f"{card.stem}.png")
            for card in sorted((self.path / "cards").glob("*.json"))
        ]
        return read_group(json.loads(self._text(self.facts["group"])), cast, chat_metadata=self._metadata())

    def _decide(self) -> Decided | None:
        group = self._group()
        if group is None:
            return None
        return decide(
            group,
            chat=[_turn(index, message) for index, message in enumerate(self.history)],
            user_input=self.facts["message"],
            generation_type=self.facts["generation_type"],
            random=random.Random(self.facts.get("seed", 0)).random,
            forced=self.facts.get("speaker"),
        )


def _turn(index: int, message: Message) -> ChatTurn:
    return ChatTurn(
        index=index,
        text=message.content,
        name=message.name or "",
        is_user=message.role == "user",
        is_narrator=message.role == "system",
        original_avatar=message.metadata.get("original_avatar"),
    )
