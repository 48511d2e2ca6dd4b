"""Who said what, files of other applications, long files, and files that are none."""

import json
from pathlib import Path
from uuid import uuid4

import pytest
from sqlalchemy import func, select

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Conversation, Message, MessageSwipe, Space, SpaceMembership, User
from tavernkit.playground.base.llm.scripted import ScriptedModel
from tavernkit.playground.story.chatfiles.importing import import_chats
from tavernkit.playground.story.chatfiles.storing import PIECE_MESSAGES
from tests.characters import card_files
from tests.playground.chatfiles.moving import bring_in, bring_in_all, lines, members, messages, space_of, take_out
from tests.playground.stories import open_story
from tests.playground.support.counting import counted_statements
from tests.playground.support.refusals import refusal_of

pytestmark = pytest.mark.anyio


async def test_speakers_are_members_by_their_names_and_strangers_have_left_already(
    database_url: str, tmp_path: Path
) -> None:
    async with open_story(database_url, tmp_path, ScriptedModel()) as play:
        before = await members(play)
        (character,) = [member for member in before.values() if member.kind == "character"]
        (human,) = [member for member in before.values() if member.kind == "human"]
        names = ["Anybody", character.cached_display_name, "Stranger", "Stranger", ""]
        file = lines(*({"name": name, "is_user": name == "Anybody", "mes": name} for name in names))
        conversation = await bring_in(play, file)
        after = await members(play)
        authors = [after[row.membership_id] for row in await messages(play, conversation.id)]
        assert [author.id for author in authors[:2]] == [human.id, character.id]
        assert [author.cached_display_name for author in authors[2:]] == ["Stranger", "Stranger", "Somebody"]
        assert [(author.status, author.character_id) for author in authors[2:]] == [("removed", None)] * 3
        await bring_in(play, file)
        assert len(await members(play)) == len(after) == len(before) + 2


async def test_in_a_discussion_other_people_keep_their_words(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path, ScriptedModel()) as play:
        space_id, now = await space_of(play), play.runtime.clock()
        async with play.runtime.database.write() as session:
            (await session.get_one(Space, space_id)).kind = "discussion"
            friend = User(id=uuid4(), name="Bo", created_at=now)
            session.add(friend)
            await session.flush()
            session.add(SpaceMembership(id=uuid4(), space_id=space_id, kind="human", user_id=friend.id,
                                        cached_display_name="Bo", created_at=now))  # fmt: skip
        file = lines({"chat_metadata": {}, "user_name": "Me", "character_name": "x"},
                     *({"name": name, "is_user": True, "mes": "."} for name in ("Me", "Bo", "Cy")))  # fmt: skip
        conversation = await bring_in(play, file)
        everybody = await members(play)
        authors = [everybody[row.membership_id] for row in await messages(play, conversation.id)]
        assert [author.user_id for author in authors] == [play.user_id, friend.id, None]
        assert authors[2].cached_display_name == "Cy"


async def test_only_who_runs_the_space_brings_chats_in(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path, ScriptedModel()) as play:
        stranger = Viewer(user_id=uuid4())
        outcome = await refusal_of(
            import_chats(play.runtime, stranger, await space_of(play), b'{"name": "a", "mes": "b"}')
        )
        assert outcome.code == "not_found"


async def test_the_chats_of_a_backyard_archive_become_conversations(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path, ScriptedModel()) as play:
        first, second = await bring_in_all(play, card_files.byaf(), title="Backyard")
        assert [first.title, second.title] == ["Backyard 1", "Backyard 2"]
        assert [row.role for row in await messages(play, first.id)] == ["assistant", "user"]


async def test_chats_of_other_applications_become_conversations(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path, ScriptedModel()) as play:
        ooba = await bring_in(play, json.dumps({"data_visible": [["Hi", "Hello"]]}))
        assert [(row.role, row.content) for row in await messages(play, ooba.id)] == [
            ("user", "Hi"), ("assistant", "Hello")
        ]  # fmt: skip
        everybody = await members(play)
        assert {everybody[row.membership_id].status for row in await messages(play, ooba.id)} == {"active"}
        history = {"msgs": [{"src": {"is_human": True}, "text": "A"}]}
        cai = await bring_in_all(play, json.dumps({"histories": {"histories": [history, history]}}), title="Old")
        assert [conversation.title for conversation in cai] == ["Old 1", "Old 2"]


async def test_a_file_that_is_no_chat_is_refused_with_a_sentence(sqlite_url: str, tmp_path: Path) -> None:
    async with open_story(sqlite_url, tmp_path, ScriptedModel()) as play:
        for file in (b"", b"{}", b"\x00\x01", b"[1]", b'{"spec": "chara_card_v2", "name": "a"}'):
            outcome = await refusal_of(import_chats(play.runtime, play.viewer, await space_of(play), file))
            assert (outcome.code, outcome.sentence[-1]) == ("invalid", "."), file


async def test_a_long_chat_comes_in_and_goes_out_in_few_statements(database_url: str, tmp_path: Path) -> None:
    count = 10 * PIECE_MESSAGES
    file = lines(*({"name": "Mira", "is_user": False, "mes": f"Number {number}.",
                    "swipes": [f"Number {number}.", "Other."], "swipe_id": 0} for number in range(count)))  # fmt: skip
    async with open_story(database_url, tmp_path, ScriptedModel()) as play:
        with counted_statements(play.runtime.database) as sent:
            conversation = await bring_in(play, file)
        assert len(sent) < 15 * count / PIECE_MESSAGES
        async with play.runtime.database.read() as session:
            stored = await session.get_one(Conversation, conversation.id)
            assert (stored.last_seq, stored.messages_count) == (count, count)
            assert await session.scalar(
                select(func.count()).select_from(MessageSwipe).join(Message, Message.id == MessageSwipe.message_id)
                .where(Message.conversation_id == conversation.id)
            ) == 2 * count  # fmt: skip
        with counted_statements(play.runtime.database) as sent:
            assert await take_out(play, conversation.id) == file
        assert len(sent) < 60


async def test_text_for_people_leaves_out_what_is_hidden(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path, ScriptedModel()) as play:
        conversation = await bring_in(
            play,
            lines(
                {"name": "Sam", "is_user": True, "mes": "Hi."},
                {"name": "Sam", "is_user": True, "is_system": True, "mes": "Psst."},
                {"name": "Mira", "is_user": False, "mes": "Ho."},
            ),
        )
        assert await take_out(play, conversation.id, "text") == "Sam: Hi.\n\nMira: Ho.\n\n"
