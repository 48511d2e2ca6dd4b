"""RisuAI's backups: what each part becomes, what it becomes when it is imported again, and how it is written back."""

from __future__ import annotations

import asyncio
import hashlib
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from PIL import Image
from sqlalchemy import select

from tavernkit import User, risuai
from tavernkit.migration.files import SourceFile
from tavernkit.migration.risuai import open_risuai, write_backup
from tavernkit.playground.base.database.models import (
    TABLES,
    Blob,
    Character,
    CharacterAsset,
    Conversation,
    FolderImport,
    ImportedFile,
    ImportSource,
    Lorebook,
    LorebookLink,
    Message,
    Persona,
    PersonaConnection,
    Preset,
    ScriptList,
    Space,
    SpaceMembership,
)
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.story.characters.service import edit_character
from tavernkit.playground.story.messages.service import edit_message
from tavernkit.playground.story.migration.choices import ImportChoices
from tavernkit.playground.story.migration.items import ImportJob, Item, ItemOutcome
from tavernkit.playground.story.migration.markers import marker_of
from tavernkit.playground.story.migration.risuai import HANDLERS
from tavernkit.playground.story.migration.risuai_writing import risuai_bytes
from tavernkit.playground.story.paths.variables import get_globals, get_variables, set_variable
from tavernkit.playground.story.personas.documents import PatchPersona
from tavernkit.playground.story.personas.service import update_persona
from tavernkit.playground.story.presets.documents import PatchPreset
from tavernkit.playground.story.presets.queries import default_preset_id
from tavernkit.playground.story.presets.service import update_preset
from tavernkit.playground.story.settings_schema.resolving import effective
from tavernkit.reading import LooseObject, ReportBuilder
from tavernkit.risuai.character import read_character
from tavernkit.risuai.chat import read_message
from tavernkit.risuai.chat_history import to_history
from tavernkit.values import JsonObject
from tests.migration.risuai.backups import (
    ANNA,
    BRANCH,
    FIRST,
    GROUP,
    character,
    chat,
    database,
    message,
    write_backup_file,
)
from tests.playground.prompting.prompt_story import PromptStory, texts
from tests.playground.stories import Story, open_story

pytestmark = pytest.mark.anyio

BEN = "a0000000-0000-4000-8000-000000000002"
OTHER_ANNA = "a0000000-0000-4000-8000-000000000003"
TRASHED = "a0000000-0000-4000-8000-000000000004"
RANKS = {
    "risuai_module": 20,
    "risuai_preset": 20,
    "risuai_asset": 40,
    "risuai_character": 50,
    "risuai_persona": 70,
    "risuai_root": 80,
    "risuai_chat": 100,
}


def picture(format: str = "PNG", color: str = "red") -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (8, 12), color).save(buffer, format)
    return buffer.getvalue()


FACE, SMILE, ICON = "face.png", "smile.png", "icon.png"
FILES = {FACE: picture(), SMILE: picture("WEBP", "blue"), ICON: picture(color="green")}
LORE = [{"key": "dragon", "comment": "Dragon", "content": "@@depth 2\nGreen.", "mode": "normal", "insertorder": 10,
         "alwaysActive": False, "secondkey": "", "selective": False}]  # fmt: skip
SCRIPT = {"comment": "Loud", "in": "hi", "out": "HI", "type": "editdisplay", "ableFlag": False}


