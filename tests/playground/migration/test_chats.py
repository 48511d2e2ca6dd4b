"""Chats of a folder become conversations, and conversations become those files again."""

import json
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from tavernkit.playground.base.database.models import (
    Character,
    ConversationInjection,
    ImportedFile,
    ImportItem,
    LorebookLink,
    MessagePicture,
)
from tavernkit.playground.story.access.personas import locked_persona
from tavernkit.playground.story.chatfiles.exporting import FolderNames
from tavernkit.playground.story.conversations.forking import fork
from tavernkit.playground.story.messages.service import edit_message, select_swipe
from tavernkit.playground.story.migration.choices import ImportChoices
from tavernkit.playground.story.paths.state import state_at
from tests.playground.migration.folder_chats import imported_story, lines, png, said

pytestmark = pytest.mark.anyio

HEADER: dict[str, Any] = {"chat_metadata": {}, "user_name": "Sam", "character_name": "Mira"}


def header(**metadata: Any) -> dict[str, Any]:
    return {**HEADER, "chat_metadata": metadata}


async def test_v05_a_folder_of_chats_belongs_to_the_card_of_its_name(database_url: str, tmp_path: Path) -> None:
    async with imported_story(database_url, tmp_path) as story:
        mira, other = await story.card("Mira.png", "Mira"), await story.card("Mira1.png", "Mira")
        odd = await story.card("dots.png.png", "Dots")
        first = await story.add("chats/Mira/one.jsonl", lines(HEADER, said("Mira", "Hi.")))
        second = await story.add("chats/Mira/two.jsonl", lines(HEADER, said("Mira", "Ho.")))
        namesake = await story.add("chats/Mira1/one.jsonl", lines(HEADER, said("Mira", "Ha.")))
        dots = await story.add("chats/dots.png/one.jsonl", lines(HEADER, said("Dots", "...")))
        spaces = [await story.space_of(one) for one in (first, second, namesake, dots)]
        assert [space.name for space in spaces] == ["Mira", "Mira", "Mira", "Dots"]
        assert spaces[0].id == spaces[1].id != spaces[2].id
        cast = [{row.character_id for row in (await story.members(space.id)).values()} for space in spaces]
        assert [mira in cast[0], other in cast[2], odd in cast[3]] == [True, True, True]
        assert (await story.conversation_of(first)).title == "one"
        assert (first.verdict, first.notes) == ("exact", ())


async def test_v05_case_and_accents_decide_only_where_one_card_is_meant(sqlite_url: str, tmp_path: Path) -> None:
    async with imported_story(sqlite_url, tmp_path) as story:
        zoe = await story.card("Zo\u00e9.png", "Zoé")
        await story.card("anna.png", "anna")
        await story.card("ANNA.PNG", "ANNA")
        accents = await story.add("chats/zoe\u0301/a.jsonl", lines(HEADER, said("Zoé", "Hi.")))
        exact = await story.add("chats/anna/a.jsonl", lines(HEADER, said("anna", "Hi.")))
        neither = await story.add("chats/Anna/a.jsonl", lines(HEADER, said("Anna", "Hi.")))
        cast = [await story.members((await story.space_of(one)).id) for one in (accents, exact, neither)]
        assert zoe in {row.character_id for row in cast[0].values()}
        async with story.runtime.database.read() as session:
            names = [
                {(await session.get_one(Character, row.character_id)).name for row in rows.values() if row.character_id}
                for rows in cast[1:]
            ]
        assert names == [{"anna"}, {"Mira"}]


async def test_v06_chats_without_a_card_get_a_character_that_the_card_can_replace(
    database_url: str, tmp_path: Path
) -> None:
    async with imported_story(database_url, tmp_path) as story:
        orphan = await story.add("chats/Gone/a.jsonl", lines(HEADER, said("Mira", "Hi.")))
        again = await story.add("chats/Gone/b.jsonl", lines(HEADER, said("Mira", "Ho.")))
        loose = await story.add("chats/Mira.jsonl", lines({**HEADER, "character_name": "Gone"}, said("Mira", "Hm.")))
        spaces = {(await story.space_of(one)).id for one in (orphan, again, loose)}
        assert len(spaces) == 1
        async with story.runtime.database.read() as session:
            file = await session.get_one(ImportedFile, (story.job.source_id, "characters/Gone.png"))
            stand_in = await session.get_one(Character, file.target_id)
        assert (file.kind, file.sha256, file.kept_sha256) == ("character", "", None)
        assert file.marker
        assert stand_in.name == "Mira"
        assert stand_in.id in {row.character_id for row in (await story.members(spaces.pop())).values()}


