"""Deleting moves to the trash; from there things come back to where they were, or go for good."""

import asyncio
from datetime import timedelta
from pathlib import Path
from uuid import UUID

import pytest

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Conversation, PromptSnapshot, Run, SpaceMembership
from tavernkit.playground.base.llm.scripted import ScriptedModel
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.story.characters.service import create_character, delete_character
from tavernkit.playground.story.conversations.forking import fork
from tavernkit.playground.story.conversations.queries import read_conversation, read_tree
from tavernkit.playground.story.conversations.service import create_conversation, delete_conversation
from tavernkit.playground.story.lorebooks.documents import NewLink, NewLorebook
from tavernkit.playground.story.lorebooks.links import attach_lorebook
from tavernkit.playground.story.lorebooks.queries import links_of
from tavernkit.playground.story.lorebooks.service import create_lorebook, delete_lorebook
from tavernkit.playground.story.members.service import add_member
from tavernkit.playground.story.messages.service import hide_message, restore_message
from tavernkit.playground.story.presets.documents import NewPreset
from tavernkit.playground.story.presets.service import create_preset, delete_preset
from tavernkit.playground.story.retention import RetentionPeriods, change_retention
from tavernkit.playground.story.spaces.service import change_space, delete_space
from tavernkit.playground.story.sweeping.queries import read_retention_state
from tavernkit.playground.story.sweeping.service import sweep
from tavernkit.playground.story.trash.queries import TrashKind
from tavernkit.playground.story.trash.service import delete_for_good, empty_trash, read_trash, restore
from tests.playground.api.world import PIPELINES
from tests.playground.prompting.prompt_story import prompt_story, texts
from tests.playground.stories import Story, open_story
from tests.playground.support.web import api_client

pytestmark = pytest.mark.anyio


async def trash(play: Story, kind: TrashKind | None = None) -> list[tuple[str, str]]:
    items = await read_trash(play.runtime, play.viewer, kind=kind, limit=50)
    return [(item.kind, item.name) for item in items]


async def swept(play: Story) -> dict[str, int]:
    return await sweep(play.runtime, asyncio.Event())


async def space_of(play: Story) -> UUID:
    return (await play.conversation()).space_id


async def set_period(play: Story, days: int) -> None:
    administrator = Viewer(user_id=play.user_id, role="administrator")
    await change_retention(play.runtime, administrator, RetentionPeriods(trash_days=days))


async def tree_of(play: Story, id: UUID) -> list[tuple[str, UUID | None, UUID | None]]:
    nodes = await read_tree(play.runtime, play.viewer, id, limit=50)
    return [
        (node.conversation.title, node.conversation.parent_conversation_id, node.conversation.forked_from_message_id)
        for node in nodes
    ]


async def test_restored_conversations_have_their_branches_again_in_whatever_order(
    database_url: str, tmp_path: Path
) -> None:
    async with open_story(database_url, tmp_path) as play:
        runtime, viewer, root_id = play.runtime, play.viewer, play.conversation_id
        one, two = await play.narrate("One.", "Two.")
        middle = await fork(runtime, viewer, root_id, two.id, title="Middle")
        leaf = await fork(runtime, viewer, middle.id, (await play.rows(middle.id))[1].id, title="Leaf")
        other = await fork(runtime, viewer, root_id, one.id, title="Other")
        before = await tree_of(play, leaf.id)
        for deleted in ((middle.id, root_id), (root_id, middle.id)):
            for restored in (deleted, deleted[::-1]):
                for id in deleted:
                    await delete_conversation(runtime, viewer, id)
                assert [title for title, *_ in await tree_of(play, other.id)] == ["Other"]
                assert (await read_conversation(runtime, viewer, leaf.id)).kind == "root"
                for id in restored:
                    await restore(runtime, viewer, "conversation", id)
                assert await tree_of(play, leaf.id) == before
        assert await play.shown(middle.id) == ["One.", "Two."]


async def test_a_conversation_in_the_trash_is_not_there_and_nothing_is_written_in_it(
    database_url: str, tmp_path: Path
) -> None:
    gate = asyncio.Event()
    async with open_story(database_url, tmp_path, ScriptedModel(("Half a sen", gate, "tence."))) as play:
        await create_conversation(play.runtime, play.viewer, await space_of(play))
        async with play.working():
            await play.say()
            await play.until(lambda run: run.status == "running")
            await delete_conversation(play.runtime, play.viewer, play.conversation_id)
            await play.until(lambda run: run.status == "canceled")
        gate.set()
        with pytest.raises(Refused, match="does not exist"):
            await play.say()
        with pytest.raises(Refused, match="does not exist"):
            await read_conversation(play.runtime, play.viewer, play.conversation_id)
        await restore(play.runtime, play.viewer, "conversation", play.conversation_id)
        assert (await read_conversation(play.runtime, play.viewer, play.conversation_id)).status == "ready"
        assert await play.messages() == [("user", "Hello?")]