def story() -> dict[str, Any]:
    """A database with something of everything."""
    anna = character(
        ANNA,
        "Anna",
        chat(
            FIRST,
            message("Good morning.", chatId="m1", time=1_700_000_000_123, generationInfo={"model": "x"}),
            message("Hello!", role="user", chatId="m2", time=1_700_000_001_000),
            message("Not this.", disabled=True),
            message("A note of mine.", isComment=True, disabled=True),
            name="Breakfast",
            note="Be brief.",
            scriptstate={"$mood": "glad", "plain": 1},
            localLore=LORE,
            bindedPersona="poet",
            modules=["extra"],
            hypaV3Data={"summaries": [{"text": "They met.", "chatMemos": ["m1"], "isImportant": False}]},
            bookmarks=["m2"],
            folderId="f1",
            fmIndex=0,
            lastDate=1_700_000_002_000,
        ),
        chat(
            BRANCH,
            message("Good morning.", chatId="b1"),
            message(f"{{{{specialcomment::branchedfrom::{FIRST}::Breakfast::m1::}}}}", isComment=True, disabled=True),
            message("Go away.", role="user"),
            name="Breakfast (Branch)",
            fmIndex=0,
        ),
        image=f"assets/{FACE}",
        emotionImages=[["happy", f"assets/{SMILE}"]],
        additionalAssets=[["room", f"assets/{FACE}", "png"]],
        globalLore=LORE,
        customscript=[SCRIPT],
        virtualscript="run()",
        chatFolders=[{"id": "f1", "name": "Mornings", "folded": False}],
        realmId="realm-1",
        creatorNotes="By me.",
        tags=["kind"],
    )
    return database(
        anna,
        character(OTHER_ANNA, "Anna", desc="Another Anna."),
        character(TRASHED, "Gone", chat("c0000000-0000-4000-8000-000000000009", message("Bye.")), trashTime=5),
        username="Mia",
        personas=[
            {"name": "Mia", "personaPrompt": "A baker.", "icon": f"assets/{ICON}", "id": "baker"},
            {"name": "Zoe", "personaPrompt": "A poet.", "icon": "", "id": "poet", "note": "n"},
        ],
        selectedPersona=0,
        modules=[
            {"name": "Magic", "description": "", "id": "magic", "lorebook": LORE, "cjs": "run()"},
            {"name": "Extra", "description": "", "id": "extra"},
        ],
        enabledModules=["magic"],
        botPresets=[
            {"name": "Plain", "mainPrompt": "Write."},
            {"name": "Mine", "mainPrompt": "Tell.", "openAIKey": ""},
        ],
        botPresetsId=1,
        globalChatVariables={"toggle_loud": "1"},
        globalscript=[SCRIPT],
        plugins=[{"name": "p", "script": "steal()"}],
    )