async def test_a_resumed_import_finds_the_space_of_a_character_again(database_url: str, tmp_path: Path) -> None:
    async with imported_story(database_url, tmp_path) as story:
        await story.card("Mira.png", "Mira")
        first = await story.add("chats/Mira/one.jsonl", lines(HEADER, said("Mira", "Hi.")))
        story.job.cache.clear()
        second = await story.add("chats/Mira/two.jsonl", lines(HEADER, said("Mira", "Ho.")))
        story.job.cache.clear()
        loose = await story.add("chats/x.jsonl", lines(HEADER, said("Mira", "Ho.")))
        spaces = {(await story.space_of(one)).id for one in (first, second, loose)}
        assert len(spaces) == 1


EVERYTHING = [
    said("Sam", "Hi."),
    said("Mira", "Same.", swipes=["Same.", "Same.", "Other."], swipe_id=1,
         swipe_info=[{"send_date": DATE_1, "extra": {"reasoning": "First."}} for DATE_1 in ("a", "b")]),
    said("Mira", "First.", swipes=["First.", "Second."], swipe_id=0, swipe_info=[{"extra": {}}, {"extra": {}}],
         extra={"reasoning": "Hm.", "model": "m", "display_text": "Erste."}),
    said("Mira", "Hidden.", is_system=True),
    said("Sam", "Night falls.", is_user=False, extra={"type": "narrator"}),
    said("Mira", "Out of range.", swipes=["Out of range."], swipe_id=7, swipe_info=[]),
    said("Mira", "Earlier.", send_date="June 19, 2023 2:20pm"),
    said("Mira", "As a number.", send_date=1_700_000_000_000),
]  # fmt: skip


async def test_v08_all_that_a_chat_says_is_there_and_comes_back(database_url: str, tmp_path: Path) -> None:
    async with imported_story(database_url, tmp_path) as story:
        await story.card("Mira.png", "Mira")
        file = lines(HEADER, *EVERYTHING)
        outcome = await story.add("chats/Mira/a.jsonl", file)
        rows, swipes = await story.rows(outcome.target_id), await story.swipes_in(outcome)
        assert [row.content for row in rows] == [record["mes"] for record in EVERYTHING]
        assert [row.seq for row in rows] == list(range(1, 9))
        assert [len(own) for own in swipes] == [1, 3, 2, 1, 1, 1, 1, 1]
        active = [[swipe.id for swipe in own].index(row.active_swipe_id) for row, own in zip(rows, swipes, strict=True)]
        assert active == [0, 1, 0, 0, 0, 0, 0, 0]
        assert [row.visibility for row in rows][3] == "excluded"
        assert [row.role for row in rows][4] == "system"
        assert [own[0].metadata_.get("reasoning") for own in swipes[1:3]] == ["First.", "Hm."]
        assert rows[2].content == "First."
        assert await story.written(outcome) == file


async def test_v08_reasoning_follows_the_swipe_that_is_shown(sqlite_url: str, tmp_path: Path) -> None:
    async with imported_story(sqlite_url, tmp_path) as story:
        outcome = await story.add("chats/Mira/a.jsonl", lines(HEADER, EVERYTHING[2]))
        message = await story.first_message(outcome)
        await select_swipe(story.runtime, story.viewer, message.id, 1)
        written = json.loads((await story.written(outcome)).split(b"\n")[1])
        assert (written["mes"], written["extra"]) == ("Second.", {})
        assert written["swipe_info"][0]["extra"] == {"reasoning": "Hm."}