async def test_the_last_conversation_that_is_not_in_the_trash_stays(sqlite_url: str, tmp_path: Path) -> None:
    async with open_story(sqlite_url, tmp_path) as play:
        other = await create_conversation(play.runtime, play.viewer, await space_of(play))
        await delete_conversation(play.runtime, play.viewer, other.id)
        with pytest.raises(Refused, match="at least one conversation"):
            await delete_conversation(play.runtime, play.viewer, play.conversation_id)


async def test_a_restored_space_is_archived_if_it_was(sqlite_url: str, tmp_path: Path) -> None:
    async with open_story(sqlite_url, tmp_path) as play:
        space_id = await space_of(play)
        await change_space(play.runtime, play.viewer, space_id, settings_version=0, archived=True)
        await delete_space(play.runtime, play.viewer, space_id)
        with pytest.raises(Refused, match="does not exist"):
            await read_conversation(play.runtime, play.viewer, play.conversation_id)
        await restore(play.runtime, play.viewer, "space", space_id)
        with pytest.raises(Refused, match="This space is archived"):
            await play.say()


async def test_a_restored_character_is_back_in_the_spaces_that_it_was_in(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as play:
        space_id = await space_of(play)
        row = await create_character(play.runtime, play.viewer, {"name": "Bo"})
        member = await add_member(play.runtime, play.viewer, space_id, character_id=row.id)
        await delete_character(play.runtime, play.viewer, row.id)
        assert (await membership(play, member.id)).status == "removed"
        assert await trash(play) == [("character", "Bo")]
        await restore(play.runtime, play.viewer, "character", row.id)
        assert (await membership(play, member.id)).status == "active"
        assert await trash(play) == []


async def membership(play: Story, id: UUID) -> SpaceMembership:
    async with play.runtime.database.read() as session:
        return await session.get_one(SpaceMembership, id)


async def test_a_lorebook_in_the_trash_is_used_nowhere_and_is_again_when_restored(
    database_url: str, tmp_path: Path
) -> None:
    async with open_story(database_url, tmp_path) as play:
        book = await create_lorebook(play.runtime, play.viewer, NewLorebook(name="Sea"))
        link = NewLink(lorebook_id=book.id, conversation_id=play.conversation_id)
        await attach_lorebook(play.runtime, play.viewer, link)
        await delete_lorebook(play.runtime, play.viewer, book.id)
        async with play.runtime.database.read() as session:
            assert await links_of(session, conversation_id=play.conversation_id) == []
        await restore(play.runtime, play.viewer, "lorebook", book.id)
        async with play.runtime.database.read() as session:
            assert [name for _, name in await links_of(session, conversation_id=play.conversation_id)] == ["Sea"]


async def test_a_restored_preset_gets_a_free_name(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as play:
        first = await create_preset(play.runtime, play.viewer, NewPreset(kind="chat", name="Calm"))
        await delete_preset(play.runtime, play.viewer, first.id)
        await create_preset(play.runtime, play.viewer, NewPreset(kind="chat", name="Calm"))
        assert await trash(play) == [("preset", "Calm")]
        await restore(play.runtime, play.viewer, "preset", first.id)
        async with play.runtime.database.read() as session:
            assert (await session.get_one(type(first), first.id)).name == "Calm (2)"


async def test_a_persona_in_the_trash_is_nobody_and_is_in_use_again_when_restored(
    database_url: str, tmp_path: Path
) -> None:
    async with prompt_story(database_url, tmp_path) as story, api_client(story.runtime, story.user_id) as api:
        kit = {"name": "Kit", "description": "Kit wears a quincunx.", "is_default": True}
        persona_id = (await api.post("/personas", json=kit)).json()["id"]
        members = (await api.get(f"/spaces/{story.space_id}/members")).json()["items"]
        own = next(member for member in members if member["user_id"] == str(story.user_id))
        change = {"settings_version": own["settings_version"], "persona_id": persona_id, "persona": None}
        assert (await api.patch(f"/members/{own['id']}", json=change)).status_code == 200

        async def is_described() -> bool:
            return "Kit wears a quincunx." in "\n".join(texts(await story.prompt("Ada")))

        async def found() -> list[str]:
            hits = (await api.get("/search?q=quincunx")).json()["items"]
            return [hit["kind"] for hit in hits]

        assert (await is_described(), await found()) == (True, ["persona"])
        assert (await api.delete(f"/personas/{persona_id}")).status_code == 204
        assert (await is_described(), await found()) == (False, [])
        assert (await api.get(f"/personas/{persona_id}")).status_code == 404
        assert (await api.get("/personas")).json()["items"] == []
        other = (await api.post("/personas", json={"name": "Robin", "is_default": True})).json()
        assert (await api.post(f"/trash/persona/{persona_id}/restore")).status_code == 204
        assert (await is_described(), await found()) == (True, ["persona"])
        listed = {item["id"]: item["is_default"] for item in (await api.get("/personas")).json()["items"]}
        assert listed == {persona_id: False, other["id"]: True}


async def test_restored_quick_replies_are_used_where_they_were_under_a_free_name(
    database_url: str, tmp_path: Path
) -> None:
    async with open_story(database_url, tmp_path) as play, api_client(play.runtime, play.user_id) as api:
        new = {"name": "Moves", "buttons": [{"label": "Nod", "message": "I nod."}]}
        set_id = (await api.post("/quick_replies", json=new)).json()["id"]
        press = f"/conversations/{play.conversation_id}/quick_replies/{set_id}/1"
        assert (await api.delete(f"/quick_replies/{set_id}")).status_code == 204
        assert (await api.post(press, json={})).status_code == 404
        assert (await api.post("/quick_replies", json=new)).json()["name"] == "Moves"
        assert await trash(play) == [("quick_reply_set", "Moves")]
        assert (await api.post(f"/trash/quick_reply_set/{set_id}/restore")).status_code == 204
        assert (await api.post(press, json={})).is_success
        assert (await api.get(f"/quick_replies/{set_id}/export")).json()["name"] == "Moves (2)"
        assert len((await api.get(f"/quick_replies/{set_id}/places")).json()) == 1


async def test_a_profile_in_the_trash_cannot_be_chosen_and_comes_back_with_its_versions(
    database_url: str, tmp_path: Path
) -> None:
    async with open_story(database_url, tmp_path) as play, api_client(play.runtime, play.user_id) as api:
        made = (await api.post("/pipeline_profiles", json={"name": "Tides", "content": PIPELINES})).json()
        choice = {"conversation_id": str(play.conversation_id), "profile_id": made["id"]}
        assert (await api.put("/pipeline_choices", json=choice)).is_success
        assert (await api.delete(f"/pipeline_profiles/{made['id']}")).status_code == 409
        await api.delete(f"/pipeline_choices?conversation_id={play.conversation_id}")
        assert (await api.delete(f"/pipeline_profiles/{made['id']}")).status_code == 204
        assert (await api.put("/pipeline_choices", json=choice)).status_code == 404
        again = await api.post("/pipeline_profiles", json={"name": "Tides", "content": PIPELINES})
        assert again.status_code == 201
        assert (await api.post(f"/trash/pipeline_profile/{made['id']}/restore")).status_code == 204
        restored = (await api.get(f"/pipeline_profiles/{made['id']}")).json()
        assert (restored["name"], restored["content"]) == ("Tides 2", made["content"])
        assert (await api.put("/pipeline_choices", json=choice)).is_success
        # A space that is in the trash meanwhile does not bring back a choice of what is gone.
        await delete_space(play.runtime, play.viewer, await space_of(play))
        assert (await api.delete(f"/pipeline_profiles/{made['id']}")).status_code == 204
        await restore(play.runtime, play.viewer, "space", await space_of(play))
        chosen = (await api.get(f"/pipeline_choices?conversation_id={play.conversation_id}")).json()
        assert chosen["profile_id"] is None


async def test_a_message_is_removed_after_the_period_and_branches_of_it_stay(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as play:
        _one, two, _three = await play.narrate("One.", "Two.", "Three.")
        branch = await fork(play.runtime, play.viewer, play.conversation_id, two.id)
        await hide_message(play.runtime, play.viewer, two.id)
        assert [kind for kind, _ in await trash(play)] == ["message"]
        play.skipped = timedelta(days=29)
        assert (await swept(play))["messages"] == 0
        play.skipped = timedelta(days=31)
        assert (await swept(play))["messages"] == 1
        assert await play.shown() == ["One.", "Three."]
        assert await play.shown(branch.id) == ["One.", "Two."]
        assert (await play.conversation(branch.id)).forked_from_message_id == _one.id
        with pytest.raises(Refused, match="does not exist"):
            await restore_message(play.runtime, play.viewer, two.id)


async def test_the_prompt_of_a_removed_reply_goes_with_it_unless_a_branch_has_the_reply(
    database_url: str, tmp_path: Path
) -> None:
    async with open_story(database_url, tmp_path, ScriptedModel("First.", "Second.")) as play:
        runs, replies = [], []
        async with play.working():
            for said in ("One?", "Two?"):
                await play.say(said)
                runs.append(await play.until(lambda run: run.status == "succeeded"))
                replies.append((await play.rows())[-1])
        await fork(play.runtime, play.viewer, play.conversation_id, replies[0].id)
        for reply in replies:
            await hide_message(play.runtime, play.viewer, reply.id)
        await play.outlast_trash()
        async with play.runtime.database.read() as session:
            kept = [await session.get(PromptSnapshot, run.id) is not None for run in runs]
            texts = [(await session.get_one(Run, run.id)).text for run in runs]
        assert (kept, texts) == ([True, False], ["First.", ""])


async def test_with_a_period_of_zero_days_nothing_can_be_restored(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as play:
        await set_period(play, 0)
        (message,) = await play.narrate("One.")
        await hide_message(play.runtime, play.viewer, message.id)
        await delete_space(play.runtime, play.viewer, await space_of(play))
        assert await trash(play) == []
        with pytest.raises(Refused, match="does not exist"):
            await restore(play.runtime, play.viewer, "space", await space_of(play))
        assert (await swept(play))["spaces"] == 1
        async with play.runtime.database.read() as session:
            assert await session.get(Conversation, play.conversation_id) is None


async def test_what_is_deleted_for_good_cannot_be_restored(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as play:
        book = await create_lorebook(play.runtime, play.viewer, NewLorebook(name="Sea"))
        await delete_lorebook(play.runtime, play.viewer, book.id)
        other = await create_lorebook(play.runtime, play.viewer, NewLorebook(name="Sky"))
        await delete_lorebook(play.runtime, play.viewer, other.id)
        await delete_for_good(play.runtime, play.viewer, "lorebook", book.id)
        with pytest.raises(Refused, match="does not exist"):
            await restore(play.runtime, play.viewer, "lorebook", book.id)
        assert await trash(play) == [("lorebook", "Sky")]
        assert await empty_trash(play.runtime, play.viewer) == 1
        assert (await swept(play))["lorebooks"] == 2


async def test_a_character_that_has_spoken_keeps_its_name_until_its_last_message_is_gone(
    database_url: str, tmp_path: Path
) -> None:
    async with open_story(database_url, tmp_path, ScriptedModel("Yes.")) as play:
        async with play.working():
            await play.say()
            run = await play.until(lambda run: run.status == "succeeded")
        member = await membership(play, run.speaker_membership_id)
        assert member.character_id is not None
        await delete_character(play.runtime, play.viewer, member.character_id)
        play.skipped = timedelta(days=31)
        assert (await swept(play))["characters"] == 1
        assert (await play.messages())[-1] == ("assistant", "Yes.")
        assert (await membership(play, member.id)).character_id is not None
        await delete_space(play.runtime, play.viewer, member.space_id)
        play.skipped += timedelta(days=31)
        removed = await swept(play)
        assert (removed["spaces"], removed["characters"]) == (1, 1)
        async with play.runtime.database.read() as session:
            assert await session.get(Run, run.id) is None


async def test_periods_of_retention_free_prompts_and_say_how_much_that_is(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path, ScriptedModel("Yes.")) as play:
        async with play.working():
            await play.say()
            await play.until(lambda run: run.status == "succeeded")
        administrator = Viewer(user_id=play.user_id, role="administrator")
        play.skipped = timedelta(days=8)
        wanted = RetentionPeriods(prompt_days=7)
        state = await read_retention_state(play.runtime, administrator, wanted)
        (prompts,) = [figure for figure in state.figures if figure.category == "prompts"]
        assert (prompts.total, prompts.freed) == (1, 1)
        assert prompts.freed_bytes > 100
        assert (await swept(play))["prompts"] == 0
        await change_retention(play.runtime, administrator, wanted)
        removed = await swept(play)
        assert (removed["prompts"], removed["prompt_blocks"] > 0) == (1, True)
        state = await read_retention_state(play.runtime, administrator)
        assert state.last_sweep is not None
        assert state.last_sweep.removed["prompts"] == 1