class Importer:
    """Imports a backup item by item, as the job does it."""

    def __init__(self, play: Story, folder: Path) -> None:
        self.play, self.folder, self.source_id = play, folder, uuid4()

    async def run(
        self, data: JsonObject, files: dict[str, bytes] | None = None, **choices: Any
    ) -> dict[str, ItemOutcome]:
        """Import what is new or has changed; what became of each part."""
        source = open_risuai(write_backup_file(self.folder, data, FILES if files is None else files))
        assert source is not None
        runtime, now = self.play.runtime, self.play.runtime.clock()
        async with runtime.database.write() as session:
            if await session.get(ImportSource, self.source_id) is None:
                session.add(
                    ImportSource(
                        id=self.source_id, owner_id=self.play.user_id, application="risuai", name="", created_at=now,
                        updated_at=now,
                    )
                )  # fmt: skip
                await session.flush()
            opened = FolderImport(id=uuid4(), owner_id=self.play.user_id, created_at=now, updated_at=now)
            session.add(opened)
        job = ImportJob(
            runtime=runtime,
            viewer=self.play.viewer,
            source=source,
            source_id=self.source_id,
            import_id=opened.id,
            choices=ImportChoices(**choices),
            now=now,
        )
        listed = [file for file in source.files() if isinstance(file, SourceFile) and file.kind in RANKS]
        outcomes: dict[str, ItemOutcome] = {}
        for position, file in sorted(enumerate(listed), key=lambda one: (RANKS[one[1].kind], one[0])):
            data_of_file = source.open(file.path).read()
            sha256 = hashlib.sha256(data_of_file).hexdigest()
            async with runtime.database.write() as session:
                known = await session.get(ImportedFile, (self.source_id, file.path))
                if known is not None and known.sha256 == sha256:
                    continue
                item = Item(
                    position=position, path=file.path, kind=file.kind, detail=file.detail, size=file.size,
                    modified=None, sha256=sha256, state="new" if known is None else "changed", plan={},
                    conflict=job.choices.conflict,
                )  # fmt: skip
                if known is not None and known.target_id is not None:
                    kind: Any = known.target_kind
                    marker = await marker_of(session, kind, known.target_id)
                    item = item.with_(
                        target_kind=kind, target_id=known.target_id, is_changed_here=marker != known.marker
                    )
                handler = HANDLERS[file.kind]
                try:
                    prepared = await asyncio.to_thread(handler.prepare, job, item, data_of_file)
                    outcome = await handler.store(session, job, item, prepared)
                except Refused as refused:
                    outcomes[file.path] = ItemOutcome(verdict="refused", notes=(refused.sentence,))
                    continue
                outcomes[file.path] = outcome
                await session.flush()
                if outcome.verdict == "skipped":
                    continue
                target: Any = outcome.target_kind
                marker = None if outcome.target_id is None else await marker_of(session, target, outcome.target_id)
                await session.merge(
                    ImportedFile(
                        source_id=self.source_id, path=file.path, kind=file.kind, size=file.size, sha256=sha256,
                        target_kind=outcome.target_kind, target_id=outcome.target_id, marker=marker or "",
                    )
                )  # fmt: skip
        return outcomes

    async def originals(self) -> dict[str, tuple[bytes, ImportedFile]]:
        """The parts of the backup that became something, and what they became."""
        source = open_risuai(self.folder / "risu-backup.bin")
        assert source is not None
        async with self.play.runtime.database.read() as session:
            files = (await session.scalars(select(ImportedFile))).all()
        return {file.path: (source.open(file.path).read(), file) for file in files if file.target_id is not None}

    async def written(self, path: str) -> dict[str, Any]:
        """A part as it is now."""
        original, file = (await self.originals())[path]
        assert file.target_id is not None
        data = await risuai_bytes(
            self.play.runtime, self.play.viewer, _kind(file), file.target_id, original, source_id=self.source_id
        )
        assert data is not None
        found: dict[str, Any] = json.loads(data)
        return found


def _kind(file: ImportedFile) -> Any:
    return file.kind


async def rows(play: Story, model: Any, *conditions: Any) -> Sequence[Any]:
    async with play.runtime.database.read() as session:
        found: Sequence[Any] = (await session.scalars(select(model).where(*conditions))).all()
        return found


async def target(play: Story, outcomes: dict[str, ItemOutcome], path: str, model: Any) -> Any:
    async with play.runtime.database.read() as session:
        return await session.get_one(model, outcomes[path].target_id)


async def said(play: Story, conversation_id: UUID | None) -> list[tuple[str, str, str]]:
    """The messages of a conversation: role, visibility, text."""
    assert conversation_id is not None
    return [(row.role, row.visibility, row.content) for row in await play.rows(conversation_id)]


ANNAS = f"characters/{ANNA}.json"
CHAT = f"chats/{ANNA}/{FIRST}.json"
BRANCHED = f"chats/{ANNA}/{BRANCH}.json"


async def test_a_character_becomes_a_card_of_risuai_with_its_pictures(sqlite_url: str, tmp_path: Path) -> None:
    async with open_story(sqlite_url, tmp_path) as play:
        found = await Importer(play, tmp_path).run(story())
        anna = await target(play, found, ANNAS, Character)
        data = anna.data["data"]
        assert (anna.name, data["description"], data["first_mes"]) == ("Anna", "Anna is kind.", "I am Anna.")
        assert (data["creator_notes"], anna.tags) == ("By me.", ["kind"])
        assert data["character_book"]["entries"][0]["content"] == "@@depth 2\nGreen."
        assert data["extensions"]["risuai"]["customScripts"] == [SCRIPT]
        assert anna.avatar_sha256 is not None
        assets = await rows(play, CharacterAsset, CharacterAsset.character_id == anna.id)
        assert {(one.kind, one.name, one.uri) for one in assets} == {
            ("emotion", "happy", "embeded://assets/smile.png"),
            ("x-risu-asset", "room", "embeded://assets/face.png"),
        }
        assert found[ANNAS].verdict == "converted"
        assert any("never run: a script" in note for note in found[ANNAS].notes)