async def test_v08_pictures_of_the_folder_are_shown_and_named_again(database_url: str, tmp_path: Path) -> None:
    async with imported_story(database_url, tmp_path) as story:
        await story.add("user/images/Mira/a b.png", png())
        await story.add("user/images/Mira/old.png", png("blue"))
        await story.add("user/images/Mira/unused.png", png("green"))
        await story.add("user/images/Mira/clip.mp4", b"no picture")
        file = lines(
            HEADER,
            said("Mira", "Look.", extra={
                "media": [{"url": "/user/images/Mira/a%20b.png", "type": "image", "title": "A boat"},
                          {"url": "/user/images/Mira/clip.mp4", "type": "video"}],
                "media_display": "list", "inline_image": True,
            }),
            said("Mira", "Old.", extra={"image": "user/images/Mira/old.png", "title": "Old",
                                        "image_swipes": ["user/images/Mira/old.png", "user/images/Mira/gone.png"]}),
        )  # fmt: skip
        outcome = await story.add("chats/Mira/a.jsonl", file)
        async with story.runtime.database.read() as session:
            pictures = list(await session.scalars(select(MessagePicture).order_by(MessagePicture.title)))
            items = dict(iter(await session.execute(select(ImportItem.path, ImportItem.verdict))))
        assert [(one.kind, one.title, one.width, one.height) for one in pictures] == [
            ("attached", "A boat", 3, 2),
            ("attached", "Old", 3, 2),
        ]
        assert items["user/images/Mira/a b.png"] == items["user/images/Mira/old.png"] == "exact"
        assert items["user/images/Mira/unused.png"] == items["user/images/Mira/clip.mp4"] == "kept"
        assert [str(note) for note in outcome.notes] == [
            "The chat shows pictures that are missing in the folder: user/images/Mira/gone.png."
        ]
        assert await story.written(outcome) == file


async def test_pictures_stay_names_where_nobody_wants_them(sqlite_url: str, tmp_path: Path) -> None:
    async with imported_story(sqlite_url, tmp_path) as story:
        story.job.choices = ImportChoices(kinds=("chat",))
        await story.add("user/images/a.png", png())
        file = lines(HEADER, said("Mira", "Look.", extra={"image": "user/images/a.png"}))
        outcome = await story.add("chats/Mira/a.jsonl", file)
        async with story.runtime.database.read() as session:
            assert list(await session.scalars(select(MessagePicture))) == []
        assert (await story.written(outcome), outcome.notes) == (file, ())


async def test_a_header_names_book_persona_note_overrides_variables_and_injections(
    database_url: str, tmp_path: Path
) -> None:
    async with imported_story(database_url, tmp_path) as story:
        await story.card("Mira.png", "Mira")
        book = await story.world("Harbour", {"key": ["tide"], "content": "High at noon.", "sticky": 3})
        persona_id = await story.persona("sam.png", "Sam the sailor")
        metadata = {
            "world_info": "Harbour", "persona": "sam.png", "note_prompt": "Rain.", "note_depth": 2, "note_position": 1,
            "note_role": 0, "note_interval": 1, "scenario": "A harbour.", "system_prompt": "Be brief.",
            "mes_example": "<START>", "variables": {"gold": "7"}, "custom_background": 'url("backgrounds/x.jpg")',
            "script_injects": {"weather": {"value": "It rains.", "position": 1, "depth": 2, "scan": True, "role": 0}},
            "timedWorldInfo": {
                "sticky": {"Harbour.0": {"hash": 5, "start": 1, "end": 4, "protected": False},
                           "Missing.9": {"hash": 6, "start": 1, "end": 4, "protected": False}},
                "cooldown": {},
            },
            "attachments": [{"url": "/user/files/1.txt"}], "integrity": "x",
        }  # fmt: skip
        file = lines(header(**metadata), said("Sam", "Hi."), said("Mira", "Ho."))
        outcome = await story.add("chats/Mira/a.jsonl", file)
        conversation = await story.conversation_of(outcome)
        settings = conversation.settings
        assert settings["authors_note"]["text"] == "Rain."
        assert settings["prompt"] == {
            "scenario_override": "A harbour.", "system_prompt_override": "Be brief.", "examples_override": "<START>"
        }  # fmt: skip
        async with story.runtime.database.read() as session:
            links = select(LorebookLink.lorebook_id).where(LorebookLink.conversation_id == conversation.id)
            assert (await session.scalars(links)).all() == [book.id]
            locked = await locked_persona(session, conversation.id, story.user_id)
            injections = (await session.scalars(select(ConversationInjection.name))).all()
            state = await state_at(session, conversation.id, 2)
        assert (locked is not None and locked.id == persona_id, injections) == (True, ["weather"])
        assert state["variables.gold"] == "7"
        assert {key for key in state if key.startswith("lore_timers.")} == {"lore_timers.sticky.Harbour.0"}
        assert outcome.notes == ()
        written = await story.written(outcome)
        assert json.loads(written.split(b"\n")[0]) == header(**metadata)


