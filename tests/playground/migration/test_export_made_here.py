"""What was made here, exported as a folder of SillyTavern, and opened again by our own readers."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from tavernkit import characters
from tavernkit.lore import read_book
from tavernkit.playground.base.database.models import Character, Message
from tavernkit.playground.story.characters.assets import NewPicture, add_pictures
from tavernkit.playground.story.characters.cards import stored_card
from tavernkit.playground.story.characters.service import change_own_tags, create_character, set_avatar
from tavernkit.playground.story.conversations.forking import fork
from tavernkit.playground.story.lorebooks.documents import NewLink, NewLorebook
from tavernkit.playground.story.lorebooks.links import attach_lorebook
from tavernkit.playground.story.lorebooks.service import add_entry, create_lorebook
from tavernkit.playground.story.messages.service import send_message
from tavernkit.playground.story.migration.known_settings import read_folder_settings
from tavernkit.playground.story.paths.pictures import PictureIn, upload_picture
from tavernkit.playground.story.paths.variables import set_global
from tavernkit.playground.story.personas.connections import connect_character, lock_conversation_to
from tavernkit.playground.story.personas.documents import NewPersona
from tavernkit.playground.story.personas.service import create_persona, set_picture
from tavernkit.playground.story.presets.documents import NewPreset
from tavernkit.playground.story.presets.queries import Kind, kind_of
from tavernkit.playground.story.presets.service import create_preset, import_preset
from tavernkit.playground.story.quick_replies.documents import ButtonFields, NewPlace, NewQuickReplySet
from tavernkit.playground.story.quick_replies.files import read_set
from tavernkit.playground.story.quick_replies.service import create_set, use_set
from tavernkit.playground.story.scripts.service import add_scripts, new_script
from tavernkit.playground.story.spaces.service import create_space
from tavernkit.reading import LooseObject, ReportBuilder
from tavernkit.sillytavern.presets import read_preset
from tests.playground.characters.builders import picture, somebody_else
from tests.playground.migration.exported import export, narrate
from tests.playground.stories import Story, open_story
from tests.playground.support.refusals import refusal_of

pytestmark = pytest.mark.anyio


async def character(story: Story, name: str, **fields: object) -> Character:
    return await create_character(story.runtime, story.viewer, {"name": name, "first_mes": f"{name} nods.", **fields})


async def space(story: Story, *characters: Character, name: str = "") -> tuple[UUID, UUID]:
    """A space with these characters, and its first conversation."""
    opened = await create_space(
        story.runtime, story.viewer, name=name, character_ids=[character.id for character in characters]
    )
    return opened.space.id, opened.conversation.id


async def messages(story: Story, conversation_id: UUID) -> list[Message]:
    return await story.rows(conversation_id)


async def test_cards_are_named_as_sillytavern_names_them_and_say_what_they_say_here(
    sqlite_url: str, tmp_path: Path
) -> None:
    async with open_story(sqlite_url, tmp_path) as story:
        anna = await character(story, "Anna", description="The first.", extensions={"odd": [1]}, unknown={"x": None})
        await set_avatar(story.runtime, story.viewer, anna.id, picture("red"))
        await character(story, "Anna", description="The second.")
        await character(story, "a/b: ¿?", description="Unsafe.")
        written = await export(story, tmp_path / "out", only=("character",))
        shared = next(path for path in written.files if "Ottoline" in path or "ttoline" in path)
        assert written.files == {"characters/Anna.png", "characters/Anna1.png", "characters/ab ¿.png", shared}
        async with story.runtime.database.read() as session:
            row = await session.get_one(Character, anna.id)
        read = characters.load(written.read("characters/Anna.png"))
        assert read.card.character == stored_card(row).character
        assert characters.load(written.read("characters/Anna1.png")).card.character.description == "The second."
        assert written.report.totals == {"exact": 0, "converted": 4, "left_out": 0}


async def test_books_and_where_they_are_used_are_named_by_their_files(sqlite_url: str, tmp_path: Path) -> None:
    async with open_story(sqlite_url, tmp_path) as story:
        runtime, viewer = story.runtime, story.viewer
        anna = await character(story, "Anna")
        bert = await character(story, "Bert", extensions={"world": "Not here"})
        harbour, second, everywhere = [
            await create_lorebook(runtime, viewer, NewLorebook(name=name)) for name in ("Harbour", "harbour", "All?")
        ]
        await add_entry(runtime, viewer, harbour.id, {"key": ["gull"], "content": "Gulls.", "odd": {"kept": 1}})
        for link in (
            NewLink(lorebook_id=harbour.id, character_id=anna.id),
            NewLink(lorebook_id=second.id, character_id=anna.id),
            NewLink(lorebook_id=everywhere.id, user_id=viewer.user_id),
        ):
            await attach_lorebook(runtime, viewer, link)
        _space_id, conversation_id = await space(story, anna)
        await attach_lorebook(runtime, viewer, NewLink(lorebook_id=second.id, conversation_id=conversation_id))
        written = await export(story, tmp_path / "out")
        assert {path for path in written.files if path.startswith("worlds/")} == {
            "worlds/All.json",
            "worlds/Harbour.json",
            "worlds/harbour1.json",
        }
        book, _report = read_book(written.read("worlds/Harbour.json"))
        (entry,) = book.entries
        assert (entry.keys, entry.content, entry.unknown["odd"]) == (("gull",), "Gulls.", {"kept": 1})
        assert b'    "entries": {' in written.read("worlds/Harbour.json")
        card = characters.load(written.read("characters/Anna.png")).card.character
        assert card.extensions["world"] == "Harbour"
        assert characters.load(written.read("characters/Bert.png")).card.character.extensions["world"] == "Not here"
        lore = written.json("settings.json")["world_info_settings"]["world_info"]
        assert lore["globalSelect"] == ["All"]
        assert lore["charLore"] == [{"name": "Anna", "extraBooks": ["harbour1"]}]
        (chat,) = [path for path in written.files if path.startswith("chats/Anna/")]
        header = written.chat(chat).header
        assert header is not None
        assert header.chat_metadata["world_info"] == "harbour1"
        assert bert.name == "Bert"


async def test_presets_of_each_kind_go_into_their_folders(sqlite_url: str, tmp_path: Path) -> None:
    async with open_story(sqlite_url, tmp_path) as story:
        runtime, viewer = story.runtime, story.viewer
        folders: dict[Kind, str] = {
            "chat": "OpenAI Settings",
            "text": "TextGen Settings",
            "instruct": "instruct",
            "context": "context",
            "system_prompt": "sysprompt",
            "reasoning": "reasoning",
        }
        for kind in folders:
            await create_preset(runtime, viewer, NewPreset(name=f"My {kind}", kind=kind))
        await create_preset(runtime, viewer, NewPreset(name="For Risu", kind="risuai"))
        whole = {"instruct": {"name": "Both", "wrap": True}, "context": {"name": "Both", "story_string": "{{char}}"}}
        await import_preset(runtime, viewer, json.dumps(whole).encode(), name="Master")
        written = await export(story, tmp_path / "out", only=("preset",))
        assert written.files == {
            *(f"{folder}/My {kind}.json" for kind, folder in folders.items()),
            "instruct/Both.json",
            "context/Both.json",
        }
        for kind, folder in folders.items():
            preset, _report = read_preset(written.read(f"{folder}/My {kind}.json"))
            assert kind_of(preset) == kind
        assert written.verdict("tavernkit/risuai/For Risu") == "left_out"


async def test_quick_replies_personas_scripts_tags_and_variables_are_in_the_settings(
    sqlite_url: str, tmp_path: Path
) -> None:
    async with open_story(sqlite_url, tmp_path) as story:
        runtime, viewer = story.runtime, story.viewer
        anna = await character(story, "Anna")
        await change_own_tags(runtime, viewer, anna.id, ["Sea", "Old friends"])
        new = NewQuickReplySet(name="Moods", buttons=[ButtonFields(label="Smile", message="{{user}} smiles.")])
        moods = await create_set(runtime, viewer, new)
        await use_set(runtime, viewer, moods.id, NewPlace(visible=False))
        await use_set(runtime, viewer, moods.id, NewPlace(character_id=anna.id))
        robin = await create_persona(
            runtime,
            viewer,
            NewPersona(
                name="Robin", title="the one", description="Short.", position="at_depth", depth=7, is_default=True
            ),
        )
        plain = await create_persona(runtime, viewer, NewPersona(name="Nobody"))
        await set_picture(runtime, viewer, robin.id, picture("red"), settings_version=0)
        await connect_character(runtime, viewer, robin.id, anna.id)
        script = {**new_script("sillytavern"), "scriptName": "Louder", "findRegex": "/a/g", "replaceString": "A"}
        await add_scripts(runtime, viewer, "global", viewer.user_id, "sillytavern", [script])
        await set_global(runtime, viewer, "gold", 12)
        written = await export(story, tmp_path / "out")
        settings = read_folder_settings(written.read("settings.json"))
        named = {persona.name: persona for persona in settings.personas}
        assert set(named) == {"Robin", "Nobody"}
        assert (named["Robin"].description, named["Robin"].position, named["Robin"].depth) == ("Short.", "at_depth", 7)
        assert (named["Robin"].title, named["Robin"].is_default) == ("the one", True)
        assert [one.written() for one in named["Robin"].connections] == [{"type": "character", "id": "Anna.png"}]
        for persona in settings.personas:
            assert written.read(f"User Avatars/{persona.avatar}").startswith(b"\x89PNG")
        assert plain.avatar_sha256 is None
        assert set(settings.tags_of("Anna.png").values()) == {"Sea", "Old friends"}
        assert [one["scriptName"] for one in settings.scripts] == ["Louder"]
        assert settings.file.variables == {"gold": 12}
        assert [(one.name, one.is_visible) for one in settings.file.quick_replies] == [("Moods", False)]
        of_anna = settings.file.character_quick_replies["Anna.png"]
        assert [(one.name, one.is_visible) for one in of_anna] == [("Moods", True)]
        read = read_set(written.read("QuickReplies/Moods.json"), name="Moods")
        assert read is not None
        assert [button["message"] for button in read[0]["qrList"]] == ["{{user}} smiles."]


async def test_a_chat_has_its_swipes_pictures_and_the_persona_it_is_locked_to(sqlite_url: str, tmp_path: Path) -> None:
    async with open_story(sqlite_url, tmp_path) as story:
        runtime, viewer = story.runtime, story.viewer
        anna = await character(story, "Anna", alternate_greetings=["Anna waves."])
        robin = await create_persona(runtime, viewer, NewPersona(name="Robin"))
        _space_id, conversation_id = await space(story, anna)
        await lock_conversation_to(runtime, viewer, conversation_id, robin.id)
        shown = picture("teal")
        uploaded = await upload_picture(runtime, viewer, conversation_id, shown, title="A door")
        await send_message(
            runtime,
            viewer,
            conversation_id,
            message_id=uuid4(),
            content="Look.",
            role="system",
            pictures=[PictureIn(id=uploaded.id)],
        )
        written = await export(story, tmp_path / "out")
        (path,) = [path for path in written.files if path.startswith("chats/Anna/")]
        assert path.startswith("chats/Anna/Anna - 20")
        assert path.endswith("ms.jsonl")
        chat = written.chat(path)
        assert [message.text for message in chat.messages] == ["Anna nods.", "Look."]
        assert chat.messages[0].swipes == ("Anna nods.", "Anna waves.")
        (shown_there,) = LooseObject(chat.messages[1].extra, ReportBuilder()).objects("media")
        media = shown_there.source
        url = str(media["url"])
        assert url.startswith("/user/images/Anna/")
        assert media["title"] == "A door"
        assert written.read(url[1:]) == shown
        settings = read_folder_settings(written.read("settings.json"))
        assert chat.header is not None
        assert chat.header.chat_metadata["persona"] in {one.avatar for one in settings.personas}


async def test_v10_branches_and_checkpoints_made_here_are_linked_both_ways(sqlite_url: str, tmp_path: Path) -> None:
    async with open_story(sqlite_url, tmp_path) as story:
        anna = await character(story, "Anna")
        _space_id, root_id = await space(story, anna)
        await narrate(story, root_id, "One.", "Two.", "Three.")
        rows = await messages(story, root_id)
        branch = await fork(story.runtime, story.viewer, root_id, rows[1].id, title="Another way")
        await narrate(story, branch.id, "Instead.")
        check = await fork(story.runtime, story.viewer, root_id, rows[2].id, kind="checkpoint", title="Before it")
        inner = (await messages(story, branch.id))[-1]
        await fork(story.runtime, story.viewer, branch.id, inner.id, title="Deeper / down")
        written = await export(story, tmp_path / "out", only=("chat",))
        folder = {path for path in written.files if path.startswith("chats/Anna/")}
        (root,) = folder - {f"chats/Anna/{name}.jsonl" for name in ("Another way", "Before it", "Deeper  down")}
        name = root.removeprefix("chats/Anna/").removesuffix(".jsonl")
        chat = written.chat(root)
        assert [message.extra.get("branches") for message in chat.messages] == [None, ["Another way"], None, None]
        assert [message.extra.get("bookmark_link") for message in chat.messages] == [None, None, "Before it", None]
        other = written.chat("chats/Anna/Another way.jsonl")
        assert other.header is not None
        assert other.header.chat_metadata["main_chat"] == name
        assert other.messages[-1].extra["branches"] == ["Deeper  down"]
        assert [message.text for message in other.messages] == ["Anna nods.", "One.", "Instead."]
        assert check.kind == "checkpoint"


async def test_a_space_with_several_characters_is_a_group(sqlite_url: str, tmp_path: Path) -> None:
    async with open_story(sqlite_url, tmp_path) as story:
        anna, bert = await character(story, "Anna"), await character(story, "Bert")
        space_id, conversation_id = await space(story, anna, bert, name="At sea")
        await narrate(story, conversation_id, "Wind.")
        written = await export(story, tmp_path / "out", space_ids=(space_id,))
        (path,) = [path for path in written.files if path.startswith("groups/")]
        group = written.json(path)
        assert (group["name"], group["members"]) == ("At sea", ["Anna.png", "Bert.png"])
        assert path == f"groups/{group['id']}.json"
        (chat,) = group["chats"]
        assert group["chat_id"] == chat
        read = written.chat(f"group chats/{chat}.jsonl")
        assert [message.original_avatar for message in read.messages] == ["Anna.png", "Bert.png", None]
        assert written.files == {
            path,
            f"group chats/{chat}.jsonl",
            "characters/Anna.png",
            "characters/Bert.png",
        }


async def test_a_selection_has_a_character_with_its_chats_and_books_and_no_settings(
    sqlite_url: str, tmp_path: Path
) -> None:
    async with open_story(sqlite_url, tmp_path) as story:
        anna, bert = await character(story, "Anna"), await character(story, "Bert")
        await space(story, anna)
        await space(story, bert)
        await space(story, anna, bert)
        book = await create_lorebook(story.runtime, story.viewer, NewLorebook(name="Harbour"))
        await create_lorebook(story.runtime, story.viewer, NewLorebook(name="Other"))
        await attach_lorebook(story.runtime, story.viewer, NewLink(lorebook_id=book.id, character_id=anna.id))
        written = await export(story, tmp_path / "out", character_ids=(anna.id,))
        (chat,) = [path for path in written.files if path.startswith("chats/")]
        assert written.files == {"characters/Anna.png", "worlds/Harbour.json", chat}


async def test_nothing_of_others_is_exported(sqlite_url: str, tmp_path: Path) -> None:
    async with open_story(sqlite_url, tmp_path) as story:
        other = await somebody_else(story)
        anna = await character(story, "Anna")
        space_id, _conversation_id = await space(story, anna)
        await create_persona(story.runtime, story.viewer, NewPersona(name="Robin"))
        written = await export(story, tmp_path / "out", other)
        assert written.files == {"settings.json"}
        assert written.json("settings.json")["power_user"]["personas"] == {}
        administrator = other.with_(role="administrator")
        of_character = export(story, tmp_path / "none", administrator, character_ids=(anna.id,))
        of_space = export(story, tmp_path / "none", administrator, space_ids=(space_id,))
        assert [(await refusal_of(one)).code for one in (of_character, of_space)] == ["not_found", "not_found"]


async def test_emotions_become_sprites_and_what_has_no_place_is_reported(sqlite_url: str, tmp_path: Path) -> None:
    async with open_story(sqlite_url, tmp_path) as story:
        anna = await character(story, "Anna")
        joy = picture("yellow")
        await add_pictures(
            story.runtime, story.viewer, anna.id, [NewPicture(filename="joy.png", data=joy)], kind="emotion"
        )
        written = await export(story, tmp_path / "out")
        assert sha256(written.read("characters/Anna/joy.png")).hexdigest() == sha256(joy).hexdigest()
        assert "1 earlier version" in written.notes("tavernkit/character versions")