async def test_v04_namesakes_are_several_characters(sqlite_url: str, tmp_path: Path) -> None:
    async with open_story(sqlite_url, tmp_path) as play:
        found = await Importer(play, tmp_path).run(story())
        assert found[ANNAS].target_id != found[f"characters/{OTHER_ANNA}.json"].target_id
        other = await target(play, found, f"characters/{OTHER_ANNA}.json", Character)
        assert other.data["data"]["description"] == "Another Anna."


async def test_v16_the_type_of_an_asset_is_told_by_its_content_and_its_name_kept(
    sqlite_url: str, tmp_path: Path
) -> None:
    async with open_story(sqlite_url, tmp_path) as play:
        importer = Importer(play, tmp_path)
        await importer.run(story())
        (smile,) = await rows(play, CharacterAsset, CharacterAsset.name == "happy")
        (blob,) = await rows(play, Blob, Blob.sha256 == smile.sha256)
        assert (blob.media_type, smile.uri) == ("image/webp", "embeded://assets/smile.png")
        assert (await importer.written(ANNAS))["emotionImages"] == [["happy", f"assets/{SMILE}"]]


async def test_chats_become_conversations_in_one_space_of_the_character(sqlite_url: str, tmp_path: Path) -> None:
    async with open_story(sqlite_url, tmp_path) as play:
        found = await Importer(play, tmp_path).run(story())
        first = await target(play, found, CHAT, Conversation)
        branch = await target(play, found, BRANCHED, Conversation)
        assert (first.title, first.kind) == ("Breakfast", "root")
        assert first.updated_at.timestamp() == 1_700_000_002
        assert await said(play, first.id) == [
            ("assistant", "normal", "Hello again."),
            ("assistant", "normal", "Good morning."),
            ("user", "normal", "Hello!"),
            ("assistant", "excluded", "Not this."),
            ("system", "excluded", "A note of mine."),
        ]
        greeting = (await play.rows(first.id))[0]
        assert [swipe.content for swipe in await play.swipes(greeting.id)] == ["I am Anna.", "Hello again."]
        assert branch.space_id == first.space_id
        assert (branch.kind, branch.parent_conversation_id) == ("branch", first.id)
        assert branch.forked_from_message_id == (await play.rows(first.id))[1].id
        assert await get_variables(play.runtime, play.viewer, first.id) == {"mood": "glad"}
        assert first.settings["authors_note"]["text"] == "Be brief."
        kept = first.settings["chat_file"]["header"]["unknown"]["risuai"]
        assert kept["hypaV3Data"]["summaries"][0]["text"] == "They met."
        assert (kept["bookmarks"], kept["folderId"]) == (["m2"], "f1")
        (link,) = await rows(play, LorebookLink, LorebookLink.conversation_id == first.id)
        (book,) = await rows(play, Lorebook, Lorebook.id == link.lorebook_id)
        assert book.entries_count == 1


