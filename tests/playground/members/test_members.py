"""Who is in a space: joining, leaving, coming back, order, and how they take part."""

import asyncio
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Character, Persona, Preset, SpaceMembership
from tavernkit.playground.base.llm.scripted import ScriptedModel
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.story.access.access import list_members
from tavernkit.playground.story.members.service import (
    MAX_MEMBERS,
    add_member,
    change_member,
    remove_member,
    reorder_members,
)
from tests.playground.spaces.cast import members, opened, person
from tests.playground.stories import Story, open_story
from tests.playground.support.counting import counted_statements
from tests.playground.support.refusals import refusal_of

pytestmark = pytest.mark.anyio


async def test_a_removed_member_stays_as_an_author_and_comes_back_as_the_same(
    database_url: str, tmp_path: Path
) -> None:
    async with open_story(database_url, tmp_path, ScriptedModel()) as play:
        space = (await opened(play, "Ada", "Bo")).space
        [_, ada, bo] = await members(play, space.id)
        changed = await _change(play, ada, name_override="Countess", talkativeness=0.25)
        assert changed.cached_display_name == "Countess"
        removed = await remove_member(play.runtime, play.viewer, ada.id, reason="left\x00")
        assert isinstance(removed, SpaceMembership)
        assert (removed.status, removed.participation, removed.removed_by_id) == ("removed", "muted", play.user_id)
        assert (removed.removed_reason, removed.removed_at is not None) == ("left", True)
        assert [row.id for row in await members(play, space.id)] == [_.id, ada.id, bo.id]
        again = await remove_member(play.runtime, play.viewer, ada.id)
        assert isinstance(again, SpaceMembership)
        assert again.removed_reason == "left"
        refused = await _refused(play, ada, participation="active")
        assert refused.code == "conflict"
        back = await add_member(play.runtime, play.viewer, space.id, character_id=ada.character_id)
        assert isinstance(back, SpaceMembership)
        assert (back.id, back.position, back.status, back.participation) == (ada.id, 3, "active", "active")
        assert (back.cached_display_name, back.talkativeness, back.removed_at) == ("Countess", 0.25, None)
        twice = await refusal_of(add_member(play.runtime, play.viewer, space.id, character_id=ada.character_id))
        assert (twice.code, twice.current["id"]) == ("conflict", str(ada.id))


async def test_only_a_discussion_takes_further_people_and_nobody_removes_its_owner(
    database_url: str, tmp_path: Path
) -> None:
    async with open_story(database_url, tmp_path, ScriptedModel()) as play:
        guest, other = await person(play, "Guest"), await person(play, "Other")
        alone = (await opened(play, "Ada")).space
        refused = await refusal_of(add_member(play.runtime, play.viewer, alone.id, user_id=guest.user_id))
        assert (refused.code, "one person" in refused.sentence) == ("conflict", True)
        space = (await opened(play, "Bo", kind="discussion")).space
        assert await _code(add_member(play.runtime, play.viewer, space.id, user_id=uuid4())) == "not_found"
        assert await _code(add_member(play.runtime, play.viewer, space.id)) == "invalid"
        joined = await add_member(play.runtime, play.viewer, space.id, user_id=guest.user_id)
        assert isinstance(joined, SpaceMembership)
        assert (joined.kind, joined.cached_display_name) == ("human", "Guest")
        owner = (await members(play, space.id))[0]
        assert await _code(remove_member(play.runtime, guest, owner.id)) == "forbidden"
        assert await _code(remove_member(play.runtime, play.viewer, owner.id)) == "conflict"
        assert await _code(add_member(play.runtime, guest, space.id, user_id=other.user_id)) == "forbidden"
        left = await remove_member(play.runtime, guest, joined.id)
        assert isinstance(left, SpaceMembership)
        assert await _code(remove_member(play.runtime, guest, joined.id)) == "not_found"


async def test_a_space_is_full_at_some_point(sqlite_url: str, tmp_path: Path) -> None:
    async with open_story(sqlite_url, tmp_path, ScriptedModel()) as play:
        space = (await opened(play)).space
        now = play.runtime.clock()
        rows = [
            Character(id=uuid4(), owner_id=play.user_id, name=f"C{number}", data={}, created_at=now, updated_at=now)
            for number in range(MAX_MEMBERS)
        ]
        async with play.runtime.database.write() as session:
            session.add_all(rows)
            await session.flush()
            session.add_all(
                SpaceMembership(
                    id=uuid4(),
                    space_id=space.id,
                    kind="character",
                    character_id=row.id,
                    position=place,
                    cached_display_name=row.name,
                    created_at=now,
                )
                for place, row in enumerate(rows[:-1], start=1)
            )
        refused = await refusal_of(add_member(play.runtime, play.viewer, space.id, character_id=rows[-1].id))
        assert str(MAX_MEMBERS) in refused.sentence


