"""Settings of spaces, members and conversations: which counts, where it comes from, and what is refused."""

import asyncio
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest

from tavernkit.playground.base.database.models import Conversation, Preset, Space
from tavernkit.playground.base.llm.scripted import ScriptedModel
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.story.members.service import add_member
from tavernkit.playground.story.settings.documents import SettingsOut
from tavernkit.playground.story.settings.service import (
    change_conversation_settings,
    change_member_settings,
    change_space_settings,
    read_conversation_settings,
    read_member_settings,
    read_space_settings,
)
from tavernkit.playground.story.settings_schema.resolving import effective
from tests.playground.spaces.cast import members, opened, person
from tests.playground.stories import Story, open_story
from tests.playground.support.refusals import outcome_of, refusal_of

pytestmark = pytest.mark.anyio


async def test_the_conversation_counts_more_than_the_member_and_the_member_more_than_the_space(
    database_url: str, tmp_path: Path
) -> None:
    async with open_story(database_url, tmp_path, ScriptedModel()) as play:
        made = await opened(play, "Ada")
        [_, ada] = await members(play, made.space.id)

        async def temperature() -> tuple[Any, str]:
            read = await read_conversation_settings(play.runtime, play.viewer, made.conversation.id, member_id=ada.id)
            found = read.effective["llm"]["temperature"]
            return found.value, found.source

        assert await temperature() == (None, "default")
        await _space(play, made.space.id, 0, {"llm": {"temperature": 0.1}})
        assert await temperature() == (0.1, "space")
        await _member(play, ada.id, 0, {"llm": {"temperature": 0.2}})
        assert await temperature() == (0.2, "member")
        await _conversation(play, made.conversation.id, 0, {"llm": {"temperature": 0.3}})
        assert await temperature() == (0.3, "conversation")
        taken_back = await _conversation(play, made.conversation.id, 1, {"llm": None})
        assert (taken_back.own, taken_back.settings_version) == ({}, 2)
        assert await temperature() == (0.2, "member")
        alone = await read_conversation_settings(play.runtime, play.viewer, made.conversation.id)
        assert alone.effective["llm"]["temperature"].source == "space"


async def test_settings_with_columns_are_kept_in_them_and_null_brings_the_default_back(
    database_url: str, tmp_path: Path
) -> None:
    async with open_story(database_url, tmp_path, ScriptedModel()) as play:
        made = await opened(play, "Ada")
        patch = {"space": {"reply_order": "list", "auto_mode_enabled": True}, "authors_note": {"text": "Rain.\x00"}}
        changed = await _space(play, made.space.id, 0, patch)
        assert changed.own == {
            "space": {"reply_order": "list", "auto_mode_enabled": True},
            "authors_note": {"text": "Rain."},
        }
        async with play.runtime.database.read() as session:
            row = await session.get_one(Space, made.space.id)
            assert (row.reply_order, row.auto_mode_enabled) == ("list", True)
            assert row.prompt_settings == {"authors_note": {"text": "Rain."}}
        back = await _space(play, made.space.id, 1, {"space": {"reply_order": None}, "authors_note": None})
        assert back.own == {"space": {"auto_mode_enabled": True}}
        assert back.effective["space"]["reply_order"].model_dump() == {"value": "natural", "source": "default"}


REFUSED: list[tuple[dict[str, Any], str, str]] = [
    ({"llm": {"temperature": 9}}, "llm.temperature", "less than or equal"),
    ({"llm": {"temperature": True}}, "llm.temperature", "valid number"),
    ({"llm": {"temprature": 1}}, "llm.temprature", "the setting does not exist"),
    ({"lm": {}}, "lm", "the group does not exist"),
    ({"llm": 1}, "llm", "must be an object"),
    ({"space": {"reply_order": "loud"}}, "space.reply_order", "'natural'"),
    ({"model": {"provider_id": str(uuid4())}}, "model.provider_id", "the model does not exist"),
    ({"llm": {"temperature": 0.5}, "world_info": {"depth": -1}}, "world_info.depth", "greater than or equal"),
]


async def test_a_patch_is_refused_whole_with_the_path_and_why(sqlite_url: str, tmp_path: Path) -> None:
    async with open_story(sqlite_url, tmp_path, ScriptedModel()) as play:
        made = await opened(play, "Ada")
        for patch, path, why in REFUSED:
            refused = await refusal_of(_space(play, made.space.id, 0, patch))
            assert refused.code == "invalid"
            assert f"The setting {path} was not saved" in refused.sentence
            assert why in refused.sentence
        after = await read_space_settings(play.runtime, play.viewer, made.space.id)
        assert (after.own, after.settings_version) == ({}, 0)