async def test_spaces_have_the_selected_preset_persona_and_modules(sqlite_url: str, tmp_path: Path) -> None:
    async with open_story(sqlite_url, tmp_path) as play:
        found = await Importer(play, tmp_path).run(story())
        first = await target(play, found, CHAT, Conversation)
        async with play.runtime.database.read() as session:
            space = await session.get_one(Space, first.space_id)
            settings = effective(space, conversation=first).settings
            assert await default_preset_id(session, play.user_id) == found["presets/1.json"].target_id
        assert (settings.prompt.platform, settings.prompt.regex_scripts) == ("risuai", False)
        assert settings.model.preset_id == found["presets/1.json"].target_id
        assert effective(space).settings.prompt.modules == [found["modules/magic.json"].target_id]
        assert settings.prompt.modules == [
            found["modules/magic.json"].target_id,
            found["modules/extra.json"].target_id,
        ]
        (human,) = await rows(
            play, SpaceMembership, SpaceMembership.space_id == space.id, SpaceMembership.kind == "human"
        )
        assert human.persona_id == found["personas/baker.json"].target_id
        (lock,) = await rows(play, PersonaConnection, PersonaConnection.conversation_id == first.id)
        assert lock.persona_id == found["personas/poet.json"].target_id
        baker = await target(play, found, "personas/baker.json", Persona)
        assert (baker.name, baker.description, baker.is_default) == ("Mia", "A baker.", True)
        assert baker.avatar_sha256 is not None
        module = await target(play, found, "modules/magic.json", Preset)
        assert (module.kind, module.name, module.data["cjs"]) == ("module", "Magic", "run()")
        assert any("never run" in note for note in found["modules/magic.json"].notes)


async def test_v13_scripts_for_all_chats_arrive_switched_off_unless_somebody_chose_otherwise(
    sqlite_url: str, tmp_path: Path
) -> None:
    async with open_story(sqlite_url, tmp_path) as play:
        found = await Importer(play, tmp_path).run(story())
        (scripts,) = await rows(play, ScriptList, ScriptList.owner_id == play.user_id)
        assert scripts.data["risuai"] == [{**SCRIPT, "type": "disabled"}]
        assert await get_globals(play.runtime, play.viewer) == {"toggle_loud": "1"}
        assert any("plugins" in note for note in found["database.json"].notes)
        again = await Importer(play, tmp_path).run(story(), enable_scripts=True)
        (scripts,) = await rows(play, ScriptList, ScriptList.owner_id == play.user_id)
        assert len(scripts.data["risuai"]) == 1
        first = await target(play, again, CHAT, Conversation)
        async with play.runtime.database.read() as session:
            assert effective(await session.get_one(Space, first.space_id)).settings.prompt.regex_scripts is True


async def test_characters_in_the_trash_are_kept_with_their_chats(sqlite_url: str, tmp_path: Path) -> None:
    async with open_story(sqlite_url, tmp_path) as play:
        found = await Importer(play, tmp_path).run(story())
        gone = {path: outcome.verdict for path, outcome in found.items() if TRASHED in path}
        assert set(gone.values()) == {"kept"}
        assert len(gone) == 2
        assert any("trash" in note for note in found[f"characters/{TRASHED}.json"].notes)


async def test_v12_planted_secrets_are_in_no_table(sqlite_url: str, tmp_path: Path) -> None:
    data = story()
    data |= {"openAIKey": "SESAME", "account": {"token": "SESAME"}, "novelai": {"token": "SESAME", "model": "m"}}
    data["botPresets"][0]["proxyKey"] = "SESAME"
    data["plugins"][0]["realArg"] = {"key": "SESAME"}
    async with open_story(sqlite_url, tmp_path) as play:
        await Importer(play, tmp_path).run(data)
        async with play.runtime.database.read() as session:
            for table in TABLES.values():
                stored = (await session.execute(select(table))).all()
                assert "SESAME" not in repr(stored), table.name


def group_story() -> dict[str, Any]:
    group = character(
        GROUP,
        "Everybody",
        chat(
            FIRST,
            message("One.", saying=ANNA),
            message("Two.", saying=OTHER_ANNA),
            message("Three.", saying=BEN),
            message("Four.", role="user"),
            message("Five.", saying="nobody"),
        ),
        type="group",
        characters=[BEN, ANNA, OTHER_ANNA, "missing"],
        characterTalks=[0.5, 1, 1, 1],
        characterActive=[True, False, True, True],
        orderByOrder=True,
        firstMessage="",
        alternateGreetings=[],
        globalLore=LORE,
        customscript=[SCRIPT],
    )
    return database(group, character(ANNA, "Anna"), character(OTHER_ANNA, "Anna"), character(BEN, "Ben"))