async def test_what_a_header_names_and_the_folder_does_not_have_is_said(sqlite_url: str, tmp_path: Path) -> None:
    async with imported_story(sqlite_url, tmp_path) as story:
        file = lines(header(world_info="Lost", persona="nobody.png"), said("Mira", "Ho."))
        outcome = await story.add("chats/Mira/a.jsonl", file)
        assert [str(note) for note in outcome.notes] == [
            "The chat uses the lorebook Lost, which is missing. Import it to link it.",
            "The chat is locked to the persona nobody.png, which is missing.",
        ]
        assert await story.written(outcome) == file


async def test_overrides_that_were_cleared_here_are_cleared_in_the_file(sqlite_url: str, tmp_path: Path) -> None:
    async with imported_story(sqlite_url, tmp_path) as story:
        outcome = await story.add("chats/Mira/a.jsonl", lines(header(scenario="A harbour."), said("Mira", "Ho.")))
        async with story.runtime.database.write() as session:
            row = await session.merge(await story.conversation_of(outcome))
            row.settings = {key: value for key, value in row.settings.items() if key != "prompt"}
        metadata = json.loads((await story.written(outcome)).split(b"\n")[0])["chat_metadata"]
        assert metadata == {"scenario": ""}


DAMAGED = [
    b'{"name":"Mira","mes":"cut of',
    b"\x00\x00\x00\x00",
    b"\x00" * 9000,
    b"",
    b"   ",
    b"[1,2]",
    b'{"mes":"\xff\xfe broken',
    b'{"mes":"\xed\xa0\x80 half a pair"',
    b"garbage",
]


@pytest.mark.parametrize("has_header", [True, False])
async def test_v09_damaged_lines_stay_in_their_places_after_an_edit(
    database_url: str, tmp_path: Path, has_header: bool
) -> None:
    async with imported_story(database_url, tmp_path) as story:
        first, second = (lines(said("Mira", text)) for text in ("One.", "Two."))
        records = [*([lines(HEADER)] if has_header else []), first, *DAMAGED, second, b"{", b""]
        file = b"\n".join(records)
        outcome = await story.add("chats/Mira/a.jsonl", file)
        assert outcome.verdict == "converted"
        assert await story.written(outcome) == file
        message = await story.first_message(outcome)
        await edit_message(story.runtime, story.viewer, message.id, content="Changed.", revision=None)
        assert await story.written(outcome) == file.replace(b"One.", b"Changed.")


async def test_v09_a_file_with_marks_and_line_breaks_of_windows_is_read(sqlite_url: str, tmp_path: Path) -> None:
    async with imported_story(sqlite_url, tmp_path) as story:
        plain = lines(HEADER, said("Mira", "One."), '{"name":"Mira","is_user":false,"mes":"half \\ud83e"}')
        file = b"\xef\xbb\xbf" + plain.replace(b"\n", b"\r\n")
        outcome = await story.add("chats/Mira/a.jsonl", file)
        assert await story.texts(outcome) == ["One.", "half \ufffd"]
        assert await story.written(outcome) == plain
        assert outcome.verdict == "converted"


@pytest.mark.parametrize("data", [b"", b"\n \n"])
async def test_a_chat_without_anything_in_it_is_kept(sqlite_url: str, tmp_path: Path, data: bytes) -> None:
    async with imported_story(sqlite_url, tmp_path) as story:
        outcome = await story.add("chats/Mira/a.jsonl", data)
        assert (outcome.verdict, outcome.target_id) == ("kept", None)


MAIN = [said("Mira", "One."), said("Sam", "Two."), said("Mira", "Three.")]