async def test_people_change_how_they_take_part_and_only_the_owner_how_others_do(
    database_url: str, tmp_path: Path
) -> None:
    async with open_story(database_url, tmp_path, ScriptedModel()) as play:
        space = (await opened(play, "Ada", kind="discussion")).space
        guest = await person(play, "Guest")
        mine = await add_member(play.runtime, play.viewer, space.id, user_id=guest.user_id)
        assert isinstance(mine, SpaceMembership)
        [owner, ada, _] = await members(play, space.id)
        changed = await _change(play, mine, viewer=guest, persona="A guest.", name_override="G", copilot_mode="full")
        assert (changed.persona, changed.cached_display_name) == ("A guest.", "G")
        assert (changed.copilot_mode, changed.copilot_remaining_steps) == ("full", 4)
        changed = await _change(play, changed, viewer=guest, copilot_remaining_steps=10)
        assert changed.copilot_remaining_steps == 10
        for field, value in [("role", "moderator"), ("participation", "observer"), ("talkativeness", 1.0)]:
            assert (await _refused(play, changed, viewer=guest, **{field: value})).code == "forbidden"
        assert (await _refused(play, ada, viewer=guest, name_override="X")).code == "forbidden"
        changed = await _change(play, changed, role="moderator", participation="observer")
        assert (changed.role, changed.participation) == ("moderator", "observer")
        changed = await _change(play, changed, copilot_mode="none", name_override=None)
        assert (changed.copilot_remaining_steps, changed.cached_display_name) == (0, "Guest")
        assert (await _refused(play, owner, role="member")).code == "conflict"
        assert (await _refused(play, ada, persona="text")).code == "invalid"
        assert (await _refused(play, owner, copilot_remaining_steps=3)).code == "invalid"
        assert (await _refused(play, owner, talkativeness=0.5)).code == "invalid"


async def test_personas_providers_and_presets_must_be_there_and_ones_own(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path, ScriptedModel()) as play:
        [owner, ada] = await members(play, (await opened(play, "Ada")).space.id)
        stranger = await person(play)
        mine, theirs, chat, instruct = uuid4(), uuid4(), uuid4(), uuid4()
        now = play.runtime.clock()
        times: dict[str, Any] = {"created_at": now, "updated_at": now}
        async with play.runtime.database.write() as session:
            session.add_all(
                [
                    Persona(id=mine, owner_id=play.user_id, name="Wren", **times),
                    Persona(id=theirs, owner_id=stranger.user_id, name="Other", **times),
                    Preset(id=chat, owner_id=None, kind="chat", name="Default", **times),
                    Preset(id=instruct, owner_id=play.user_id, kind="instruct", name="Marks", **times),
                ]
            )
        changed = await _change(play, owner, persona_id=mine)
        assert (changed.persona_id, changed.cached_display_name) == (mine, "Wren")
        assert (await _refused(play, changed, persona_id=theirs)).code == "not_found"
        assert (await _change(play, ada, preset_id=chat)).preset_id == chat
        assert (await _refused(play, ada, preset_id=instruct)).code == "invalid"
        assert (await _refused(play, ada, provider_id=uuid4())).code == "invalid"


async def test_two_tabs_that_change_a_member_do_not_overwrite_each_other(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path, ScriptedModel()) as play:
        [_, ada] = await members(play, (await opened(play, "Ada")).space.id)
        both = await asyncio.gather(
            *(
                change_member(play.runtime, play.viewer, ada.id, settings_version=0, changes={"name_override": name})
                for name in ("One", "Two")
            ),
            return_exceptions=True,
        )
        [changed] = [row for row in both if isinstance(row, SpaceMembership)]
        [refused] = [row for row in both if isinstance(row, Refused)]
        assert (refused.code, refused.current["name"]) == ("stale", changed.cached_display_name)


async def test_the_order_names_everybody_once_and_is_kept(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path, ScriptedModel()) as play:
        space = (await opened(play, "Ada", "Bo", "Cy")).space
        ids = [row.id for row in await members(play, space.id)]
        await _order(play, space.id, 0, [ids[3], ids[0], ids[2], ids[1]])
        assert (await members(play, space.id))[0].cached_display_name == "Cy"
        for wrong in (ids[:-1], [*ids, uuid4()], [ids[0], ids[0], *ids[2:]]):
            assert await _code(_order(play, space.id, 1, wrong)) == "conflict"
        stale = await refusal_of(_order(play, space.id, 0, ids))
        assert (stale.code, stale.current["settings_version"]) == ("stale", 1)


async def test_members_are_listed_in_pages_with_a_constant_number_of_statements(
    database_url: str, tmp_path: Path
) -> None:
    async with open_story(database_url, tmp_path, ScriptedModel()) as play:
        space = (await opened(play, "Ada", "Bo", "Cy")).space
        everybody = await members(play, space.id)
        await remove_member(play.runtime, play.viewer, everybody[2].id)

        async def listed(limit: int, after: Any = None, *, removed: bool = False) -> list[SpaceMembership]:
            return await list_members(play.runtime, play.viewer, space.id, removed=removed, after=after, limit=limit)

        with counted_statements(play.runtime.database) as few:
            first = await listed(1)
        with counted_statements(play.runtime.database) as many:
            assert len(await listed(50, removed=True)) == 4
        assert len(few) == len(many) == 3
        rest = await listed(50, (first[-1].position, first[-1].id))
        assert [row.cached_display_name for row in rest] == ["Ada", "Cy"]


async def _order(play: Story, space_id: UUID, version: int, ids: list[UUID]) -> Any:
    return await reorder_members(play.runtime, play.viewer, space_id, settings_version=version, member_ids=ids)


async def _attempt(play: Story, member: SpaceMembership, viewer: Viewer | None, changes: dict[str, Any]) -> Any:
    current = {row.id: row for row in await members(play, member.space_id)}[member.id]
    return await change_member(
        play.runtime,
        viewer or play.viewer,
        member.id,
        settings_version=current.settings_version,
        changes=changes,
    )


async def _change(
    play: Story, member: SpaceMembership, *, viewer: Viewer | None = None, **changes: Any
) -> SpaceMembership:
    changed = await _attempt(play, member, viewer, changes)
    assert isinstance(changed, SpaceMembership), changed
    return changed


async def _refused(play: Story, member: SpaceMembership, *, viewer: Viewer | None = None, **changes: Any) -> Refused:
    return await refusal_of(_attempt(play, member, viewer, changes))


async def _code(outcome: Any) -> str:
    return (await refusal_of(outcome)).code