async def test_a_group_becomes_a_space_with_its_members(sqlite_url: str, tmp_path: Path) -> None:
    async with open_story(sqlite_url, tmp_path) as play:
        importer = Importer(play, tmp_path)
        found = await importer.run(group_story(), {})
        space = await target(play, found, f"characters/{GROUP}.json", Space)
        assert (space.name, space.reply_order) == ("Everybody", "list")
        members = await rows(
            play, SpaceMembership, SpaceMembership.space_id == space.id, SpaceMembership.status == "active",
            SpaceMembership.kind == "character",
        )  # fmt: skip
        ids = {found[f"characters/{id}.json"].target_id: id for id in (ANNA, OTHER_ANNA, BEN)}
        members = sorted(members, key=lambda member: member.position)
        assert [(ids[one.character_id], one.participation, one.talkativeness) for one in members] == [
            (BEN, "active", 0.5),
            (ANNA, "muted", 1.0),
            (OTHER_ANNA, "active", 1.0),
        ]
        assert "missing" in " ".join(found[f"characters/{GROUP}.json"].notes)
        conversation_id = found[f"chats/{GROUP}/{FIRST}.json"].target_id
        everybody = {one.id: ids.get(one.character_id) for one in await rows(play, SpaceMembership)}
        messages = await rows(play, Message, Message.conversation_id == conversation_id)
        speakers = [everybody[one.membership_id] for one in sorted(messages, key=lambda one: one.seq)]
        assert speakers == [ANNA, OTHER_ANNA, BEN, None, None]
        assert len(await rows(play, LorebookLink, LorebookLink.space_id == space.id)) == 1
        (scripts,) = await rows(play, ScriptList, ScriptList.space_id == space.id)
        assert scripts.data["risuai"][0]["type"] == "disabled"
        assert await importer.written(f"characters/{GROUP}.json") == json.loads(
            (await importer.originals())[f"characters/{GROUP}.json"][0]
        )


async def test_v17_importing_the_same_backup_again_changes_nothing(sqlite_url: str, tmp_path: Path) -> None:
    async with open_story(sqlite_url, tmp_path) as play:
        importer = Importer(play, tmp_path)
        await importer.run(story())
        tables = (Character, Conversation, Preset, Persona, Space, Lorebook, Message)
        before = [len(await rows(play, table)) for table in tables]
        again = await importer.run(story())
        assert {path for path in again if TRASHED not in path} == set()
        assert [len(await rows(play, table)) for table in tables] == before


async def test_v17_what_was_changed_in_risuai_is_brought_up_to_date(sqlite_url: str, tmp_path: Path) -> None:
    async with open_story(sqlite_url, tmp_path) as play:
        importer = Importer(play, tmp_path)
        found = await importer.run(story())
        data = story()
        anna = data["characters"][0]
        anna["desc"] = "Anna is stern."
        anna["chats"][0]["message"].append(message("And then?", role="user"))
        anna["chats"][0]["localLore"] = [{**LORE[0], "content": "Blue."}]
        anna["chats"].append(chat("c0000000-0000-4000-8000-000000000007", message("New."), name="Lunch"))
        data["personas"][0]["personaPrompt"] = "A cook."
        data["botPresets"][0]["mainPrompt"] = "Write well."
        again = await importer.run(data)
        assert {path: again[path].target_id for path in again if path in found} == {
            path: found[path].target_id for path in again if path in found
        }
        row = await target(play, again, ANNAS, Character)
        assert (row.version, row.data["data"]["description"]) == (2, "Anna is stern.")
        assert (await said(play, again[CHAT].target_id))[-1] == ("user", "normal", "And then?")
        assert (await target(play, again, "personas/baker.json", Persona)).description == "A cook."
        assert (await target(play, again, "presets/0.json", Preset)).data["mainPrompt"] == "Write well."
        new = await target(play, again, f"chats/{ANNA}/c0000000-0000-4000-8000-000000000007.json", Conversation)
        assert new.space_id == (await target(play, again, CHAT, Conversation)).space_id
        assert (await importer.written(CHAT))["localLore"] == anna["chats"][0]["localLore"]