async def test_a_layer_takes_only_its_own_settings(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path, ScriptedModel()) as play:
        made = await opened(play, "Ada")
        [_, ada] = await members(play, made.space.id)
        refused = await refusal_of(_conversation(play, made.conversation.id, 0, {"space": {"reply_order": "list"}}))
        assert "it can be set for: space." in refused.sentence
        refused = await refusal_of(_member(play, ada.id, 0, {"authors_note": {"text": "x"}}))
        assert "it can be set for: space, conversation." in refused.sentence


async def test_two_tabs_never_overwrite_each_other(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path, ScriptedModel()) as play:
        made = await opened(play, "Ada")
        [_, ada] = await members(play, made.space.id)
        for change, id in ((_space, made.space.id), (_member, ada.id), (_conversation, made.conversation.id)):
            both = await asyncio.gather(
                *(outcome_of(change(play, id, 0, {"llm": {"max_tokens": number}})) for number in (100, 200))
            )
            [kept] = [row for row in both if isinstance(row, SettingsOut)]
            [refused] = [row for row in both if isinstance(row, Refused)]
            assert refused.code == "stale"
            assert refused.current == kept.model_dump(mode="json")


async def test_presets_must_be_of_the_right_kind_and_ones_own(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path, ScriptedModel()) as play:
        made = await opened(play, "Ada")
        stranger = await person(play)
        now = play.runtime.clock()
        mine, theirs = uuid4(), uuid4()
        async with play.runtime.database.write() as session:
            for id, owner in ((mine, play.user_id), (theirs, stranger.user_id)):
                session.add(Preset(id=id, owner_id=owner, kind="instruct", name="A", created_at=now, updated_at=now))
        taken = await _space(play, made.space.id, 0, {"model": {"instruct_id": str(mine)}})
        assert taken.own == {"model": {"instruct_id": str(mine)}}
        await refusal_of(_space(play, made.space.id, 1, {"model": {"context_id": str(mine)}}))
        await refusal_of(_space(play, made.space.id, 1, {"model": {"instruct_id": str(theirs)}}))


async def test_members_change_their_own_settings_and_read_the_rest(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path, ScriptedModel()) as play:
        made = await opened(play, "Ada", kind="discussion")
        guest, stranger = await person(play, "Guest"), await person(play, "Stranger")
        mine = await add_member(play.runtime, play.viewer, made.space.id, user_id=guest.user_id)
        ada = (await members(play, made.space.id))[1]
        patch = {"llm": {"temperature": 1}}
        assert isinstance(await _member(play, mine.id, 0, patch, viewer=guest), SettingsOut)
        for changing in (
            _member(play, ada.id, 0, patch, viewer=guest),
            _space(play, made.space.id, 0, patch, viewer=guest),
            _conversation(play, made.conversation.id, 0, patch, viewer=guest),
        ):
            assert (await refusal_of(changing)).code == "forbidden"
        assert isinstance(await read_member_settings(play.runtime, guest, ada.id), SettingsOut)
        elsewhere = (await members(play, (await opened(play, "Bo")).space.id))[1]
        for reading in (
            read_space_settings(play.runtime, stranger, made.space.id),
            read_conversation_settings(play.runtime, play.viewer, made.conversation.id, member_id=elsewhere.id),
        ):
            assert (await refusal_of(reading)).code == "not_found"


async def test_stored_values_that_no_longer_fit_are_passed_over_and_strange_ones_kept(
    database_url: str, tmp_path: Path
) -> None:
    async with open_story(database_url, tmp_path, ScriptedModel()) as play:
        made = await opened(play, "Ada")
        async with play.runtime.database.write() as session:
            row = await session.get_one(Conversation, made.conversation.id)
            row.settings = {"llm": {"temperature": "hot", "gone": 1}, "authors_note": 5, "elsewhere": {"x": 1}}
        async with play.runtime.database.read() as session:
            space = await session.get_one(Space, made.space.id)
            row = await session.get_one(Conversation, made.conversation.id)
            resolved = effective(space, conversation=row)
        assert (resolved.settings.llm.temperature, resolved.sources["llm.temperature"]) == (None, "default")
        await _conversation(play, row.id, 0, {"authors_note": {"depth": 0}})
        async with play.runtime.database.read() as session:
            row = await session.get_one(Conversation, made.conversation.id)
            assert row.settings == {
                "llm": {"temperature": "hot", "gone": 1},
                "authors_note": {"depth": 0},
                "elsewhere": {"x": 1},
            }


async def _space(play: Story, id: UUID, version: int, patch: Any, *, viewer: Any = None) -> Any:
    return await change_space_settings(play.runtime, viewer or play.viewer, id, settings_version=version, patch=patch)


async def _member(play: Story, id: UUID, version: int, patch: Any, *, viewer: Any = None) -> Any:
    return await change_member_settings(play.runtime, viewer or play.viewer, id, settings_version=version, patch=patch)


async def _conversation(play: Story, id: UUID, version: int, patch: Any, *, viewer: Any = None) -> Any:
    return await change_conversation_settings(
        play.runtime, viewer or play.viewer, id, settings_version=version, patch=patch
    )
