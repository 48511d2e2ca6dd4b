"""What somebody finds is what a scan of everything that they may read finds: members who come and go, branches, what is
private, shared, or in the trash."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import select

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.base import Row
from tavernkit.playground.base.database.fulltext.analysis import SearchQuery
from tavernkit.playground.base.database.fulltext.documents import NOUNS
from tavernkit.playground.base.database.fulltext.matching import MOST_SCOPES
from tavernkit.playground.base.database.models import (
    Character,
    Conversation,
    Lorebook,
    LorebookEntry,
    Message,
    Persona,
    Preset,
    Share,
    Space,
    SpaceMembership,
)
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.story.access.sharing import NounColumn, share, unshare
from tavernkit.playground.story.characters.importing import import_file
from tavernkit.playground.story.characters.service import delete_character
from tavernkit.playground.story.conversations.forking import ForkKind, fork
from tavernkit.playground.story.conversations.service import Visibility, change_conversation, delete_conversation
from tavernkit.playground.story.lorebooks.service import delete_lorebook, import_lorebook
from tavernkit.playground.story.members.service import add_member, change_member, remove_member
from tavernkit.playground.story.messages.service import hide_message
from tavernkit.playground.story.presets.documents import NewPreset
from tavernkit.playground.story.presets.service import create_preset, delete_preset
from tavernkit.playground.story.search.documents import SearchResult
from tavernkit.playground.story.search.queries import WINDOW
from tavernkit.playground.story.spaces.service import create_space, delete_space
from tavernkit.playground.story.trash.queries import TrashKind
from tavernkit.playground.story.trash.service import restore
from tavernkit.text.words import fold
from tests.playground.accounts.installation import Installation, open_installation
from tests.playground.search.test_finding import all_results, narrate
from tests.playground.search.texts import queries, texts

pytestmark = pytest.mark.anyio

SAID = "silver key éclair ключ 图书馆 がぎ 🔑"
SHARED: tuple[NounColumn, ...] = ("character_id", "lorebook_id", "preset_id")


class Town:
    """Three people: the first has a story, a table at which the others may sit, and something of each noun; the second
    has a story too."""

    def __init__(self, house: Installation, people: list[Viewer]) -> None:
        self.runtime, self.people = house.runtime, people
        self.branches: list[UUID] = []
        self.messages: list[UUID] = []
        self.nouns: dict[NounColumn, UUID] = {}

    async def build(self) -> None:
        runtime, (first, second, _) = self.runtime, self.people
        homes = [await create_space(runtime, whose, name=f"Keyboard, {SAID}") for whose in (first, second)]
        made = await create_space(runtime, first, kind="discussion", name=f"Silver table, {SAID}")
        self.table = made.space.id
        self.branches = [*(home.conversation.id for home in homes), made.conversation.id]
        card = {"spec": "chara_card_v2", "data": {"name": "Silver", "description": SAID}}
        world = {"name": "Keys", "entries": {"0": {"uid": 0, "key": ["silver"], "comment": "", "content": SAID}}}
        preset = NewPreset(kind="chat", name=f"Éclair {SAID} {runtime.ids()}")
        self.nouns = {
            "character_id": (await import_file(runtime, first, json.dumps(card).encode())).character.id,
            "lorebook_id": (await import_lorebook(runtime, first, json.dumps(world).encode()))[0].id,
            "preset_id": (await create_preset(runtime, first, preset)).id,
        }

    async def say(self, place: int, text: str) -> None:
        branch = self._branch(place)
        for person in self.people[:2]:
            with suppress(Refused):
                self.messages.append((await narrate(self.runtime, person, branch, text)).id)
                return

    async def fork(self, place: int) -> None:
        """A branch at the last message, or a thread at the table; it shares the messages before it."""
        branch = self._branch(place)
        async with self.runtime.database.read() as session:
            said = select(Message.id).where(Message.conversation_id == branch).order_by(Message.seq.desc()).limit(1)
            last: UUID | None = await session.scalar(said)
            home = await session.get_one(Conversation, branch)
        if last is not None:
            kind: ForkKind = "thread" if home.space_id == self.table else "branch"
            self.branches.append((await fork(self.runtime, self.people[0], branch, last, kind=kind)).id)

    async def hide(self, place: int) -> None:
        if self.messages:
            await hide_message(self.runtime, self.people[0], self.messages[place % len(self.messages)])

    async def hide_branch(self, place: int) -> None:
        await delete_conversation(self.runtime, self.people[0], self._branch(place))

    async def set_visibility(self, place: int, visibility: Visibility) -> None:
        async with self.runtime.database.read() as session:
            row = await session.get_one(Conversation, self._branch(place))
        version = row.settings_version
        await change_conversation(self.runtime, self.people[0], row.id, settings_version=version, visibility=visibility)

    async def seat(self, who: int, how: str) -> None:
        """Let somebody sit at the table, watch, say nothing, or leave."""
        person, owner = self.people[who], self.people[0]
        async with self.runtime.database.read() as session:
            query = select(SpaceMembership).where(
                SpaceMembership.space_id == self.table, SpaceMembership.user_id == person.user_id
            )
            member: SpaceMembership | None = await session.scalar(query)
        if how == "left":
            if member is not None:
                await remove_member(self.runtime, owner, member.id)
            return
        if member is None or member.status == "removed":
            member = await add_member(self.runtime, owner, self.table, user_id=person.user_id)
        await change_member(
            self.runtime,
            owner,
            member.id,
            settings_version=member.settings_version,
            changes={"participation": how},
        )

    async def share(self, column: NounColumn, with_everybody: bool) -> None:
        space_id = None if with_everybody else self.table
        await share(self.runtime, self.people[0], column, self.nouns[column], space_id)

    async def unshare(self, column: NounColumn) -> None:
        async with self.runtime.database.read() as session:
            ids = (await session.scalars(select(Share.id).where(getattr(Share, column) == self.nouns[column]))).all()
        for id in ids:
            await unshare(self.runtime, self.people[0], id)

    async def throw_away(self, column: NounColumn) -> None:
        delete: Any = {"character_id": delete_character, "lorebook_id": delete_lorebook, "preset_id": delete_preset}
        await delete[column](self.runtime, self.people[0], self.nouns[column])

    async def throw_table_away(self) -> None:
        await delete_space(self.runtime, self.people[0], self.table)

    async def restore_everything(self) -> None:
        things: dict[TrashKind, list[UUID]] = {
            "space": [self.table],
            "conversation": self.branches,
            "message": self.messages,
            "character": [self.nouns["character_id"]],
            "lorebook": [self.nouns["lorebook_id"]],
            "preset": [self.nouns["preset_id"]],
        }
        for kind, ids in things.items():
            for id in ids:
                with suppress(Refused):
                    await restore(self.runtime, self.people[0], kind, id)

    def _branch(self, place: int) -> UUID:
        return self.branches[place % len(self.branches)]


class Scan:
    """Everything that is stored, and a look at each of it."""

    def __init__(self, rows: dict[type[Row], list[Any]]) -> None:
        self._rows = rows
        self._spaces = {row.id: row for row in rows[Space]}
        self._conversations = {row.id: row for row in rows[Conversation]}
        self._books = {row.id: row for row in rows[Lorebook]}

    @classmethod
    async def of(cls, runtime: Runtime) -> "Scan":
        models: tuple[type[Any], ...] = (*NOUNS, Message, Share, SpaceMembership)
        async with runtime.database.read() as session:
            return cls({model: list(await session.scalars(select(model))) for model in models})

    def found(self, person: UUID, text: str) -> set[tuple[str, object]]:
        """What matches: messages by what they say, since branches share it."""
        query = SearchQuery(text)
        return {(noun, key) for noun, key, said in self._readable(person) if query.matches(fold(said))}

    def _readable(self, person: UUID) -> Iterator[tuple[str, object, str]]:
        for message in self._rows[Message]:
            if message.visibility != "hidden" and self._is_open(self._conversations[message.conversation_id], person):
                yield "message", message.content, message.content
        for model, noun in NOUNS.items():
            name = "entry" if model is LorebookEntry else model.__name__.lower()
            for row in self._rows[model]:
                if self._may_read(row, person):
                    yield name, row.id, "\n".join(noun.text(row))

    def _may_read(self, row: Any, person: UUID) -> bool:
        match row:
            case Space():
                return self._is_in(row, person)
            case Conversation():
                return self._is_open(row, person)
            case Persona():
                return bool(row.owner_id == person)
            case LorebookEntry():
                return self._may_read(self._books[row.lorebook_id], person)
            case _:
                is_there = row.trashed_at is None and getattr(row, "status", "ready") == "ready"
                return is_there and (row.owner_id in (person, None) or self._is_shared(row, person))

    def _is_open(self, row: Conversation, person: UUID) -> bool:
        space = self._spaces[row.space_id]
        is_shown = row.visibility != "private" or space.owner_id == person
        return row.status in ("ready", "archived") and is_shown and self._is_in(space, person)

    def _is_in(self, space: Space, person: UUID) -> bool:
        return space.status != "deleting" and (space.owner_id == person or space.id in self._sits_in(person))

    def _sits_in(self, person: UUID) -> set[UUID]:
        return {one.space_id for one in self._rows[SpaceMembership] if one.user_id == person and one.status == "active"}

    def _is_shared(self, row: Character | Lorebook | Preset, person: UUID) -> bool:
        places = {
            one.space_id for one in self._rows[Share] if row.id in (one.character_id, one.lorebook_id, one.preset_id)
        }
        open_to = {id for id in self._sits_in(person) if self._spaces[id].status != "deleting"}
        return None in places or not places.isdisjoint(open_to)


places = st.integers(0, 7)
steps = st.one_of(
    st.tuples(st.just(Town.say), places, texts),
    st.tuples(st.just(Town.fork), places),
    st.tuples(st.just(Town.hide), places),
    st.tuples(st.just(Town.hide_branch), places),
    st.tuples(st.just(Town.set_visibility), places, st.sampled_from(("private", "shared"))),
    st.tuples(st.just(Town.seat), st.sampled_from((1, 2)), st.sampled_from(("active", "muted", "observer", "left"))),
    st.tuples(st.just(Town.share), st.sampled_from(SHARED), st.booleans()),
    st.tuples(st.just(Town.unshare), st.sampled_from(SHARED)),
    st.tuples(st.just(Town.throw_away), st.sampled_from(SHARED)),
    st.tuples(st.just(Town.throw_table_away)),
    st.tuples(st.just(Town.restore_everything)),
)


@pytest.mark.slow
def test_everybody_finds_what_they_may_read_and_nothing_else(database_url: str, tmp_path: Path) -> None:
    with asyncio.Runner() as runner:
        opened = open_installation(database_url, tmp_path)
        house = runner.run(opened.__aenter__())
        people = [house.play.viewer, runner.run(house.add("Bela")), runner.run(house.add("Cora"))]

        async def agree(taken: list[Any], asked: list[str]) -> None:
            town = Town(house, people)
            await town.build()
            for step, *values in taken:
                with suppress(Refused):
                    await step(town, *values)
            scan = await Scan.of(town.runtime)
            for query in ("silver", *asked):
                for person in people:
                    found = await all_results(town.runtime, person, query)
                    assert await keys_of(town.runtime, found) == scan.found(person.user_id, query)

        @given(st.lists(steps, max_size=8), st.lists(queries, max_size=2))
        def agrees(taken: list[Any], asked: list[str]) -> None:
            runner.run(agree(taken, asked))

        try:
            agrees()
        finally:
            runner.run(opened.__aexit__(None, None, None))


async def keys_of(runtime: Runtime, found: list[SearchResult]) -> set[tuple[str, object]]:
    async with runtime.database.read() as session:
        query = select(Message).where(Message.id.in_([one.id for one in found if one.noun == "message"]))
        said = {row.id: row.content for row in await session.scalars(query)}
    return {(one.noun, said.get(one.id, one.id)) for one in found}


async def test_what_is_shared_is_found_by_those_it_is_shared_with(database_url: str, tmp_path: Path) -> None:
    async with open_installation(database_url, tmp_path) as house:
        people = [house.play.viewer, await house.add("Bela"), await house.add("Cora")]
        town = Town(house, people)
        await town.build()

        async def find(who: int) -> set[str]:
            return {one.noun for one in await all_results(town.runtime, people[who], "éclair ключ")}

        everything = {"space", "character", "entry", "preset"}
        assert [await find(who) for who in range(3)] == [everything, {"space"}, set()]
        for column in SHARED:
            await town.share(column, with_everybody=False)
        assert [await find(who) for who in (1, 2)] == [{"space"}, set()]
        await town.seat(1, "observer")
        assert [await find(who) for who in (1, 2)] == [everything, set()]
        await town.share("character_id", with_everybody=True)
        assert await find(2) == {"character"}
        await town.seat(1, "left")
        assert await find(1) == {"space", "character"}
        await town.throw_away("character_id")
        assert [await find(who) for who in (1, 2)] == [{"space"}, set()]


async def test_somebody_at_many_tables_finds_what_is_said_at_each(database_url: str, tmp_path: Path) -> None:
    async with open_installation(database_url, tmp_path) as house:
        runtime, owner, guest = house.runtime, house.play.viewer, await house.add("Bela")
        said = []
        for number in range(MOST_SCOPES + 3):
            table = await create_space(runtime, owner, kind="discussion", name=f"Table {number}")
            said.append((await narrate(runtime, owner, table.conversation.id, f"A cinnabar ring, {number}.")).id)
            if number % 3:
                await add_member(runtime, owner, table.space.id, user_id=guest.user_id)
        assert {one.id for one in await all_results(runtime, owner, "cinnabar")} == set(said)
        mine = {id for number, id in enumerate(said) if number % 3}
        assert {one.id for one in await all_results(runtime, guest, "cinnabar")} == mine


async def test_a_page_is_filled_however_many_of_the_newest_may_not_be_read(database_url: str, tmp_path: Path) -> None:
    async with open_installation(database_url, tmp_path) as house:
        town = Town(house, [house.play.viewer, await house.add("Bela"), await house.add("Cora")])
        await town.build()
        await town.seat(1, "active")
        for number in range(3):
            await town.say(2, f"An open cinnabar {number}")
        await town.fork(2)
        await town.set_visibility(3, "private")
        for number in range(WINDOW + 1):
            await town.say(3, f"A hidden cinnabar {number}")
        found = await all_results(town.runtime, town.people[1], "cinnabar")
        assert {one.id for one in found} == set(town.messages[:3])