async def test_a_character_that_was_only_played_gets_no_new_version(sqlite_url: str, tmp_path: Path) -> None:
    async with open_story(sqlite_url, tmp_path) as play:
        importer = Importer(play, tmp_path)
        await importer.run(story())
        data = story()
        data["characters"][0]["chatPage"] = 1
        again = await importer.run(data)
        assert (await target(play, again, ANNAS, Character)).version == 1


async def test_what_was_changed_on_both_sides_is_kept_replaced_or_imported_beside(
    sqlite_url: str, tmp_path: Path
) -> None:
    async with open_story(sqlite_url, tmp_path) as play:
        importer = Importer(play, tmp_path)
        path = "presets/0.json"
        found = await importer.run(story())
        row = await target(play, found, path, Preset)
        for conflict, verdict, here in (
            ("keep", "skipped", "Here."),
            ("replace", "exact", "There."),
            ("both", "exact", "There."),
        ):
            row = await target(play, found, path, Preset)
            patch = PatchPreset(settings_version=row.settings_version, data={"mainPrompt": "Here."})
            await update_preset(play.runtime, play.viewer, row.id, patch)
            data = story()
            data["botPresets"][0] |= {"mainPrompt": "There.", "name": f"Plain {conflict}"}
            outcome = (await importer.run(data, conflict=conflict))[path]
            assert outcome.verdict == verdict
            kept = await target(play, {path: outcome}, path, Preset)
            assert (kept.data["mainPrompt"], kept.id == row.id) == (here, conflict != "both")
            assert (kept.name == f"Plain {conflict}") is (conflict != "keep")


async def test_a_chat_that_parted_becomes_a_branch(sqlite_url: str, tmp_path: Path) -> None:
    async with open_story(sqlite_url, tmp_path) as play:
        importer = Importer(play, tmp_path)
        found = await importer.run(story())
        last = (await play.rows(found[CHAT].target_id))[2]
        await edit_message(play.runtime, play.viewer, last.id, content="Hi there!", revision=last.revision)
        data = story()
        data["characters"][0]["chats"][0]["message"][1]["data"] = "Hullo."
        again = await importer.run(data)
        branch = await target(play, again, CHAT, Conversation)
        assert branch.parent_conversation_id == found[CHAT].target_id
        assert (await said(play, branch.id))[2] == ("user", "normal", "Hullo.")


async def test_v20_what_nobody_has_changed_is_written_back_as_it_was(sqlite_url: str, tmp_path: Path) -> None:
    async with open_story(sqlite_url, tmp_path) as play:
        importer = Importer(play, tmp_path)
        await importer.run(story())
        originals = await importer.originals()
        assert len(originals) == 11
        for path, (original, file) in originals.items():
            assert file.target_id is not None
            written = await risuai_bytes(
                play.runtime, play.viewer, _kind(file), file.target_id, original, source_id=importer.source_id
            )
            assert written is not None
            assert written == original, path