async def test_v10_branches_and_checkpoints_form_a_tree(database_url: str, tmp_path: Path) -> None:
    async with imported_story(database_url, tmp_path) as story:
        await story.card("Mira.png", "Mira")
        main = await story.add("chats/Mira/main.jsonl", lines(HEADER, *MAIN))
        plan = {"parent": "chats/Mira/main.jsonl", "fork": 2, "certain": True, "kind": "branch", "depth": 1}
        branch = await story.add(
            "chats/Mira/main - Branch #1.jsonl",
            lines(header(main_chat="main"), *MAIN[:2], said("Mira", "Other.")), plan=plan,
        )  # fmt: skip
        point = await story.add(
            "chats/Mira/deep.jsonl", lines(header(main_chat="main - Branch #1"), *MAIN[:1]),
            plan={"parent": "chats/Mira/main - Branch #1.jsonl", "fork": 1, "certain": False, "kind": "checkpoint"},
        )  # fmt: skip
        lost = await story.add(
            "chats/Mira/lost.jsonl", lines(HEADER, *MAIN), plan={**plan, "parent": "chats/Mira/no.jsonl"}
        )
        rows = [await story.conversation_of(one) for one in (main, branch, point, lost)]
        ids = [row.id for row in rows]
        assert [row.kind for row in rows] == ["root", "branch", "checkpoint", "root"]
        assert [row.parent_conversation_id for row in rows] == [None, ids[0], ids[1], None]
        assert [row.root_conversation_id for row in rows] == [ids[0], ids[0], ids[0], ids[3]]
        forks = [(await story.rows(ids[0]))[1].id, (await story.rows(ids[1]))[0].id]
        assert [row.forked_from_message_id for row in rows[1:3]] == forks
        assert (branch.notes, len(point.notes), len(lost.notes)) == ((), 1, 1)


async def test_v10_links_of_branches_that_were_made_here_are_written(database_url: str, tmp_path: Path) -> None:
    async with imported_story(database_url, tmp_path) as story:
        old = said("Sam", "Two.", extra={"branches": ["old"]})
        main = await story.add("chats/Mira/main.jsonl", lines(HEADER, MAIN[0], old, MAIN[2]))
        rows = await story.rows(main.target_id)
        conversation = await story.conversation_of(main)
        made = [
            await fork(story.runtime, story.viewer, conversation.id, rows[1].id, kind=kind)
            for kind in ("branch", "checkpoint")
        ]
        names = FolderNames(chats={conversation.id: "main", made[0].id: "new", made[1].id: "point"})
        parent = [json.loads(one) for one in (await story.written(main, names)).split(b"\n")]
        assert parent[2]["extra"] == {"branches": ["old", "new"], "bookmark_link": "point"}
        assert parent[1]["extra"] == parent[3]["extra"] == {}
        child = main.with_(target_id=made[0].id)
        assert json.loads((await story.written(child, names)).split(b"\n")[0])["chat_metadata"] == {"main_chat": "main"}


async def test_new_spaces_get_what_the_settings_of_the_folder_say(sqlite_url: str, tmp_path: Path) -> None:
    settings = {
        "username": "Captain",
        "world_info_settings": {"world_info_depth": 7},
        "extension_settings": {"note": {"chara": [{"name": "Mira", "prompt": "Salt.", "useChara": True}]}},
    }
    async with imported_story(sqlite_url, tmp_path) as story:
        await story.card("Mira.png", "Mira")
        await story.add("settings.json", json.dumps(settings).encode())
        outcome = await story.add("chats/Mira/a.jsonl", lines(HEADER, said("Sam", "Hi.")))
        again = await story.add("chats/Mira/b.jsonl", lines(HEADER, said("Sam", "Hi.")))
        space = await story.space_of(outcome)
        assert space.id == (await story.space_of(again)).id
        assert space.prompt_settings["world_info"]["depth"] == 7
        assert space.prompt_settings["authors_note"]["character_text"] == "Salt."
        assert await story.authors(outcome) == ["Captain"]


async def test_a_chat_is_as_old_as_its_last_message(sqlite_url: str, tmp_path: Path) -> None:
    async with imported_story(sqlite_url, tmp_path) as story:
        outcome = await story.add("chats/Mira/a.jsonl", lines(HEADER, said("Sam", "Hi.", send_date=1_700_000_000_000)))
        assert (await story.conversation_of(outcome)).updated_at.timestamp() == 1_700_000_000