async def test_what_was_changed_here_is_written_and_the_rest_kept(sqlite_url: str, tmp_path: Path) -> None:
    async with open_story(sqlite_url, tmp_path) as play:
        importer = Importer(play, tmp_path)
        found = await importer.run(story())
        anna = await target(play, found, ANNAS, Character)
        fields = {"description": "Anna is stern.", "creator_notes": "By us."}
        await edit_character(play.runtime, play.viewer, anna.id, version=anna.version, fields=fields)
        second = (await play.rows(found[CHAT].target_id))[1]
        await edit_message(play.runtime, play.viewer, second.id, content="Good evening.", revision=second.revision)
        assert found[CHAT].target_id is not None
        await set_variable(play.runtime, play.viewer, found[CHAT].target_id, "mood", "sad")
        persona = await target(play, found, "personas/poet.json", Persona)
        patch = PatchPersona(settings_version=persona.settings_version, name="Zed")
        await update_persona(play.runtime, play.viewer, persona.id, patch)
        written = await importer.written(ANNAS)
        original = story()["characters"][0]
        assert (written["desc"], written["creatorNotes"]) == ("Anna is stern.", "By us.")
        assert (written["virtualscript"], written["globalLore"], written["chaId"]) == ("run()", LORE, ANNA)
        chat_now, chat_before = await importer.written(CHAT), original["chats"][0]
        assert chat_now["message"][0] == {**chat_before["message"][0], "data": "Good evening."}
        assert chat_now["message"][1:] == chat_before["message"][1:]
        assert chat_now["scriptstate"] == {"plain": 1, "$mood": "sad"}
        assert chat_now["hypaV3Data"] == chat_before["hypaV3Data"]
        assert (await importer.written("personas/poet.json"))["name"] == "Zed"


async def test_what_was_made_here_is_written_as_parts_that_are_read_back(sqlite_url: str, tmp_path: Path) -> None:
    async with open_story(sqlite_url, tmp_path) as play:
        conversation = await play.conversation()
        (person,) = await rows(play, Character)
        name, story_id = f"characters/{person.id}.json", f"chats/{person.id}/{conversation.id}.json"
        parts = {
            name: await risuai_bytes(play.runtime, play.viewer, "risuai_character", person.id),
            story_id: await risuai_bytes(play.runtime, play.viewer, "risuai_chat", conversation.id),
        }
        file = io.BytesIO()
        write_backup(file, parts, lambda path: parts[path] or b"")
        (tmp_path / "made.bin").write_bytes(file.getvalue())
        source = open_risuai(tmp_path / "made.bin")
        assert source is not None
        written = json.loads(source.open(name).read())
        assert (written["name"], written["chats"]) == (person.name, [str(conversation.id)])
        assert json.loads(source.open(story_id).read())["message"] == []


async def test_the_prompt_of_an_imported_chat_is_that_of_the_original(sqlite_url: str, tmp_path: Path) -> None:
    async with open_story(sqlite_url, tmp_path) as play:
        data = story()
        person = data["characters"][0]
        person |= {"customscript": [], "desc": "{{char}} bakes with {{user}}.", "firstMessage": "I am {{char}}."}
        person["chats"][0] |= {"fmIndex": -1, "bindedPersona": "", "modules": []}
        person["chats"][0]["message"] += [message("What is there?"), message("A dragon!", role="user")]
        found = await Importer(play, tmp_path).run(data)
        conversation = await target(play, found, CHAT, Conversation)
        built = PromptStory(play.runtime, play.user_id, conversation.id)
        built.people = list(await rows(play, SpaceMembership, SpaceMembership.space_id == conversation.space_id))
        prompt = await built.prompt("Anna")
        report = ReportBuilder()
        chat_of_file = person["chats"][0]
        plan = risuai.build(
            story=risuai.Story(
                character=read_character(LooseObject(person, report)),
                modules=(risuai.read_module(LooseObject(data["modules"][0], report)),),
                note="Be brief.",
                lore=risuai.read_lore(LooseObject(chat_of_file, report).objects("localLore")),
            ),
            user=User(name="Mia", persona="A baker."),
            history=to_history([read_message(LooseObject(one, report)) for one in chat_of_file["message"]]),
            preset=risuai.read_settings(LooseObject(data["botPresets"][1], report)),
            keep_user_message=True,
        )
        assert texts(prompt) == [one.content for one in plan.plan.messages]
